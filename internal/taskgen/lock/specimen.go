package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
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
// one with null for each element that may be, and one for each value of an enum. What
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
	return wanted && nullable(word) && !f.Has("required") && (!model.IsElement(f.Path) || len(f.Words) == 0)
}

// object returns an object with the fields whose facts lie directly below a
// path.
func (m *specimenMaker) object(path string) (string, bool) {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, p := range sortedPaths(m.facts) {
		parent, name := "", p
		if i := strings.LastIndexByte(p, '.'); i >= 0 {
			parent, name = p[:i], p[i+1:]
		}
		f := m.facts[p]
		if parent != path || model.IsElement(p) || p == "." || !m.full && !f.Has("required") {
			continue
		}
		value, ok := m.value(f.Type, f)
		if !ok {
			continue
		}
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

// value returns a value of a type. It reports false for what cannot be guessed.
func (m *specimenMaker) value(word string, f model.Fact) (string, bool) {
	switch {
	case m.null(word, f):
		return "null", true
	case word == "{}":
		return m.object(f.Path)
	case word[0] == '?':
		value, ok := m.value(word[1:], f)
		if !ok {
			return "null", true
		}
		return value, ok
	case word[0] == '^', word == "json", word == "text":
		return "", false
	}
	if a := arrayWord.FindStringSubmatch(word); a != nil {
		return m.list(a[1], a[2], f)
	}
	if kv := mapWord.FindStringSubmatch(word); kv != nil {
		below := m.below(f, "{}")
		key, known := map[string]string{"string": "key", "int": "1", "uint": "1"}[strings.TrimRight(kv[1], "0123456789")]
		value, ok := m.value(kv[2], below)
		if !ok || !known {
			return "{}", true
		}
		return fmt.Sprintf("{%q:%s}", key, value), true
	}
	return leaf(word, f, m.choice), true
}

// list returns a list of two, or as many as an array has.
func (m *specimenMaker) list(length, elem string, f model.Fact) (string, bool) {
	value, ok := m.value(elem, m.below(f, "[]"))
	n, err := strconv.Atoi(length)
	switch {
	case err == nil && n > 0 && !ok:
		return "", false
	case err != nil && !ok:
		return "[]", true
	case err != nil:
		n = 2
	}
	return "[" + strings.Join(slices.Repeat([]string{value}, n), ",") + "]", true
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

// leaf returns a value that is neither a list nor an object. Choice is which value of
// an enum it is.
func leaf(word string, f model.Fact, choice int) string {
	rules := ruleSet(f)
	for _, name := range []string{"enum", "oneof"} {
		if list, ok := rules[name]; ok {
			values := strings.Split(list, "|")
			first := values[0]
			if name == "enum" {
				first = values[choice%len(values)]
			}
			first, _ = url.PathUnescape(first)
			if word == "string" {
				return quoteJSON(first)
			}
			return first
		}
	}
	switch strings.TrimRight(word, "0123456789") {
	case "string":
		for _, format := range [][2]string{
			{"email", "someone@example.org"}, {"uri", "https://example.org/"}, {"url", "https://example.org/"}, {"uuid", specimenUUID},
		} {
			if _, ok := rules[format[0]]; ok {
				return quoteJSON(format[1])
			}
		}
		return `"text"`
	case "bool":
		return "true"
	case "int", "uint", "float":
		if n, err := strconv.Atoi(rules["min"]); err == nil {
			return strconv.Itoa(n)
		}
		return "1"
	case "bytes":
		return `"AQID"`
	case "time":
		return `"2006-01-02T15:04:05Z"`
	case "uuid":
		return quoteJSON(specimenUUID)
	case "raw":
		return `{"any":true}`
	default:
		return "null"
	}
}

const specimenUUID = "0190b3a1-7c3e-7000-8000-000000000001"

// quoteJSON writes a string as JSON.
func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
