package lock

import (
	"bufio"
	"bytes"
	"fmt"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/taskgen/model"
)

// Name is the file in the output directory that remembers what was
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

// Bytes returns the lock file.
func (l *Lock) Bytes() []byte {
	var b bytes.Buffer
	b.WriteString(Header)
	for _, k := range l.Kinds {
		fmt.Fprintf(&b, "\nkind %s\n", strings.TrimSpace(k.Name+" "+string(k.Phase)))
		for _, a := range k.Aliases {
			fmt.Fprintf(&b, "\talias %s\n", a)
		}
		for _, a := range k.Reserved {
			fmt.Fprintf(&b, "\treserved %s\n", a)
		}
		for _, r := range k.Revisions {
			fmt.Fprintf(&b, "\trevision %d %s\n", r.Number, r.Sum())
			for _, f := range r.Facts {
				fmt.Fprintf(&b, "\t\t%s\n", f)
			}
		}
	}
	return b.Bytes()
}

// lockReader reads a lock file line by line.
type lockReader struct {
	name  string
	line  int
	lock  Lock
	sums  []lockedSum
	wrong []model.Diagnostic
}

// lockedSum is a sum as it was found, to be held against the facts under it.
type lockedSum struct {
	kind  *LockedKind
	index int // in kind.Revisions
	sum   string
	line  int
}

// conflict finds the lines git leaves in a file it could not merge.
var conflict = regexp.MustCompile(`(?m)^(<{7}|={7}|>{7}|\|{7})( |$)`)

const lockRemedy = "take the file as it is on the branch that was merged first, and run go generate"

// Parse reads a lock file; name is for the positions of what is wrong.
func Parse(name string, data []byte) (*Lock, []model.Diagnostic) {
	r := &lockReader{name: name}
	if at := conflict.FindIndex(data); at != nil {
		r.line = 1 + bytes.Count(data[:at[0]], []byte("\n"))
		r.refuse("a merge conflict")
		return nil, r.wrong
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.line++
		words := strings.Fields(lines.Text())
		if len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			r.read(words)
		}
	}
	if err := lines.Err(); err != nil {
		r.refuse("%v", err)
	}
	for _, s := range r.sums {
		if rev := s.kind.Revisions[s.index]; rev.Sum() != s.sum {
			r.line = s.line
			r.refuse("revision %d of kind %s is not as taskgen wrote it (its sum is %s)", rev.Number, s.kind.Name, rev.Sum())
		}
	}
	for _, k := range r.lock.Kinds {
		if len(k.Revisions) == 0 {
			r.refuse("kind %s has no revision", k.Name)
		}
	}
	if len(r.wrong) > 0 {
		return nil, r.wrong
	}
	return &r.lock, nil
}

func (r *lockReader) refuse(format string, args ...any) {
	r.wrong = append(r.wrong, model.Diagnostic{
		Pos:     token.Position{Filename: r.name, Line: r.line, Column: 1},
		Message: fmt.Sprintf(format, args...), Remedy: lockRemedy,
	})
}

// read reads the words of one line.
func (r *lockReader) read(words []string) {
	var kind *LockedKind
	if n := len(r.lock.Kinds); n > 0 {
		kind = r.lock.Kinds[n-1]
	}
	switch verb := words[0]; {
	case verb == "kind" && len(words) >= 2 && len(words) <= 3:
		phase := Active
		if len(words) == 3 {
			phase = Phase(words[2])
		}
		if !lifecycle.ValidKind(words[1]) || !slices.Contains([]Phase{Active, Retired, Deleted}, phase) {
			r.refuse("line %q", strings.Join(words, " "))
		}
		if r.lock.kind(words[1]) != nil {
			r.refuse("kind %s is here twice", words[1])
		}
		r.lock.Kinds = append(r.lock.Kinds, &LockedKind{Name: words[1], Phase: phase})
	case kind == nil:
		r.refuse("line %q comes before any kind", strings.Join(words, " "))
	case verb == "alias" && len(words) == 2:
		kind.Aliases = append(kind.Aliases, words[1])
	case verb == "reserved" && len(words) == 2:
		kind.Reserved = append(kind.Reserved, words[1])
	case verb == "revision" && len(words) == 3:
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 || len(kind.Revisions) > 0 && n <= kind.last().Number {
			r.refuse("revision %q of kind %s does not follow the one before", words[1], kind.Name)
			n = 1
		}
		kind.Revisions = append(kind.Revisions, model.Revision{Number: n})
		r.sums = append(r.sums, lockedSum{kind, len(kind.Revisions) - 1, words[2], r.line})
	case slices.Contains(model.Parts, verb) && len(words) >= 3 && len(kind.Revisions) > 0:
		rev := &kind.Revisions[len(kind.Revisions)-1]
		rev.Facts = append(rev.Facts, model.Fact{Part: verb, Path: words[1], Type: words[2], Words: slices.Clip(words[3:])})
	default:
		r.refuse("line %q", strings.Join(words, " "))
	}
}
