package lock

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
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
// is json or text, a big.Int is bigint and a json.RawMessage is raw.
//
// A spec's facts carry the rules that are checked: none below a list without dive,
// or a struct with structonly. The word required says that the rules may refuse an
// absent field; the others are the words of the validate tag, gte and lte by their names
// min and max, with other fields by their JSON names. always:RULE stands before
// omitempty, and holds for the zero value too; always:required says that the zero
// value is refused whatever the other fields are. embedded marks a field promoted
// through an embedded pointer, whose rules hold while that is not nil; where there are
// several such pointers, embedded=A/B names those on the way, each by the first field
// that is promoted through it. unchecked marks
// a ^PATH inside which no rule is checked, although they are at that path.
//
// nonnull marks bytes of which no null was ever stored, because the json tag leaves nil out
// and always did; see [keepWords].
//
// A field whose type is an enum has enum=A|B. A secret has secret, so that tagging it
// raises the revision, and stored tasks learn with its first checkpoint what to hide.
func facts(x *model.Executor) []model.Fact {
	var all []model.Fact
	for _, r := range x.Roots() {
		f := factory{part: strings.ToLower(r.Name), root: r.Type, open: map[string]string{}, naming: map[string]bool{}}
		f.object(r.Type, "", f.part == "spec")
		if f.part == "result" && len(f.facts) == 0 { // or it would look like none
			f.facts = []model.Fact{{Part: f.part, Path: ".", Type: "{}"}}
		}
		all = append(all, f.facts...)
	}
	slices.SortFunc(all, compareFacts)
	return all
}

// compareFacts orders facts by part and path.
func compareFacts(a, b model.Fact) int {
	parts := slices.Concat(model.Parts, []string{model.AllowPart})
	return cmp.Or(cmp.Compare(slices.Index(parts, a.Part), slices.Index(parts, b.Part)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Type, b.Type))
}

// factory makes the facts of one part.
type factory struct {
	part   string
	root   *model.Type
	facts  []model.Fact
	naming map[string]bool   // lists whose word is being made
	open   map[string]string // paths of the objects around, by the sources of their types
}

// object adds the facts of an object's fields; a root that is no object has
// one fact, with the path ".". Checked says whether validator comes to the object.
func (f *factory) object(t *model.Type, path string, checked bool) {
	if t.Form != model.Struct {
		fact := model.Fact{Part: f.part, Path: ".", Type: f.word(t, "."), Words: f.words(t, nil)}
		f.facts = append(f.facts, fact)
		f.within(t, model.Rules{}, ".", checked)
		return
	}
	f.open[t.Source] = path
	defer delete(f.open, t.Source)
	for _, field := range t.Fields {
		name := model.PathName(field.JSON)
		if path != "" {
			name = path + "." + name
		}
		f.field(t, field, name, checked)
	}
}

// field adds the fact of a value and of what is in it.
func (f *factory) field(owner *model.Type, field model.Field, path string, checked bool) {
	t, rules := field.Type, field.Rules
	if !checked {
		rules = model.Rules{}
	}
	fact := model.Fact{Part: f.part, Path: path, Type: f.word(t, path)}
	if checked && !model.AcceptsAbsent(t, rules) {
		fact.Words = append(fact.Words, "required")
	}
	fact.Words = append(fact.Words, f.words(t, f.ruleWords(owner, field))...)
	if !checked {
		fact.Words = f.words(t, nil)
	}
	if fact.Type == "bytes" && field.Keep != "" {
		fact.Words = append(fact.Words, nonNull)
	}
	if field.Secret {
		fact.Words = append(fact.Words, "secret")
	}
	if w := embeddedWord(owner, field); checked && w != "" {
		fact.Words = append(fact.Words, w)
	}
	if checked && f.recurs(t) && !entersStruct(t, rules) {
		fact.Words = append(fact.Words, "unchecked")
	}
	f.facts = append(f.facts, fact)
	f.within(t, rules, path, checked)
}

