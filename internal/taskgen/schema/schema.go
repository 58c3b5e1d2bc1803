package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// dialect is the version of JSON Schema that is written.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Of returns the JSON Schema of a spec, state or result as a file. What
// the decoder takes and Submit accepts, fits it. The reverse holds where JSON
// Schema has the words: see docs/json-schema.md.
func Of(x *model.Executor, what string, root *model.Type) []byte {
	if what == "spec" && x.FindsTargets {
		root = withoutTargets(root, x.Targets.JSON)
	}
	s := schemer{defs: map[definitionKey]*definition{}}
	body := s.contents(root, model.Rules{}, what == "spec") // nothing else is validated
	if root.Form == model.Slice || root.Form == model.Map || root.Form == model.Pointer || root.Form == model.Bytes {
		body = nullable(body)
	}
	top := schema{
		"$schema": dialect, "$comment": strings.TrimPrefix(model.Header, "// "),
		"title": x.Kind + " " + what,
	}
	top = s.inline(and(top, body), map[*definition]bool{})
	if what == "spec" && x.Targets != nil {
		top["x-taskkit-targets"] = x.Targets.JSON
	}
	if defs := s.definitions(top); len(defs) > 0 {
		top["$defs"] = defs
	}
	return top.bytes()
}

// schemer makes one schema.
type schemer struct {
	defs  map[definitionKey]*definition
	order []*definition
}

type definitionKey struct {
	source  string
	checked bool
}

// value returns the schema of a value with the rules of its field, null
// included. Rules that are not checked do not count.
func (s *schemer) value(t *model.Type, rules model.Rules, checked bool) schema {
	if t.Kind == reflect.Invalid || len(rules.List) == 1 && rules.List[0].Name == "-" {
		rules, checked = model.Rules{}, false
	}
	if !checked {
		rules = model.Rules{}
	}
	pointer, inner := t.Form == model.Pointer, t
	for inner.Form == model.Pointer {
		inner = inner.Elem
	}
	var got schema
	if inner.Kind == reflect.Invalid {
		got = s.contents(inner, model.Rules{}, false)
	} else {
		got = s.present(inner, rules, checked, pointer)
	}
	null := pointer || t.Form == model.Slice || t.Form == model.Map || t.Form == model.Bytes
	if null && (!checked || !model.RefusesAbsent(t, rules)) {
		return nullable(got)
	}
	return got
}

// present returns the schema of a value that is not null, or whose own code
// reads null.
func (s *schemer) present(t *model.Type, rules model.Rules, checked, pointer bool) schema {
	list := rules.List
	stop := slices.IndexFunc(list, func(r model.Rule) bool { return r.Name == "structonly" || r.Name == "nostructlevel" })
	if stop >= 0 {
		list, rules, checked = list[:stop], model.Rules{}, false
	}
	if values, ok := enumOf(t, list, pointer); ok {
		word := "integer"
		if t.Form == model.String {
			word = "string"
		}
		out := and(schema{"type": word}, valuesSchema(values))
		if doc := describe(t); doc != "" {
			out["description"] = doc
		}
		return out
	}
	r := ruled{t: t, pointer: pointer}
	contents := s.contents(t, rules, checked)
	if t.Form == model.Struct || t.Form == model.Array {
		return r.schema(list, contents) // which its zero value may escape
	}
	return and(contents, r.schema(list, nil))
}

// contents returns the schema of what the decoder takes for a type, but for
// null. Of rules it uses the rules of keys and elements; checked says whether the
// rules of a struct's fields are checked.
func (s *schemer) contents(t *model.Type, rules model.Rules, checked bool) schema {
	if t.Form == model.Struct || t.Form == model.Time || t.Form == model.UUID || t.Form >= model.Slice && rules.Elem == nil && t.Named && model.InsideItself(t) {
		return schema{"$ref": s.define(t, checked && t.Form == model.Struct)}
	}
	return s.body(t, rules, checked)
}

