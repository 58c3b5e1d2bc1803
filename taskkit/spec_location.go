package taskkit

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"
)

// location is where in a spec a value is that breaks a rule.
type location struct {
	// names are the names and indexes of a JSON pointer, without its escapes.
	names               []string
	root, parent, value reflect.Type // of the whole, of the innermost struct around it, and its own
	// exact is false when the value is somewhere within names, in a value that JSON does
	// not have, such as the one that a type hands to validator.
	exact bool
}

// locate finds in root the place that validator calls by a namespace of Go names, such as
// Rows[3].Name. The key of a map stands there as it is and may contain every separator, so
// that only the map itself says where it ends.
func locate(root reflect.Value, namespace string) location {
	return location{root: root.Type()}.within(root, namespace)
}

// localName returns what validator calls a field of a struct, without the name of the struct.
// The name of a generic type has dots and brackets.
func localName(t reflect.Type, f validator.FieldError) string {
	return strings.TrimPrefix(f.StructNamespace(), t.Name()+".")
}

func (p location) within(v reflect.Value, rest string) location {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	p.value, p.exact = v.Type(), rest == ""
	if p.exact {
		return p
	}
	switch {
	case rest[0] != '[' && v.Kind() == reflect.Struct:
		end := strings.IndexAny(rest+".", ".[")
		f, ok := v.Type().FieldByName(rest[:end])
		if !ok || len(f.Index) != 1 {
			return p
		}
		p.parent = v.Type()
		if !promotes(f) {
			p.names = append(slices.Clip(p.names), jsonName(f))
		}
		return p.within(v.FieldByIndex(f.Index), strings.TrimPrefix(rest[end:], "."))
	case rest[0] == '[' && (v.Kind() == reflect.Slice || v.Kind() == reflect.Array):
		index, after, _ := strings.Cut(rest[1:], "]")
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i >= v.Len() {
			return p
		}
		p.names = append(slices.Clip(p.names), index)
		return p.within(v.Index(i), strings.TrimPrefix(after, "."))
	case rest[0] == '[' && v.Kind() == reflect.Map:
		for key, value := range v.Seq2() {
			after, ok := strings.CutPrefix(rest[1:], keyText(key))
			if !ok || after == "" || after[0] != ']' {
				continue
			}
			deeper := p
			deeper.names = append(slices.Clip(p.names), keyName(key))
			if deeper = deeper.within(value, strings.TrimPrefix(after[1:], ".")); deeper.exact {
				return deeper
			}
		}
	}
	return p
}

// promotes reports whether the fields of an embedded struct are, in JSON, fields of the
// struct around it.
func promotes(f reflect.StructField) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.Anonymous && name == "" && t.Kind() == reflect.Struct
}

// keyText returns the key of a map as validator writes it.
func keyText(key reflect.Value) string {
	if key.Kind() == reflect.String && key.Type().NumMethod() == 0 {
		return key.String() // of thousands
	}
	return fmt.Sprintf("%v", key)
}

// keyName returns the key of a map as JSON has it.
func keyName(key reflect.Value) string {
	if key.Kind() == reflect.String {
		return key.String()
	}
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](key); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	switch {
	case key.CanInt():
		return strconv.FormatInt(key.Int(), 10)
	case key.CanUint():
		return strconv.FormatUint(key.Uint(), 10)
	default:
		return fmt.Sprint(key)
	}
}

// pointerOf writes names as a JSON pointer.
func pointerOf(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}
