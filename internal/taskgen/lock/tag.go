package lock

import (
	"net/url"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// tag is the rules of a fact, read back.
type tag struct {
	typ   string       // the word of the type
	list  []model.Rule // all, those before a word such as omitempty first; enum is a rule
	split int          // how many of list stand before omit
	omit  []string     // words such as omitempty
	// required says that the rules of a field may refuse an absent one, and the rules of
	// an element that one of them is required.
	required, element bool
	always            bool // refuses the zero value, whatever other fields are
	embedded          bool
}

// readTag reads the rules of a field, or of an element.
func readTag(f model.Fact, element bool) tag {
	t := tag{typ: f.Type, element: element}
	var later []model.Rule
	for _, w := range f.Words {
		rule, always := strings.CutPrefix(w, "always:")
		switch {
		case w == "required":
			t.required = true
		case w == "always:required":
			t.always = true
		case isEmbedded(w):
			t.embedded = true
		case w == "secret", w == nonNull, w == "unchecked", w == "-", strings.HasPrefix(w, "key:"): // no rules of the value
		case omits(w):
			t.omit = append(t.omit, w)
		case always:
			t.list = append(t.list, readRule(rule))
		default:
			later = append(later, readRule(w))
		}
	}
	t.split = len(t.list)
	t.list = append(t.list, later...)
	return t
}

// readRule reads a rule as ruleWord wrote it.
func readRule(w string) model.Rule {
	name, param, _ := strings.Cut(w, "=")
	unescape := func(s string) string {
		if plain, err := url.PathUnescape(s); err == nil {
			return plain
		}
		return s
	}
	if name == "oneof" || name == "enum" {
		values := strings.Split(param, "|")
		for i, v := range values {
			values[i] = "'" + unescape(v) + "'"
		}
		return model.Rule{Name: name, Param: strings.Join(values, " ")}
	}
	if alternatives, ok := strings.CutPrefix(w, "|"); ok {
		return model.Rule{Name: unescape(alternatives)}
	}
	if strings.Contains(w, "|") {
		return model.Rule{Name: unescape(w)}
	}
	return model.Rule{Name: unescape(name), Param: unescape(param)}
}

// siblings reports whether a rule depends on other fields.
func (t tag) siblings() bool { return slices.ContainsFunc(t.list, model.Rule.ComparesSiblings) }

// alone returns the rules that ask for no other fields, as validator reads them.
func (t tag) alone() string {
	var words []string
	if t.always || t.required && (t.element || !t.siblings()) {
		words = append(words, "required")
	}
	for i, r := range t.list {
		if i == t.split {
			words = append(words, t.omit...)
		}
		if !r.ComparesSiblings() && r.Name != "enum" {
			words = append(words, r.String())
		}
	}
	return strings.Join(words, ",")
}

// mayRefuse reports whether the rules may refuse the zero value, and refuses whether
// they do so whatever other fields are.
func (t tag) mayRefuse() bool {
	if t.element {
		return t.refuses()
	}
	return t.required
}

func (t tag) refuses() bool {
	if strings.HasPrefix(t.typ, "?") && t.siblings() { // those decide what validator does with nil
		return t.always
	}
	refused, known := refusesZero(t.typ, t.alone(), false)
	if !known {
		return t.required && !t.siblings() || t.always
	}
	return refused
}

// needed reports whether a field that old data lacks may be refused. Rules that ask
// only for fields that old data lacks as well take it.
func (t tag) needed(isNew func(string) bool) bool {
	if !t.mayRefuse() || t.refuses() || isNew == nil || !t.siblings() {
		return t.mayRefuse()
	}
	return slices.ContainsFunc(t.list, func(r model.Rule) bool { return r.ComparesSiblings() && !meetsAbsent(r, isNew, true) })
}

// meetsAbsent reports whether a rule holds while the other fields that it names are
// absent, as they are in old data when they are new: for any value, or for a zero
// one.
func meetsAbsent(r model.Rule, isNew func(string) bool, zero bool) bool {
	words := r.Listed()
	if len(words) == 0 || isNew == nil {
		return false
	}
	switch r.Name {
	case "required_with", "excluded_with":
		return !slices.ContainsFunc(words, func(w string) bool { return !isNew(w) })
	case "required_with_all", "excluded_with_all":
		return slices.ContainsFunc(words, isNew)
	case "required_if", "excluded_if":
		for i := 0; i+1 < len(words); i += 2 {
			if isNew(words[i]) && !slices.Contains([]string{"", "0", "false", "nil"}, words[i+1]) {
				return true
			}
		}
		return false
	case "eqfield", "gtefield", "ltefield":
		return zero && isNew(words[0])
	default:
		return zero && strings.HasPrefix(r.Name, "excluded_")
	}
}

// onlyOld returns a rule as it is for old data, without the other fields of which any
// may be there, or all must be absent, and that old data lacks.
func onlyOld(r model.Rule, isNew func(string) bool) model.Rule {
	if isNew == nil || !slices.Contains([]string{"required_with", "excluded_with", "required_without_all", "excluded_without_all"}, r.Name) {
		return r
	}
	if words := slices.DeleteFunc(r.Quoted(), isNew); len(words) > 0 {
		r.Param = strings.Join(words, " ")
	}
	return r
}

// rules compares the rules of a value that both have. isNew tells the names of
// fields beside it that old data lacks.
func (c *comparison) rules(path string, was, is model.Fact, element bool, isNew func(string) bool) {
	old, now := readTag(was, element), readTag(is, element)
	limit := func(what, remedy string) {
		c.add(violation{rule: LimitNoTighten, path: path, what: what, remedy: remedy, overridable: true})
	}
	if lacks := now.needed(isNew) && !old.mayRefuse() || now.refuses() && !old.refuses() || !now.embedded && old.embedded && now.mayRefuse(); lacks {
		c.add(violation{
			rule: FieldNoNewRequire, path: path, what: "the rules now refuse stored tasks without the field",
			remedy: "allow it to be absent: remove required, or begin the tag with omitempty", overridable: true,
		})
	} else if !c.zeroes(old, now) {
		limit("the rules now refuse a zero or empty value", "restore the former rules, and check it where tasks are submitted")
	}
	p := prover{typ: was.Type, zero: now.mayRefuse() && old.mayRefuse() && !old.refuses(), refuses: old.refuses()}
	for _, r := range old.list {
		if carries(r, was.Type, is.Type) {
			p.old = append(p.old, r)
		}
	}
	for _, r := range now.list {
		if sibling, changed := c.changedSibling(r, was, is); changed {
			limit("the rule "+r.String()+" compares with "+sibling+", whose type has changed", "restore the type, or change the types of both fields in the same way")
			continue
		}
		if (carries(r, was.Type, is.Type) || readable(was.Type, "string")) && p.proves(onlyOld(r, isNew)) || r.ComparesSiblings() && meetsAbsent(r, isNew, false) {
			continue
		}
		at := slices.IndexFunc(old.list, func(o model.Rule) bool { return o.Name == r.Name })
		switch {
		case at >= 0 && (r.Name == "oneof" || r.Name == "enum"):
			gone := slices.DeleteFunc(old.list[at].Listed(), func(v string) bool { return slices.Contains(r.Listed(), v) })
			c.add(violation{
				rule: EnumValueNoDelete, path: path, what: "values were removed: " + strings.Join(gone, ", "),
				remedy: "restore them; if they must not be used any more, refuse them where tasks are submitted", overridable: r.Name == "oneof",
			})
		case at >= 0:
			limit("the rule was "+old.list[at].String()+" and is "+r.String(), "restore the former limit")
		default:
			limit("the rule is new: "+r.String(), "remove it, and check it where tasks are submitted")
		}
	}
	if keys := func(f model.Fact) model.Fact {
		return model.Fact{Type: "string", Words: keyWords(f)}
	}; len(keyWords(is)) > 0 {
		before := keys(was)
		c.rules(path, before, keys(is), true, nil)
	}
}

// keyWords returns the words of the keys of a map.
func keyWords(f model.Fact) (words []string) {
	for _, w := range f.Words {
		if key, ok := strings.CutPrefix(w, "key:"); ok {
			words = append(words, key)
		}
	}
	return words
}

// zeroes reports whether a zero or empty value that is there, and that the old rules
// took, is taken still. Where validator cannot be asked, a word such as omitempty must
// not go.
func (c *comparison) zeroes(old, now tag) bool {
	before, known := refusesZero(old.typ, old.alone(), true)
	after, both := refusesZero(now.typ, now.alone(), true)
	if !known || !both {
		gone := slices.ContainsFunc(old.omit, func(w string) bool { return !slices.Contains(now.omit, w) })
		return !gone || len(now.list) == 0
	}
	return before || !after
}
