package specform

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// node is a JSON Schema, with the keywords that taskgen writes.
type node struct {
	ref                       string // name of a definition
	title, description        string
	types                     []string // none: any
	constant                  any
	hasConst                  bool
	enum                      []any
	format                    string
	pattern                   *regexp.Regexp
	minLength, maxLength      *int
	base64                    bool
	minimum, exclusiveMinimum json.Number // "": none
	maximum, exclusiveMaximum json.Number
	items                     *node
	minItems, maxItems        *int
	unique                    bool
	properties                []property
	byName                    map[string]*node
	required                  []string
	closed                    bool  // additionalProperties false
	additional                *node // additionalProperties, a schema
	propertyNames             *node
	minProperties             *int
	maxProperties             *int
	not                       *node
	anyOf, allOf              []*node
	condition, then           *node // if and then
	initial                   any   // default
	hasDefault                bool
	secret                    bool
	targets                   string
	defs                      map[string]*node
}

type property struct {
	name string
	node *node
}

// reader reads one schema. It compiles a pattern once, however often the schema repeats it.
type reader struct{ patterns map[string]*regexp.Regexp }

func (r *reader) compile(text string) (*regexp.Regexp, error) {
	if p, ok := r.patterns[text]; ok {
		return p, nil
	}
	p, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	r.patterns[text] = p
	return p, nil
}

// node reads a schema from its JSON value. Keywords that say nothing of the value, and unknown ones, are ignored.
func (r *reader) node(v any) (*node, error) {
	n := &node{}
	switch v := v.(type) {
	case bool:
		if !v {
			n.not = &node{}
		}
		return n, nil
	case *object:
		for _, key := range v.names {
			if err := r.keyword(n, key, v.members[key]); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		return n, nil
	default:
		return nil, fmt.Errorf("%s is no schema", encode(nil, v))
	}
}

// keyword sets what one keyword says.
func (r *reader) keyword(n *node, key string, v any) (err error) {
	text, _ := v.(string)
	number, _ := v.(json.Number)
	switch key {
	case "$ref":
		n.ref, err = url.PathUnescape(strings.TrimPrefix(text, "#/$defs/"))
	case "title":
		n.title = text
	case "description":
		n.description = text
	case "type":
		n.types = stringList(v)
	case "const":
		n.constant, n.hasConst = v, true
	case "enum":
		n.enum, _ = v.([]any)
	case "format":
		n.format = text
	case "pattern":
		n.pattern, err = r.compile(text)
	case "contentEncoding":
		n.base64 = text == "base64"
	case "minimum":
		n.minimum = number
	case "exclusiveMinimum":
		n.exclusiveMinimum = number
	case "maximum":
		n.maximum = number
	case "exclusiveMaximum":
		n.exclusiveMaximum = number
	case "minLength":
		n.minLength, err = count(number)
	case "maxLength":
		n.maxLength, err = count(number)
	case "minItems":
		n.minItems, err = count(number)
	case "maxItems":
		n.maxItems, err = count(number)
	case "minProperties":
		n.minProperties, err = count(number)
	case "maxProperties":
		n.maxProperties, err = count(number)
	case "uniqueItems":
		n.unique = v == true
	case "required":
		n.required = stringList(v)
	case "default":
		n.initial, n.hasDefault = v, true
	case "x-taskkit-secret":
		n.secret = v == true
	case "x-taskkit-targets":
		n.targets = text
	default:
		return r.subschema(n, key, v)
	}
	return err
}

// subschema sets what a keyword says whose value contains schemas.
func (r *reader) subschema(n *node, key string, v any) (err error) {
	switch key {
	case "items":
		n.items, err = r.node(v)
	case "properties":
		n.properties, n.byName, err = r.nodes(v)
	case "$defs":
		_, n.defs, err = r.nodes(v)
	case "additionalProperties":
		if n.closed = v == false; !n.closed {
			n.additional, err = r.node(v)
		}
	case "propertyNames":
		n.propertyNames, err = r.node(v)
	case "not":
		n.not, err = r.node(v)
	case "anyOf":
		n.anyOf, err = r.list(v)
	case "allOf":
		n.allOf, err = r.list(v)
	case "if":
		n.condition, err = r.node(v)
	case "then":
		n.then, err = r.node(v)
	}
	return err
}

func (r *reader) nodes(v any) ([]property, map[string]*node, error) {
	o, ok := v.(*object)
	if !ok {
		return nil, nil, fmt.Errorf("%s is no object", encode(nil, v))
	}
	list, byName := make([]property, 0, len(o.names)), map[string]*node{}
	for _, name := range o.names {
		one, err := r.node(o.members[name])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		list, byName[name] = append(list, property{name, one}), one
	}
	return list, byName, nil
}

func (r *reader) list(v any) ([]*node, error) {
	all, _ := v.([]any)
	list := make([]*node, len(all))
	for i, one := range all {
		var err error
		if list[i], err = r.node(one); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// stringList returns a string or a list of strings as a list.
func stringList(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		list := make([]string, 0, len(v))
		for _, one := range v {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
		return list
	default:
		return nil
	}
}

func count(n json.Number) (*int, error) {
	i, err := n.Int64()
	if err != nil {
		return nil, err
	}
	c := int(i)
	return &c, nil
}
