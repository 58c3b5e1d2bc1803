package lock

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// facts returns what a database holds of an executor's types, one fact a field.
//
// A path is made of the names of fields: rows[].name is the field name of the
// elements of the field rows, and labels{} is what the map labels holds.
//
// A type is a word. {} is an object, whose fields have facts of their own; []T
// a list, [4]T an array, map[K]T a map; ?T may be null. ^PATH is the object at
// that path again; ^ alone is the whole. What writes itself as JSON or as text
// is json or text, and a json.RawMessage is raw.
//
// A spec's facts carry its rules. The word required says that the rules refuse
// an absent field; the others are those of the validate tag, gte and lte by
// their names min and max. A field whose type is an enum has enum=A|B. A secret
// Has secret, so that tagging it raises the revision, and stored tasks learn with
// its first checkpoint what to hide.
func facts(x *model.Executor) []model.Fact {
	var all []model.Fact
	for _, r := range x.Roots() {
		f := factory{part: strings.ToLower(r.Name), open: map[string]string{}, naming: map[string]bool{}}
		f.object(r.Type, "")
		all = append(all, f.facts...)
	}
	slices.SortFunc(all, compareFacts)
	return all
}

// compareFacts orders facts by part and path.
func compareFacts(a, b model.Fact) int {
	return cmp.Or(cmp.Compare(slices.Index(model.Parts, a.Part), slices.Index(model.Parts, b.Part)), cmp.Compare(a.Path, b.Path))
}

// factory makes the facts of one part.
type factory struct {
	part   string
	facts  []model.Fact
	naming map[string]bool   // lists whose word is being made
	open   map[string]string // paths of the objects around, by the sources of their types
}

// object adds the facts of an object's fields; a root that is no object has
// one fact, with the path ".".
func (f *factory) object(t *model.Type, path string) {
	if t.Form != model.Struct {
		f.facts = append(f.facts, model.Fact{Part: f.part, Path: ".", Type: f.word(t, ".")})
		f.within(t, model.Rules{}, ".")
		return
	}
	f.open[t.Source] = path
	defer delete(f.open, t.Source)
	for _, field := range t.Fields {
		name := model.PathName(field.JSON)
		if path != "" {
			name = path + "." + name
		}
		f.field(field, name)
	}
}

// field adds the fact of a value and of what is in it.
func (f *factory) field(field model.Field, path string) {
	t, rules := field.Type, field.Rules
	fact := model.Fact{Part: f.part, Path: path, Type: f.word(t, path)}
	if f.part == "spec" && !model.AcceptsAbsent(t, rules) {
		fact.Words = append(fact.Words, "required")
	}
	fact.Words = append(fact.Words, f.words(t, rules)...)
	if field.Secret {
		fact.Words = append(fact.Words, "secret")
	}
	f.facts = append(f.facts, fact)
	f.within(t, rules, path)
}

// Within adds facts about what a value holds: the fields of objects, and for
// elements what rules there are.
func (f *factory) within(t *model.Type, rules model.Rules, path string) {
	if t.Recursive && t.Form != model.Struct { // a list of itself
		if _, again := f.open[t.Source]; again {
			return
		}
		f.open[t.Source] = path
		defer delete(f.open, t.Source)
	}
	switch t.Form {
	case model.Pointer:
		f.within(t.Elem, rules, path)
	case model.Struct:
		if _, again := f.open[t.Source]; !again {
			f.object(t, path)
		}
	case model.Map:
		path += "{}"
		f.elements(t, rules, path)
	case model.Slice, model.Array:
		path += "[]"
		f.elements(t, rules, path)
	default: // nothing is in it
	}
}

// elements adds the fact of a list's elements, when there are rules for them.
func (f *factory) elements(t *model.Type, rules model.Rules, path string) {
	var below model.Rules
	if rules.Elem != nil {
		below = *rules.Elem
	}
	words := f.words(t.Elem, below)
	if f.part == "spec" && slices.ContainsFunc(below.List, func(r model.Rule) bool { return r.Name == "required" }) {
		words = append([]string{"required"}, words...)
	}
	if rules.Keys != nil && f.part == "spec" {
		for _, w := range f.words(t.Key, *rules.Keys) {
			words = append(words, "key:"+w)
		}
	}
	if len(words) > 0 {
		f.facts = append(f.facts, model.Fact{Part: f.part, Path: path, Type: f.word(t.Elem, path), Words: words})
	}
	f.within(t.Elem, below, path)
}

// words returns the rules of a value, sorted, but for required.
func (f *factory) words(t *model.Type, rules model.Rules) []string {
	var words []string
	for t.Form == model.Pointer {
		t = t.Elem
	}
	if len(t.Enum) > 0 {
		var values []string
		for _, c := range t.Enum {
			v := c.Value
			if s, err := strconv.Unquote(v); err == nil {
				v = s
			}
			values = append(values, url.PathEscape(v))
		}
		slices.Sort(values)
		words = append(words, "enum="+strings.Join(values, "|"))
	}
	if f.part != "spec" {
		return words // nothing else is validated
	}
	for _, r := range rules.List {
		if w := ruleWord(r); w != "" {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// ruleWord writes a rule of a validate tag.
func ruleWord(r model.Rule) string {
	switch r.Name {
	case "required", "structonly", "nostructlevel", "isdefault":
		return "" // told by the word required, or no rule
	case "gte":
		r.Name = "min"
	case "lte":
		r.Name = "max"
	case "oneof":
		values := r.Listed()
		for i, v := range values {
			values[i] = url.PathEscape(v)
		}
		slices.Sort(values)
		return "oneof=" + strings.Join(values, "|")
	}
	if r.Param == "" { // or alternatives, with parameters in the name
		return strings.ReplaceAll(url.PathEscape(r.Name), "%7C", "|")
	}
	return r.Name + "=" + strings.ReplaceAll(url.PathEscape(r.Param), "%7C", "|")
}

// word writes a type.
func (f *factory) word(t *model.Type, path string) string {
	if t.Recursive && t.Form != model.Struct {
		if f.naming[t.Source] {
			return "^" + path
		}
		f.naming[t.Source] = true
		defer delete(f.naming, t.Source)
	}
	switch t.Form {
	case model.String:
		return "string"
	case model.Bool:
		return "bool"
	case model.Int:
		return fmt.Sprintf("int%d", cmp.Or(t.Bits, 64))
	case model.Uint:
		return fmt.Sprintf("uint%d", cmp.Or(t.Bits, 64))
	case model.Float:
		return fmt.Sprintf("float%d", t.Bits)
	case model.Bytes:
		return "bytes"
	case model.Time:
		return "time"
	case model.UUID:
		return "uuid"
	case model.Raw:
		return "raw"
	case model.JSON:
		return "json"
	case model.Text:
		return "text"
	case model.Slice:
		return "[]" + f.word(t.Elem, path)
	case model.Array:
		return fmt.Sprintf("[%d]%s", t.Len, f.word(t.Elem, path))
	case model.Map:
		return "map[" + f.word(t.Key, path) + "]" + f.word(t.Elem, path)
	case model.Pointer:
		return "?" + f.word(t.Elem, path)
	case model.Struct:
		if at, again := f.open[t.Source]; again {
			return "^" + at
		}
		return "{}"
	default:
		panic("taskgen: a type of no form")
	}
}
