package lock

import (
	"bytes"
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// DamageKind is what happened to a lock file. Each has its own remedy.
type DamageKind string

// The kinds of damage.
const (
	Empty     DamageKind = "empty"
	Foreign   DamageKind = "foreign"   // another file
	Conflict  DamageKind = "conflict"  // git could not merge it
	Union     DamageKind = "union"     // git merged it line by line
	Merged    DamageKind = "merged"    // it has more than its checksum says
	Newer     DamageKind = "newer"     // of a format that is not known
	LineEnds  DamageKind = "line ends" // CRLF, and nothing else
	NoHead    DamageKind = "no head"   // without format or checksum
	Cut       DamageKind = "cut"       // it has less than its checksum says
	Reordered DamageKind = "reordered" // the same lines in another order
	Edited    DamageKind = "edited"    // other lines
)

// Damage says how a lock file is damaged, and where.
type Damage struct {
	Kind DamageKind
	Line int
	What string
}

// Source is where a lock file can be had again. The zero value is version control
// that is not known.
type Source struct {
	// Restore is the command that restores the last version that is not damaged, or
	// "".
	Restore string
	// Git is the file as an argument of git, or "": :/executors/tasks.lock.
	Git string
	// Branch is the branch on which the damaged file lies, if it is not that in the
	// work tree.
	Branch string
}

// Diagnostic says what is wrong with the lock file of a name, and what to do.
func (d *Damage) Diagnostic(name string, p Source) model.Diagnostic {
	return model.Diagnostic{
		Pos:     token.Position{Filename: name, Line: d.Line, Column: 1},
		Message: d.What, Remedy: d.remedy(p),
	}
}

// remedy returns what to do.
func (d *Damage) remedy(p Source) string {
	git := cmp.Or(p.Git, Name)
	firstMerged := fmt.Sprintf("take the file of the branch that was merged first, most often main (git restore --source=main -- %s), "+
		"and run go generate: the changes of the other branch become the next revision", git)
	switch {
	case p.Branch != "" && d.Kind != Newer:
		return fmt.Sprintf("compare with another branch, and mend the file on %s: run taskgen there", p.Branch)
	case d.Kind == Foreign && p.Restore != "":
		return "restore it with " + p.Restore + "; or, if another file is meant, name it with -lock, or with -base if it is the one to compare with"
	case d.Kind == Foreign:
		return "name the lock file with -lock, and the one to compare with, if it is another, with -base"
	case d.Kind == Newer:
		return "update taskkit in go.mod to the version that wrote the file, or a newer one"
	case d.Kind == Conflict:
		return firstMerged
	case d.Kind == Union:
		return "remove merge=union for it from .gitattributes; " + firstMerged
	case d.Kind == Merged:
		return firstMerged
	case d.Kind == LineEnds:
		return fmt.Sprintf("write \"%s text eol=lf\" into .gitattributes and run git add --renormalize %s; then remove the file, and restore it with git restore -- %s", Name, git, git)
	case p.Restore != "":
		return "restore it with " + p.Restore + ", and run go generate"
	default:
		return "restore it from version control, and run go generate"
	}
}

// damage finds out what happened to a file that does not match its checksum, which
// was made of so many kinds and revisions.
func (r *lockReader) damage(data []byte, line int, sum string, kinds, revisions int) *Damage {
	if r.twice != nil {
		return r.twice
	}
	found := 0
	for _, k := range r.lock.Kinds {
		found += len(k.Revisions)
	}
	fewer := func(had, is int, what string) *Damage {
		return &Damage{Cut, line, fmt.Sprintf("the file has only %d of the %d %s of its checksum", is, had, what)}
	}
	more := func(had, is int, what string) *Damage {
		return &Damage{Merged, line, fmt.Sprintf("the file has %d %s instead of the %d of its checksum: lines of another version were merged into it", is, what, had)}
	}
	switch is := len(r.lock.Kinds); {
	case is < kinds:
		return fewer(kinds, is, "kinds")
	case found < revisions:
		return fewer(revisions, found, "revisions")
	case is > kinds:
		return more(kinds, is, "kinds")
	case found > revisions:
		return more(revisions, found, "revisions")
	}
	if written := r.sorted().Bytes(); bytes.Contains(written, []byte("\nsum "+sum+" ")) {
		if sameLines(data, written) {
			return &Damage{Reordered, line, "the lines of the file are in another order than taskgen wrote them; none is missing"}
		}
		return &Damage{Edited, line, "comments or empty lines of the file were changed"}
	}
	if r.wrong != nil {
		return r.wrong
	}
	return &Damage{Edited, line, "the file does not match its checksum, but each revision matches its own: a line of a kind was changed, or a whole revision was replaced"}
}

// sameLines reports whether two files have the same lines, in whatever order.
func sameLines(a, b []byte) bool {
	return slices.Equal(slices.Sorted(strings.Lines(string(a))), slices.Sorted(strings.Lines(string(b))))
}
