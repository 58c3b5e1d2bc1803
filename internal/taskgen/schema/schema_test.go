package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"taskkit.dev/internal/taskgen/load"
	"taskkit.dev/internal/taskgen/model"
)

// executorsIn reads the executors of a directory.
func executorsIn(t *testing.T, dir string) []*model.Executor {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	genPath, _, err := load.ImportPath(filepath.Join(dir, "gen"))
	if err != nil {
		t.Fatal(err)
	}
	pkgs, fset, err := load.Packages(t.Context(), dir, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	found, wrong := load.Resolve(pkgs, fset, dir, genPath)
	sorted, more := model.Check(found)
	for _, d := range append(wrong, more...) {
		t.Error(d)
	}
	if t.Failed() {
		t.FailNow()
	}
	return sorted
}

// compileSchema compiles a schema. Formats are asserted, which a schema may not
// rely upon, and must bear.
func compileSchema(t *testing.T, data []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return s
}

// fits validates a document.
func fits(t *testing.T, s *jsonschema.Schema, doc string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return s.Validate(v)
}

// submitAll generates the code of testdata in a module of its own and submits
// documents through it. It returns for each why it was refused, or "".
func submitAll(t *testing.T, docs []string) []string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module taskkit.dev\n", "module example.test\n", 1) +
		"\nrequire taskkit.dev v0.0.0\n\nreplace taskkit.dev => " + root + "\n"
	for name, data := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var in, out, errs bytes.Buffer
	for _, doc := range docs {
		if err := json.NewEncoder(&in).Encode(doc); err != nil {
			t.Fatal(err)
		}
	}
	command := func(stdin io.Reader, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, stdin, &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, errs.String())
		}
	}
	command(nil, "run", "taskkit.dev/cmd/taskgen", ".")
	command(&in, "run", "./submit")
	refused := make([]string, len(docs))
	answers := json.NewDecoder(&out)
	for i := range refused {
		if err := answers.Decode(&refused[i]); err != nil {
			t.Fatal(err)
		}
	}
	return refused
}

// tried is a document and the field of the spec that it sets.
type tried struct {
	field *model.Field
	value string // "" is left out
	doc   string
}

// documents returns a document for each value of each field of a spec.
func documents(spec *model.Type) (all []tried) {
	for i := range spec.Fields {
		field := &spec.Fields[i]
		for _, value := range valuesFor(field.Type.Elem.Fields[0].Type) {
			doc := fmt.Sprintf(`{%q:{"v":%s}}`, field.JSON, value)
			if value == "" {
				doc = fmt.Sprintf(`{%q:{}}`, field.JSON)
			}
			all = append(all, tried{field, value, doc})
		}
	}
	return all
}

// TestSchemaAgreesWithSubmit: what Submit accepts fits the schema; and where the
// table of mappings says so, what fits the schema is accepted.
func TestSchemaAgreesWithSubmit(t *testing.T) {
	t.Parallel()
	x := executorsIn(t, "testdata")[0]
	s := compileSchema(t, Of(x, "spec", x.Spec))
	all := documents(x.Spec)
	docs := make([]string, len(all))
	for i, d := range all {
		docs[i] = d.doc
	}
	accepted := map[string]int{} // values by field, but not a missing one
	count := 0
	for i, refused := range submitAll(t, docs) {
		d := all[i]
		v := d.field.Type.Elem.Fields[0]
		misfit := fits(t, s, d.doc)
		if refused == "" {
			count++
			if d.value != "" {
				accepted[d.field.JSON]++
			}
		}
		switch {
		case refused == "" && misfit != nil:
			t.Errorf("%s validate:%q\n%s is accepted and does not fit: %v", v.Type.Source, v.Rules, d.doc, misfit)
		case refused != "" && misfit == nil && keepsExactly(v.Type, v.Rules):
			t.Errorf("%s validate:%q\n%s fits and is refused: %v", v.Type.Source, v.Rules, d.doc, refused)
		}
	}
	for _, f := range x.Spec.Fields {
		if v := f.Type.Elem.Fields[0]; accepted[f.JSON] == 0 && v.Rules.String() != "lt=0" {
			t.Errorf("%s validate:%q: no value that was tried is accepted; add one", v.Type.Source, v.Rules)
		}
	}
	t.Logf("%d fields; %d documents, %d accepted", len(x.Spec.Fields), len(docs), count)
}

// keepsExactly reports whether a schema refuses all that the rules refuse.
func keepsExactly(t *model.Type, rules model.Rules, open ...*model.Type) bool {
	for t.Form == model.Pointer {
		t = t.Elem
	}
	if slices.Contains(open, t) {
		return true // is being checked further up
	}
	open = append(open, t)
	if t.Kind == reflect.Invalid || t.Form == model.Text || t.Form == model.JSON || t.Form == model.Raw {
		return false
	}
	for _, r := range rules.List {
		if slices.Contains([]string{"omitempty", "omitzero", "omitnil", "structonly", "nostructlevel", "-"}, r.Name) {
			continue
		}
		for _, a := range r.Alternatives() {
			if m := mappingOf(t, a.Name); m == nil || !m.exact || a.Name == "datetime" && a.Param != "2006-01-02" {
				return false
			}
		}
	}
	if rules.Keys != nil && (t.Key.Form != model.String || !keepsExactly(t.Key, *rules.Keys)) {
		return false
	}
	if rules.Elem == nil {
		return t.Form != model.Struct || !slices.ContainsFunc(t.Fields, func(f model.Field) bool {
			return len(f.Through) > 0 || !keepsExactly(f.Type, f.Rules, open...)
		})
	}
	return keepsExactly(t.Elem, *rules.Elem, open...)
}

// TestEveryMappingIsTried: the table has no rule without a case.
func TestEveryMappingIsTried(t *testing.T) {
	t.Parallel()
	x := executorsIn(t, "testdata")[0]
	tried := map[string]bool{}
	var record func(t *model.Type, rules model.Rules)
	record = func(t *model.Type, rules model.Rules) {
		for t.Form == model.Pointer {
			t = t.Elem
		}
		for _, r := range rules.List {
			for _, a := range r.Alternatives() {
				tried[a.Name+" on "+class(t)] = true
			}
		}
		if rules.Elem != nil && t.Elem != nil {
			record(t.Elem, *rules.Elem)
		}
	}
	for _, f := range x.Spec.Fields {
		record(f.Type.Elem.Fields[0].Type, f.Type.Elem.Fields[0].Rules)
	}
	for _, m := range mappings {
		for name := range strings.FieldsSeq(m.rules) {
			name, _, _ = strings.Cut(name, "=")
			for on := range strings.FieldsSeq(m.on) {
				if !tried[name+" on "+on] {
					t.Errorf("%s on %s has no case in testdata", name, on)
				}
			}
		}
	}
}

// TestSchemasCompile: every schema is one, and the same each time. What they look
// like stands beside the generated code.
func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	for _, x := range executorsIn(t, "testdata/shown") {
		for name, root := range map[string]*model.Type{"spec": x.Spec, "state": x.State, "result": x.Result} {
			got := Of(x, name, root)
			compileSchema(t, got)
			if again := Of(x, name, root); !bytes.Equal(got, again) {
				t.Errorf("%s %s: two runs differ", x.Kind, name)
			}
		}
	}
}
