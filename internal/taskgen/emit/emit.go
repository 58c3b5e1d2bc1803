package emit

import (
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
	"taskkit.dev/internal/taskgen/schema"
)

//go:embed templates/*.tmpl
var templateFiles embed.FS

// File is a generated file. Its name is relative to the output directory, with
// slashes.
type File struct {
	Name string
	Data []byte
}

// Target says what the generated packages are called.
type Target struct {
	Path   string // import path of the package that registers all
	Name   string // of that package
	Module string // path of the module that both belong to
}

// Files makes the files of executors sorted by kind.
func Files(executors []*model.Executor, to Target) ([]File, error) {
	w := writer{to: to, shared: share(executors, to.Path)}
	if err := w.parse(); err != nil {
		return nil, err
	}
	for _, x := range executors {
		w.kind(x)
	}
	for _, p := range w.shared.packages {
		w.sharedPackage(p)
	}
	doc := fmt.Sprintf("%s\n\n// Package %s registers the executors of this module with a worker.", model.Header, to.Name)
	body := w.render("gen.go.tmpl", executors)
	w.file(to.Name+".go", doc, to.Name, body, identifiers(body))
	return w.files, w.err
}

// writer makes files. After the first error it does nothing.
type writer struct {
	to     Target
	shared sharing
	t      *template.Template
	files  []File
	err    error
}

// parse reads the templates.
func (w *writer) parse() (err error) {
	w.t, err = template.New("").Funcs(template.FuncMap{
		"taskkit":  func() string { return "«" + model.RuntimePath + "|taskkit»" },
		"taskkind": func() string { return "«" + model.RuntimePath + "/taskkind|taskkind»" },
		"import":   func(path string) string { return "«" + path + "|_»" },
		"quote":    func(s string) string { return fmt.Sprintf("%q", s) },
		"raw": func(s string) string {
			if strings.Contains(s, "`") {
				return fmt.Sprintf("%q", s)
			}
			return "`" + s + "`"
		},
		"kindpkg": func(x *model.Executor) string {
			return "«" + w.to.Path + "/" + x.Package() + "|" + x.Package() + "»"
		},
		"assertions": func(x *model.Executor) string { return assertions(w.shared.local(x)) },
		"shared":     func(p *sharedPackage) string { return assertions(w.shared.all(p)) },
		"functions":  func(p *sharedPackage) string { return p.marshalling(w.shared) },
		"codecs":     func(x *model.Executor) string { return codecs(x, w.shared) },
		"fields":     fieldsComment,
		"upgrades":   upgradeFields,
		"reads":      readsList,
		"specimens":  func(x *model.Executor) []lock.Specimen { return lock.Specimens(x.History) },
	}).ParseFS(templateFiles, "templates/*.tmpl")
	return err
}

// kind makes the files of one executor.
func (w *writer) kind(x *model.Executor) {
	pkg := x.Package()
	doc := fmt.Sprintf("%s\n//\n// Source: %s\n", model.Header, x.Source)
	kind, json, specimens := w.render("kind.go.tmpl", x), marshalling(x, w.shared), w.render("specimens_test.go.tmpl", x)
	reserved := identifiers(kind, json, specimens)
	w.file(path.Join(pkg, pkg+".go"), fmt.Sprintf("%s\n// Package %s submits tasks of kind %s and reads them.", doc, pkg, x.Kind), pkg, kind, reserved)
	w.file(path.Join(pkg, "json.go"), doc, pkg, json, reserved)
	w.add(path.Join(pkg, "spec.schema.json"), schema.Of(x, "spec", x.Spec))
	if x.Result != nil {
		w.add(path.Join(pkg, "result.schema.json"), schema.Of(x, "result", x.Result))
	}
	w.file(path.Join(pkg, "specimens_test.go"), doc, pkg, specimens, reserved)
}

// sharedPackage makes the file of a package of shared types.
func (w *writer) sharedPackage(p *sharedPackage) {
	doc := fmt.Sprintf("%s\n\n// Package %s writes and reads types of package %s, for all\n// kinds that store them.",
		model.Header, p.name, p.declares)
	body := w.render("shared.go.tmpl", p)
	w.file(path.Join(p.name, p.name+".go"), doc, p.name, body, identifiers(body))
}

// file adds a Go file.
func (w *writer) file(name, doc, pkg, body string, reserved map[string]bool) {
	if w.err != nil {
		return
	}
	var data []byte
	data, w.err = finish(name, doc, pkg, body, w.to.Module, reserved)
	w.add(name, data)
}

// add adds a file.
func (w *writer) add(name string, data []byte) {
	w.files = append(w.files, File{Name: name, Data: data})
}

// render executes a template.
func (w *writer) render(name string, data any) string {
	if w.err != nil {
		return ""
	}
	var b strings.Builder
	w.err = w.t.ExecuteTemplate(&b, name, data)
	return b.String()
}

// assertions writes, for every struct among types, a call that compiles only while
// its fields, their types and their tags are as they were.
func assertions(types []*model.Type) string {
	var b strings.Builder
	for _, t := range types {
		if t.Form != model.Struct || !t.Named {
			continue
		}
		fmt.Fprintf(&b, "\t«%s/taskkind|taskkind».RunGoGenerate_typeHasChanged[%s](", model.RuntimePath, t.Source)
		if len(t.Declared) == 0 {
			b.WriteString("struct{}{})\n")
			continue
		}
		b.WriteString("struct {\n")
		for _, f := range t.Declared {
			name := f.Name
			if f.Embedded {
				name = ""
			}
			fmt.Fprintf(&b, "\t\t%s %s%s\n", name, f.Source, tagSource(f.Tag))
		}
		b.WriteString("\t}{})\n")
	}
	return b.String()
}

// fieldsComment returns the stored fields of a type as lines of a doc comment.
func fieldsComment(t *model.Type) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	for _, f := range t.Fields {
		source := model.Marked.ReplaceAllString(strings.ReplaceAll(f.Type.Source, "\n", " "), "$2")
		fmt.Fprintf(w, "%s\t%s\t`json:%q`\n", f.Go, source, f.JSON)
	}
	_ = w.Flush() // to memory
	if b.Len() == 0 {
		return "."
	}
	return ":\n\t//\n\t//\t" + strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", "\n\t//\t")
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

// upgradeFields returns the fields of a taskkind.Upgrade for each revision that
// Has upgrade functions.
func upgradeFields(x *model.Executor) (out []string) {
	last := 0
	for _, u := range x.Upgrades {
		field := fmt.Sprintf("%s: %s", model.Upper(u.Part), u.Source)
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
func readsList(x *model.Executor) string {
	if len(x.History) == x.Revision {
		return ""
	}
	var numbers []string
	for _, r := range x.History {
		numbers = append(numbers, strconv.Itoa(r.Number))
	}
	return strings.Join(numbers, ", ")
}
