package lock

import (
	"bytes"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// Specimen is a value as a database may hold it, made from the facts of a
// revision. A test decodes it for ever.
type Specimen struct {
	Part     string
	Revision int
	JSON     string
}

// Specimens returns values for each part of each revision: one with what is
// required alone, one with everything, one with null for each field that may be null,
// one with null for each element that may be, and one for each value of an enum. Those of a spec
// keep its rules; a field whose rules no value was found for is left out. What
// a type writes by its own methods cannot be guessed, and is left out.
func Specimens(history []model.Revision) (out []Specimen) {
	for _, r := range history {
		for _, part := range model.Parts {
			all := factsOf(r, part)
			if len(all) == 0 && part == "result" {
				continue // there is none, or it is empty
			}
			var had []string
			for _, m := range makers(all) {
				value, ok := m.object("")
				if root, single := all["."]; single {
					value, ok = m.value(root.Type, root)
				}
				if ok && !slices.Contains(had, value) {
					had = append(had, value)
					out = append(out, Specimen{Part: part, Revision: r.Number, JSON: value})
				}
			}
		}
	}
	return out
}

// specimenMaker makes one value from the facts of one part.
type specimenMaker struct {
	facts    map[string]model.Fact
	full     bool // with the fields that are not required
	nulls    bool // null for each field that may be null
	elements bool // null for each element that may be null
	choice   int  // of the values of an enum, counted from 0 and around
	variant  int  // which of the values that the rules take, for the elements of a list
}

// makers returns a maker for each specimen of a part.
func makers(facts map[string]model.Fact) []specimenMaker {
	all := []specimenMaker{{facts: facts}, {facts: facts, full: true}, {facts: facts, full: true, nulls: true}, {facts: facts, full: true, elements: true}}
	most := 1
	for _, f := range facts {
		if list, ok := ruleSet(f)["enum"]; ok {
			most = max(most, 1+strings.Count(list, "|"))
		}
	}
	for n := 1; n < most; n++ {
		all = append(all, specimenMaker{facts: facts, full: true, choice: n})
	}
	return all
}

// nullable reports whether a stored value of a type may be null.
func nullable(word string) bool {
	return word[0] == '?' || word == "bytes" || word == "raw" || strings.HasPrefix(word, "[]") || strings.HasPrefix(word, "map[")
}

// null reports whether a value is to be null: it may be, and no rule is against it.
func (m *specimenMaker) null(word string, f model.Fact) bool {
	wanted := m.nulls
	if model.IsElement(f.Path) {
		wanted = m.elements
	}
	return wanted && nullable(word) && !f.Has("required") && !f.Has(nonNull) && (!model.IsElement(f.Path) || len(f.Words) == 0)
}

// object returns an object with the fields whose facts lie directly below a
// path.
func (m *specimenMaker) object(path string) (string, bool) {
	var b bytes.Buffer
	b.WriteByte('{')
	written, compared := map[string]bool{}, m.comparedWith()
	for _, p := range sortedPaths(m.facts) {
		parent, name := "", p
		if i := strings.LastIndexByte(p, '.'); i >= 0 {
			parent, name = p[:i], p[i+1:]
		}
		f := m.facts[p]
		if parent != path || model.IsElement(p) || p == "." || !m.full && !f.Has("required") && !compared[p] || excluded(f, written) {
			continue
		}
		value, ok := m.compared(p, f)
		if !ok {
			continue
		}
		written[name] = true
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		plain, err := url.PathUnescape(name)
		if err != nil {
			plain = name
		}
		fmt.Fprintf(&b, "%q:%s", plain, value)
	}
	b.WriteByte('}')
	return b.String(), true
}

// comparedWith returns the paths of the fields with which a required one is compared: without
// them it would be compared with zero.
func (m *specimenMaker) comparedWith() map[string]bool {
	out := map[string]bool{}
	for p, f := range m.facts {
		for _, r := range readTag(f, false).list {
			if f.Has("required") && strings.HasSuffix(r.Name, "field") {
				out[beside(p, r, r.Param)] = true
			}
		}
	}
	return out
}

// excluded reports whether the rules of a field are against it beside those that are written.
func excluded(f model.Fact, written map[string]bool) bool {
	return slices.ContainsFunc(readTag(f, false).list, func(r model.Rule) bool {
		if r.Name == "excluded_with" {
			return slices.ContainsFunc(r.Listed(), func(name string) bool { return written[name] })
		}
		return strings.HasPrefix(r.Name, "excluded") && !f.Has("required")
	})
}

// compared returns the value of the field at a path, whose rules may compare it with another.
func (m *specimenMaker) compared(path string, f model.Fact) (string, bool) {
	for _, r := range readTag(f, false).list {
		if !strings.HasSuffix(r.Name, "field") || strings.Contains(r.Name, "|") {
			continue
		}
		other, ok := m.facts[beside(path, r, r.Param)]
		if !ok || strings.Contains(strings.Join(other.Words, " "), "field=") {
			continue
		}
		value, ok := m.value(other.Type, other)
		if !ok {
			continue
		}
		switch name := strings.Replace(r.Name, "csfield", "field", 1); name {
		case "eqfield":
			return value, true
		case "nefield":
			m.variant++
			defer func() { m.variant-- }()
		default:
			if moved, ok := move(value, name); ok {
				return moved, true
			}
		}
	}
	return m.value(f.Type, f)
}

// value returns a value of a type. It reports false for what cannot be guessed, or if a rule is
// against every guess.
func (m *specimenMaker) value(word string, f model.Fact) (string, bool) {
	switch {
	case m.null(word, f):
		return "null", true
	case word == "{}":
		return m.object(f.Path)
	case word[0] == '?':
		value, ok := m.value(word[1:], f)
		if !ok {
			return "null", !f.Has("required")
		}
		return value, ok
	case word[0] == '^', word == "json", word == "text":
		return "", false
	}
	if a := arrayWord.FindStringSubmatch(word); a != nil {
		elements, ok := m.several(word, f, 2, func() (string, bool) { return m.value(a[2], m.below(f, "[]")) })
		if !ok && !m.full { // with what is required alone the elements may not differ
			whole := *m
			whole.full = true
			return whole.value(word, f)
		}
		return "[" + strings.Join(elements, ",") + "]", ok
	}
	if kv := mapWord.FindStringSubmatch(word); kv != nil {
		key := model.Fact{Part: f.Part, Type: kv[1], Words: keyWords(m.below(f, "{}"))}
		members, ok := m.several(word, f, 1, func() (string, bool) {
			name, known := leaf(kv[1], key, 0, m.variant)
			value, ok := m.value(kv[2], m.below(f, "{}"))
			switch {
			case kv[1] != "string":
				name = strconv.Quote(name)
			case len(key.Words) == 0:
				name = strconv.Quote("key" + variant(m.variant))
			}
			return name + ":" + value, ok && known && numberOrText(kv[1])
		})
		return "{" + strings.Join(members, ",") + "}", ok
	}
	return leaf(word, f, m.choice, m.variant)
}

// numberOrText reports whether keys of a type can be guessed.
func numberOrText(word string) bool { return word == "string" || numberWord.MatchString(word) }

// mostElements bounds the elements of a list in a specimen.
const mostElements = 64

// several returns as many elements as the rules of a list or map ask for, about n, which
// differ if they must.
func (m *specimenMaker) several(word string, f model.Fact, n int, one func() (string, bool)) ([]string, bool) {
	rules := readTag(f, model.IsElement(f.Path)).list
	size := prover{typ: word, old: rules, zero: !f.Has("required")}.bounds()
	least := 0
	if low := size.low; low != nil && low.Cmp(big.NewRat(mostElements, 1)) > 0 {
		return nil, false
	} else if low != nil {
		least = int(low.Num().Int64())
		n = max(n, least)
	}
	if high := size.high; high != nil && high.Cmp(big.NewRat(int64(n), 1)) < 0 {
		n = int(high.Num().Int64())
	}
	differ := mapWord.MatchString(word) || slices.ContainsFunc(rules, func(r model.Rule) bool { return r.Name == "unique" })
	before := m.variant
	defer func() { m.variant = before }()
	var all []string
	for len(all) < n {
		value, ok := one()
		if !ok || differ && slices.Contains(all, value) {
			break
		}
		all = append(all, value)
		if differ {
			m.variant++
		}
	}
	return all, len(all) >= least
}

// below returns the fact of a value's elements, which has nothing but a path
// when there are no rules for them.
func (m *specimenMaker) below(f model.Fact, brackets string) model.Fact {
	path := f.Path + brackets
	below, ok := m.facts[path]
	if !ok {
		below = model.Fact{Part: f.Part, Path: path}
	}
	return below
}

// ruleSet returns a fact's words by name.
func ruleSet(f model.Fact) map[string]string {
	out := map[string]string{}
	for _, w := range f.Words {
		name, param, _ := strings.Cut(w, "=")
		out[name] = param
	}
	return out
}
