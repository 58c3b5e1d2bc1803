package openapi_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// drawBody draws the body of a request.
func (g *generator) drawBody(t *rapid.T, r *request, o operation) {
	if !o.RequestBody.Value.Required && often(t, 30, "no body") {
		return
	}
	r.header.Set("Content-Type", "application/json")
	value := g.value(t, o.RequestBody.Value.Content["application/json"].Schema, 0)
	if spec, ok := value.(map[string]any); ok && spec["token"] != nil {
		spec["token"] = secretMarker
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("a value of the document cannot be encoded: %v", err)
	}
	r.body = string(raw)
	if often(t, 40, "other body") {
		mutation := rapid.SampledFrom(mutations).Draw(t, "mutation")
		r.body, r.valid = mutation(t, r.body), false
	}
}

// mutations make another body of one.
var mutations = []func(t *rapid.T, body string) string{
	func(t *rapid.T, body string) string { return body[:rapid.IntRange(0, len(body)-1).Draw(t, "cut")] },
	func(t *rapid.T, body string) string { // a byte more
		at := rapid.IntRange(0, len(body)).Draw(t, "at")
		return body[:at] + string([]byte{rapid.Byte().Draw(t, "byte")}) + body[at:]
	},
	func(t *rapid.T, _ string) string {
		n := rapid.SampledFrom([]int{10, 100, 1000, 10_000, maxBody - 10}).Draw(t, "levels")
		return strings.Repeat(rapid.SampledFrom([]string{"[", `{"below":`, `{"":`}).Draw(t, "level"), n)
	},
	func(t *rapid.T, _ string) string { // levels that are closed again
		n := rapid.SampledFrom([]int{10, 100, 1000, 5000}).Draw(t, "levels")
		return `{"mode":"done","items":[],"below":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	},
	func(t *rapid.T, _ string) string {
		n := rapid.SampledFrom([]int{maxBody - 50, maxBody, maxBody + 1, 2 * maxBody}).Draw(t, "bytes")
		return `{"mode":"done","items":[],"token":"` + strings.Repeat("x", n) + `"}`
	},
	func(_ *rapid.T, body string) string { // each name twice
		if !strings.HasPrefix(body, "{") || body == "{}" {
			return `{"reason":"a","reason":"b"}`
		}
		return body[:len(body)-1] + "," + body[1:]
	},
	func(_ *rapid.T, body string) string { return body + body },
	func(_ *rapid.T, body string) string { return strings.ToUpper(body) },
	func(*rapid.T, string) string { return "\ufeff{}" },
	func(t *rapid.T, _ string) string { // a value of another type
		return rapid.SampledFrom([]string{
			"", " ", "null", "true", "0", "-0", "1e400", "[]", "{}", `""`, `{"":{}}`, "NaN", "//", `{"reason":1}`, `{"priority":5}`, `{"priority":null}`, `{"priority":1.5}`, `{"maxParallel":0}`, `{"rate":1}`, `{"reason":null}`, `{"reason":"\u0000"}`,
			`{"mode":"done","items":[1]}`, `{"mode":"done","items":["\ud800"]}`, `{"mode":"done","items":["` + "\xff" + `"]}`, `{"mode":"done","items":[],"count":128}`,
			`{"mode":"done","items":[],"count":1.5}`, `{"mode":"done","items":[],"share":1e999}`, `{"mode":"done","items":[],"Mode":"done"}`,
			`{"mode":"` + strings.Repeat("x", 10_000) + `","items":[]}`, `{"mode":"done","items":{"0":"a"}}`, `{"mode":["done"],"items":[]}`,
		}).Draw(t, "value")
	},
	func(t *rapid.T, _ string) string { return rapid.String().Draw(t, "text") },
	func(t *rapid.T, _ string) string {
		return fmt.Sprintf(`{"mode":"done","items":[],%q:%q}`, rapid.String().Draw(t, "name"), rapid.String().Draw(t, "text"))
	},
}
