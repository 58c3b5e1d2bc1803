package lock

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"taskkit.dev/internal/taskgen/model"
)

// TestNothingMissed makes pairs of tags from a fixed seed: where a value keeps the old
// rules and not the new ones, as validator says, the change is refused.
func TestNothingMissed(t *testing.T) {
	t.Parallel()
	text := ruleSource{
		typ:   &model.Type{Form: model.String, Kind: reflect.String, Source: "string"},
		rules: strings.Fields("required isdefault max=3 max=2 min=1 min=3 len=2 len=36 gt=1 lt=3 eq=ab eq=b ne=ab ne=1 alpha alphanum ascii numeric number lowercase boolean hexadecimal email url uuid uuid4 startswith=a startswith=ab contains=b excludes=b excludesall=ab endswith=c oneof=a oneofci=AB noneof=b email|url eq=a|eq=b max=1|alpha oneof=a|min=3 uuid|numeric"),
		words: []string{"oneof=a b", "oneof=ab abc 1", "noneof=a b", "oneof=a b|email"},
	}
	for _, s := range []string{"", "a", "b", "c", "ab", "AB", "abc", "bc", "1", "12", "-1", "1.5", "a1", "x y", "é", "true", "0x1F", "someone@example.org", "https://example.org/", "0190b3a1-7c3e-4000-8000-000000000001", "0190b3a1-7c3e-7000-8000-000000000001"} {
		text.values = append(text.values, reflect.ValueOf(s))
	}
	number := ruleSource{
		typ:   &model.Type{Form: model.Int, Kind: reflect.Int, Source: "int"},
		rules: strings.Fields("required isdefault max=3 max=0 max=-1 min=1 min=0 min=-1 min=3 len=2 gt=1 gt=0 gt=-1 lt=3 lt=0 eq=2 eq=0 ne=2 ne=0 eq=1|eq=2 max=-1|min=1 oneof=1 port number"),
		words: []string{"oneof=1 2", "oneof=0 1", "noneof=1 2", "oneof=1 2|eq=3"},
	}
	for n := -3; n < 6; n++ {
		number.values = append(number.values, reflect.ValueOf(n))
	}
	list := ruleSource{
		typ:   &model.Type{Form: model.Slice, Kind: reflect.Slice, Source: "[]string", Elem: text.typ},
		rules: strings.Fields("required isdefault max=1 max=2 min=1 min=0 len=2 len=0 gt=0 gt=1 lt=2 unique ne=1 eq=1"),
	}
	for _, l := range [][]string{nil, {}, {""}, {"a"}, {"a", "a"}, {"a", "b"}, {"a", "b", "c"}} {
		list.values = append(list.values, reflect.ValueOf(l))
	}
	for _, source := range []ruleSource{text, number, list, text.pointer(), number.pointer()} {
		for _, beside := range []ruleSource{{}, text, number} {
			source.missed(t, beside, rand.New(rand.NewPCG(1, 2)))
		}
	}
}

// ruleSource makes tags for a type, and has values of it, the zero value first.
type ruleSource struct {
	typ    *model.Type
	rules  []string
	words  []string // rules with blanks
	values []reflect.Value
}

// pointer is for a pointer to the type.
func (s ruleSource) pointer() ruleSource {
	var values []reflect.Value
	for _, v := range s.values {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		values = append(values, p)
	}
	s.values = append([]reflect.Value{reflect.Zero(values[0].Type())}, values...)
	s.typ = &model.Type{Form: model.Pointer, Kind: reflect.Pointer, Source: "*" + s.typ.Source, Elem: s.typ}
	return s
}

// tag makes a tag of a few rules.
func (s ruleSource) tag(r *rand.Rand, siblings []string) string {
	var words []string
	all := append(append(append([]string{}, s.rules...), s.words...), siblings...)
	for range r.IntN(3) {
		words = append(words, all[r.IntN(len(all))])
	}
	if omit := []string{"omitempty", "omitzero", "omitnil", "", ""}[r.IntN(5)]; omit != "" {
		at := r.IntN(len(words) + 1)
		words = append(words[:at], append([]string{omit}, words[at:]...)...)
	}
	return strings.Join(words, ",")
}

// missed compares pairs of tags of a field B beside a field A.
func (s ruleSource) missed(t *testing.T, beside ruleSource, r *rand.Rand) {
	t.Helper()
	var siblings []string
	if beside.typ != nil {
		a := map[model.Form]string{model.String: "ab", model.Int: "2"}[beside.typ.Form]
		for w := range strings.FieldsSeq("required_with=A required_without=A excluded_with=A required_if=A excluded_if=A required_unless=A excluded_unless=A") {
			if strings.HasSuffix(w, "_if=A") || strings.HasSuffix(w, "_unless=A") {
				w += " " + a
			}
			siblings = append(siblings, w)
		}
		if beside.typ == s.typ {
			siblings = append(siblings, "eqfield=A", "nefield=A", "gtfield=A", "gtefield=A", "ltfield=A", "ltefield=A")
		}
	}
	const pairs = 100 // of each two types; 700 take a minute
	for range pairs {
		old, now := s.tag(r, siblings), s.tag(r, siblings)
		if beside.typ != nil && r.IntN(2) == 0 { // a change of one rule
			now = strings.TrimPrefix(old+","+siblings[r.IntN(len(siblings))], ",")
		}
		older, newer := s.facts(beside, old), s.facts(beside, now)
		if len(compareParts(older, newer)) > 0 {
			continue
		}
		others := beside.values
		if beside.typ == nil {
			others = []reflect.Value{{}}
		}
		for _, a := range others {
			for _, b := range s.values {
				if !s.refuses(a, b, old) && s.refuses(a, b, now) {
					t.Errorf("%s: %q to %q is taken, and refuses a %v, b %v", s.typ.Source, old, now, a, b)
				}
			}
		}
	}
}

// facts returns the revision of a spec with these rules.
func (s ruleSource) facts(beside ruleSource, tag string) model.Revision {
	spec := &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "Spec", Fields: []model.Field{
		{Go: "B", JSON: "b", Type: s.typ, Rules: model.ParseRules(tag)},
	}}
	if beside.typ != nil {
		spec.Fields = append(spec.Fields, model.Field{Go: "A", JSON: "a", Type: beside.typ})
	}
	state := &model.Type{Form: model.Struct, Kind: reflect.Struct, Source: "State"}
	return model.Revision{Facts: facts(&model.Executor{Kind: "k", Spec: spec, State: state})}
}

// refuses asks validator. What it panics on is refused by taskgen, or never stored.
func (s ruleSource) refuses(a, b reflect.Value, tag string) bool {
	fields := []reflect.StructField{{Name: "B", Type: b.Type(), Tag: model.ValidateTag(tag)}}
	if a.IsValid() {
		fields = append(fields, reflect.StructField{Name: "A", Type: a.Type()})
	}
	v := reflect.New(reflect.StructOf(fields))
	v.Elem().Field(0).Set(b)
	if a.IsValid() {
		v.Elem().Field(1).Set(a)
	}
	failed, _ := model.Validates(v)
	return failed
}
