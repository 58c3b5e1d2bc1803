package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// Name is the file beside the directive of go generate that remembers what was
// generated before.
const Name = "tasks.lock"

// Header begins the lock file.
const Header = `# Written by taskgen. Commit it, and do not edit it.
#
# Every field that a database may hold, by kind and revision. What is here once
# was released, perhaps: it stays, so that tasks of any age can be read.
#
# After a conflict in this file take it as it is on the branch that was merged
# first, and run go generate: your change becomes the next revision.
`

// Format is the version of the file's format that this package writes. A file of a
// newer format is refused, since what it means is not known.
const Format = 1

// Lock is what a lock file says: all kinds there ever were, sorted by name.
type Lock struct{ Kinds []*LockedKind }

// LockedKind is the history of one kind.
type LockedKind struct {
	Name  string
	Phase Phase
	// Aliases are former names whose tasks are still run; Reserved are former
	// names that are not, and that nothing else may use.
	Aliases, Reserved []string
	Revisions         []model.Revision // ascending
}

// Phase is where a kind is in its life.
type Phase string

// The phases. A kind goes through them in this order, and from Retired also
// back.
const (
	Active  Phase = ""        // submitted and run
	Retired Phase = "retired" // run, but submitted no more
	Deleted Phase = "deleted" // gone; the name is never used again
)

// kind returns the history of a kind, or nil.
func (l *Lock) kind(name string) *LockedKind {
	for _, k := range l.Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// last returns the newest revision.
func (k *LockedKind) last() model.Revision { return k.Revisions[len(k.Revisions)-1] }

// numbers returns the numbers of the revisions, ascending.
func (k *LockedKind) numbers() []int {
	out := make([]int, len(k.Revisions))
	for i, r := range k.Revisions {
		out[i] = r.Number
	}
	return out
}

// Bytes returns the lock file: comments, the format, the checksum and the kinds.
func (l *Lock) Bytes() []byte {
	var head, kinds bytes.Buffer
	fmt.Fprintf(&head, "%s\nformat %d\n", Header, Format)
	revisions := 0
	for _, k := range l.Kinds {
		fmt.Fprintf(&kinds, "\nkind %s\n", strings.TrimSpace(k.Name+" "+string(k.Phase)))
		for _, a := range k.Aliases {
			fmt.Fprintf(&kinds, "\talias %s\n", a)
		}
		for _, a := range k.Reserved {
			fmt.Fprintf(&kinds, "\treserved %s\n", a)
		}
		for _, r := range k.Revisions {
			revisions++
			fmt.Fprintf(&kinds, "\trevision %d %s\n", r.Number, r.Sum())
			for _, f := range r.Facts {
				fmt.Fprintf(&kinds, "\t\t%s\n", f)
			}
		}
	}
	return fmt.Appendf(nil, "%ssum %s kinds %d revisions %d\n%s",
		head.Bytes(), checksum(head.Bytes(), kinds.Bytes()), len(l.Kinds), revisions, kinds.Bytes())
}

// checksum returns the checksum of a whole file but for the line of the checksum. It finds what
// the sums of revisions cannot: a revision or a kind that is gone. It also makes
// any two branches that change the file conflict in git.
func checksum(before, after []byte) string {
	h := sha256.New()
	h.Write(before)
	h.Write(after)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