// embeddedWord returns the word of a field that is promoted through an embedded
// pointer, where rules of such a field may refuse an absent one, or "".
func embeddedWord(owner *model.Type, field model.Field) string {
	several, needed := false, false
	var names []string
	for _, t := range field.Through {
		name := ""
		for _, o := range owner.Fields {
			if through := slices.Contains(o.Through, t); through && (name == "" || o.JSON < name) {
				name = o.JSON
			}
		}
		names = append(names, model.PathName(name))
	}
	for _, o := range owner.Fields {
		several = several || len(o.Through) > 0 && !slices.Equal(o.Through, field.Through)
		needed = needed || len(o.Through) > 0 && !model.AcceptsAbsent(o.Type, o.Rules)
	}
	switch {
	case len(names) == 0 || !needed:
		return ""
	case several:
		return "embedded=" + strings.Join(names, "/")
	default:
		return "embedded"
	}
}

// recurs reports whether a value is an object that is open, or a pointer to it, and
// that there are rules inside.
func (f *factory) recurs(t *model.Type) bool {
	for t.Form == model.Pointer {
		t = t.Elem
	}
	_, again := f.open[t.Source]
	return again && t.Form == model.Struct && slices.ContainsFunc(model.Reachable(&model.Executor{Spec: t, State: t}), func(in *model.Type) bool {
		return slices.ContainsFunc(in.Fields, func(field model.Field) bool { return field.Rules.String() != "" })
	})
}

// entersStruct reports whether validator checks the fields of a struct that has
// these rules.
func entersStruct(t *model.Type, rules model.Rules) bool {
	return t.Kind != reflect.Invalid && !slices.ContainsFunc(rules.List, func(r model.Rule) bool {
		return r.Name == "structonly" || r.Name == "nostructlevel" || r.Name == "-"
	})
}

// within adds facts about what a value holds: the fields of objects, and for
// elements what rules there are.
func (f *factory) within(t *model.Type, rules model.Rules, path string, checked bool) {
	if t.Recursive && t.Form != model.Struct { // a list of itself
		if _, again := f.open[t.Source]; again {
			return
		}
		f.open[t.Source] = path
		defer delete(f.open, t.Source)
	}
	checked = checked && t.Kind != reflect.Invalid
	switch t.Form {
	case model.Pointer:
		f.within(t.Elem, rules, path, checked)
	case model.Struct:
		if _, again := f.open[t.Source]; !again {
			f.object(t, path, checked && entersStruct(t, rules))
		}
	case model.Map:
		f.elements(t, rules, path+"{}", checked)
	case model.Slice, model.Array:
		f.elements(t, rules, path+"[]", checked)
	default: // nothing is in it
	}
}

// elements adds the fact of a list's elements, when there are rules for them.
func (f *factory) elements(t *model.Type, rules model.Rules, path string, checked bool) {
	dives := checked && rules.Elem != nil
	var below model.Rules
	if dives {
		below = *rules.Elem
	}
	words := f.words(t.Elem, plainWords(below.List))
	if slices.ContainsFunc(below.List, func(r model.Rule) bool { return r.Name == "required" }) {
		words = append([]string{"required"}, words...)
	}
	if dives && rules.Keys != nil {
		for _, w := range f.words(t.Key, plainWords(rules.Keys.List)) {
			words = append(words, "key:"+w)
		}
		if slices.ContainsFunc(rules.Keys.List, func(r model.Rule) bool { return r.Name == "required" }) {
			words = append(words, "key:required")
		}
	}
	if checked && f.recurs(t.Elem) && (!dives || !entersStruct(t.Elem, below)) {
		words = append(words, "unchecked")
	}
	if len(words) > 0 {
		f.facts = append(f.facts, model.Fact{Part: f.part, Path: path, Type: f.word(t.Elem, path), Words: words})
	}
	f.within(t.Elem, below, path, dives)
}