// body is contents, written in place.
func (s *schemer) body(t *model.Type, rules model.Rules, checked bool) schema {
	out := schema{}
	if doc := describe(t); doc != "" {
		out["description"] = doc
	}
	elem := func() schema {
		if rules.Elem == nil {
			return s.value(t.Elem, model.Rules{}, false)
		}
		return s.value(t.Elem, *rules.Elem, true)
	}
	switch t.Form {
	case model.String, model.Text:
		out["type"] = "string"
	case model.Bool:
		out["type"] = "boolean"
	case model.Int, model.Uint:
		out = and(out, integers(t))
	case model.Float:
		out["type"] = "number"
		if t.Bits == 32 {
			out["minimum"], out["maximum"] = json.Number("-3.4028236e38"), json.Number("3.4028236e38")
		}
	case model.Bytes:
		out["type"], out["contentEncoding"], out["pattern"] = "string", "base64", base64Pattern
	case model.Time:
		out["type"], out["anyOf"] = "string", []schema{
			{"format": "date-time", "pattern": timePattern},
			{"pattern": otherTime},
		}
	case model.UUID:
		out["type"], out["anyOf"] = "string", uuidForms()
	case model.Raw, model.JSON: // anything
	case model.Slice, model.Array:
		out["type"] = "array"
		if e := elem(); len(e) > 0 {
			out["items"] = e
		}
		if t.Form == model.Array {
			n := json.Number(strconv.FormatInt(t.Len, 10))
			out["minItems"], out["maxItems"] = n, n
		}
	case model.Map:
		out["type"] = "object"
		if e := elem(); len(e) > 0 {
			out["additionalProperties"] = e
		}
		if names := s.names(t.Key, rules.Keys); len(names) > 0 {
			out["propertyNames"] = names
		}
	case model.Pointer:
		return s.value(t, rules, checked)
	case model.Struct:
		out = and(out, s.fields(t, checked))
	}
	if len(t.Enum) > 0 {
		out = and(out, valuesSchema(enumValues(t)))
	}
	return out
}

// names returns the schema of the names of a map's members. The decoder does not
// hold them to the values of an enum, nor the schema numbers to their rules.
func (s *schemer) names(key *model.Type, rules *model.Rules) schema {
	switch {
	case key.Form == model.Int:
		return schema{"pattern": "^(?:0|-?[1-9][0-9]*)$"}
	case key.Form == model.Uint:
		return schema{"pattern": "^(?:0|[1-9][0-9]*)$"}
	case key.Form == model.Text && key.Source == uuidSource:
		return schema{"anyOf": uuidForms()}
	case key.Form != model.String || rules == nil:
		return nil
	}
	open := *key
	open.Enum = nil
	return without(without(s.value(&open, *rules, true), "type"), "description")
}

// fields returns the schema of a struct.
func (s *schemer) fields(t *model.Type, checked bool) schema {
	var required []string
	all := properties{}
	for _, f := range t.Fields {
		one := s.value(f.Type, f.Rules, checked)
		if doc := describeField(f); doc != "" {
			one = and(schema{"description": doc}, one)
		}
		if f.Secret {
			one = and(one, schema{"writeOnly": true, "x-taskkit-secret": true})
		}
		all = append(all, property{f.JSON, one})
		if checked && len(f.Through) == 0 && model.RefusesAbsent(f.Type, f.Rules) {
			required = append(required, f.JSON)
		}
	}
	out := schema{"type": "object", "additionalProperties": false}
	if len(all) > 0 {
		out["properties"] = all
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if checked {
		if when := conditions(t); len(when) > 0 {
			out["allOf"] = when
		}
	}
	return out
}

// uuidSource is the type UUID as the key of a map.
const uuidSource = "«github.com/google/uuid|uuid».UUID"

func uuidForms() []schema {
	return []schema{
		{"format": "uuid", "pattern": uuidPattern},
		{"pattern": "^(?:" + otherUUID(hexUUID) + ")$"},
	}
}

// integers returns the schema of the integers of a width.
func integers(t *model.Type) schema {
	low, high := bounds(t)
	return schema{"type": "integer", "minimum": json.Number(low.String()), "maximum": json.Number(high.String())}
}

// describe returns the documentation of a type and of its values.
func describe(t *model.Type) string { return joinDocs(t.Doc, describeValues(t)) }

// describeField returns the documentation of a field, or "" to leave it to the
// type. The values of an enum are told in either case.
func describeField(f model.Field) string {
	t := f.Type
	for t.Form == model.Pointer {
		t = t.Elem
	}
	if f.Doc == "" {
		return ""
	}
	return joinDocs(f.Doc, describeValues(t))
}

func describeValues(t *model.Type) string {
	if !slices.ContainsFunc(t.Enum, func(c model.Const) bool { return c.Doc != "" }) {
		return ""
	}
	var lines []string
	for _, c := range t.Enum {
		value := c.Value
		if s, err := strconv.Unquote(value); err == nil {
			value = s
		}
		lines = append(lines, strings.TrimSuffix("- "+value+": "+strings.ReplaceAll(c.Doc, "\n", " "), ": "))
	}
	return strings.Join(lines, "\n")
}

func joinDocs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
