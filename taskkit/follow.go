package taskkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"taskkit.dev/internal/store"
)

// RetryFailed submits a new task over the failed items of a task that has ended, in
// their order, and returns its id. The new task has the same kind and spec, the list
// of the spec being empty, and begins with an empty state. It needs no code in the
// executor. Given a client of a transaction, it is stored with that.
//
// Owner, run-as, queue, priority, unique key and the stop policy are those of the
// first task, which is Task.Follows of the new one. Options change them; [WithTargets], [WithCoalescing],
// [WithPredecessor], [WithTotal], [WithSchema], [WithPreview] and [WithSample] are an *[OptionError]. After a
// first task with [WithApproval] the new task waits for an approval of its own, before its
// first batch. With [WithCanary] or [WithMaxRate] the new task is executed as a whole, whatever ranges or buckets the
// first one had, and [WithMaxParallel] beside them is an *[OptionError].
//
// The failed items of all ranges, and of all buckets that find their targets, are retried by one task. An item that several buckets
// have found is in it once: up to a million items of buckets may come in any order, more must ascend, as for [WithTargets].
//
// The items of a task are retried once: the new task has an idempotency key that
// belongs to the first task, and a second call returns a *[DuplicateError] with the id of
// the first, for as long as that is kept. So does a call after [Client.RetrySelected] has taken items of the task. [WithIdempotencyKey]
// sets another key, with which the items are retried again.
//
// A task that has not ended is a *[StateError]. An *[ItemsError] is returned for a bucket and for a range, whose items belong to
// its task, for a task without failed items, for one with stages or other children of its own, for one with [WithVersion], for a live walk, also in buckets, and for failed items that are no
// elements of the task's list or set, because the executor did not pass to [Batch.Fail]
// what [Take] returned. It returns [ErrNotFound] when there is no such task. After an
// error nothing is stored; a caller's transaction must be rolled back.
func (c *Client) RetryFailed(ctx context.Context, id ID, opts ...SubmitOption) (ID, error) {
	return c.follow(ctx, id, opts, func(f *followUp) error { return f.retryFailed(ctx, nil) })
}

// Continue submits a new task that goes on where a stopped one, or one in ERROR or
// FAILURE, has ended, and returns its id. It has the kind, the spec and the state of
// the first task, and is over the items that this has not processed. Its counters begin at 0. So each item is counted by one of the two, and
// belongs to one of the two sets.
//
// A live walk, and any other kind whose directive does not name its list, goes on from
// its state and from the position of [Take].
//
// The items that no range or bucket has processed are continued by one task, which begins with the zero State, as they did. All
// buckets must have begun and found their targets. An item that several buckets have left is in it once, as for [Client.RetryFailed].
//
// Options, transactions and what is taken from the first task are as for
// [Client.RetryFailed], but for the idempotency key, which cannot be changed: a task is
// continued once, and cannot be retried by [Client.Retry] after that, for as long as
// the new task is kept.
//
// A task that was not stopped and has not failed is a *[StateError]. One that has
// processed all items is an *[ItemsError], and so is one with stages or other children of its own, one with [WithVersion], a bucket and a range.
func (c *Client) Continue(ctx context.Context, id ID, opts ...SubmitOption) (ID, error) {
	return c.follow(ctx, id, opts, func(f *followUp) error { return f.continues(ctx) })
}

// followUp is a task that is made from another.
type followUp struct {
	submission

	from        store.Origin
	hasChildren bool // the task that it is made from, or it had some
}

// follow submits a task that f completes, made from another.
func (c *Client) follow(ctx context.Context, id ID, opts []SubmitOption, f func(*followUp) error) (ID, error) {
	forgetSubmitted(opts)
	op, err := c.tables(ctx)
	if err != nil {
		return ID{}, err
	}
	divided, err := c.wasDivided(ctx, op, id)
	if err != nil {
		return ID{}, err
	}
	options := &followUp{submission: submission{schema: c.schema, NewTask: store.NewTask{Total: -1, Options: new(store.Options)}}}
	if err := options.apply(c.schema, opts); err != nil {
		return ID{}, err
	}
	var refused error
	made, err := op.Derive(ctx, id, !options.withoutNotify, func(o store.Origin) (store.NewTask, error) {
		next := &followUp{from: o, hasChildren: divided, submission: submission{schema: c.schema, NewTask: o.Follow()}}
		refused = next.apply(c.schema, opts)
		if refused == nil {
			refused = f(next)
		}
		return next.NewTask, refused
	})
	switch {
	case refused != nil:
		return ID{}, public(refused)
	case err != nil:
		return ID{}, c.public(ctx, err)
	}
	return made, nil
}