// words returns the words of a value with these rules, sorted, but for required.
func (f *factory) words(t *model.Type, rules []string) []string {
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
	words = append(words, rules...)
	slices.Sort(words)
	return slices.Compact(words)
}

// ruleWords returns the rules of a field, which may name others of its struct.
func (f *factory) ruleWords(owner *model.Type, field model.Field) []string {
	list := slices.Clone(field.Rules.List)
	siblings := false
	for i, r := range list {
		switch {
		case r.ComparesSiblings():
			list[i], siblings = f.byJSON(owner, field, r), true
		case r.Name == "unique" && field.Type.Elem != nil:
			list[i].Param = jsonPath(within(field.Type), model.Field{}, r.Param)
		}
	}
	words := plainWords(list)
	if siblings && slices.ContainsFunc(list, func(r model.Rule) bool { return r.Name == "required" }) {
		words = append(words, "always:required")
	}
	return words
}

// byJSON returns a rule that compares with other fields with their names in JSON,
// which do not follow a rename in Go. What is not stored keeps its name.
func (f *factory) byJSON(owner *model.Type, field model.Field, r model.Rule) model.Rule {
	one := func(a model.Rule) model.Rule {
		words := a.Quoted()
		pairs := strings.HasSuffix(a.Name, "_if") || strings.HasSuffix(a.Name, "_unless")
		for i, w := range words {
			switch {
			case !slices.Contains(model.SiblingRules, a.Name), pairs && i%2 == 1:
			case strings.Contains(a.Name, "csfield"):
				words[i] = jsonPath(f.root, model.Field{}, w)
			default:
				words[i] = jsonPath(owner, field, w)
			}
		}
		if slices.Contains(model.SiblingRules, a.Name) {
			a.Param = strings.Join(words, " ")
		}
		return a
	}
	alternatives := r.Alternatives()
	if len(alternatives) == 1 {
		return one(r)
	}
	var all []string
	for _, a := range alternatives {
		all = append(all, one(a).String())
	}
	return model.Rule{Name: strings.Join(all, "|")}
}

// within returns what pointers, lists and maps hold.
func within(t *model.Type) *model.Type {
	for t.Elem != nil {
		t = t.Elem
	}
	return t
}

// jsonPath translates the path of a field in Go, as validator reads it in a rule of
// another field.
func jsonPath(t *model.Type, of model.Field, path string) string {
	name, rest, more := strings.Cut(path, ".")
	name, index, indexed := strings.Cut(name, "[")
	field, ok := t.Sibling(of, name)
	if !ok {
		return path
	}
	out := model.PathName(field.JSON)
	if indexed {
		out += "[" + index
	}
	if more {
		out += "." + jsonPath(within(field.Type), model.Field{}, rest)
	}
	return out
}

// plainWords writes rules; those before a word such as omitempty hold always.
func plainWords(list []model.Rule) (words []string) {
	last := -1
	for i, r := range list {
		if omits(r.Name) {
			last = i
		}
	}
	for i, r := range list {
		w := ruleWord(r)
		if w != "" && i < last && !omits(r.Name) {
			w = "always:" + w
		}
		if w != "" {
			words = append(words, w)
		}
	}
	return words
}

// omits reports whether a rule is a word such as omitempty.
func omits(name string) bool { return name == "omitempty" || name == "omitzero" || name == "omitnil" }

// ruleWord writes a rule of a validate tag.
func ruleWord(r model.Rule) string {
	switch r.Name {
	case "required", "structonly", "nostructlevel":
		return "" // told by the word required, or by what is in the struct
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
	if strings.HasPrefix(r.Name, "oneof=") { // or it would look like a list of values
		return "|" + strings.ReplaceAll(url.PathEscape(r.Name), "%7C", "|")
	}
	if r.Param == "" { // or alternatives, with parameters in the name
		return strings.ReplaceAll(url.PathEscape(r.Name), "%7C", "|")
	}
	return r.Name + "=" + url.PathEscape(r.Param)
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
		if t.Source == "«math/big|big».Int" {
			return "bigint"
		}
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
