package load

import (
	"fmt"
	"go/types"
	"strconv"
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

// ledger refuses the word ledger in a directive whose list of targets is never empty: it
// is known of each of its elements whether it succeeded.
func (r *resolver) ledger(list *model.Field, d *directive) {
	if list == nil || !d.ledger || !required(list.Rules) {
		return
	}
	r.report(problem{
		d.ledgerPos, fmt.Sprintf("ledger is of no use with targets=%s: a spec without targets is not valid, and which targets succeeded is known without a ledger", d.targets),
		"remove the word ledger; it is for tasks that find their items themselves",
	})
}

// required reports whether rules refuse an empty list.
func required(rules model.Rules) bool {
	for _, rule := range rules.List {
		n, err := strconv.Atoi(rule.Param)
		switch {
		case rule.Name == "omitempty":
			return false
		case rule.Name == "min" || rule.Name == "len" || rule.Name == "gte":
			if err == nil && n > 0 {
				return true
			}
		case rule.Name == "gt" && err == nil && n >= 0:
			return true
		}
	}
	return false
}

// findsTargets checks the method Targets of an executor, if there is one.
func (r *resolver) findsTargets(x *model.Executor, named *types.Named, batch *types.TypeList) {
	m := method(named, "Targets")
	if m == nil {
		return
	}
	got, ok := batchOf(m.Signature())
	results := m.Signature().Results()
	list := func(t types.Type) *types.Slice { s, _ := types.Unalias(t).(*types.Slice); return s }
	switch {
	case !ok || !identical(got, batch) || results.Len() != 3 || list(results.At(0).Type()) == nil ||
		!isRuntime(results.At(1).Type(), "Next") || !isError(results.At(2).Type()):
		r.report(problem{
			m.Pos(), "the signature of Targets does not match taskkit.Targeter, so the runtime would not call it",
			"change it to func(context.Context, *taskkit.Batch[Spec, State]) ([]Target, taskkit.Next, error) with the types of Execute",
		})
	case x.Targets == nil:
		r.report(problem{
			m.Pos(), "the executor finds its targets, but its directive names no list that they stand for",
			"add targets=FIELD to the directive, with the JSON name of a list of the spec",
		})
	case x.Targets.Type.Elem != nil && mark(list(results.At(0).Type()).Elem()) != x.Targets.Type.Elem.Source:
		r.report(problem{
			m.Pos(), fmt.Sprintf("Targets returns a list of %s, and the list %s of the spec is another", plain(list(results.At(0).Type()).Elem()), x.Targets.JSON),
			"let both have the same elements",
		})
	default:
		x.FindsTargets = true
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
