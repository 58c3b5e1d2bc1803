package taskkit

import (
	"context"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// ofBuckets is the problem of a task whose buckets find their items themselves.
const ofBuckets = "its items are those of its buckets or stages: submit a new task for the items that Items lists as failed"

// parts returns the buckets or the ranges of the task that the new one is made from, in the order in which their items are listed.
func (f *followUp) parts(ctx context.Context) iter.Seq2[*store.ChildTask, error] {
	return func(yield func(*store.ChildTask, error) bool) {
		for after := uuid.Nil; ; {
			page, err := f.from.Children(ctx, f.from.Task.ID, after, itemsPage, false)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				if after = page[i].ID; page[i].Bucket() && !yield(&page[i], nil) {
					return
				}
			}
			if len(page) < itemsPage {
				return
			}
		}
	}
}

// source returns the items of a bucket, of the failed ones those that are selected.
func (f *followUp) source(ctx context.Context, bucket *store.ChildTask, selects func(*store.Item) bool) (itemSource, error) {
	plan, err := f.from.ItemReader.Plan(ctx, bucket.ID)
	if err != nil {
		return itemSource{}, err
	}
	t := &store.Task{Submitted: store.Submitted{TargetsField: f.TargetsField}, ID: bucket.ID, Status: bucket.Status}
	set, _, err := newTargetCursor(f.from.ItemReader, t, &plan)
	if err == nil && set == nil {
		err = &ItemsError{ID: bucket.ID, Action: actRetryFailed, Problem: ofBuckets}
	}
	return itemSource{set, &rowCursor{read: f.from.ItemReader, id: bucket.ID, outcome: store.ItemFailed, selects: selects}}, err
}

// failedInBuckets returns the failed items of all buckets.
func (f *followUp) failedInBuckets(ctx context.Context, selects func(*store.Item) bool) (*failedItems, error) {
	failed := &failedItems{spec: f.from.Plan.Spec, inBuckets: true}
	for bucket, err := range f.parts(ctx) {
		if err != nil {
			return nil, err
		}
		if failed.some = bucket.Progress.Failed > 0; failed.some {
			break
		}
	}
	failed.sources = func(yield func(itemSource, error) bool) {
		for bucket, err := range f.parts(ctx) {
			var s itemSource
			switch {
			case err != nil:
			case bucket.Progress.Failed == 0:
				continue
			default:
				s, err = f.source(ctx, bucket, selects)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
	return failed, nil
}

// continueBuckets makes the task one over what the buckets of the other have not taken. It begins with the zero State, as each of them.
func (f *followUp) continueBuckets(ctx context.Context) error {
	t, all := &f.from.Task, f.from.Plan.Frozen.Total
	refuse := func(format string, args ...any) error {
		return &ItemsError{ID: t.ID, Action: actContinue, Problem: fmt.Sprintf(format, args...)}
	}
	if t.Progress.Position < all || f.from.Plan.Frozen.Finding {
		return refuse("%d of its %d buckets have not begun, and nothing says which items these have: retry it if it has failed, or submit the work anew", all-t.Progress.Position, all)
	}
	left := int64(0)
	for bucket, err := range f.parts(ctx) {
		switch {
		case err != nil:
			return err
		case bucket.Progress.Total < 0:
			return refuse("bucket %d has not found its items: retry it if it has failed, or submit the work anew", bucket.Number)
		case bucket.Progress.Deferred || bucket.Progress.Round > 0:
			return refuse(ofDeferred)
		}
		left += bucket.Progress.Total - bucket.Progress.Position
	}
	if left == 0 {
		return refuse(allProcessed)
	}
	f.Spec, f.Start.State = f.from.Plan.Spec, nil
	f.Targets = &store.NewTargets{Field: f.TargetsField, Keys: func(yield func([]byte, error) bool) {
		for bucket, err := range f.parts(ctx) {
			var s itemSource
			if err == nil {
				s, err = f.source(ctx, bucket, nil)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for key, err := range s.set.between(ctx, bucket.Progress.Position, s.set.total) {
				if !yield(key, err) || err != nil {
					return
				}
			}
		}
	}}
	return nil
}
