package emit

import (
	"bytes"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// PackageRule and SuffixRule are what generated packages may be called.
var (
	PackageRule = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	SuffixRule  = regexp.MustCompile(`^[a-z0-9_]+$`)
)

// locals are the names that templates and marshalling code use themselves. No
// package may hide them, or be hidden by them.
var locals = []string{
	"c", "ctx", "d", "e", "err", "i", "id", "ids", "k", "key", "list", "m", "n", "o", "ok",
	"opts", "r", "seen", "spec", "specs", "src", "tx", "v", "x", "zero",
	"any", "append", "bool", "byte", "cap", "error", "float32", "float64", "int", "int8", "int16", "int32",
	"int64", "len", "make", "max", "min", "new", "nil", "string", "true", "false", "uint", "uint8", "uint16",
	"uint32", "uint64", "rune",
}

// finish makes a file of a package clause's comment, its name and its body:
// marks become qualifiers, imports are written, and gofmt has its way.
//
// No package is called as an identifier that is used in it, or in the others of its
// package: reserved.
func finish(name, doc, pkg, body, module string, reserved map[string]bool) ([]byte, error) {
	names := qualifiers(body, reserved)
	body = model.Marked.ReplaceAllStringFunc(body, func(m string) string {
		name := names[model.Marked.FindStringSubmatch(m)[1]]
		if name == "_" {
			return ""
		}
		return name
	})
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\npackage %s\n\n", doc, pkg)
	writeImports(&b, names, module)
	b.WriteString(body)
	data, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("taskgen made source for %s that does not parse, which is a bug in taskgen: %w\n%s", name, err, numbered(b.String()))
	}
	return data, nil
}

// qualifiers decides what the packages marked in a body are called in its file.
func qualifiers(body string, reserved map[string]bool) map[string]string {
	base := map[string]string{}
	for _, m := range model.Marked.FindAllStringSubmatch(body, -1) {
		base[m[1]] = m[2]
	}
	taken := maps.Clone(reserved)
	for _, l := range locals {
		taken[l] = true
	}
	paths := make([]string, 0, len(base))
	for p := range base {
		paths = append(paths, p)
	}
	// The standard library and taskkit keep their names; users' packages yield.
	slices.SortFunc(paths, func(a, b string) int {
		if x, y := isOurs(a), isOurs(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	names := map[string]string{}
	for _, p := range paths {
		name := base[p]
		if name == "_" {
			names[p] = name // imported for its side effect
			continue
		}
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s%d", base[p], n)
		}
		taken[name] = true
		names[p] = name
	}
	return names
}

// identifiers returns all identifiers in the bodies of files, where marks stand for
// packages.
func identifiers(bodies ...string) map[string]bool {
	all := map[string]bool{}
	for _, body := range bodies {
		src := []byte(model.Marked.ReplaceAllString(body, "_"))
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile("", -1, len(src)), src, func(token.Position, string) {}, 0)
		for {
			_, tok, text := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok == token.IDENT {
				all[text] = true
			}
		}
	}
	return all
}

// isOurs reports whether templates themselves refer to a package.
func isOurs(p string) bool { return isStandard(p) || model.Within(p, model.RuntimePath) }

// isStandard reports whether a package is of the standard library.
func isStandard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

// writeImports writes the import declaration in three groups: the standard
// library, other modules, and the module itself.
func writeImports(b *bytes.Buffer, names map[string]string, module string) {
	if len(names) == 0 {
		return
	}
	var groups [3][]string
	for _, p := range slices.Sorted(maps.Keys(names)) {
		line := fmt.Sprintf("%q\n", p)
		if names[p] != path.Base(p) {
			line = names[p] + " " + line
		}
		switch {
		case isStandard(p):
			groups[0] = append(groups[0], line)
		case model.Within(p, module):
			groups[2] = append(groups[2], line)
		default:
			groups[1] = append(groups[1], line)
		}
	}
	b.WriteString("import (\n")
	for _, g := range groups {
		if len(g) > 0 {
			b.WriteString(strings.Join(g, "") + "\n")
		}
	}
	b.WriteString(")\n\n")
}

// numbered returns source with the numbers of its lines, for a report.
func numbered(src string) string {
	var b strings.Builder
	for i, line := range strings.Split(src, "\n") {
		fmt.Fprintf(&b, "%4d %s\n", i+1, line)
	}
	return b.String()
}
