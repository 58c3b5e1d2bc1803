package specform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Values returns the texts of a spec, so that Parse makes the same spec of them: to show a form that is filled in, and to repeat a task.
// Secrets are left out; omitted names their fields. What the form has no field for, as in a spec of another revision, is left out too, and lost
// has its pointers. The error says that the spec is no JSON object.
func (f *Form) Values(spec []byte) (values Values, omitted, lost []string, err error) {
	v, err := decode(spec)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("specform: the spec is no JSON: %w", err)
	}
	if _, ok := v.(*object); !ok && f.root.Type == Group {
		return nil, nil, nil, fmt.Errorf("specform: the spec is %s and no object", named([]string{typeName(v)}))
	}
	w := &writer{form: f, values: Values{}}
	if rest := w.field(f.root, v); rest != nil {
		w.values[f.root.Name] = []string{string(encode(nil, rest))}
	}
	return w.values, w.omitted, w.lost, nil
}

func typeName(v any) string {
	for _, name := range []string{"null", "boolean", "string", "number", "array"} {
		if isType(v, name) {
			return name
		}
	}
	return "object"
}

// writer writes the texts of one spec.
type writer struct {
	form          *Form
	values        Values
	omitted, lost []string
}

// field writes the text of a value. It returns what has none, for the JSON of the object around it; nil: nothing.
func (w *writer) field(f *Field, v any) (rest any) {
	if f.Secret {
		w.omitted = append(w.omitted, f.Name)
		return nil
	}
	if v == nil {
		return nil
	}
	if f.HasSecrets && f.Type != Group {
		v = w.strip(f.node, v)
		w.omitted = append(w.omitted, f.Name)
	}
	switch f.Type {
	case Group:
		return w.group(f, v)
	case List, Map, JSON:
		w.values[f.Name] = []string{whole(f, v)}
		return nil
	default:
		return w.line(f, v)
	}
}

func (w *writer) line(f *Field, v any) (rest any) {
	text, ok := lineText(f, v, false)
	if !ok {
		if v == "" && !f.Nullable {
			return nil
		}
		return v
	}
	w.values[f.Name] = []string{text}
	return nil
}

func (w *writer) group(f *Field, v any) (rest any) {
	o, ok := v.(*object)
	if !ok {
		return v
	}
	before, left := len(w.values), newObject()
	for _, one := range f.Fields {
		m, ok := o.members[one.name()]
		if !ok {
			continue
		}
		if inner := w.field(one, m); inner != nil {
			left.set(one.name(), inner)
		}
	}
	for _, name := range o.names {
		if !slices.ContainsFunc(f.Fields, func(one *Field) bool { return one.name() == name }) {
			w.lost = append(w.lost, f.Pointer+"/"+pointerEscapes.Replace(name))
		}
	}
	if len(left.names) > 0 || len(w.values) == before && f != w.form.root {
		w.values[f.Name] = []string{string(encode(nil, left))}
	}
	return nil
}

// strip returns a value without its secrets.
func (w *writer) strip(n *node, v any) any {
	c := &checker{defs: w.form.defs}
	s := &node{}
	(&builder{form: w.form}).merge(s, c.resolve(n))
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			if out[i] = one; s.items != nil {
				out[i] = w.strip(s.items, one)
			}
		}
		return out
	case *object:
		out := newObject()
		for _, name := range v.names {
			of := s.additional
			for _, p := range s.properties {
				if p.name == name {
					of = p.node
				}
			}
			switch {
			case of == nil:
				out.set(name, v.members[name])
			case !of.secret && !c.resolve(of).secret:
				out.set(name, w.strip(of, v.members[name]))
			}
		}
		return out
	default:
		return v
	}
}

// whole returns the text of a list, a map or a value of any type: lines where they say the same, or else JSON.
func whole(f *Field, v any) string {
	var lines []string
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			text, ok := "", f.Type == List && f.Item != nil
			if ok {
				text, ok = lineText(f.Item, one, true)
			}
			if !ok {
				return list(v)
			}
			lines = append(lines, text)
		}
		if len(lines) == 0 || strings.HasPrefix(lines[0], "[") || len(lines) == 1 && lines[0] == "null" {
			return list(v)
		}
	case *object:
		for _, name := range v.names {
			text, ok := "", f.Type == Map && f.Item != nil && name == strings.TrimSpace(name) && !strings.ContainsAny(name, "=\n\r")
			if ok {
				text, ok = lineText(f.Item, v.members[name], true)
			}
			if !ok {
				return string(encode(nil, v))
			}
			lines = append(lines, name+"="+text)
		}
		if len(lines) == 0 || strings.HasPrefix(lines[0], "{") {
			return string(encode(nil, v))
		}
	default:
		return string(encode(nil, v))
	}
	return strings.Join(lines, "\n")
}

// list returns a list as JSON, with a line for each element.
func list(v []any) string {
	b := []byte("[")
	for i, one := range v {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = encode(b, one)
	}
	return string(append(b, ']'))
}

// lineText returns the text of a value that [scalar] reads back, and reports whether there is one. In a line it has no line end and no
// space around it.
func lineText(f *Field, v any, line bool) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		if f.Type == Integer || f.Type == Number || f.Type == Boolean {
			return "", false
		}
		text = v
	case json.Number, bool:
		if f.Type != Integer && f.Type != Number && f.Type != Boolean && f.Type != Choice {
			return "", false
		}
		text = scalarText(v)
	default:
		return "", false
	}
	if text == "" || f.Type == JSON || strings.Contains(text, "\r\n") || line && (text != strings.TrimSpace(text) || strings.ContainsAny(text, "\n\r")) {
		return "", false
	}
	again, problem := scalar(f, text)
	return text, problem == "" && equal(again, v)
}

// Count returns how many elements a list of the form has in a spec: 0 without a list or without a value.
func (f *Form) Count(list *Field, spec []byte) int {
	if list == nil {
		return 0
	}
	v, err := decode(spec)
	if err != nil {
		return 0
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(list.Pointer, "/"), "/") {
		if o, ok := v.(*object); ok {
			v = o.members[pointerNames.Replace(name)]
		}
	}
	elements, _ := v.([]any)
	return len(elements)
}
