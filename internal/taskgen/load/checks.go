package load

import (
	"fmt"
	"go/types"

	"taskkit.dev/internal/taskgen/model"
)

// checks finds the methods CheckItems and CheckBucket of an executor, if there are such.
func (r *resolver) checks(x *model.Executor, named *types.Named, batch *types.TypeList) {
	if m := method(named, "CheckBucket"); m != nil {
		switch {
		case !takesBatch(m.Signature(), batch, isProcessing):
			r.report(problem{
				m.Pos(), "the signature of CheckBucket does not match taskkit.BucketChecker, so the runtime would not call it",
				"change it to func(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Processing, error) with the types of Execute",
			})
		case !x.Segments:
			r.report(problem{
				m.Pos(), "the executor has a method CheckBucket and no method Segments, so its tasks have no buckets",
				"add Segments, or give the method another name",
			})
		default:
			x.ChecksBuckets = true
		}
	}
	m := method(named, "CheckItems")
	if m == nil {
		return
	}
	items := checkedItems(m.Signature(), batch)
	switch {
	case items == nil:
		r.report(problem{
			m.Pos(), "the signature of CheckItems does not match taskkit.ItemChecker, so the runtime would not call it",
			"change it to func(context.Context, *taskkit.Batch[Spec, State], []Target) ([]taskkit.Processing, error) with the types of Execute",
		})
	case x.Targets == nil:
		r.report(problem{
			m.Pos(), "the executor has a method CheckItems, and finds its items itself, so the runtime has no items to give it",
			"name the list of the spec in the directive with targets=FIELD, or call b.Skip in Execute",
		})
	case x.Targets.Type.Elem != nil && mark(items.Elem()) != x.Targets.Type.Elem.Source:
		r.report(problem{
			m.Pos(), fmt.Sprintf("CheckItems takes a list of %s, and the list %s of the spec is another", plain(items.Elem()), x.Targets.JSON),
			"let both have the same elements",
		})
	default:
		x.ChecksItems = true
	}
}

// checkedItems returns the list that a method takes with the signature of CheckItems; nil: it has another.
func checkedItems(sig *types.Signature, batch *types.TypeList) *types.Slice {
	params, results := sig.Params(), sig.Results()
	if sig.Variadic() || params.Len() != 3 || results.Len() != 2 || !isError(results.At(1).Type()) {
		return nil
	}
	decided, ok := types.Unalias(results.At(0).Type()).(*types.Slice)
	if !ok || !isProcessing(decided.Elem()) {
		return nil
	}
	first := types.NewSignatureType(nil, nil, nil, types.NewTuple(params.At(0), params.At(1)), nil, false)
	if got, ok := batchOf(first); !ok || !identical(got, batch) {
		return nil
	}
	items, _ := types.Unalias(params.At(2).Type()).(*types.Slice)
	return items
}

// isProcessing reports whether t is taskkit.Processing.
func isProcessing(t types.Type) bool { return isRuntime(t, "Processing") }
