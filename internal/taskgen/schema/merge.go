package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
)

// never is the schema that nothing fits.
func never() schema { return schema{"not": schema{}} }

// and returns a schema that a value fits when it fits both. What is said of a
// value, such as a description, is said by the first that says it.
func and(a, b schema) schema {
	out := maps.Clone(a)
	if out == nil {
		out = schema{}
	}
	for _, k := range slices.Sorted(maps.Keys(b)) {
		have, taken := out[k]
		switch v := b[k]; {
		case !taken:
			out[k] = v
		case k == "title" || k == "description" || k == "$comment" || reflect.DeepEqual(have, v):
		case k == "allOf":
			out[k] = slices.Concat(have.([]schema), v.([]schema)) //nolint:errcheck // no other type is ever put there
		default:
			if tight, ok := tighter(k, have, v); ok {
				out[k] = tight
				continue
			}
			all, _ := out["allOf"].([]schema)
			out["allOf"] = append(slices.Clip(all), schema{k: v})
		}
	}
	onlyTighter(out, "minimum", "exclusiveMinimum", 1)
	onlyTighter(out, "maximum", "exclusiveMaximum", -1)
	return out
}

// onlyTighter drops the one of two bounds that the other implies.
func onlyTighter(s schema, inclusive, exclusive string, side int) {
	x, ok := number(s[inclusive])
	y, also := number(s[exclusive])
	switch {
	case !ok || !also:
	case x.Cmp(y)*side > 0:
		delete(s, exclusive)
	default:
		delete(s, inclusive)
	}
}

// tighter returns the one of two bounds that implies the other.
func tighter(keyword string, a, b any) (any, bool) {
	x, ok := number(a)
	y, also := number(b)
	if !ok || !also {
		return nil, false
	}
	switch keyword {
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		if x.Cmp(y) >= 0 {
			return a, true
		}
		return b, true
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		if x.Cmp(y) <= 0 {
			return a, true
		}
		return b, true
	default:
		return nil, false
	}
}

func number(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// ofType are keywords that say nothing of null.
var ofType = []string{
	"type", "title", "description", "format", "pattern", "minLength", "maxLength", "contentEncoding",
	"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "items", "minItems", "maxItems", "uniqueItems",
	"properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties",
}

// nullable returns a schema that takes null too.
func nullable(s schema) schema {
	if len(s) == 0 {
		return s
	}
	word, one := s["type"].(string)
	for k := range s {
		one = one && slices.Contains(ofType, k)
	}
	if one {
		return and(schema{"type": []string{word, "null"}}, without(s, "type"))
	}
	return schema{"anyOf": []schema{s, {"type": "null"}}}
}

// without returns a schema less a keyword.
func without(s schema, keyword string) schema {
	out := maps.Clone(s)
	delete(out, keyword)
	return out
}
