package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"taskkit.dev/internal/taskgen/model"
)

// schema is a JSON Schema: keywords and their values. An empty one accepts
// everything. Values are strings, booleans, numbers, schemas, lists, properties
// and, for $ref, a *definition.
type schema map[string]any

// properties are named schemas in the order of the fields.
type properties []property

type property struct {
	name string
	schema
}

// definition is a schema that is referred to.
type definition struct {
	t       *model.Type
	checked bool // the rules of its fields apply
	name    string
	content schema
	uses    int
}

// keywords is the order in which they are written: what the value is, then what
// it is like, then what is in it.
var keywords = []string{
	"$schema", "$comment", "$ref", "title", "description", "x-taskkit-targets", "writeOnly", "x-taskkit-secret",
	"type", "const", "enum", "format", "pattern", "minLength", "maxLength", "contentEncoding",
	"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum",
	"items", "minItems", "maxItems", "uniqueItems",
	"properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties",
	"not", "anyOf", "allOf", "if", "then", "$defs",
}

// MarshalJSON writes the keywords in their order.
func (s schema) MarshalJSON() ([]byte, error) {
	names := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(keywords, a), slices.Index(keywords, b)), cmp.Compare(a, b))
	})
	return marshalObject(len(names), func(i int) (string, any) { return names[i], s[names[i]] })
}

// MarshalJSON writes an object.
func (p properties) MarshalJSON() ([]byte, error) {
	return marshalObject(len(p), func(i int) (string, any) { return p[i].name, p[i].schema })
}

// MarshalJSON writes a reference.
func (d *definition) MarshalJSON() ([]byte, error) {
	return json.Marshal("#/$defs/" + url.PathEscape(d.name))
}

func marshalObject(n int, member func(int) (string, any)) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		name, value := member(i)
		if err := e.Encode(name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Bytes returns the schema as a file.
func (s schema) bytes() []byte {
	var compact, out bytes.Buffer
	e := json.NewEncoder(&compact)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	if err == nil {
		err = json.Indent(&out, compact.Bytes(), "", "  ")
	}
	if err != nil {
		panic("taskgen: a schema is no JSON: " + err.Error()) // only a mistake of ours
	}
	return out.Bytes()
}
