package taskkit

import (
	"errors"
	"fmt"
	"slices"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
)

// Take returns the next b.Limit elements of a list in the spec, and what to
// return from Execute: [More], or [Done] with the last of them. The runtime keeps
// the position and commits it with the batch. Take also sets the task's total and
// counts the elements that it returns as processed. Called again in the same
// batch, it returns the same elements.
//
// When Execute has returned Done and items were deferred, the task has another pass
// over them, see [Batch.Defer]: Take then returns the next of those. Done at the end of
// a pass does not end the task if there is another.
//
// In a task that was submitted with [WithTargets] the list is empty, and Take returns the
// next elements of the frozen set that stands for it. With another list it ends the
// batch with a permanent error with the code misuse.
func Take[T, Spec, State any](b *Batch[Spec, State], all []T) ([]T, Next) {
	step := b.runtime()
	if step.Checked != nil {
		return takeChecked[T](step)
	}
	if c := step.Child; c != nil && c.Range != nil && step.Targets == nil {
		all = all[min(c.Range.From, int64(len(all))):min(c.Range.To, int64(len(all)))]
	}
	switch t := step.Targets; {
	case step.Deferred != nil:
		return takeDeferred(step, b.Limit, all)
	case t != nil:
		return takeFrozen(step, t, b.Limit, all)
	}
	from, to := step.Take(len(all), b.Limit, func(i int) string { return itemkey.Encode(all[i]) })
	if to >= len(all) {
		return all[from:to], Done
	}
	return all[from:to], More
}

// takeDeferred is Take in a pass over the deferred items of a task.
func takeDeferred[T any](step *session.Step, limit int, all []T) ([]T, Next) {
	from := 0
	if t := step.Targets; t != nil {
		all, from = loadedTargets(t, all), t.From
	}
	positions := step.Deferred.Positions
	items := make([]T, min(max(limit, 1), len(positions)))
	for i := range items {
		at := int(positions[i]) - 1 - from
		if at < 0 || at >= len(all) {
			panic(&classify.MarkedError{
				Class: lifecycle.Permanent, Code: classify.CodeTargets,
				Err: fmt.Errorf("the item at position %d was deferred, and there is no such position in the list given to Take", positions[i]),
			})
		}
		items[i] = all[at]
	}
	n, more := step.TakeDeferred(limit, func(i int) string { return itemkey.Encode(items[i]) })
	if more {
		return items[:n], More
	}
	return items[:n], Done
}

// takeFrozen is Take of frozen targets.
func takeFrozen[T any](step *session.Step, t *session.Targets, limit int, instead []T) ([]T, Next) {
	loaded := loadedTargets(t, instead)
	from, to := step.Take(t.Total, min(limit, t.Most), func(i int) string { return itemkey.Encode(loaded[i-t.From]) })
	if to >= t.Total {
		return loaded[from-t.From : to-t.From], Done
	}
	return loaded[from-t.From : to-t.From], More
}

// loadedTargets returns the frozen targets that were read for a batch. As Take returns
// no error, one is thrown as a panic, which the runtime takes for the batch's error.
func loadedTargets[T any](t *session.Targets, instead []T) []T {
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
	return loaded
}

// misuse is the error of a batch that did what none may.
func misuse(err error) error {
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMisuse, Err: err}
}
