package schema

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"taskkit.dev/internal/taskgen/model"
)

// define returns the definition of a type. Where it is referred to once, it is
// written in place afterwards.
func (s *schemer) define(t *model.Type, checked bool) *definition {
	key := definitionKey{t.Source, checked}
	d, ok := s.defs[key]
	if !ok {
		d = &definition{t: t, checked: checked}
		s.defs[key] = d
		s.order = append(s.order, d)
		d.content = s.body(t, model.Rules{}, checked)
	}
	d.uses++
	return d
}

// inline puts definitions that have one use in its place, throughout.
func (s *schemer) inline(in schema, open map[*definition]bool) schema {
	out := schema{}
	for k, v := range in {
		out[k] = s.inlineValue(v, open)
	}
	d, ok := out["$ref"].(*definition)
	if !ok || d.uses > 1 {
		if ok && !open[d] {
			open[d] = true
			d.content = s.inline(d.content, open)
		}
		return out
	}
	return and(without(out, "$ref"), s.inline(d.content, open))
}

func (s *schemer) inlineValue(v any, open map[*definition]bool) any {
	switch v := v.(type) {
	case schema:
		return s.inline(v, open)
	case []schema:
		out := make([]schema, len(v))
		for i := range v {
			out[i] = s.inline(v[i], open)
		}
		return out
	case properties:
		out := make(properties, len(v))
		for i, p := range v {
			out[i] = property{p.name, s.inline(p.schema, open)}
		}
		return out
	default:
		return v
	}
}

// definitions names the definitions that are left in a schema, and returns them
// in the order in which their types were met.
func (s *schemer) definitions(top schema) properties {
	left := map[*definition]bool{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case schema:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				visit(v[k])
			}
		case []schema:
			for _, one := range v {
				visit(one)
			}
		case properties:
			for _, p := range v {
				visit(p.schema)
			}
		case *definition:
			if !left[v] {
				left[v] = true
				visit(v.content)
			}
		}
	}
	visit(top)
	var out properties
	taken := map[string]bool{}
	for _, d := range s.order {
		if !left[d] {
			continue
		}
		base := d.t.Title
		if s.defs[definitionKey{d.t.Source, !d.checked}] != nil && !d.checked {
			base += "Unchecked"
		}
		d.name = base
		for n := 2; taken[d.name]; n++ {
			d.name = base + strconv.Itoa(n)
		}
		taken[d.name] = true
		out = append(out, property{d.name, d.content})
	}
	return out
}

// enumOf returns the values that a string or an integer may have when there are
// few: the values of its type, or of a rule that names them. Validator decides which of
// them pass all the rules.
func enumOf(t *model.Type, list []model.Rule, pointer bool) (values []any, ok bool) {
	if t.Form != model.String && t.Form != model.Int && t.Form != model.Uint {
		return nil, false
	}
	var candidates []any
	if len(t.Enum) > 0 {
		candidates = enumValues(t)
	} else {
		named := slices.IndexFunc(list, func(r model.Rule) bool { return r.Name == "oneof" || r.Name == "eq" })
		if named < 0 {
			return nil, false
		}
		words := []string{list[named].Param}
		if list[named].Name == "oneof" {
			words = list[named].Listed()
		}
		for _, w := range words {
			if v, ok := parseValue(t, w); ok {
				candidates = append(candidates, v)
			}
		}
		candidates = append(candidates, reflect.Zero(model.ScalarLike(t)).Interface())
	}
	known := model.Rules{List: slices.DeleteFunc(slices.Clone(list), func(r model.Rule) bool {
		return r.ComparesSiblings() || slices.ContainsFunc(r.Alternatives(), func(a model.Rule) bool { return a.Name == "validateFn" })
	})}
	for _, v := range candidates {
		if !slices.Contains(values, v) && passes(v, known, pointer) {
			values = append(values, v)
		}
	}
	return values, true
}

// passes reports whether a value keeps rules, by validator.
func passes(v any, rules model.Rules, pointer bool) bool {
	value := reflect.ValueOf(v)
	if pointer {
		at := reflect.New(value.Type())
		at.Elem().Set(value)
		value = at
	}
	at := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "F", Type: value.Type(), Tag: model.ValidateTag(rules.String())}}))
	at.Elem().Field(0).Set(value)
	failed, _ := model.Validates(at)
	return !failed
}

// parseValue reads a word of a rule as a value of a type.
func parseValue(t *model.Type, word string) (any, bool) {
	v := reflect.New(model.ScalarLike(t)).Elem()
	switch t.Form {
	case model.String:
		return word, true
	case model.Int:
		n, err := parseInteger(t, word)
		if err != nil || !n.IsInt64() || v.OverflowInt(n.Int64()) {
			return nil, false
		}
		v.SetInt(n.Int64())
	default:
		n, err := parseInteger(t, word)
		if err != nil || !n.IsUint64() || v.OverflowUint(n.Uint64()) {
			return nil, false
		}
		v.SetUint(n.Uint64())
	}
	return v.Interface(), true
}

// enumValues returns the values of an enum, and the zero value, which is what a
// field has that was not set.
func enumValues(t *model.Type) (values []any) {
	for _, c := range t.Enum {
		word := c.Value
		if s, err := strconv.Unquote(word); err == nil && t.Form == model.String {
			word = s
		}
		if v, ok := parseValue(t, word); ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	zero := reflect.Zero(model.ScalarLike(t)).Interface()
	if !slices.Contains(values, zero) {
		values = append(values, zero)
	}
	return values
}

// valuesSchema returns the schema of a few values.
func valuesSchema(values []any) schema {
	switch len(values) {
	case 0:
		return never()
	case 1:
		return schema{"const": values[0]}
	default:
		return schema{"enum": values}
	}
}
