package taskgen_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"taskkit.dev/internal/taskgen"
	"taskkit.dev/internal/taskgen/schema"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen/everythingtask"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen/shapestask"
	"taskkit.dev/taskkit/taskjson"
)

// TestCorpusFitsItsSchema: what generated code writes fits the schema, and so
// does what is left of it by mutation, if the decoder takes it.
func TestCorpusFitsItsSchema(t *testing.T) {
	t.Parallel()
	out, err := taskgen.Generate(t.Context(), taskgen.Options{Dir: "testdata/corpus", Patterns: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	specCodec, stateCodec, _ := everythingtask.Kind.Codecs()
	shapes, _, _ := shapestask.Kind.Codecs()
	for _, x := range out.Executors {
		switch x.Kind {
		case "every_thing":
		case "shapes":
			if n := fitsAll(t, shapes, compiled(t, schema.Of(x, "spec", x.Spec)), source.shapes); n == 0 {
				t.Error("the decoder takes no mutation of shapes")
			}
			continue
		default:
			continue
		}
		spec := compiled(t, schema.Of(x, "spec", x.Spec))
		state := compiled(t, schema.Of(x, "state", x.State))
		decoded := fitsAll(t, specCodec, spec, source.spec) + fitsAll(t, stateCodec, state, source.state)
		if decoded == 0 {
			t.Error("the decoder takes no mutation")
		}
		t.Logf("%d mutations were decoded", decoded)
	}
}

// fitsAll writes random values, mutates what was written, and returns how many
// mutations the decoder took.
func fitsAll[T any](t *testing.T, c taskjson.Codec[T], s *jsonschema.Schema, random func(source) T) (decoded int) {
	t.Helper()
	for seed := range uint64(300) {
		r := newSource(seed)
		v := random(r)
		doc, err := c.Append(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value(t, doc)); err != nil {
			t.Fatalf("%s is written and does not fit: %v", doc, err)
		}
		for range 30 {
			mutated := mutate(r, doc)
			var again T
			if c.Decode(mutated, &again) != nil {
				continue
			}
			decoded++
			if err := s.Validate(value(t, mutated)); err != nil {
				t.Errorf("%s is read and does not fit: %v", mutated, err)
			}
		}
	}
	return decoded
}

// mutate replaces a value of a document, roughly: from one separator to the next.
func mutate(r source, doc []byte) []byte {
	var at []int
	for i, c := range doc {
		if c == ':' || c == ',' || c == '[' {
			at = append(at, i+1)
		}
	}
	if len(at) == 0 {
		return doc
	}
	from := at[r.IntN(len(at))]
	to := from
	for to < len(doc) && strings.IndexByte(",]}", doc[to]) < 0 {
		to++
	}
	words := []string{"null", "0", "-1", "1", "300", "1.5", "1e3", `""`, `"x"`, `"AA=="`, "true", "[]", "{}", "[null]", `"00000000-0000-0000-0000-000000000000"`, `"2006-01-02T15:04:05Z"`}
	return append(append(append([]byte{}, doc[:from]...), words[r.IntN(len(words))]...), doc[to:]...)
}

func compiled(t *testing.T, data []byte) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", value(t, data)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return s
}

func value(t *testing.T, doc []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return v
}
