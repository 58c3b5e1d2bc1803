package taskkit

import (
	"errors"
	"fmt"
	"slices"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
)

// Take returns the next b.Limit elements of a list in the spec, and what to
// return from Execute: [More], or [Done] with the last of them. The runtime keeps
// the position and commits it with the batch. Take also sets the task's total and
// counts the elements that it returns as processed. Called again in the same
// batch, it returns the same elements.
//
// In a task that was submitted with [Over] the list is empty, and Take returns the
// next elements of the frozen set that stands for it. With another list it ends the
// batch with a permanent error with the code misuse.
func Take[T, Spec, State any](b *Batch[Spec, State], all []T) ([]T, Next) {
	step := b.runtime()
	if t := step.Targets; t != nil {
		return takeFrozen(step, t, b.Limit, all)
	}
	from, to := step.Take(len(all), b.Limit, func(i int) string { return itemkey.Encode(all[i]) })
	if to >= len(all) {
		return all[from:to], Done
	}
	return all[from:to], More
}

// takeFrozen is Take of frozen targets. As Take returns no error, one is thrown as a
// panic, which the runtime takes for the batch's error.
func takeFrozen[T any](step *engine.Step, t *engine.Targets, limit int, instead []T) ([]T, Next) {
	if t.Err != nil {
		panic(&classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeTargets, Err: t.Err})
	}
	if len(instead) > 0 {
		panic(misuse(errors.New("Take was given another list than the targets of the spec, and this task has a frozen set for these: give Take the list that targets= names in the directive")))
	}
	var loaded []T
	for i, l := range t.Lists {
		page, ok := l.([]T)
		if !ok {
			panic(misuse(fmt.Errorf("Take was given a list of %T, and the frozen targets of this task are %T: give Take the list that targets= names in the directive", instead, l)))
		}
		if i == 0 {
			loaded = slices.Clip(page) // the page is kept for the next batch
			continue
		}
		loaded = append(loaded, page...)
	}
	from, to := step.Take(t.Total, min(limit, t.Most), func(i int) string { return itemkey.Encode(loaded[i-t.From]) })
	if to >= t.Total {
		return loaded[from-t.From : to-t.From], Done
	}
	return loaded[from-t.From : to-t.From], More
}

// misuse is the error of a batch that did what none may.
func misuse(err error) error {
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMisuse, Err: err}
}
