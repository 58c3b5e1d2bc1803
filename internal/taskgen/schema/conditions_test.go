package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	"taskkit.dev/internal/taskgen/model"
)

// Base is embedded.
type Base struct {
	E string
	F string `validate:"required_with=E"`
}

// TestConditions: where a rule asks for a field because of others, so does the
// schema, and nowhere else.
func TestConditions(t *testing.T) {
	t.Parallel()
	str := &model.Type{Form: model.String, Kind: reflect.String, Source: "string"}
	num := &model.Type{Form: model.Int, Kind: reflect.Int, Source: "int"}
	flag := &model.Type{Form: model.Bool, Kind: reflect.Bool, Source: "bool"}
	spec := func(rules string) *model.Type {
		return &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "Spec", Fields: []model.Field{
			{Go: "A", JSON: "a", Type: str, Rules: model.ParseRules(rules)},
			{Go: "B", JSON: "b", Type: str},
			{Go: "C", JSON: "c", Type: num},
			{Go: "D", JSON: "d", Type: flag},
			{Go: "Base.E", JSON: "e", Type: str},
			{Go: "Base.F", JSON: "f", Type: str, Rules: model.ParseRules("required_with=E")},
			{Go: "Far.G", JSON: "g", Type: str, Through: []model.Through{{Go: "Far"}}},
		}, Declared: []model.Declared{{Name: "A"}, {Name: "B"}, {Name: "C"}, {Name: "D"}, {Name: "Base", Embedded: true}, {Name: "Far", Embedded: true}}}
	}
	for _, c := range []struct {
		rules, doc string
		fits       bool
	}{
		{"required_with=B", `{}`, true},
		{"required_with=B", `{"b":""}`, true},
		{"required_with=B", `{"b":"x"}`, false},
		{"required_with=B", `{"b":"x","a":""}`, false},
		{"required_with=B", `{"b":"x","a":"y"}`, true},
		{"required_with=B C", `{"c":1}`, false},
		{"required_with=B C", `{"c":0}`, true},
		{"omitempty,required_with=B", `{"b":"x"}`, true},
		{"required_if=B x", `{"b":"x"}`, false},
		{"required_if=B x", `{"b":"y"}`, true},
		{"required_if=B x", `{"b":"x","a":"y"}`, true},
		{"required_if=C 3", `{"c":3}`, false},
		{"required_if=C 3", `{"c":4}`, true},
		{"required_if=D true", `{"d":true}`, false},
		{"required_if=D true", `{"d":false}`, true},
		{"required_if=B x D true", `{"b":"x"}`, true},
		{"required_if=B x D true", `{"b":"x","d":true}`, false},
		{"required_with=E", `{"e":"x","f":"y"}`, false},
		{"required_with=E", `{"e":"x","f":"y","a":"z"}`, true},
		{"required_if=E x D true", `{"e":"x","f":"y","d":true}`, false},
		{"required_if=E x D true", `{"e":"x","f":"y","d":false}`, true},
		{"", `{"e":"x"}`, false},
		{"", `{"e":"x","f":"y"}`, true},
		{"", `{"e":""}`, true},
		{"required_with=G", `{"g":"x"}`, true}, // not where the struct may be nil
		{"required_if=B x|required_if=D true", `{"b":"x"}`, true},
	} {
		root := spec(c.rules)
		x := &model.Executor{Kind: "k", Spec: root, State: root}
		s := compileSchema(t, Of(x, "spec", root))
		if err := fits(t, s, c.doc); (err == nil) != c.fits {
			t.Errorf("%q on %s: fits %t, want %t: %v", c.rules, c.doc, err == nil, c.fits, err)
		}
		v := reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[string](), Tag: model.ValidateTag(c.rules)},
			{Name: "B", Type: reflect.TypeFor[string]()},
			{Name: "C", Type: reflect.TypeFor[int]()},
			{Name: "D", Type: reflect.TypeFor[bool]()},
			{Name: "Base", Type: reflect.TypeFor[Base](), Anonymous: true},
		}))
		if err := json.Unmarshal([]byte(c.doc), v.Interface()); err != nil {
			t.Fatal(err)
		}
		if refused, _ := model.Validates(v); !refused && !c.fits {
			t.Errorf("%q: validator takes %s", c.rules, c.doc)
		}
	}
}
