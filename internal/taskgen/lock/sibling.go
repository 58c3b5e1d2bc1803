package lock

import (
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// changedSibling returns a field that a rule names and whose type is another one now, so that the same rule may refuse
// what it took before. The field has a fact in both revisions.
//
// A comparison of two fields is true only for two values of one kind, so both may change together. The other rules
// compare with a text or require a zero field, which a wider integer does not change. A pointer does: its zero
// value is nil.
func (c *comparison) changedSibling(r model.Rule, was, is model.Fact) (path string, changed bool) {
	for _, a := range r.Alternatives() {
		fields, together := namedFields(a)
		for _, name := range fields {
			before, had := c.old[beside(was.Path, a, name)]
			after, has := c.now[beside(is.Path, a, name)]
			switch {
			case !had || !has || before.Type == after.Type && (was.Type == is.Type || !together):
			case together && before.Type == was.Type && after.Type == is.Type:
			case together && before.Type == after.Type:
				return name, true
			case !together && strings.Contains(before.Type, "int") && widened(before.Type, after.Type) && strings.Contains(after.Type, "int"):
			default:
				return name, true
			}
		}
	}
	return "", false
}

// namedFields returns the fields that a rule names, and whether it compares their values with its own field.
func namedFields(r model.Rule) (names []string, together bool) {
	if !r.ComparesSiblings() {
		return nil, false
	}
	words := r.Listed()
	switch {
	case strings.HasSuffix(r.Name, "_if"), strings.HasSuffix(r.Name, "_unless"):
		for i := 0; i < len(words); i += 2 {
			names = append(names, words[i])
		}
		return names, false
	case strings.HasSuffix(r.Name, "field"):
		return words, true
	default:
		return words, false
	}
}

// beside returns the path of a field that a rule of the field at path names.
func beside(path string, r model.Rule, name string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 || strings.Contains(r.Name, "csfield") {
		return name
	}
	return path[:i+1] + name
}
