package taskkit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskkind"
)

// generatedCodec is a codec of functions as taskgen writes them.
func generatedCodec() taskjson.Codec[json.RawMessage] {
	return taskjson.NewCodec(
		func(v *json.RawMessage) int { return len(*v) },
		func(e *taskjson.Encoder, v *json.RawMessage) { e.Raw(*v) },
		func(d *taskjson.Decoder, v *json.RawMessage) { *v = d.Raw() })
}

// TestCodecs: what a codec reads and writes is checked, by reflection and generated.
func TestCodecs(t *testing.T) {
	t.Parallel()
	tooLarge := `"` + strings.Repeat("x", taskjson.MaxSize) + `"`
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for name, c := range map[string]struct {
			codec   taskjson.Codec[json.RawMessage]
			json    string
			problem taskjson.Problem // "": stored
		}{
			"reflected and good":        {taskjson.Codec[json.RawMessage]{}, `{"a":1}`, ""},
			"reflected, a name twice":   {taskjson.Codec[json.RawMessage]{}, `{"a":1,"a":2}`, taskjson.DuplicateName},
			"reflected, NUL":            {taskjson.Codec[json.RawMessage]{}, `{"a":"\u0000"}`, taskjson.NUL},
			"reflected and too large":   {taskjson.Codec[json.RawMessage]{}, tooLarge, taskjson.TooLarge},
			"generated and good":        {generatedCodec(), `{"a":1}`, ""},
			"generated, a name twice":   {generatedCodec(), `{"a":1,"a":2}`, taskjson.DuplicateName},
			"generated and too large":   {generatedCodec(), tooLarge, taskjson.TooLarge},
			"generated and just so big": {generatedCodec(), tooLarge[:taskjson.MaxSize-1] + `"`, ""},
		} {
			k := taskkit.NewKind(taskkind.Definition[json.RawMessage, countState, string]{
				Name: "raw", Spec: c.codec,
			})
			r := registered(k, &funcs[json.RawMessage, countState]{})
			in := taskkit.WithSchema(schemaOf(db))
			_, typed := taskkit.Submit(t.Context(), db.DB, k, json.RawMessage(c.json), in, taskkit.System())
			_, text := r.SubmitJSON(t.Context(), db.DB, "raw", []byte(c.json), in, taskkit.System())
			for way, err := range map[string]error{"Submit": typed, "SubmitJSON": text} {
				spec, refused := errors.AsType[*taskkit.SpecError](err)
				problem, _ := errors.AsType[*taskjson.Error](err)
				switch {
				case c.problem == "" && err != nil:
					t.Errorf("%s, %s: %v", name, way, err)
				case c.problem != "" && (!refused || spec.Kind != "raw" || problem == nil || problem.Problem != c.problem):
					t.Errorf("%s, %s: %v, want a *SpecError of a *taskjson.Error %s", name, way, err, c.problem)
				}
			}
		}
	})
}
