package specform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// object is a JSON object, with its members in their order.
type object struct {
	names   []string
	members map[string]any
}

func newObject() *object { return &object{members: map[string]any{}} }

func (o *object) set(name string, v any) {
	if _, ok := o.members[name]; !ok {
		o.names = append(o.names, name)
	}
	o.members[name] = v
}

func (o *object) delete(name string) {
	if _, ok := o.members[name]; !ok {
		return
	}
	delete(o.members, name)
	for i, n := range o.names {
		if n == name {
			o.names = append(o.names[:i:i], o.names[i+1:]...)
			return
		}
	}
}

// maxDepth is how deep JSON may nest, as in package taskjson.
const maxDepth = 100

// decode reads one JSON value: nil, a bool, a json.Number, a string, []any or *object. Unlike encoding/json it refuses a
// name that an object has twice, a NUL character, and bytes that are not UTF-8, as the decoders of specs do.
func decode(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("bytes that are not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it ends too early")
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more text after the end of the value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		o := newObject()
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := name.(string)
			if _, ok := o.members[key]; ok {
				return nil, fmt.Errorf("the name %q is in an object twice", key)
			}
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.set(key, v)
		}
		_, err := d.Token()
		return o, err
	}
	switch token := token.(type) {
	case string:
		if strings.ContainsRune(token, 0) {
			return nil, errors.New("a text with a NUL character")
		}
	case json.Number:
		if !numberForm.MatchString(string(token)) {
			return nil, fmt.Errorf("the number %s has too many digits", shorten(string(token)))
		}
	}
	return token, nil
}

// encode appends a value as JSON. Characters stay as they are: < and & have no escapes.
func encode(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return fmt.Append(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return appendString(b, v)
	case []any:
		b = append(b, '[')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = encode(b, one)
		}
		return append(b, ']')
	case *object:
		b = append(b, '{')
		for i, name := range v.names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = encode(b, v.members[name])
		}
		return append(b, '}')
	default:
		panic(fmt.Sprintf("specform: %T is no JSON value", v)) // only a mistake of ours
	}
}

// appendString appends a string, valid UTF-8, as JSON.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == '"' || c == '\\' }) {
		return append(append(b, s...), '"')
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
