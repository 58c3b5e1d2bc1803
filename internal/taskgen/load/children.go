package load

import (
	"fmt"
	"go/types"

	"taskkit.dev/internal/taskgen/model"
)

// children checks the methods Segments, Merge and Stages of an executor, if there are such,
// and refuses what taskkit.NewKind would refuse of a kind with them.
func (r *resolver) children(x *model.Executor, named *types.Named, batch *types.TypeList, d *directive) {
	segments, merge, stages := method(named, "Segments"), method(named, "Merge"), method(named, "Stages")
	refuse := func(m *types.Func, runtime, signature string) {
		r.report(problem{
			m.Pos(), fmt.Sprintf("the signature of %s does not match taskkit.%s, so the runtime would not call it", m.Name(), runtime),
			fmt.Sprintf("change it to %s with the types of Execute", signature),
		})
	}
	if x.Segments = segments != nil; x.Segments && !takesBatch(segments.Signature(), batch, isPlan) {
		refuse(segments, "Segmenter", "func(context.Context, *taskkit.Batch[Spec, State]) (*segment.Plan, error)")
	}
	if x.Merges = merge != nil; x.Merges && !isMerge(merge.Signature(), batch.At(1)) {
		refuse(merge, "Merger", "func(total *State, part State) error")
	}
	if x.Stages = stages != nil; x.Stages && !takesBatch(stages.Signature(), batch, isStages) {
		refuse(stages, "Stager", "func(context.Context, *taskkit.Batch[Spec, State]) ([]taskkit.Stage, error)")
	}
	switch {
	case x.Segments && x.Stages:
		r.report(problem{
			stages.Pos(), "the executor has both a method Segments and a method Stages, and a task has either buckets or stages",
			"make an executor with Segments a stage of the other",
		})
	case x.Merges && !x.Segments && d.targets == "":
		r.report(problem{
			merge.Pos(), "the executor has a method Merge, and neither a method Segments nor targets=FIELD in its directive, so no task has states to merge",
			"add one of them, or give the method another name",
		})
	}
	if d.parallel > 0 {
		r.parallel(x, named, d)
	}
	r.withChildren(x, d)
}

// parallel refuses parallel=N where the tasks cannot be divided into ranges.
func (r *resolver) parallel(x *model.Executor, named *types.Named, d *directive) {
	switch {
	case d.targets == "":
		r.report(problem{d.parallelPos, fmt.Sprintf("parallel=%d is for tasks over a list or a set of targets", d.parallel), "name the list of the spec with targets=FIELD, or remove the option"})
	case method(named, "Report") != nil && !x.Merges:
		r.report(problem{
			d.parallelPos, fmt.Sprintf("parallel=%d divides a task into ranges with a state each, and Report would see none of them", d.parallel),
			"add a method Merge(total *State, part State) error, which adds them up",
		})
	}
}

// withChildren refuses words of the directive of an executor whose tasks have children.
func (r *resolver) withChildren(x *model.Executor, d *directive) {
	if d.targets != "" && x.Segments && !x.FindsTargets {
		r.report(problem{
			d.targetsPos, fmt.Sprintf("targets=%s and a method Segments need a method Targets, by which a bucket finds the items of its segment", d.targets),
			fmt.Sprintf("add the method, or remove targets=%s and find the items by b.Segment", d.targets),
		})
	}
	if d.targets != "" && x.Stages {
		r.report(problem{
			d.targetsPos, fmt.Sprintf("targets=%s cannot be used with a method Stages: the items of a composite task are those of its stages", d.targets),
			fmt.Sprintf("remove targets=%s", d.targets),
		})
	}
	if d.preview && (d.children || x.Stages) {
		with, remedy := "the word children", "remove one of the two words"
		if x.Stages {
			with, remedy = "a method Stages", "remove the word preview, and let one of the stages be a preview"
		}
		r.report(problem{d.previewPos, "preview cannot be used with " + with + ": a preview has no children", remedy})
	}
	if d.skipPoison && x.Stages {
		r.report(problem{d.poisonPos, "poison=skip cannot be used with a method Stages: a composite task takes no items", "remove poison=skip"})
	}
}

// takesBatch reports whether a method takes a context and the batch of Execute, and returns
// a result and an error.
func takesBatch(sig *types.Signature, batch *types.TypeList, result func(types.Type) bool) bool {
	got, ok := batchOf(sig)
	results := sig.Results()
	return ok && identical(got, batch) && results.Len() == 2 && result(results.At(0).Type()) && isError(results.At(1).Type())
}

// isPlan reports whether t is *segment.Plan.
func isPlan(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	return ok && isDeclared(p.Elem(), model.RuntimePath+"/segment", "Plan")
}

// isStages reports whether t is []taskkit.Stage.
func isStages(t types.Type) bool {
	s, ok := types.Unalias(t).(*types.Slice)
	return ok && isRuntime(s.Elem(), "Stage")
}

// isMerge reports whether a method has the signature of Merge for a state.
func isMerge(sig *types.Signature, state types.Type) bool {
	params, results := sig.Params(), sig.Results()
	return !sig.Variadic() && params.Len() == 2 && results.Len() == 1 && isError(results.At(0).Type()) &&
		types.Identical(params.At(0).Type(), types.NewPointer(state)) && types.Identical(params.At(1).Type(), state)
}
