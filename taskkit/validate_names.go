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

// jsonParam returns the parameter of a rule. Where it names fields of Go they are
// called by their JSON names. t is the type of the spec.
func jsonParam(t reflect.Type, f validator.FieldError) string {
	rule, param := f.Tag(), f.Param()
	parent := t
	if !slices.Contains(rootRules, rule) {
		parent = parentOf(t, f.StructNamespace())
	}
	switch {
	case rule == "unique":
		return jsonNames(elem(fieldType(parent, f.StructField())), param)
	case slices.Contains(siblingRules, rule), slices.Contains(rootRules, rule):
		words := strings.Fields(param)
		for i, w := range words {
			words[i] = jsonNames(parent, w)
		}
		return strings.Join(words, " ")
	case slices.Contains(pairRules, rule):
		words := strings.Split(param, " ")
		for i := 0; i < len(words); i += 2 {
			words[i] = jsonNames(parent, words[i])
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

// parentOf returns the type of the struct whose field validator calls by a
// namespace such as Spec.Rows[3].Name, or nil.
func parentOf(t reflect.Type, namespace string) reflect.Type {
	words := strings.Split(namespace, ".")
	if len(words) < 2 {
		return nil
	}
	for _, w := range words[1 : len(words)-1] {
		name, _, _ := strings.Cut(w, "[")
		t = fieldType(t, name)
	}
	return elem(t)
}

// fieldType returns the type of a field, or nil.
func fieldType(t reflect.Type, name string) reflect.Type {
	name, _, _ = strings.Cut(name, "[")
	if f, ok := field(t, name); ok {
		return elem(f.Type)
	}
	return nil
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