// wasDivided reports whether a task has children, or had some.
func (c *Client) wasDivided(ctx context.Context, op store.Client, id ID) (bool, error) {
	children, err := op.Children(ctx, id, ID{}, 1, false)
	if err != nil {
		return false, c.public(ctx, err)
	}
	family, err := op.Family(ctx, store.Lease{ID: id})
	if err != nil {
		return false, c.public(ctx, err)
	}
	return len(children) > 0 || family.Memo != nil, nil
}

// apply applies options to the task.
func (f *followUp) apply(schema string, opts []SubmitOption) error {
	follows, total, parallel := f.NewTask.Follows, f.Total, f.Options.MaxParallel
	f.Options.MaxParallel = 0
	for _, o := range opts {
		o.applySubmit(&f.submission)
	}
	switch whole := f.undivided(); {
	case whole == "":
		f.Options.MaxParallel = cmp.Or(f.Options.MaxParallel, parallel)
	case f.Options.MaxParallel > 0:
		f.fail("WithMaxParallel", fmt.Sprintf("used together with %s, given or of the first task: such a task is executed as a whole", whole))
	}
	const made = "the new task is made from another, which says that"
	switch {
	case f.over != nil:
		f.fail("WithTargets", made)
	case f.Reference != "":
		f.fail("WithCoalescing", "the new task has a set of its own and cannot be replaced: leave the option out")
	case f.Version != nil:
		f.fail("WithVersion", "the new task has no reference: leave the option out")
	case f.NewTask.Follows != follows:
		f.fail("WithPredecessor", made)
	case f.Total != total:
		f.fail("WithTotal", made)
	case f.Options.Preview:
		f.fail("WithPreview", "a task that is made from another cannot be a preview")
	case f.Options.DryRun:
		f.fail("WithDryRun", "a task that is made from another executes its items: leave the option out")
	case len(f.Options.ChangeLimits) > 0:
		f.fail("WithMaxChanges", "the new task is no preview, and only those count what would be changed: leave the option out")
	case f.schema != schema:
		f.fail("WithSchema", "the client has its schema: give the option to NewClient")
	}
	f.checkPairs()
	if err := f.checkPolicies(f.hasChildren); err != nil {
		f.errs = append(f.errs, err)
	}
	return errors.Join(f.errs...)
}

// checkNoSample refuses [WithSample] for a task that has no canary of a set of its own.
func (f *followUp) checkNoSample() error {
	if !f.sampled() {
		return nil
	}
	return &OptionError{"WithSample", "the new task is made from another, and keeps the order of its items: leave the option out"}
}

// checkNoVersion refuses a task with a version. The new task would have none: nothing would keep it from executing beside a newer
// version, or after it.
func (f *followUp) checkNoVersion(action string) error {
	if f.from.Plan.Versioned == nil {
		return nil
	}
	return &ItemsError{ID: f.from.Task.ID, Action: action, Problem: ofVersion}
}

// checkNoPart refuses a bucket and a range, whose items are also the items of its task: they would be in the new task of each.
func (f *followUp) checkNoPart(action string) error {
	if t := &f.from.Task; f.from.Plan.Options.Child.Bucket() {
		return &ItemsError{ID: t.ID, Action: action, Problem: fmt.Sprintf("it is a part of task %s, to which its items belong: use this on task %s when it has ended", t.Parent, t.Parent)}
	}
	return nil
}

// Actions of errors.
const (
	actRetryFailed = "retry the failed items"
	actContinue    = "continue"
)

// ofPreview is the problem of a task that has changed nothing.
const ofPreview = "it is a preview: apply it, and then use this on the new task"

