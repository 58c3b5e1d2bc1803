package lock

import (
	"bufio"
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/taskgen/model"
)

// Parse reads a lock file; name is for the position of what is wrong. [Read] says
// which kind of damage there is.
func Parse(name string, data []byte) (*Lock, []model.Diagnostic) {
	l, damage := Read(data)
	if damage != nil {
		return nil, []model.Diagnostic{damage.Diagnostic(name, Source{})}
	}
	return l, nil
}

// The lines of a lock file that are looked for before its kinds are read.
var (
	// conflictLine finds the lines that git leaves in a file it could not merge.
	conflictLine = regexp.MustCompile(`(?m)^(<{7}|={7}|>{7}|\|{7})( |\r?$)`)
	kindLine     = regexp.MustCompile(`(?m)^kind [a-z]`)
	formatLine   = regexp.MustCompile(`(?m)^format (\d+)\r?\n`)
	sumLine      = regexp.MustCompile(`(?m)^sum ([0-9a-f]{32}) kinds (\d+) revisions (\d+)\n`)
)

// headLine finds a line of the head, whole or not.
func headLine(word string) *regexp.Regexp { return regexp.MustCompile(`(?m)^` + word + `\b.*$`) }

// WasLock reports whether a file was once a lock file, damaged or not.
func WasLock(data []byte) bool {
	first, _, _ := strings.Cut(Header, "\n")
	return len(bytes.TrimSpace(data)) == 0 || bytes.Contains(data, []byte(first)) || formatLine.Match(data) || kindLine.Match(data)
}

// Read reads a lock file, or says how it is damaged.
func Read(data []byte) (*Lock, *Damage) {
	line := func(at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, &Damage{Kind: Empty, Line: 1, What: "the file is empty"}
	}
	if at := conflictLine.FindIndex(data); at != nil {
		return nil, &Damage{Kind: Conflict, Line: line(at[0]), What: "the file has a merge conflict"}
	}
	if !WasLock(data) {
		return nil, &Damage{Kind: Foreign, Line: 1, What: "this is not a lock file of taskgen"}
	}
	for _, m := range formatLine.FindAllSubmatchIndex(data, -1) {
		if n, err := strconv.Atoi(string(data[m[2]:m[3]])); err != nil || n > Format {
			return nil, &Damage{Kind: Newer, Line: line(m[0]), What: "the file was written by a newer taskgen: it has format " +
				string(data[m[2]:m[3]]) + ", and this one reads up to " + strconv.Itoa(Format)}
		}
	}
	if bytes.Contains(data, []byte("\r\n")) {
		l, damage := Read(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
		if damage == nil || damage.Kind == Newer {
			return l, &Damage{Kind: LineEnds, Line: 1, What: "the lines of the file end in CRLF, as git writes them where core.autocrlf is set"}
		}
		return nil, damage
	}
	sums, formats := headLine("sum").FindAllIndex(data, -1), headLine("format").FindAllIndex(data, -1)
	switch at := sumLine.FindIndex(data); {
	case len(sums) > 1:
		return nil, &Damage{Kind: Union, Line: line(sums[1][0]), What: "two versions of the file were merged line by line: it has two checksums"}
	case len(sums) == 0 && len(formats) == 0:
		return nil, &Damage{Kind: NoHead, Line: 1, What: "the file has no head: the lines with its format and its checksum are missing"}
	case len(sums) == 0:
		return nil, &Damage{Kind: NoHead, Line: 1, What: "the line with the checksum of the file is missing"}
	case len(formats) == 0:
		return nil, &Damage{Kind: NoHead, Line: 1, What: "the line with the format of the file is missing"}
	case at == nil:
		return nil, &Damage{Kind: Edited, Line: line(sums[0][0]), What: "the line with the checksum of the file was changed or cut"}
	case !formatLine.Match(data):
		return nil, &Damage{Kind: Edited, Line: line(formats[0][0]), What: "the line with the format of the file was changed or cut"}
	}
	r := lockReader{}
	r.all(data)
	at := sumLine.FindSubmatchIndex(data)
	part := func(i int) string { return string(data[at[2*i]:at[2*i+1]]) }
	before, after := data[:at[0]], data[at[1]:]
	if checksum(before, after) != part(1) {
		kinds, _ := strconv.Atoi(part(2))
		revisions, _ := strconv.Atoi(part(3))
		return nil, r.damage(data, line(at[0]), part(1), kinds, revisions)
	}
	if r.wrong != nil {
		return nil, r.wrong
	}
	return &r.lock, nil
}

// lockReader reads a lock file line by line. It reads on after what is wrong, of
// which it keeps the first.
type lockReader struct {
	line  int
	lock  Lock
	sums  []lockedSum
	wrong *Damage
	twice *Damage // a kind or a revision that is there twice
}

// lockedSum is a sum as it was found, to be held against the facts under it.
type lockedSum struct {
	kind  *LockedKind
	index int // in kind.Revisions
	sum   string
	line  int
}

// all reads the lines, and holds the sums of the revisions against their facts.
func (r *lockReader) all(data []byte) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		r.line++
		words := strings.Fields(lines.Text())
		if len(words) > 0 && !strings.HasPrefix(words[0], "#") && words[0] != "format" && words[0] != "sum" {
			r.read(words)
		}
	}
	for _, s := range r.sums {
		if rev := s.kind.Revisions[s.index]; rev.Sum() != s.sum {
			r.line = s.line
			r.refuse("revision " + strconv.Itoa(rev.Number) + " of kind " + s.kind.Name + " does not match its own checksum: lines below it were changed, added or removed")
		}
	}
	for _, k := range r.lock.Kinds {
		if len(k.Revisions) == 0 {
			r.refuse("kind " + k.Name + " has no revision")
		}
	}
}

