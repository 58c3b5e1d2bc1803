package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Revision is the shape of a kind's Spec, State and Result at one time.
type Revision struct {
	Number int
	Facts  []Fact // sorted
}

// Fact is one field as it is stored.
type Fact struct {
	Part  string   // spec, state or result; or allow, see [AllowPart]
	Path  string   // rows[].name; see [facts]
	Type  string   // []uuid; see [facts]
	Words []string // required, max=100; sorted, required first
}

// String returns the fact as it stands in the lock file.
func (f Fact) String() string {
	return strings.Join(append([]string{f.Part, f.Path, f.Type}, f.Words...), " ")
}

// Sum is written beside a revision's number. It makes two branches that both
// add this revision conflict, where git would merge their facts in silence and
// give one number to three shapes; and it finds edits by hand.
func (r Revision) Sum() string {
	h := sha256.New()
	for _, f := range r.Facts {
		fmt.Fprintln(h, f)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// Has reports whether a fact has a word.
func (f Fact) Has(word string) bool { return slices.Contains(f.Words, word) }

// IsElement reports whether a path is the path of the elements of a list or map,
// whose facts hold nothing but rules.
func IsElement(path string) bool {
	return strings.HasSuffix(path, "[]") || strings.HasSuffix(path, "{}")
}

// AllowPart is the part of the facts that are exceptions: their path is spec.note,
// their type the rule, and their words the reason. They are about the step from the
// revision before, and no part of what is stored.
const AllowPart = "allow"

// SameShape reports whether two revisions store the same.
func (r Revision) SameShape(o Revision) bool { return r.shape().Sum() == o.shape().Sum() }

// shape returns the revision without exceptions.
func (r Revision) shape() Revision {
	r.Facts = slices.DeleteFunc(slices.Clone(r.Facts), func(f Fact) bool { return f.Part == AllowPart })
	return r
}

// Allows reports whether a revision has an exception.
func (r Revision) Allows(path, rule string) bool {
	return slices.ContainsFunc(r.Facts, func(f Fact) bool { return f.Part == AllowPart && f.Path == path && f.Type == rule })
}
