package lock

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// Rule names of incompatible changes. Between two revisions of a kind, what the
// older wrote must be readable, and valid, by the newer.
const (
	KindNoDelete      = "KIND_NO_DELETE"        // a kind or alias is gone, and no worker would run its tasks
	KindNoReuse       = "KIND_NO_REUSE"         // a name that was another kind's
	AliasNoMerge      = "ALIAS_NO_MERGE"        // an alias that has a history of its own
	FieldNoDelete     = "FIELD_NO_DELETE"       // a stored field is gone, or has another JSON name
	FieldSameType     = "FIELD_SAME_TYPE"       // a stored value does not fit the type any more
	FieldNoNewRequire = "FIELD_NO_NEW_REQUIRED" // stored specs lack what is now required
	LimitNoTighten    = "LIMIT_NO_TIGHTEN"      // stored specs may break a rule that is new or stricter
	EnumValueNoDelete = "ENUM_VALUE_NO_DELETE"  // a stored value may be one that is gone
	ResultNoDelete    = "RESULT_NO_DELETE"      // results are stored, and nothing reads them any more
)

// violation is an incompatible change between two revisions.
type violation struct {
	rule, part, path string
	what             string // for people
	remedy           string // apart from an upgrade function
	// overridable says that only validator's rules are in question, which an exception may
	// overrule: what cannot be decoded needs an upgrade function.
	overridable bool
}

// compareParts returns what the newer revision cannot take from the older, by
// part.
func compareParts(older, newer model.Revision) (out []violation) {
	for _, part := range model.Parts {
		c := comparison{part: part, old: factsOf(older, part), now: factsOf(newer, part), seen: map[pair]bool{}}
		if part == "result" && len(c.old) > 0 && len(c.now) == 0 {
			out = append(out, violation{
				rule: ResultNoDelete, part: part, path: "",
				what: "the result is gone", remedy: "put the Report method or its fields back, or give the action without a result a kind of its own",
			})
			continue
		}
		out = append(out, c.violations()...)
	}
	return out
}

// factsOf returns the facts of one part by their path.
func factsOf(r model.Revision, part string) map[string]model.Fact {
	out := map[string]model.Fact{}
	for _, f := range r.Facts {
		if f.Part == part {
			out[f.Path] = f
		}
	}
	return out
}

// comparison compares one part of two revisions. It goes through the values of both
// at once, from the root, and into a type that contains itself where it says so: the
// same type written out is the same.
type comparison struct {
	part     string
	old, now map[string]model.Fact
	seen     map[pair]bool
	found    []violation
}

// located is a value in the facts of a revision.
type located struct {
	word    string // its type
	path    string // of the facts about what is in it
	checked bool   // whether validator comes to it
}

// pair is two values that are compared, once.
type pair struct{ was, is located }

// violations compares the roots, and all that is in them.
func (c *comparison) violations() []violation {
	if c.part == "result" && len(c.old) == 0 {
		return nil // nothing was stored
	}
	root := func(facts map[string]model.Fact) (located, model.Fact) {
		if f, ok := facts["."]; ok && f.Type != "{}" {
			return located{f.Type, ".", true}, f
		}
		return located{"{}", "", true}, model.Fact{Type: "{}"}
	}
	was, before := root(c.old)
	is, after := root(c.now)
	if !c.value(was, is, "") {
		c.addType(".", was.word, is.word)
	} else {
		c.rules(".", before, after, false, nil)
	}
	return c.found
}

func (c *comparison) add(v violation) {
	v.part = c.part
	c.found = append(c.found, v)
}

func (c *comparison) addType(path, was, is string) {
	c.add(violation{
		rule: FieldSameType, path: path, what: fmt.Sprintf("the type was %s and is %s", was, is),
		remedy: "keep the type, and add a field with another name for the new one",
	})
}

// value compares what is in two values. It returns false when stored ones do not
// fit the new type; all else it reports itself, below the path that is shown.
func (c *comparison) value(was, is located, shown string) bool {
	if is.word == "raw" {
		return true
	}
	if inner, ok := strings.CutPrefix(is.word, "?"); ok {
		was.word, is.word = strings.TrimPrefix(was.word, "?"), inner
		if was.word == "bytes" && inner == "string" {
			return true // in base64, or null
		}
		return c.value(was, is, shown)
	}
	was, is = resolve(c.old, was), resolve(c.now, is)
	if was.word == "{}" && is.word == "{}" {
		c.objects(was, is, shown)
		return true
	}
	if m, n := mapWord.FindStringSubmatch(was.word), mapWord.FindStringSubmatch(is.word); m != nil && n != nil {
		return (m[1] == n[1] || n[1] == "string" || widened(m[1], n[1])) && c.elements(was, is, m[2], n[2], "{}", shown)
	}
	if m, n := arrayWord.FindStringSubmatch(was.word), arrayWord.FindStringSubmatch(is.word); m != nil && n != nil {
		return (m[1] == n[1] || n[1] == "") && c.elements(was, is, m[2], n[2], "[]", shown)
	}
	if was.word == "bytes" && is.word == "string" {
		return c.old[was.path].Has(nonNull) // in base64
	}
	return readable(was.word, is.word) || was.checked && narrowed(c.old[was.path], was.word, is.word)
}

