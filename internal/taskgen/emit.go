package taskgen

import (
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var templateFiles embed.FS

// emit makes the files of executors sorted by kind. The package that registers
// them has the path genPath and the name given.
func emit(executors []*Executor, genPath, name string) ([]File, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"taskkit": func() string { return "«" + runtimePath + "|taskkit»" },
		"quote":   func(s string) string { return fmt.Sprintf("%q", s) },
		"raw": func(s string) string {
			if strings.Contains(s, "`") {
				return fmt.Sprintf("%q", s)
			}
			return "`" + s + "`"
		},
		"kindpkg": func(x *Executor) string {
			return "«" + genPath + "/" + x.Package() + "|" + x.Package() + "»"
		},
		"assertions": assertions,
		"upgrades":   upgradeFields,
		"reads":      readsList,
		"specimens":  func(x *Executor) []Specimen { return specimens(x.History) },
	}).ParseFS(templateFiles, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	var files []File
	for _, x := range executors {
		kind, err := render(t, "kind.go.tmpl", x)
		if err != nil {
			return nil, err
		}
		doc := fmt.Sprintf("%s\n//\n// Source: %s\n\n// Package %s submits tasks of kind %s and reads them.",
			header, x.Source, x.Package(), x.Kind)
		f, err := finish(path.Join(x.Package(), x.Package()+".go"), doc, x.Package(), kind)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		doc = fmt.Sprintf("%s\n//\n// Source: %s\n", header, x.Source)
		f, err = finish(path.Join(x.Package(), "json.go"), doc, x.Package(), marshalling(x))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		files = append(files, File{Name: path.Join(x.Package(), "spec.schema.json"), Data: schemaOf(x, "spec", x.Spec)})
		if x.Result != nil {
			files = append(files, File{Name: path.Join(x.Package(), "result.schema.json"), Data: schemaOf(x, "result", x.Result)})
		}
		test, err := render(t, "specimens_test.go.tmpl", x)
		if err != nil {
			return nil, err
		}
		f, err = finish(path.Join(x.Package(), "specimens_test.go"), doc, x.Package(), test)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	all, err := render(t, "gen.go.tmpl", executors)
	if err != nil {
		return nil, err
	}
	doc := fmt.Sprintf("%s\n\n// Package %s registers the executors of this module with a worker.", header, name)
	f, err := finish(name+".go", doc, name, all)
	if err != nil {
		return nil, err
	}
	return append(files, f), nil
}

// render executes a template.
func render(t *template.Template, name string, data any) (string, error) {
	var b strings.Builder
	err := t.ExecuteTemplate(&b, name, data)
	return b.String(), err
}

// roots returns the types with a codec, by what they are called.
func (x *Executor) roots() []root {
	all := []root{{"Spec", x.Spec}, {"State", x.State}}
	if x.Result != nil {
		all = append(all, root{"Result", x.Result})
	}
	return all
}

// root is a type with a codec.
type root struct {
	Name string
	Type *Type
}

// assertions writes, for every struct that is stored, an assignment that
// compiles only while its fields, their types and their tags are as they were.
func assertions(x *Executor) string {
	var b strings.Builder
	for _, t := range reachable(x) {
		if t.Form != Struct || !t.Named {
			continue
		}
		fmt.Fprintf(&b, "\t_ %s = struct {\n", t.Source)
		for _, f := range t.Declared {
			name := f.Name
			if f.Embedded {
				name = ""
			}
			fmt.Fprintf(&b, "\t\t%s %s%s\n", name, f.Source, tagSource(f.Tag))
		}
		b.WriteString("\t}{}\n")
	}
	return b.String()
}

// tagSource writes a tag as source.
func tagSource(tag string) string {
	switch {
	case tag == "":
		return ""
	case strings.ContainsAny(tag, "`\n\r"):
		return fmt.Sprintf(" %q", tag)
	default:
		return " `" + tag + "`"
	}
}

// reachable returns the types of an executor's Spec, State and Result, each
// once, in the order in which they are met.
func reachable(x *Executor) []*Type {
	var all []*Type
	seen := map[string]bool{}
	var visit func(t *Type)
	visit = func(t *Type) {
		if t == nil || seen[t.Source] {
			return
		}
		seen[t.Source] = true
		all = append(all, t)
		visit(t.Elem)
		for _, f := range t.Fields {
			visit(f.Type)
		}
	}
	for _, r := range x.roots() {
		visit(r.Type)
	}
	return all
}

// upgradeFields returns the fields of a taskkit.Upgrade for each revision that
// has upgrade functions.
func upgradeFields(x *Executor) (out []string) {
	last := 0
	for _, u := range x.Upgrades {
		field := fmt.Sprintf("%s: %s", upper(u.Part), u.Source)
		if u.From == last {
			out[len(out)-1] += ", " + field
			continue
		}
		out, last = append(out, fmt.Sprintf("From: %d, %s", u.From, field)), u.From
	}
	return out
}

// readsList returns the revisions that can be read, or "" when they are all from
// the first to the present one, which is the default.
func readsList(x *Executor) string {
	if len(x.History) == x.Revision {
		return ""
	}
	var numbers []string
	for _, r := range x.History {
		numbers = append(numbers, strconv.Itoa(r.Number))
	}
	return strings.Join(numbers, ", ")
}
