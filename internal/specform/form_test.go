package specform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"taskkit.dev/internal/specform"
)

// A kindSchema is a schema that taskgen wrote, with the specimens of its specs.
type kindSchema struct {
	name      string
	schema    []byte
	specimens []string
}

var specimenForm = regexp.MustCompile("Part: \"spec\", Revision: [0-9]+, JSON: `([^`]*)`")

// kinds returns the schemas of the executors, and of the generator's own tests.
func kinds(t *testing.T) (all []kindSchema) {
	t.Helper()
	for _, pattern := range []string{"../../gen/*/spec.schema.json", "../taskgen/testdata/corpus/gen/*/spec.schema.json", "../taskgen/schema/testdata/shown/gen/*/spec.schema.json"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			k := kindSchema{name: filepath.Base(filepath.Dir(name)), schema: read(t, name)}
			source, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "specimens_test.go")) // the generator's own tests have none
			for _, m := range specimenForm.FindAllSubmatch(source, -1) {
				k.specimens = append(k.specimens, string(m[1]))
			}
			all = append(all, k)
		}
	}
	return all
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newForm(t *testing.T, schema string) *specform.Form {
	t.Helper()
	f, err := specform.New([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// same reports whether two documents have the same values, where a member that is null says as much as none.
func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	for text, to := range map[*[]byte]*any{&a: &x, &b: &y} {
		d := json.NewDecoder(strings.NewReader(string(*text)))
		d.UseNumber()
		if err := d.Decode(to); err != nil {
			t.Fatalf("%s: %v", *text, err)
		}
	}
	return reflect.DeepEqual(dropNulls(x), dropNulls(y))
}

func dropNulls(v any) any {
	if o, ok := v.(map[string]any); ok {
		for name, m := range o {
			if m == nil {
				delete(o, name)
				continue
			}
			o[name] = dropNulls(m)
		}
	}
	return v
}

func TestSpecimensReadBack(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, k := range kinds(t) {
		f := newForm(t, string(k.schema))
		for _, spec := range k.specimens {
			tried++
			values, omitted, lost, err := f.Values([]byte(spec))
			if err != nil || len(lost) > 0 {
				t.Errorf("%s: %s: lost %q, %v", k.name, spec, lost, err)
				continue
			}
			for _, name := range omitted { // a person types them again
				values[name] = map[string][]string{"login.password": {"someone@example.org"}, "login.keys": {`{"key":{"values":["text","text"]}}`}}[name]
				if strings.Contains(spec, `"keys":null`) || !strings.Contains(spec, `"keys"`) {
					delete(values, "login.keys")
				}
			}
			again, problems := f.Parse(values)
			if len(problems) > 0 || !same(t, again, []byte(spec)) {
				t.Errorf("%s: %s\nbecomes %q\nand reads back as %s, %v", k.name, spec, values, again, problems)
			}
		}
	}
	if tried < 30 {
		t.Errorf("%d specimens are found", tried)
	}
}

// Whatever a specimen becomes, the form and an independent validator find the same of it.
func TestProblemsAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	words := []string{
		"null", "0", "-1", "300", "1.5", `""`, `"active"`, "true", "[]", "{}", "[null]", `["a","a"]`,
		`"00000000-0000-0000-0000-000000000000"`, `"0190b3a1-7c3e-7000-8000-000000000001"`, `"2006-01-02T15:04:05Z"`, `"2026-02-30T15:04:05Z"`,
		"9223372036854775808", "18446744073709551616", "-9223372036854775809", `"AA=="`, `{"unknown":1}`,
	}
	refused, tried := 0, 0
	for _, k := range kinds(t) {
		f, oracle := newForm(t, string(k.schema)), compiled(t, k.schema)
		for _, spec := range k.specimens {
			for at, c := range spec {
				if !strings.ContainsRune(":,[", c) || len(spec) > 500 && at%5 > 0 { // every fifth value of a large one
					continue
				}
				end := at + 1 + strings.IndexAny(spec[at+1:]+"}", ",]}")
				for _, word := range words {
					doc := spec[:at+1] + word + spec[end:]
					v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
					if err != nil {
						continue
					}
					_, problems := f.Parse(specform.Values{specform.Root: {doc}})
					if _, twice := problemOf(problems, "in an object twice"); twice {
						continue
					}
					tried++
					want := oracle.Validate(v)
					if want != nil {
						refused++
					}
					if (want == nil) != (len(problems) == 0) {
						t.Errorf("%s: %s: %v, want %v", k.name, doc, problems, want)
					}
				}
			}
		}
	}
	if tried < 1000 || refused < 300 || refused == tried {
		t.Errorf("%d documents are tried, of which %d do not fit", tried, refused)
	}
}

func problemOf(problems specform.Problems, part string) (specform.Problem, bool) {
	for _, p := range problems {
		if strings.Contains(p.Text, part) {
			return p, true
		}
	}
	return specform.Problem{}, false
}

func compiled(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFields shows the fields of two kinds.
func TestFields(t *testing.T) {
	t.Parallel()
	early := newForm(t, string(read(t, "../../gen/earlyalerttask/spec.schema.json")))
	shown := newForm(t, string(read(t, "../taskgen/schema/testdata/shown/gen/showntask/spec.schema.json")))
	if early.Targets == nil || early.Targets.Name != "targets.people" || early.Targets.MaxItems != 100_000 {
		t.Errorf("the targets are %+v", early.Targets)
	}
	if want := "Spec has the people to raise an alert for, and the reason."; early.Help != want {
		t.Errorf("the help is %q, want %q", early.Help, want)
	}
	for _, c := range []struct {
		form *specform.Form
		name string
		want specform.Field
	}{
		{early, "targets", specform.Field{Pointer: "/targets", Label: "Targets", Help: "Targets are the people whom the alert is about.", Type: specform.Group}},
		{early, "targets.people", specform.Field{Pointer: "/targets/people", Label: "People", Help: "People lists them by id.", Type: specform.List, Nullable: true, MaxItems: 100_000, Unique: true}},
		{early, "targets.query", specform.Field{Pointer: "/targets/query", Label: "Query", Help: "Query chooses them when the task runs.", Type: specform.Group, Nullable: true}},
		{early, "targets.query.alert", specform.Field{Pointer: "/targets/query/alert", Label: "Alert", Help: "Alert is a task that has raised an early alert for the people.", Type: specform.UUID}},
		{early, "targets.none", specform.Field{Pointer: "/targets/none", Label: "None", Help: "None is for an action without people, which creates something.", Type: specform.Boolean}},
		{early, "category", specform.Field{Pointer: "/category", Label: "Category", Help: "Category is the kind of concern.", Type: specform.Choice, Required: true, Enum: []string{"attendance", "grades", "wellbeing", "finance", "other"}}},
		{early, "mail.subject", specform.Field{Pointer: "/mail/subject", Label: "Subject", Help: "Subject is one line.", Type: specform.Text, Required: true, MinLength: 1, MaxLength: 200}},
		{shown, "people", specform.Field{Pointer: "/people", Label: "People", Help: "People are those concerned.", Type: specform.List, Required: true, MinItems: 1, MaxItems: 1000, Unique: true}},
		{shown, "color", specform.Field{Pointer: "/color", Label: "Color", Help: "Color is a color as in CSS.", Type: specform.Text}},
		{shown, "home.street", specform.Field{Pointer: "/home" + "/street", Label: "Street", Type: specform.Text, Required: true, MinLength: 1, MaxLength: 200}},
		{shown, "others", specform.Field{Pointer: "/others", Label: "Others", Help: "Others are not checked, since nothing dives into them.", Type: specform.List, Nullable: true}},
		{shown, "by_name", specform.Field{Pointer: "/by_name", Label: "By name", Type: specform.Map, Nullable: true}},
		{shown, "wait", specform.Field{Pointer: "/wait", Label: "Wait", Help: "Wait is how long to wait.", Type: specform.Integer, Required: true, Min: "1000000000", Max: "3600000000000"}},
		{shown, "since", specform.Field{Pointer: "/since", Label: "Since", Type: specform.Time, Nullable: true}},
		{shown, "data", specform.Field{Pointer: "/data", Label: "Data", Type: specform.Bytes, Nullable: true}},
		{shown, "login.password", specform.Field{Pointer: "/login/password", Label: "Password", Type: specform.Text, Required: true, Secret: true, HasSecrets: true, MinLength: 8}},
		{shown, "login.keys", specform.Field{Pointer: "/login/keys", Label: "Keys", Type: specform.Map, Nullable: true, HasSecrets: true}},
		{shown, "part.level", specform.Field{Pointer: "/part/level", Label: "Level", Help: "Level is an enum.\n\n- 1: Low is little.\n- 2: High is much.", Type: specform.Choice, Enum: []string{"1", "2", "0"}}},
	} {
		got := c.form.Field(c.name)
		if got == nil {
			t.Errorf("there is no field %s", c.name)
			continue
		}
		c.want.Name = c.name
		if g, w := describe(got), describe(&c.want); g != w {
			t.Errorf("the field is\n%s\nwant\n%s", g, w)
		}
	}
	var names []string
	for f := range shown.All() {
		names = append(names, f.Name)
	}
	if got, want := strings.Join(names, " "), "people status color home home.street home.mail work work.street work.mail others by_name wait since data score login login.user login.password login.keys part part.size part.month part.level"; got != want {
		t.Errorf("the fields are %s, want %s", got, want)
	}
}

func describe(f *specform.Field) string {
	return fmt.Sprintf("%q %q %q %q type %d required %t nullable %t secret %t %t enum %q numbers %q %q length %d %d items %d %d unique %t",
		f.Name, f.Pointer, f.Label, f.Help, f.Type, f.Required, f.Nullable, f.Secret, f.HasSecrets, f.Enum, f.Min, f.Max, f.MinLength, f.MaxLength, f.MinItems, f.MaxItems, f.Unique)
}

// A schema of another application cannot exhaust the stack, the memory or the time of a program: a definition that leads to itself, or to very many
// others of the same value, is refused, and a form has a bounded number of fields.
func TestEndlessSchemas(t *testing.T) {
	t.Parallel()
	var doubled, wide strings.Builder
	for i := range 30 {
		fmt.Fprintf(&doubled, `"D%d": {"allOf": [{"$ref": "#/$defs/D%d"}, {"$ref": "#/$defs/D%[2]d"}]}, `, i, i+1)
		fmt.Fprintf(&wide, `"D%d": {"type": "object", "properties": {`, i)
		for j := range 40 {
			fmt.Fprintf(&wide, `"p%d": {"$ref": "#/$defs/D%d"}, `, j, i+1)
		}
		wide.WriteString(`"last": {}}}, `)
	}
	for _, defs := range []string{
		`"A": {"$ref": "#/$defs/A"}`,
		`"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]}`,
		`"A": {"not": {"$ref": "#/$defs/A"}}`,
		`"A": {"if": {"type": "string"}, "then": {"$ref": "#/$defs/A"}}`,
		doubled.String() + `"D30": {}`,
	} {
		_, err := specform.New([]byte(`{"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {` + defs + `}}`))
		if err == nil || !strings.Contains(err.Error(), " leads to itself, or to more than 1000 others of the same value") {
			t.Errorf("%s: %v", defs, err)
		}
	}
	f, err := specform.New([]byte(`{"type": "object", "properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": {` + wide.String() + `"D30": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range f.All() {
		n++
	}
	if n < 2000 || n > 2500 {
		t.Errorf("a form of many fields has %d", n)
	}
}
