package lock

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/internal/taskgen/model"
)

// Rule names of incompatible changes. Between two revisions of a kind, what the
// older wrote must be readable, and valid, by the newer.
const (
	KindNoDelete      = "KIND_NO_DELETE"        // a kind or alias is gone, and nobody would run its tasks
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
}

// compareParts returns what the newer revision cannot take from the older, by
// part.
func compareParts(older, newer model.Revision) (out []violation) {
	for _, part := range model.Parts {
		c := comparison{part: part, old: factsOf(older, part), now: factsOf(newer, part)}
		if part == "result" && len(c.old) > 0 && len(c.now) == 0 {
			// An empty Result has no facts either, but then fields are gone too.
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

// comparison compares one part of two revisions.
type comparison struct {
	part     string
	old, now map[string]model.Fact
	found    []violation
}

// violations goes through all paths, parents first.
func (c *comparison) violations() []violation {
	for _, path := range sortedPaths(c.old) {
		was := c.old[path]
		is, ok := c.now[path]
		switch {
		case c.settled(path): // reported at a parent, or read as any JSON
		case ok:
			c.changed(was, is)
		case model.IsElement(path): // removed rules of elements
		default:
			c.add(FieldNoDelete, path, "the field was removed", "restore it, or give its new name the json tag of the old one")
		}
	}
	for _, path := range sortedPaths(c.now) {
		is := c.now[path]
		if _, ok := c.old[path]; ok {
			continue
		}
		switch {
		case model.IsElement(path):
			if _, known := c.old[strings.TrimRight(path, "[]{}")]; known && !c.settled(path) {
				c.rules(model.Fact{}, is)
			}
		case is.Has("required") && c.meetsOldData(path):
			c.add(FieldNoNewRequire, path, "the field is new, and its rules refuse stored tasks without it",
				"allow it to be absent: remove required, or begin the tag with omitempty")
		}
	}
	return c.found
}

func (c *comparison) add(rule, path, what, remedy string) {
	c.found = append(c.found, violation{rule: rule, part: c.part, path: path, what: what, remedy: remedy})
}

// changed compares a field that both have.
func (c *comparison) changed(was, is model.Fact) {
	if !readable(was.Type, is.Type) {
		c.add(FieldSameType, was.Path, fmt.Sprintf("the type was %s and is %s", was.Type, is.Type),
			"keep the type, and add a field with another name for the new one")
		return
	}
	c.rules(was, is)
}

// settled reports whether a path needs no comparison, because a parent of it was
// removed, accepts any JSON, or was reported.
func (c *comparison) settled(path string) bool {
	for _, parent := range parents(path) {
		was, old := c.old[parent]
		is, now := c.now[parent]
		if old && !model.IsElement(parent) && (!now || !readable(was.Type, is.Type) || strings.HasSuffix(is.Type, "raw")) {
			return true
		}
	}
	return false
}

// meetsOldData reports whether a new path is missing in old data: in an object that
// old data contains, or that is zero when it is absent.
func (c *comparison) meetsOldData(path string) bool {
	for _, parent := range parents(path) {
		if model.IsElement(parent) {
			continue
		}
		if _, old := c.old[parent]; !old && c.now[parent].Type != "{}" {
			return false // null or empty in old data
		}
	}
	return !c.settled(path)
}

// rules compares the rules of a field that both have.
func (c *comparison) rules(was, is model.Fact) {
	old, now := ruleSet(was), ruleSet(is)
	for _, name := range sortedPaths(now) {
		param := now[name]
		before, had := old[name]
		switch base := strings.TrimPrefix(name, "key:"); {
		case had && before == param, strings.HasPrefix(base, "omit"), base == "secret":
		case base == "required":
			c.add(FieldNoNewRequire, is.Path, "the rules now refuse stored tasks without the field",
				"allow it to be absent: remove required, or begin the tag with omitempty")
		case had && (base == "oneof" || base == "enum"):
			if gone := missing(before, param); len(gone) > 0 {
				c.add(EnumValueNoDelete, is.Path, "values were removed: "+strings.Join(gone, ", "),
					"restore them; if they must not be used any more, refuse them where tasks are submitted")
			}
		case had && looser(base, before, param):
		case had:
			c.add(LimitNoTighten, is.Path, fmt.Sprintf("the rule was %s=%s and is %s=%s", base, before, base, param),
				"restore the former limit")
		default:
			c.add(LimitNoTighten, is.Path, "the rule is new: "+strings.TrimSuffix(base+"="+param, "="),
				"remove it, and check it where tasks are submitted")
		}
	}
	for _, name := range sortedPaths(old) {
		if _, kept := now[name]; !kept && strings.HasPrefix(name, "omit") && len(now) > 0 {
			c.add(LimitNoTighten, is.Path, "the other rules now apply to the zero value too, because "+name+" was removed", "restore it")
		}
	}
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

// looser reports whether a limit takes all that it took before.
func looser(name, was, is string) bool {
	a, okA := limit(was)
	b, okB := limit(is)
	if !okA || !okB {
		return false
	}
	switch name {
	case "min", "gt":
		return b <= a
	case "max", "lt":
		return b >= a
	default:
		return false
	}
}

// limit reads a number or a duration.
func limit(s string) (float64, bool) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f, true
	}
	d, err := time.ParseDuration(s)
	return float64(d), err == nil
}

// missing returns the values of a list that another lacks.
func missing(was, is string) (gone []string) {
	have := strings.Split(is, "|")
	for v := range strings.SplitSeq(was, "|") {
		if !slices.Contains(have, v) {
			gone = append(gone, v)
		}
	}
	return gone
}

// parents returns the paths around a path, outermost first.
func parents(path string) (out []string) {
	for i := range len(path) {
		switch {
		case path[i] == '.':
			out = append(out, path[:i])
		case i > 0 && (path[i:min(i+2, len(path))] == "[]" || path[i:min(i+2, len(path))] == "{}"):
			out = append(out, path[:i])
		}
	}
	return slices.Compact(out)
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

// readable reports whether every value of the type was is read, with nothing
// lost, as a value of the type is.
func readable(was, is string) bool {
	if was == is || is == "raw" {
		return true
	}
	if inner, ok := strings.CutPrefix(is, "?"); ok {
		return readable(strings.TrimPrefix(was, "?"), inner)
	}
	if m, n := mapWord.FindStringSubmatch(was), mapWord.FindStringSubmatch(is); m != nil && n != nil {
		return (m[1] == n[1] || n[1] == "string" || widened(m[1], n[1])) && readable(m[2], n[2])
	}
	if m, n := arrayWord.FindStringSubmatch(was), arrayWord.FindStringSubmatch(is); m != nil && n != nil {
		return (m[1] == n[1] || n[1] == "") && readable(m[2], n[2])
	}
	if is == "string" {
		return was == "time" || was == "uuid" || was == "text" || was == "bytes"
	}
	return widened(was, is)
}

// numberWord splits int32 into int and 32.
var numberWord = regexp.MustCompile(`^(int|uint|float)(\d+)$`)

// widened reports whether a number's type became one that holds all its values.
func widened(was, is string) bool {
	m, n := numberWord.FindStringSubmatch(was), numberWord.FindStringSubmatch(is)
	if m == nil || n == nil {
		return false
	}
	from, _ := strconv.Atoi(m[2])
	to, _ := strconv.Atoi(n[2])
	switch m[1] + n[1] {
	case "intint", "uintuint", "floatfloat":
		return from <= to
	case "uintint":
		return from < to
	case "intfloat", "uintfloat":
		return cmp.Compare(from, map[int]int{32: 24, 64: 53}[to]) <= 0
	default:
		return false
	}
}
