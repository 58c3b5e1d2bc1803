package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/internal/taskgen/model"
)

// ruled is a value with rules.
type ruled struct {
	t *model.Type
	// pointer says that the value stands behind a pointer. Then it is there,
	// for validator, even if it is zero.
	pointer bool
}

// schema returns what rules say of a value that is not null. A word such as
// omitempty lets its zero value escape the rules after it, and inner, which is
// what comes after them all.
func (v ruled) schema(list []model.Rule, inner schema) schema {
	out := schema{}
	for i, r := range list {
		if r.Name != "omitempty" && r.Name != "omitzero" && r.Name != "omitnil" {
			out = and(out, v.rule(r))
			continue
		}
		rest := v.schema(list[i+1:], inner)
		escapes, some := v.omitted(r.Name)
		if !some || len(rest) == 0 {
			return and(out, rest)
		}
		return and(out, schema{"anyOf": []schema{escapes, rest}})
	}
	return and(out, inner)
}

// omitted returns what is not null and yet left out, to a word such as
// omitempty.
func (v ruled) omitted(word string) (s schema, some bool) {
	list := v.t.Form == model.Slice || v.t.Form == model.Map || v.t.Form == model.Bytes || v.t.Form == model.Raw
	switch {
	case word == "omitnil", v.pointer && word == "omitempty", list && word == "omitempty":
		return nil, false // null alone
	case v.t.Form == model.Slice:
		return schema{"maxItems": count(0)}, true
	case v.t.Form == model.Map:
		return schema{"maxProperties": count(0)}, true
	case v.t.Form == model.Bytes:
		return schema{"pattern": `^[\r\n]*$`}, true
	case v.t.Form == model.Raw:
		return nil, false // it has some bytes, if only null
	default:
		return zeroSchema(v.t, true), true
	}
}

// rule returns what one rule says, nothing when JSON Schema has no words for it.
func (v ruled) rule(r model.Rule) schema {
	var suffices []schema
	for _, a := range r.Alternatives() {
		m := mappingOf(v.t, a.Name)
		if m == nil {
			return nil
		}
		one := m.schema(v, a)
		if len(one) == 0 {
			return nil
		}
		suffices = append(suffices, one)
	}
	if len(suffices) == 1 {
		return suffices[0]
	}
	return schema{"anyOf": suffices}
}

// zeroSchema returns the values that are the zero value of a type. Of types that
// write themselves the zero value is unknown: with maybe it is any value, else none.
func zeroSchema(t *model.Type, maybe bool) schema {
	switch t.Form {
	case model.String:
		return schema{"const": ""}
	case model.Bool:
		return schema{"const": false}
	case model.Int, model.Uint, model.Float:
		return schema{"const": count(0)}
	case model.Time:
		return schema{"pattern": zeroTime}
	case model.UUID:
		return schema{"pattern": "^(?:" + zeroUUID + "|" + otherUUID("0") + ")$"}
	case model.Slice, model.Map, model.Bytes, model.Pointer:
		return schema{"type": "null"}
	case model.Array:
		return schema{"type": "array", "items": zeroSchema(t.Elem, maybe), "minItems": count(t.Len), "maxItems": count(t.Len)}
	case model.Struct:
		all := properties{}
		for _, f := range t.Fields {
			zero := zeroSchema(f.Type, maybe)
			if len(f.Through) > 0 {
				zero = never() // its presence makes an embedded pointer
			}
			all = append(all, property{f.JSON, zero})
		}
		return schema{"type": "object", "properties": all, "additionalProperties": false}
	case model.Raw:
		return never() // null makes it four bytes
	default:
		if maybe {
			return schema{}
		}
		return never()
	}
}

// class is what a value is in the table of mappings.
func class(t *model.Type) string {
	switch t.Form {
	case model.String:
		return "string"
	case model.Int, model.Uint:
		return "integer"
	case model.Float:
		return "float"
	case model.Bool:
		return "bool"
	case model.Slice:
		return "slice"
	case model.Array:
		return "array"
	case model.Map:
		return "map"
	case model.Bytes:
		return "bytes"
	case model.UUID:
		return "UUID"
	case model.Time:
		return "time"
	case model.Struct:
		return "struct"
	default:
		return "own" // writes itself
	}
}

func count(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// required is for values whose zero value is one value.
func required(v ruled, _ model.Rule) schema {
	if v.pointer {
		return schema{} // not null, which is stated elsewhere
	}
	return schema{"not": zeroSchema(v.t, false)}
}

// requiredStruct is required where the zero value has many forms. It is left
// out where the rules of the fields refuse it anyway.
func requiredStruct(v ruled, r model.Rule) schema {
	if model.RefusesAbsent(v.t, model.Rules{}) {
		return schema{}
	}
	return required(v, r)
}

func isDefault(v ruled, _ model.Rule) schema {
	if v.pointer {
		return never()
	}
	return zeroSchema(v.t, true)
}

func isDefaultList(ruled, model.Rule) schema { return never() } // null alone is

// sized returns the mapping of rules that count, to a keyword without its min or
// max.
func sized(what string) func(ruled, model.Rule) schema {
	return func(_ ruled, r model.Rule) schema {
		n, err := strconv.ParseInt(r.Param, 0, 64)
		if err != nil {
			return nil
		}
		low, high := schema{"min" + what: count(n)}, schema{"max" + what: count(n)}
		switch r.Name {
		case "min", "gte":
			return least(n, low)
		case "gt":
			return least(n+1, schema{"min" + what: count(n + 1)})
		case "max", "lte":
			return most(n, high)
		case "lt":
			return most(n-1, schema{"max" + what: count(n - 1)})
		case "ne":
			if n < 0 {
				return schema{}
			}
			return schema{"not": and(low, high)}
		default: // len and eq
			return most(n, and(low, high))
		}
	}
}

// least and most leave out bounds that no size breaks, or all do.
func least(n int64, s schema) schema {
	if n <= 0 {
		return schema{}
	}
	return s
}

func most(n int64, s schema) schema {
	if n < 0 {
		return never()
	}
	return s
}

// sizedBytes is for bytes, which are counted before they are base64. Line ends
// between the digits do not count, so that there is no longest string.
func sizedBytes(_ ruled, r model.Rule) schema {
	n, err := strconv.ParseInt(r.Param, 0, 64)
	if err != nil {
		return nil
	}
	switch r.Name {
	case "gt":
		n++
	case "min", "gte", "len", "eq":
	default:
		return nil
	}
	if n <= 0 || n > 1<<40 {
		return nil
	}
	return schema{"minLength": count((n + 2) / 3 * 4)}
}

// bounds returns the least and the greatest integer of a width.
func bounds(t *model.Type) (low, high *big.Int) {
	bits := uint(t.Bits)
	if bits == 0 {
		bits = 64
	}
	one := big.NewInt(1)
	if t.Form == model.Uint {
		return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, bits), one)
	}
	half := new(big.Int).Lsh(one, bits-1)
	return new(big.Int).Neg(half), new(big.Int).Sub(half, one)
}