// refuse keeps the first of what is wrong.
func (r *lockReader) refuse(what string) {
	if r.wrong == nil {
		r.wrong = &Damage{Kind: Edited, Line: r.line, What: what}
	}
}

// repeated keeps the first of what is there twice.
func (r *lockReader) repeated(what string) {
	r.refuse(what)
	if r.twice == nil {
		r.twice = &Damage{Kind: Union, Line: r.line, What: "two versions of the file were merged line by line: " + what}
	}
}

// read reads the words of one line.
func (r *lockReader) read(words []string) {
	var kind *LockedKind
	if n := len(r.lock.Kinds); n > 0 {
		kind = r.lock.Kinds[n-1]
	}
	unknown := "line " + strconv.Quote(strings.Join(words, " ")) + " cannot be read"
	switch verb := words[0]; {
	case verb == "kind" && len(words) >= 2 && len(words) <= 3:
		phase := Active
		if len(words) == 3 {
			phase = Phase(words[2])
		}
		if !lifecycle.ValidKind(words[1]) || !slices.Contains([]Phase{Active, Retired, Deleted}, phase) {
			r.refuse(unknown)
		}
		if r.lock.kind(words[1]) != nil {
			r.repeated("kind " + words[1] + " is there twice")
		}
		r.lock.Kinds = append(r.lock.Kinds, &LockedKind{Name: words[1], Phase: phase})
	case kind == nil:
		r.refuse("line " + strconv.Quote(strings.Join(words, " ")) + " comes before any kind")
	case verb == "alias" && len(words) == 2:
		kind.Aliases = append(kind.Aliases, words[1])
	case verb == "reserved" && len(words) == 2:
		kind.Reserved = append(kind.Reserved, words[1])
	case verb == "revision" && len(words) == 3:
		n, err := strconv.Atoi(words[1])
		switch {
		case err != nil || n < 1:
			r.refuse(unknown)
		case slices.Contains(kind.numbers(), n):
			r.repeated("revision " + words[1] + " of kind " + kind.Name + " is there twice")
		case len(kind.Revisions) > 0 && n < kind.last().Number:
			r.refuse("revision " + words[1] + " of kind " + kind.Name + " comes after a later one")
		}
		kind.Revisions = append(kind.Revisions, model.Revision{Number: n})
		r.sums = append(r.sums, lockedSum{kind, len(kind.Revisions) - 1, words[2], r.line})
	case (slices.Contains(model.Parts, verb) || verb == model.AllowPart) && len(words) >= 3 && len(kind.Revisions) > 0:
		rev := &kind.Revisions[len(kind.Revisions)-1]
		rev.Facts = append(rev.Facts, model.Fact{Part: verb, Path: words[1], Type: words[2], Words: slices.Clip(words[3:])})
	default:
		r.refuse(unknown)
	}
}

// sorted returns the lock with everything in the order in which it is written.
func (r *lockReader) sorted() *Lock {
	for _, k := range r.lock.Kinds {
		slices.Sort(k.Aliases)
		slices.Sort(k.Reserved)
		for _, rev := range k.Revisions {
			slices.SortFunc(rev.Facts, compareFacts)
		}
		slices.SortFunc(k.Revisions, func(a, b model.Revision) int { return cmp.Compare(a.Number, b.Number) })
	}
	slices.SortFunc(r.lock.Kinds, func(a, b *LockedKind) int { return cmp.Compare(a.Name, b.Name) })
	return &r.lock
}
