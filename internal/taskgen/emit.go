package taskgen

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var templateFiles embed.FS

// emit makes the files of executors sorted by kind.
func emit(executors []*Executor, genPath string) ([]File, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"taskkit": func() string { return "«" + runtimePath + "|taskkit»" },
		"quote":   func(s string) string { return fmt.Sprintf("%q", s) },
		"kindpkg": func(x *Executor) string {
			return "«" + genPath + "/" + x.Package() + "|" + x.Package() + "»"
		},
		"assertions": assertions,
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
	}
	all, err := render(t, "gen.go.tmpl", executors)
	if err != nil {
		return nil, err
	}
	name := path.Base(genPath)
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
			fmt.Fprintf(&b, "\t\t%s %s%s\n", f.Name, f.Source, tagSource(f.Tag))
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
