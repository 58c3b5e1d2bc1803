package load

import (
	"fmt"
	"go/types"

	"taskkit.dev/internal/taskgen/model"
)

// typedKind is the Go type of an executor, with the types of its kind.
type typedKind struct {
	name        string
	executor    *types.Named
	spec, state types.Type
	result      types.Type // struct{} without a method Report
}

// noResult is the result of a kind whose executor has no method Report.
var noResult = types.NewStruct(nil, nil)

// kindFields refuses fields of executors for kinds, as of stages, whose result is not the result of that kind: nothing could
// be assigned to them, which only the compiler of main would find.
func (r *resolver) kindFields() {
	for _, x := range r.kinds {
		s, ok := x.executor.Underlying().(*types.Struct)
		if !ok {
			continue
		}
		for f := range s.Fields() {
			kind, ok := kindArgs(f.Type())
			if !ok {
				continue
			}
			of := r.kindWith(kind)
			if of == nil || types.Identical(kind.At(2), of.result) {
				continue
			}
			why := "the method Report of its executor returns " + plain(of.result)
			if of.result == noResult {
				why = "its executor has no method Report"
			}
			r.report(problem{
				f.Pos(), fmt.Sprintf("field %s is for a kind with the result %s, and kind %s has another: %s", f.Name(), plain(kind.At(2)), of.name, why),
				fmt.Sprintf("write %s as the third type of taskkit.Kind", plain(of.result)),
			})
		}
	}
}

// kindWith returns the kind with a spec and a state, if possible the one with the result too, or nil.
func (r *resolver) kindWith(t *types.TypeList) (found *typedKind) {
	for i, k := range r.kinds {
		if types.Identical(t.At(0), k.spec) && types.Identical(t.At(1), k.state) && (found == nil || types.Identical(t.At(2), k.result)) {
			found = &r.kinds[i]
		}
	}
	return found
}

// kindArgs returns the three types of a *taskkit.Kind.
func kindArgs(t types.Type) (*types.TypeList, bool) {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return nil, false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	if !ok || !isDeclared(named, model.RuntimePath, "Kind") || named.TypeArgs().Len() != 3 {
		return nil, false
	}
	return named.TypeArgs(), true
}
