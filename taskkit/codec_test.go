package taskkit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"taskkit.dev/internal/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// lax is a codec that passes on whatever there is.
func lax(strict bool) taskkit.Codec[json.RawMessage] {
	return taskkit.Codec[json.RawMessage]{
		Append: func(dst []byte, v *json.RawMessage) ([]byte, error) { return append(dst, *v...), nil },
		Decode: func(src []byte, v *json.RawMessage) error { *v = src; return nil },
		Strict: strict,
	}
}

// What a codec that does not call itself strict reads and writes is held to the
// rules; one that does is taken at its word, but for the size of what it writes.
func TestCodecStrict(t *testing.T) {
	t.Parallel()
	tooLarge := `"` + strings.Repeat("x", taskkit.MaxJSON) + `"`
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		migrated(t, db)
		for name, c := range map[string]struct {
			strict  bool
			json    string
			problem taskjson.Problem // "": stored
		}{
			"lax and good":           {false, `{"a":1}`, ""},
			"lax, a name twice":      {false, `{"a":1,"a":2}`, taskjson.DuplicateName},
			"lax, NUL":               {false, `{"a":"\u0000"}`, taskjson.NUL},
			"lax and too large":      {false, tooLarge, taskjson.TooLarge},
			"strict and good":        {true, `{"a":1}`, ""},
			"strict, a name twice":   {true, `{"a":1,"a":2}`, ""},
			"strict and too large":   {true, tooLarge, taskjson.TooLarge},
			"strict and just so big": {true, tooLarge[:taskkit.MaxJSON-1] + `"`, ""},
		} {
			k := taskkit.NewKind(taskkit.Definition[json.RawMessage, countState]{
				Name: "raw", Spec: lax(c.strict), State: taskkit.Reflected[countState](),
			})
			r := registered(k, &funcs[json.RawMessage, countState]{})
			in := taskkit.InSchema(schemaOf(db))
			_, typed := taskkit.Submit(t.Context(), db.DB, k, json.RawMessage(c.json), in)
			_, text := r.SubmitJSON(t.Context(), db.DB, "raw", []byte(c.json), in)
			for way, err := range map[string]error{"Submit": typed, "SubmitJSON": text} {
				spec, refused := errors.AsType[*taskkit.SpecError](err)
				problem, _ := errors.AsType[*taskkit.JSONError](err)
				switch {
				case c.problem == "" && err != nil:
					t.Errorf("%s, %s: %v", name, way, err)
				case c.problem != "" && (!refused || spec.Kind != "raw" || problem == nil || problem.Problem != c.problem):
					t.Errorf("%s, %s: %v, want a *SpecError of a *JSONError %s", name, way, err, c.problem)
				}
			}
		}
	})
}