// resolve follows the word of a value that is at another path too.
func resolve(facts map[string]model.Fact, p located) located {
	path, again := strings.CutPrefix(p.word, "^")
	if !again {
		return p
	}
	f, ok := facts[path]
	if ok && !strings.HasSuffix(f.Type, "{}") { // a list of itself
		return located{strings.TrimLeft(f.Type, "?"), path, p.checked}
	}
	return located{"{}", path, p.checked}
}

// elements compares the elements of two lists or maps.
func (c *comparison) elements(was, is located, wasWord, isWord, brackets, shown string) bool {
	if key := (pair{was, is}); c.seen[key] {
		return true
	} else if strings.Contains(was.word+is.word, "^") {
		c.seen[key] = true
	}
	was, is = located{wasWord, was.path + brackets, was.checked}, located{isWord, is.path + brackets, is.checked}
	before, after := c.old[was.path], c.now[is.path]
	before.Type, after.Type = wasWord, isWord
	shown += brackets
	if !c.value(was.entered(before), is.entered(after), shown) {
		return false
	}
	c.rules(shown, was.applied(before), is.applied(after), true, nil)
	return true
}

// entered returns where a value is by its fact.
func (p located) entered(f model.Fact) located {
	p.checked = p.checked && !f.Has("unchecked")
	return p
}

// applied returns the fact of a value, without rules when they are not
// checked there.
func (p located) applied(f model.Fact) model.Fact {
	if !p.checked {
		f.Words = slices.DeleteFunc(slices.Clone(f.Words), func(w string) bool { return !strings.HasPrefix(w, "enum=") })
	}
	return f
}

// objects compares the fields of two objects.
func (c *comparison) objects(was, is located, shown string) {
	if c.seen[pair{was, is}] {
		return
	}
	c.seen[pair{was, is}] = true
	old, now := fieldsOf(c.old, was.path), fieldsOf(c.now, is.path)
	at := func(name string) string { return strings.TrimPrefix(shown+"."+name, ".") }
	isNew := func(name string) bool { _, had := old[name]; return !had }
	for _, name := range sortedPaths(old) {
		before, after := old[name], now[name]
		switch {
		case after.Path == "":
			c.add(violation{
				rule: FieldNoDelete, path: at(name), what: "the field was removed",
				remedy: "restore it, or give its new name the json tag of the old one",
			})
		case !c.value(located{before.Type, before.Path, was.checked}.entered(before), located{after.Type, after.Path, is.checked}.entered(after), at(name)):
			c.addType(at(name), before.Type, after.Type)
		default:
			c.rules(at(name), was.applied(before), is.applied(after), false, isNew)
		}
	}
	for _, name := range sortedPaths(now) {
		f := is.applied(now[name])
		if !readTag(f, false).needed(isNew) || !c.newlyChecked(was, is, name) {
			continue
		}
		what := "the field is new, and its rules refuse stored tasks without it"
		if !isNew(name) {
			what = "another field of stored tasks now belongs to the same embedded struct, and the rules refuse them without this one"
		}
		c.add(violation{
			rule: FieldNoNewRequire, path: at(name), what: what,
			remedy: "allow it to be absent: remove required, or begin the tag with omitempty", overridable: true,
		})
	}
}

// newlyChecked reports whether the rules of a field that old data lacks are checked now and
// were not. Those of a field behind embedded pointers are checked where any other field
// behind the same ones is present.
func (c *comparison) newlyChecked(was, is located, name string) bool {
	old, now := fieldsOf(c.old, was.path), fieldsOf(c.now, is.path)
	before, had := old[name]
	way := embeddedBy(now[name])
	if len(way) == 0 {
		return !had // else the rules are compared
	}
	if had && (!readTag(was.applied(before), false).mayRefuse() || len(embeddedBy(before)) == 0) {
		return false // the rules are compared; or it was there always
	}
	return slices.ContainsFunc(sortedPaths(now), func(other string) bool {
		there, stored := old[other]
		return other != name && stored && behind(now[other], way) && (!had || !behind(there, embeddedBy(before)))
	})
}

// behind reports whether a field lies behind embedded pointers.
func behind(f model.Fact, way []string) bool {
	its := embeddedBy(f)
	return len(its) >= len(way) && slices.Equal(its[:len(way)], way)
}

// isEmbedded reports whether a word says that a field lies behind an embedded pointer.
func isEmbedded(w string) bool { return w == "embedded" || strings.HasPrefix(w, "embedded=") }

// embeddedBy returns the embedded pointers on the way to a field, or none.
func embeddedBy(f model.Fact) []string {
	for _, w := range f.Words {
		if way, ok := strings.CutPrefix(w, "embedded"); ok && isEmbedded(w) {
			return strings.Split(way, "/")
		}
	}
	return nil
}

// fieldsOf returns the facts of the fields of an object, by name.
func fieldsOf(facts map[string]model.Fact, path string) map[string]model.Fact {
	out := map[string]model.Fact{}
	for p, f := range facts {
		parent, name := "", p
		if i := strings.LastIndexByte(p, '.'); i >= 0 {
			parent, name = p[:i], p[i+1:]
		}
		if parent == path && p != "." && !model.IsElement(p) {
			out[name] = f
		}
	}
	return out
}

// sortedPaths returns the keys of a map, sorted.
func sortedPaths[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// mapWord and arrayWord find the words of maps and arrays.
var (
	mapWord   = regexp.MustCompile(`^map\[([a-z0-9]+)\](.+)$`)
	arrayWord = regexp.MustCompile(`^\[(\d*)\](.+)$`)
)
