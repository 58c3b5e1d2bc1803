package taskkit

import (
	"fmt"
	"reflect"

	"taskkit.dev/taskkit/taskkind"
)

// contradiction returns what in a definition cannot be true together with something else in
// it, or "".
func contradiction[Spec, State, Result any](d *taskkind.Definition[Spec, State, Result]) string {
	targets := d.Targets.Get != nil
	switch {
	case d.Segments && d.Stages:
		return "it has both Segments and Stages, and a task has either buckets or stages: make a kind with buckets a stage of the other"
	case d.Segments && targets && d.Targets.Finder == nil:
		return "it has both Segments and Targets, and no method Targets by which a bucket finds the items of its segment: add the method, or leave out Targets"
	case d.Stages && targets:
		return "it has both Stages and Targets, and the items of a composite task are those of its stages: leave out Targets"
	case d.Preview && d.Stages:
		return "it has both Preview and Stages, and a preview has no children: let one of the stages be a preview"
	case d.Preview && d.Children:
		return "it has both Preview and Children, and a preview has no children: leave out one of them"
	case d.Parallel != 0 && !targets:
		return "it has Parallel and no Targets, and only tasks over a list or a set are divided into ranges: leave out Parallel"
	case d.Parallel != 0 && !d.Merge && reflect.TypeFor[Result]() != reflect.TypeFor[struct{}]():
		return "it has Parallel and a result, and no Merge, so Report would see none of the states of the ranges: leave out Parallel, or add a method Merge to its executor"
	case d.CheckItems != nil && !targets:
		return "it has CheckItems and no Targets, and only the items of a list or a set reach the condition: leave out CheckItems"
	case d.CheckBucket && !d.Segments:
		return "it has CheckBucket and no Segments, so its tasks have no buckets: leave out CheckBucket"
	case d.SkipPoison && d.Stages:
		return "it has both SkipPoison and Stages, and a composite task takes no items: leave out SkipPoison"
	default:
		return ""
	}
}

// checkMethods returns the methods of which the executor and the definition say different
// things. Otherwise a task would be run in another way than its kind says.
func (k *Kind[Spec, State, Result]) checkMethods(x Executor[Spec, State]) (errs []error) {
	_, segments := find[Segmenter[Spec, State]](x)
	_, merges := find[Merger[State]](x)
	_, stages := find[Stager[Spec, State]](x)
	_, checksBuckets := find[BucketChecker[Spec, State]](x)
	checksItems := hasCheckItems[Spec, State](x)
	if declared := k.def.CheckItems; declared != nil {
		checksItems = declared(x) != nil
	}
	for _, m := range []struct {
		name               string
		executor, declared bool
	}{{"Segments", segments, k.def.Segments}, {"Stages", stages, k.def.Stages}, {"CheckBucket", checksBuckets, k.def.CheckBucket}, {"CheckItems", checksItems, k.def.CheckItems != nil}} {
		var problem string
		switch {
		case m.executor && !m.declared:
			problem = fmt.Sprintf("its executor has a method %s, and the Definition of the kind does not say so: run go generate, or set Definition.%s", m.name, m.name)
		case !m.executor && m.declared:
			problem = fmt.Sprintf("its executor has no method %s, and the Definition of the kind says that it has: run go generate; if it wraps another executor, return that one from a method Unwrap() any", m.name)
		default:
			continue
		}
		errs = append(errs, &UsageError{What: named("kind", k.def.Name), Why: problem})
	}
	if k.def.Merge && !merges {
		errs = append(errs, &UsageError{What: named("kind", k.def.Name), Why: "its executor has no method Merge, and the Definition of the kind says that it has: run go generate"})
	}
	if merges && !segments && k.def.Targets.Get == nil {
		errs = append(errs, &UsageError{What: named("kind", k.def.Name), Why: "its executor has a method Merge, and its tasks have neither buckets nor targets, so there are no states to merge: add Segments, name the list of the spec with targets=FIELD, or give Merge another name"})
	}
	return errs
}

// hasCheckItems reports whether an executor has a method CheckItems for the items of some type.
func hasCheckItems[Spec, State any](x any) bool {
	for x != nil {
		if m := reflect.ValueOf(x).MethodByName("CheckItems"); m.IsValid() {
			t := m.Type()
			return t.NumIn() == 3 && t.In(1) == reflect.TypeFor[*Batch[Spec, State]]()
		}
		u, ok := x.(interface{ Unwrap() any })
		if !ok {
			return false
		}
		x = u.Unwrap()
	}
	return false
}
