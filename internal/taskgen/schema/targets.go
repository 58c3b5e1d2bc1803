package schema

import (
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// withoutTargets returns the type of a spec whose list of targets, at a path, may be
// absent or empty: the executor then finds the targets. Of the rules of the list only the
// rules of its elements apply, and the rules that such a list keeps.
func withoutTargets(t *model.Type, path string) *model.Type {
	name, rest, nested := strings.Cut(path, ".")
	open := *t
	open.Fields = slices.Clone(t.Fields)
	for i := range open.Fields {
		f := &open.Fields[i]
		switch {
		case f.JSON != name:
		case nested:
			f.Type = withoutTargets(f.Type, rest)
		default:
			f.Rules.List = slices.DeleteFunc(slices.Clone(f.Rules.List), func(r model.Rule) bool {
				return !slices.Contains([]string{"max", "lte", "unique", "omitempty"}, r.Name)
			})
		}
	}
	return &open
}
