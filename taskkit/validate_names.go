package taskkit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-playground/validator/v10"
)

// jsonName returns the name of a field in JSON.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" || name == "-" {
		return f.Name
	}
	return name
}

// The rules of validator whose parameters name other fields.
var (
	// One field, next to the field of the rule.
	siblingRules = []string{
		"eqfield", "nefield", "gtfield", "gtefield", "ltfield", "ltefield", "fieldcontains", "fieldexcludes",
		"required_with", "required_with_all", "required_without", "required_without_all",
		"excluded_with", "excluded_with_all", "excluded_without", "excluded_without_all",
	}
	// Fields by turns with values, next to the field of the rule.
	pairRules = []string{"required_if", "required_unless", "excluded_if", "excluded_unless", "skip_unless"}
	// One field, from the spec down.
	rootRules = []string{"eqcsfield", "necsfield", "gtcsfield", "gtecsfield", "ltcsfield", "ltecsfield"}
)

// jsonParam returns the parameter of the rule of a value. Where it names fields of Go they
// are called by their JSON names.
func (p location) jsonParam(f validator.FieldError) string {
	rule, param := f.Tag(), f.Param()
	switch {
	case rule == "unique":
		return jsonNames(elem(p.value), param)
	case slices.Contains(rootRules, rule):
		return jsonNames(p.root, param)
	case slices.Contains(siblingRules, rule):
		words := strings.Fields(param)
		for i, w := range words {
			words[i] = jsonNames(p.parent, w)
		}
		return strings.Join(words, " ")
	case slices.Contains(pairRules, rule):
		words := strings.Split(param, " ")
		for i := 0; i < len(words); i += 2 {
			words[i] = jsonNames(p.parent, words[i])
		}
		return strings.Join(words, " ")
	default:
		return param
	}
}

// jsonNames returns the JSON names of a path of Go fields that begins at t, or
// the path itself where it leads nowhere.
func jsonNames(t reflect.Type, path string) string {
	words := strings.Split(path, ".")
	for i, w := range words {
		name, index, indexed := strings.Cut(w, "[")
		f, ok := field(t, name)
		if !ok {
			return path
		}
		words[i] = jsonName(f)
		if indexed {
			words[i] += "[" + index
		}
		t = elem(f.Type)
	}
	return strings.Join(words, ".")
}

func field(t reflect.Type, name string) (reflect.StructField, bool) {
	if t = elem(t); t == nil || t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return t.FieldByName(name)
}

// elem returns the type within pointers, lists and maps.
func elem(t reflect.Type) reflect.Type {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	return t
}
