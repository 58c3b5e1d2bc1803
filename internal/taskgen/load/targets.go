package load

import (
	"fmt"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// targets returns the list of the spec that the directive names by its path. Its
// names are paths too.
func (r *resolver) targets(spec *model.Type, d *directive) *model.Field {
	refuse := func(remedy, format string, args ...any) *model.Field {
		r.report(problem{d.targetsPos, fmt.Sprintf("targets=%s "+format, append([]any{d.targets}, args...)...), remedy})
		return nil
	}
	remedy := "name a list of the spec by its JSON name: it has none"
	if lists := listsOf(spec, ""); len(lists) > 0 {
		remedy = "name a list of the spec by its JSON name: it has " + strings.Join(lists, ", ")
	}
	names := strings.Split(d.targets, ".")
	var path []string // in Go
	for i, t := 0, spec; ; i++ {
		f := fieldNamed(t, names[i])
		if f == nil || f.Type == nil {
			if i == 0 && len(names) > 1 && fieldNamed(spec, d.targets) != nil {
				return refuse("give the field another name in JSON", "names a field with a dot in its name, and a dot separates the names of a path")
			}
			return refuse(remedy, "is not a list of the spec")
		}
		so := strings.Join(names[:i+1], ".")
		if len(f.Through) > 0 {
			return refuse(remedy, "goes through an embedded pointer, which may be nil, to %s", so)
		}
		path = append(path, f.Go)
		if i == len(names)-1 {
			if f.Type.Form != model.Slice {
				return refuse(remedy, "is not a list of the spec")
			}
			list := *f
			list.JSON, list.Go = d.targets, strings.Join(path, ".")
			return &list
		}
		if f.Type.Form != model.Struct {
			return refuse(remedy, "goes through %s, which is %s: every spec has the list only if structs lead to it", so, formName(f.Type.Form))
		}
		t = f.Type
	}
}

// fieldNamed returns the field of a struct by its JSON name, or nil.
func fieldNamed(t *model.Type, name string) *model.Field {
	for i := range t.Fields {
		if t.Fields[i].JSON == name {
			return &t.Fields[i]
		}
	}
	return nil
}

// listsOf returns the paths of the lists that targets= may name.
func listsOf(t *model.Type, prefix string) (lists []string) {
	for _, f := range t.Fields {
		switch {
		case f.Type == nil || len(f.Through) > 0 || strings.Contains(f.JSON, "."):
		case f.Type.Form == model.Slice:
			lists = append(lists, prefix+f.JSON)
		case f.Type.Form == model.Struct:
			lists = append(lists, listsOf(f.Type, prefix+f.JSON+".")...)
		}
	}
	return lists
}

// formName says what a type is in an error.
func formName(f model.Form) string {
	switch f {
	case model.Pointer:
		return "a pointer"
	case model.Map:
		return "a map"
	case model.Slice, model.Array:
		return "a list itself"
	case model.JSON, model.Text:
		return "a type that marshals itself"
	default:
		return "a single value"
	}
}