// Problems of tasks whose items were all processed, or deferred, or of which none has failed.
const (
	allProcessed = "all its items have been processed: retry the failed ones, or retry the task itself if it is in ERROR or FAILURE"
	ofDeferred   = "items of it were deferred and would be forgotten: submit a task over the items that are listed as deferred and unprocessed"
	noneFailed   = "no item failed"
)

// ofVersion is the problem of a task with a version.
const ofVersion = "it has a version, and the new task could take effect after a newer one: submit a newer version, or retry the task itself if it is in ERROR or FAILURE"

// retryFailed makes the task one over the failed items. With corrected, it is over
// what they have become.
func (f *followUp) retryFailed(ctx context.Context, corrected *corrections) error {
	if err := f.checkNoSample(); err != nil {
		return err
	}
	failed, err := f.failedItems(ctx, nil)
	switch {
	case err != nil:
		return err
	case !failed.some:
		return &ItemsError{ID: f.from.Task.ID, Action: actRetryFailed, Problem: noneFailed}
	}
	if corrected != nil {
		corrected.byTask = failed.inBuckets
	}
	f.Spec, f.Start = failed.spec, store.Start{}
	if f.IdempotencyKey == "" {
		if err := f.checkNotSelected(ctx); err != nil {
			return err
		}
		f.IdempotencyKey = store.RetryKey(f.from.Task.ID)
	}
	f.Targets = &store.NewTargets{Field: f.TargetsField, Distinct: corrected == nil && !failed.inBuckets, Keys: func(yield func([]byte, error) bool) {
		for key, err := range failed.targets(ctx, corrected) {
			if !yield(key, err) || err != nil {
				return
			}
		}
		if err := corrected.end(); err != nil {
			yield(nil, err)
		}
	}}
	return nil
}

// failedItems are the failed or the selected failed items of a task.
type failedItems struct {
	spec      []byte                       // of the task, without its targets
	sources   iter.Seq2[itemSource, error] // the tasks that have the items
	some      bool                         // there is one, if all are selected
	inBuckets bool
}

// itemSource is a task that has items itself: the one that another is made from, or a bucket of it.
type itemSource struct {
	set    *targetCursor
	failed *rowCursor
}

// failedItems returns the failed items of the task that the new one is made from, without
// those that are not selected. Nil selects all.
func (f *followUp) failedItems(ctx context.Context, selects func(*store.Item) bool) (*failedItems, error) {
	t := &f.from.Task
	if err := f.checkNoPart(actRetryFailed); err != nil {
		return nil, err
	}
	if !t.Status.Terminal() {
		return nil, &StateError{ID: t.ID, Action: actRetryFailed, Status: Status(t.Status), Control: Control(t.Control)}
	}
	if err := f.checkNoVersion(actRetryFailed); err != nil {
		return nil, err
	}
	refuse := func(problem string, keys ...string) error {
		return &ItemsError{ID: t.ID, Action: actRetryFailed, Problem: problem, Keys: keys}
	}
	if f.from.Plan.Options.Preview {
		return nil, refuse(ofPreview)
	}
	if f.from.Plan.Frozen.AreParts() && f.TargetsField != "" {
		return f.failedInBuckets(ctx, selects)
	}
	parts, err := f.ranges(ctx)
	switch {
	case err != nil:
		return nil, err
	case f.hasChildren && parts == nil:
		return nil, refuse(ofBuckets)
	}
	set, spec, err := newTargetCursor(f.from.ItemReader, t, &f.from.Plan)
	switch {
	case err != nil:
		return nil, tried(actRetryFailed, err)
	case set == nil:
		return nil, refuse(noTargets + ": submit a new task for the items that Items lists as failed")
	}
	rows := &rowCursor{read: f.from.ItemReader, id: t.ID, outcome: store.ItemFailed, parts: parts, selects: selects}
	unplaced, err := recordedPositions{rows}.unplaced(ctx, shownItems)
	switch {
	case err != nil:
		return nil, err
	case len(unplaced) > 0:
		return nil, refuse(unplacedItems+"; submit a new task for those that Items lists as failed", unplaced...)
	}
	return &failedItems{spec: spec, some: len(rows.rows) > 0, sources: func(yield func(itemSource, error) bool) { yield(itemSource{set, rows}, nil) }}, nil
}