// compared is for numbers.
func compared(v ruled, r model.Rule) schema {
	n, integer, ok := parameter(v.t, r.Param)
	if !ok {
		return nil
	}
	step := func(by int64) json.Number {
		i, _ := new(big.Int).SetString(n.String(), 10)
		return json.Number(i.Add(i, big.NewInt(by)).String())
	}
	switch r.Name {
	case "min", "gte":
		return schema{"minimum": n}
	case "max", "lte":
		return schema{"maximum": n}
	case "gt":
		if integer {
			return schema{"minimum": step(1)}
		}
		return schema{"exclusiveMinimum": n}
	case "lt":
		if integer {
			return schema{"maximum": step(-1)}
		}
		return schema{"exclusiveMaximum": n}
	case "ne":
		return schema{"not": schema{"const": n}}
	default: // len and eq
		return schema{"const": n}
	}
}

// parameter reads the parameter of a rule as validator does: as a value of the
// type.
func parameter(t *model.Type, param string) (n json.Number, integer, ok bool) {
	if t.Form != model.Float {
		i, err := parseInteger(t, param)
		if err != nil {
			return "", true, false
		}
		return json.Number(i.String()), true, true
	}
	f, err := strconv.ParseFloat(param, t.Bits)
	if err != nil {
		return "", false, false
	}
	text, err := json.Marshal(f)
	if t.Bits == 32 {
		text, err = json.Marshal(float32(f))
	}
	return json.Number(text), false, err == nil // not of Inf and NaN
}

// parseInteger reads an integer as validator does, with 0x and underscores, and
// with units for a duration.
func parseInteger(t *model.Type, word string) (*big.Int, error) {
	if t.Source == model.DurationSource {
		if d, err := time.ParseDuration(word); err == nil {
			return big.NewInt(int64(d)), nil
		}
	}
	if t.Form == model.Uint {
		n, err := strconv.ParseUint(word, 0, 64)
		return new(big.Int).SetUint64(n), err
	}
	n, err := strconv.ParseInt(word, 0, 64)
	return big.NewInt(n), err
}

// equal is for strings and booleans.
func equal(v ruled, r model.Rule) schema {
	var value any = r.Param
	if v.t.Form == model.Bool {
		b, err := strconv.ParseBool(r.Param)
		if err != nil {
			return nil
		}
		value = b
	}
	if r.Name == "ne" {
		return schema{"not": schema{"const": value}}
	}
	return schema{"const": value}
}

// oneOf is for oneof and noneof among other rules; alone oneof is an enum.
func oneOf(v ruled, r model.Rule) schema {
	var values []any
	for _, word := range r.Listed() {
		value, ok := parseValue(v.t, word)
		if ok && passes(value, model.Rules{List: []model.Rule{{Name: "oneof", Param: r.Param}}}, false) {
			values = append(values, value)
		}
	}
	if r.Name == "oneof" {
		return valuesSchema(values)
	}
	if len(values) == 0 {
		return schema{}
	}
	return schema{"not": valuesSchema(values)}
}

// unique compares elements as JSON, where validator compares them in Go. It is
// left out for elements that may be equal as JSON and not in Go.
func unique(v ruled, r model.Rule) schema {
	if r.Param != "" || v.t.Elem == nil {
		return nil
	}
	elem := v.t.Elem
	if elem.Form == model.Pointer {
		elem = elem.Elem
	}
	if !comparesAsJSON(elem) {
		return nil
	}
	return schema{"uniqueItems": true}
}

func comparesAsJSON(t *model.Type) bool {
	switch t.Form {
	case model.String, model.Bool, model.Int, model.Uint, model.Float, model.UUID:
		return true
	case model.Array:
		return comparesAsJSON(t.Elem)
	case model.Struct:
		return !slices.ContainsFunc(t.Fields, func(f model.Field) bool { return !comparesAsJSON(f.Type) })
	default:
		return false // a pointer is another each time, and so may be a time's zone
	}
}

// port and degrees are for numbers.
func port(ruled, model.Rule) schema { return schema{"minimum": count(1), "maximum": count(65535)} }

func degrees(_ ruled, r model.Rule) schema {
	n := int64(180)
	if strings.HasPrefix(r.Name, "lat") {
		n = 90
	}
	return schema{"minimum": count(-n), "maximum": count(n)}
}

// always is for rules that every value of the class keeps.
func always(ruled, model.Rule) schema { return schema{} }
