package taskkit

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Apply submits the task that a preview has previewed: over exactly its set, with its spec,
// and beginning with an empty state. It returns the id of the new task, which follows the
// preview. Later changes of what the set was made from do not matter.
//
// Options, transactions and what is taken from the preview are those of
// [Client.RetryFailed], but for the idempotency key, which cannot be changed: a preview is
// applied once, and a second call returns a *[DuplicateError] with the id of the task, for
// as long as that is kept. [WithCanary], with [WithSample] too, and [WithApproval] are options. After
// a preview with [WithApproval] the task waits for an approval of its own; the canary of a
// preview is not taken. A preview of a [WithSample] is applied to the sample.
//
// A *[PreviewError] is returned for a task that is not a preview, and for a preview
// that
//   - has not COMPLETED, or was stopped;
//   - has reached its stop policy, or a policy that pauses, stops or fails it, also with its last batch;
//   - was executed at another revision of the kind than a live worker has;
//   - has no list in its spec that the directive names with targets=FIELD, and no frozen
//     set. Its executor finds the items when it runs, so they may be others.
//
// It returns [ErrNotFound] when there is no such task. After an error nothing is stored; a
// caller's transaction must be rolled back.
//
// When the kind gets a new revision after the call, and before the first batch, the task ends
// in FAILURE with the code revision, and nothing is done.
func (c *Client) Apply(ctx context.Context, id ID, opts ...SubmitOption) (ID, error) {
	forgetSubmitted(opts)
	workers, err := c.workers(ctx)
	if err != nil {
		return ID{}, err
	}
	return c.follow(ctx, id, opts, func(f *followUp) error { return f.applies(ctx, workers) })
}

// applies makes the task one that applies a preview.
func (f *followUp) applies(ctx context.Context, workers []store.Process) error {
	t, plan := &f.from.Task, &f.from.Plan
	if f.IdempotencyKey != "" {
		return &OptionError{"WithIdempotencyKey", "a preview is applied once: leave the option out"}
	}
	if err := f.checkSampling(); err != nil {
		return err
	}
	policy, err := plan.Options.HaltedBy(t.Progress, f.recorded(ctx))
	if err != nil {
		return err
	}
	problem, err := unappliable(t, plan, newestRevision(workers, t.Kind), policy)
	if err != nil {
		return err
	}
	if problem != "" {
		return &PreviewError{ID: t.ID, Problem: problem}
	}
	set, spec, err := newTargetCursor(f.from.ItemReader, t, plan)
	switch {
	case err != nil:
		return err
	case set == nil:
		return &PreviewError{ID: t.ID, Problem: "it cannot be applied, because it has neither a list nor a frozen set of targets: its executor finds the items when it runs, which may be others then; " +
			"preview a set that is frozen with WithTargets, or submit the task itself"}
	case set.total == 0:
		return &PreviewError{ID: t.ID, Problem: "it has found no targets, so there is nothing to apply"}
	case set.frozen, f.sampled():
		f.Spec = spec
		f.Targets = &store.NewTargets{Field: f.TargetsField, Distinct: true, Keys: set.between(ctx, 0, set.total), Sampling: f.sampling()}
	default:
		f.Total = set.total
	}
	f.IdempotencyKey = store.ApplyKey(t.ID)
	f.Revision = t.Revision // older code, which has not executed the preview, must not begin
	f.Start = store.Start{SpecRevision: t.SpecRevision}
	f.Options.Previewed = t.Revision
	return nil
}

// recorded returns the failed and the skipped items of the task that the new one is made from.
func (f *followUp) recorded(ctx context.Context) iter.Seq2[*store.Item, error] {
	return func(yield func(*store.Item, error) bool) {
		for _, outcome := range []store.Outcome{store.ItemFailed, store.ItemSkipped} {
			for rows := (&rowCursor{read: f.from.ItemReader, id: f.from.Task.ID, outcome: outcome}); ; rows.skip() {
				i, err := rows.peek(ctx)
				if i == nil && err == nil {
					break
				}
				if !yield(i, err) || err != nil {
					return
				}
			}
		}
	}
}

// unappliable says why a task is not a preview that can be applied, and what to do; "" if
// it is. Newest is the revision of the kind that live workers have; 0 if there is none. Policy is one that the preview has reached.
func unappliable(t *store.Task, plan *store.Plan, newest int, policy string) (string, error) {
	const because = "it cannot be applied, because "
	report, err := store.DecodeReport(plan.Report)
	if err != nil {
		return "", err
	}
	reached := plan.Options.WithDefault(report.StopAfter).StopReason(t.Progress)
	switch {
	case !plan.Options.Preview:
		return "it is not a preview: apply a task that was submitted with taskkit.WithPreview", nil
	case !t.Status.Terminal() && t.Control == lifecycle.Pause:
		return because + "it is paused: " + t.ControlReason + "; let it go on and wait until it has COMPLETED, or stop it and preview the task again", nil
	case !t.Status.Terminal():
		return fmt.Sprintf("%sit is %s: wait until it has COMPLETED", because, t.Status), nil
	case t.Status != lifecycle.Completed:
		return fmt.Sprintf("%sit has ended in %s, as taskkit show and Client.Task say: correct the cause and preview the task again", because, t.Status), nil
	case t.Partial:
		return because + "it was stopped before it was done: preview the task again", nil
	case reached != "":
		return because + reached + ": correct the items, or preview the task again with a higher StopAfter", nil
	case policy != "":
		return because + "it has reached its policy " + policy + ": correct the items, or preview the task again with other policies", nil
	case report.Revision != t.Revision:
		return fmt.Sprintf("%sthe kind got revision %d after the preview had begun at revision %d: preview the task again", because, t.Revision, report.Revision), nil
	case newest > t.Revision:
		return fmt.Sprintf("%sit was executed at revision %d of kind %s, which has revision %d now: preview the task again", because, t.Revision, t.Kind, newest), nil
	}
	return "", nil
}

// newestRevision is the highest revision of a kind that a live worker has; 0: none has the kind.
func newestRevision(workers []store.Process, kind string) (newest int) {
	for _, w := range workers {
		if reads := w.Kinds[kind]; w.Alive() && !w.Draining && len(reads) > 0 {
			newest = max(newest, slices.Max(reads))
		}
	}
	return newest
}