// targets returns the targets that have failed, or what they have become.
func (f *failedItems) targets(ctx context.Context, corrected *corrections) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for s, err := range f.sources {
			if err != nil {
				yield(nil, err)
				return
			}
			for key, err := range s.targets(ctx, corrected) {
				if !yield(key, err) || err != nil {
					return
				}
			}
		}
	}
}

// targets returns the targets of the task that have failed, or what they have become.
func (s itemSource) targets(ctx context.Context, corrected *corrections) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for last := int64(0); ; s.failed.skip() {
			i, err := s.failed.peek(ctx)
			if i == nil && err == nil {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if i.Position == 0 { // in a part; the task itself was checked before
				yield(nil, &ItemsError{ID: s.set.id, Action: actRetryFailed, Problem: unplacedItems, Keys: []string{i.Key}})
				return
			}
			if i.Position == last {
				continue // two keys of one target
			}
			last = i.Position
			key, err := s.set.target(ctx, i.Position-1)
			if err == nil {
				key, err = corrected.of(s.set.id, i, key)
			}
			if err == nil && key == nil {
				continue
			}
			if !yield(key, err) || err != nil {
				return
			}
		}
	}
}

// continues makes the task one that goes on where the other has ended.
func (f *followUp) continues(ctx context.Context) error {
	t := &f.from.Task
	if err := f.checkNoSample(); err != nil {
		return err
	}
	if err := f.checkNoPart(actContinue); err != nil {
		return err
	}
	if !t.Status.Continuable(t.Partial) {
		return &StateError{ID: t.ID, Action: actContinue, Status: Status(t.Status), Control: Control(t.Control)}
	}
	if err := f.checkNoVersion(actContinue); err != nil {
		return err
	}
	if f.IdempotencyKey != "" {
		return &OptionError{"WithIdempotencyKey", "a task is continued once: leave the option out"}
	}
	if f.from.Plan.Options.Preview {
		return &ItemsError{ID: t.ID, Action: actContinue, Problem: ofPreview}
	}
	inBuckets := f.from.Plan.Frozen.AreParts() && f.TargetsField != ""
	parts, err := f.ranges(ctx)
	if err != nil {
		return err
	}
	if f.from.Plan.Frozen.AreParts() && !inBuckets || f.hasChildren && parts == nil && !inBuckets {
		return &ItemsError{ID: t.ID, Action: actContinue, Problem: "its work is divided among children, and a new task would leave out or repeat what they have: retry it if it has failed, or submit the work anew"}
	}
	if hasDeferred(t, parts) {
		return &ItemsError{ID: t.ID, Action: actContinue, Problem: ofDeferred}
	}
	f.IdempotencyKey = store.ContinuationKey(t.ID)
	f.Revision = t.Revision
	f.Start = store.Start{State: t.State, SpecRevision: t.SpecRevision}
	if t.Seq == 0 {
		f.Options.Previewed = f.from.Plan.Options.Previewed // nothing of the preview was applied
	}
	if inBuckets {
		return f.continueBuckets(ctx)
	}
	set, spec, err := newTargetCursor(f.from.ItemReader, t, &f.from.Plan)
	if parts != nil && err == nil {
		return f.continueRanges(ctx, set, spec, parts)
	}
	switch taken := t.Progress.Position; {
	case err != nil:
		return tried(actContinue, err)
	case set == nil:
		f.Start.Position = taken
		if p := t.Progress; p.Total >= 0 && taken > 0 {
			f.Total = p.Total // Take sets it
		} else if p.Total >= 0 {
			f.Total = max(p.Total-p.Done-p.Failed-p.Skipped, 0)
		}
		return nil
	case taken >= set.total:
		return &ItemsError{ID: t.ID, Action: actContinue, Problem: allProcessed}
	default:
		f.Spec = spec
		f.Targets = &store.NewTargets{Field: f.TargetsField, Distinct: true, Keys: set.between(ctx, taken, set.total)}
		return nil
	}
}

// between returns the targets from one position to before another.
func (c *targetCursor) between(ctx context.Context, from, to int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for n := from; n < to; n++ {
			key, err := c.target(ctx, n)
			if !yield(key, err) || err != nil {
				return
			}
		}
	}
}
