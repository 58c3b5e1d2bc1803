package taskgen

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"taskkit.dev/internal/taskgen/testdata/schema/gen/ruledtask"
	"taskkit.dev/taskkit"
)

// executorsIn reads the executors of a directory.
func executorsIn(t *testing.T, dir string) []*Executor {
	t.Helper()
	out, err := Generate(t.Context(), Options{Dir: dir, Patterns: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range out.Diagnostics {
		t.Error(d)
	}
	changes, err := out.Changes()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		t.Errorf("stale: run taskgen in %s\n%s", dir, c.Diff())
	}
	if t.Failed() {
		t.FailNow()
	}
	return out.Executors
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

// errStored is what a database says here: the task was about to be stored.
var errStored = errors.New("stored")

type full struct{}

func (full) ExecContext(context.Context, string, ...any) (sql.Result, error) { return nil, errStored }

// submit does with a document what a server does: decode and submit. It returns
// why it is refused, or nil.
func submit[Spec, State any](t *testing.T, kind *taskkit.Kind[Spec, State], doc string) error {
	t.Helper()
	codec, _ := kind.Codecs()
	var spec Spec
	if err := codec.Decode([]byte(doc), &spec); err != nil {
		return err
	}
	_, err := taskkit.Submit(t.Context(), full{}, kind, spec)
	var refused *taskkit.SpecError
	switch {
	case errors.Is(err, errStored):
		return nil
	case errors.As(err, &refused):
		return err
	}
	t.Fatalf("%s: neither stored nor refused: %v", doc, err)
	return nil
}

// TestSchemaAgreesWithSubmit: what Submit accepts fits the schema; and where the
// table of mappings says so, what fits the schema is accepted.
func TestSchemaAgreesWithSubmit(t *testing.T) {
	t.Parallel()
	x := executorsIn(t, "testdata/schema")[0]
	s := compileSchema(t, schemaOf(x, "spec", x.Spec))
	tried, accepted, exactly := 0, 0, 0
	for _, field := range x.Spec.Fields {
		v := field.Type.Elem.Fields[0]
		exact := keepsExactly(v.Type, v.Rules)
		if exact {
			exactly++
		}
		some := false
		for _, value := range valuesFor(v.Type) {
			doc := fmt.Sprintf(`{%q:{"v":%s}}`, field.JSON, value)
			if value == "" {
				doc = fmt.Sprintf(`{%q:{}}`, field.JSON)
			}
			refused, misfit := submit(t, ruledtask.Kind, doc), fits(t, s, doc)
			tried++
			if refused == nil {
				accepted++
			}
			some = some || refused == nil && value != ""
			switch {
			case refused == nil && misfit != nil:
				t.Errorf("%s validate:%q\n%s is accepted and does not fit: %v", v.Type.Source, v.Rules, doc, misfit)
			case refused != nil && misfit == nil && exact:
				t.Errorf("%s validate:%q\n%s fits and is refused: %v", v.Type.Source, v.Rules, doc, refused)
			}
		}
		if !some && v.Rules.String() != "lt=0" {
			t.Errorf("%s validate:%q: no value that was tried is accepted; add one", v.Type.Source, v.Rules)
		}
	}
	t.Logf("%d fields, %d of them exact; %d documents, %d accepted", len(x.Spec.Fields), exactly, tried, accepted)
}

// keepsExactly reports whether a schema refuses all that the rules refuse.
func keepsExactly(t *Type, rules Rules, open ...*Type) bool {
	for t.Form == Pointer {
		t = t.Elem
	}
	if slices.Contains(open, t) {
		return true // is being looked at
	}
	open = append(open, t)
	if t.Kind == reflect.Invalid || t.Form == Text || t.Form == JSON || t.Form == Raw {
		return false
	}
	for _, r := range rules.List {
		if slices.Contains([]string{"omitempty", "omitzero", "omitnil", "structonly", "nostructlevel", "-"}, r.Name) {
			continue
		}
		for _, a := range r.alternatives() {
			if m := mappingOf(t, a.Name); m == nil || !m.exact || a.Name == "datetime" && a.Param != "2006-01-02" {
				return false
			}
		}
	}
	if rules.Keys != nil && (t.Key.Form != String || !keepsExactly(t.Key, *rules.Keys)) {
		return false
	}
	if rules.Elem == nil {
		return t.Form != Struct || !slices.ContainsFunc(t.Fields, func(f Field) bool {
			return len(f.Through) > 0 || !keepsExactly(f.Type, f.Rules, open...)
		})
	}
	return keepsExactly(t.Elem, *rules.Elem, open...)
}

// TestEveryMappingIsTried: the table has no rule without a case.
func TestEveryMappingIsTried(t *testing.T) {
	t.Parallel()
	x := executorsIn(t, "testdata/schema")[0]
	tried := map[string]bool{}
	var note func(t *Type, rules Rules)
	note = func(t *Type, rules Rules) {
		for t.Form == Pointer {
			t = t.Elem
		}
		for _, r := range rules.List {
			for _, a := range r.alternatives() {
				tried[a.Name+" on "+class(t)] = true
			}
		}
		if rules.Elem != nil && t.Elem != nil {
			note(t.Elem, *rules.Elem)
		}
	}
	for _, f := range x.Spec.Fields {
		note(f.Type.Elem.Fields[0].Type, f.Type.Elem.Fields[0].Rules)
	}
	for _, m := range mappings {
		for name := range strings.FieldsSeq(m.rules) {
			name, _, _ = strings.Cut(name, "=")
			for on := range strings.FieldsSeq(m.on) {
				if !tried[name+" on "+on] {
					t.Errorf("%s on %s has no case in testdata/schema", name, on)
				}
			}
		}
	}
}

// TestSchemasCompile: every schema is one, and the same each time. What they look
// like stands beside the generated code.
func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	for _, x := range executorsIn(t, "testdata/schema/shown") {
		for name, root := range map[string]*Type{"spec": x.Spec, "state": x.State, "result": x.Result} {
			got := schemaOf(x, name, root)
			compileSchema(t, got)
			if again := schemaOf(x, name, root); !bytes.Equal(got, again) {
				t.Errorf("%s %s: two runs differ", x.Kind, name)
			}
		}
	}
}
