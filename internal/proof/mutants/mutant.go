package mutants

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

//go:embed patches/*.patch
var patches embed.FS

// Subjects are what the mutants are about. There is none for a fault outside of them.
var Subjects = []string{"lease", "fence", "commit", "takeover", "exactly-once", "rights"}

// A Mutant is one fault, built into this engine by a patch, and the tests that
// must detect it.
type Mutant struct {
	Subject string   // one of [Subjects]
	Name    string   // of the patch
	Fault   string   // what the patch does to the engine
	Package string   // of the tests, from the root of the repository
	Tests   []string // that must fail on the patched tree
	Patch   []byte   // with its header
}

// File is the name of the patch in the directory patches.
func (m Mutant) File() string { return m.Name + ".patch" }

// All returns the mutants in the order of their files. The error names every
// patch whose header is wrong; the other mutants are returned with it.
func All() ([]Mutant, error) {
	files, err := fs.Glob(patches, "patches/*.patch")
	if err != nil {
		return nil, err
	}
	var (
		all    []Mutant
		broken error
	)
	for _, file := range files {
		text, err := patches.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := Parse(strings.TrimPrefix(file, "patches/"), text)
		if err != nil {
			broken = errors.Join(broken, err)
			continue
		}
		all = append(all, m)
	}
	return all, broken
}

var fileName = regexp.MustCompile(`^([a-z0-9]+(?:-[a-z0-9]+)*)\.patch$`)

// Parse reads a patch with its header, the lines before the first line that
// begins with "diff --git".
func Parse(file string, text []byte) (Mutant, error) {
	m := Mutant{Patch: text}
	name := fileName.FindStringSubmatch(file)
	if name == nil {
		return Mutant{}, fmt.Errorf("%s: the name must have the form what-it-does.patch", file)
	}
	m.Name = name[1]
	header, _, ok := strings.Cut(string(text), "\ndiff --git ")
	if !ok {
		return Mutant{}, fmt.Errorf("%s: there is no line that begins with diff --git", file)
	}
	for line := range strings.Lines(header) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, _ := strings.Cut(line, ": ")
		field := map[string]*string{"Subject": &m.Subject, "Fault": &m.Fault, "Package": &m.Package}[key]
		switch {
		case key == "Test" && value != "":
			m.Tests = append(m.Tests, value)
		case field == nil || *field != "" || value == "":
			return Mutant{}, fmt.Errorf("%s: unexpected line %q in the header (see the package's documentation)", file, line)
		default:
			*field = value
		}
	}
	switch {
	case m.Fault == "" || m.Package == "" || len(m.Tests) == 0:
		return Mutant{}, fmt.Errorf("%s: the header needs a fault, a package and a test", file)
	case !slices.Contains(Subjects, m.Subject):
		return Mutant{}, fmt.Errorf("%s: the subject is %q, want one of %s", file, m.Subject, strings.Join(Subjects, ", "))
	}
	return m, nil
}

// Pattern returns the argument of go test's -run that selects these tests and no
// others, provided that they differ in one element at most, as TestA/x and
// TestA/y do.
func Pattern(tests []string) string {
	var levels [][]string
	for _, test := range tests {
		for i, part := range strings.Split(test, "/") {
			if i == len(levels) {
				levels = append(levels, nil)
			}
			levels[i] = append(levels[i], part)
		}
	}
	out := make([]string, len(levels))
	for i, parts := range levels {
		out[i] = "^(" + strings.Join(parts, "|") + ")$"
	}
	return strings.Join(out, "/")
}
