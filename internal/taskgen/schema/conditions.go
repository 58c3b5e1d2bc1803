package schema

import (
	"reflect"
	"slices"

	"taskkit.dev/internal/taskgen/model"
)

// conditions returns what required_if and required_with say, as if and then. They
// are written for fields of one object whose zero value is one value, where nothing
// in front of the rule, such as omitempty, takes the value first. Fields of embedded
// structs are fields of the object too.
func conditions(t *model.Type) (all []schema) {
	for _, f := range t.Fields {
		if !conditional(f) {
			continue
		}
		for _, r := range f.Rules.List {
			if slices.Contains([]string{"omitempty", "omitzero", "omitnil", "-", "structonly", "nostructlevel"}, r.Name) {
				break
			}
			for _, when := range premises(t, f, r) {
				all = append(all, schema{
					"if": when,
					"then": schema{
						"required": []string{f.JSON}, "properties": properties{{f.JSON, schema{"not": zeroSchema(f.Type, false)}}},
					},
				})
			}
		}
	}
	return all
}

// conditional reports whether a field can be in a condition.
func conditional(f model.Field) bool {
	scalar := f.Type.Form == model.String || f.Type.Form == model.Bool || f.Type.Form == model.Int || f.Type.Form == model.Uint
	return scalar && f.Type.Kind != reflect.Invalid && len(f.Through) == 0
}

// premises returns the schemas of objects in which a rule requires its field, or
// none when one of the fields that it names cannot be in a condition.
func premises(t *model.Type, of model.Field, r model.Rule) (all []schema) {
	words, step := r.Listed(), 1
	switch r.Name {
	case "required_if":
		step = 2
	case "required_with":
	default:
		return nil
	}
	var required []string
	var values properties
	for i := 0; i+step <= len(words); i += step {
		other, ok := t.Sibling(of, words[i])
		if !ok || !conditional(other) {
			return nil
		}
		value := schema{"not": zeroSchema(other.Type, false)}
		if step == 1 { // each alone suffices
			all = append(all, schema{"required": []string{other.JSON}, "properties": properties{{other.JSON, value}}})
			continue
		}
		value = equal(ruled{t: other.Type}, model.Rule{Name: "eq", Param: words[i+1]})
		if other.Type.Form == model.Int || other.Type.Form == model.Uint {
			value = compared(ruled{t: other.Type}, model.Rule{Name: "eq", Param: words[i+1]})
		}
		if len(value) == 0 || other.Type.Form == model.Bool && words[i+1] != "true" && words[i+1] != "false" {
			return nil
		}
		required, values = append(required, other.JSON), append(values, property{other.JSON, value})
	}
	if step == 2 && len(required) > 0 {
		all = []schema{{"required": required, "properties": values}}
	}
	return all
}
