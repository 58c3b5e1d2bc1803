package session

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskevent"
)

// current is the task of a session in its present state. The session advances it after each committed write, and
// the features of the task read it. It belongs to the session's goroutine.
type current struct {
	*Deps
	ctx   context.Context //nolint:containedctx // the task lease: it ends with it, and its cause is the reason
	kind  *Kind
	task  Task
	call  Call
	log   *slog.Logger // of the executor
	began time.Time

	times    *times // nil: it may execute at any time
	lease    store.Lease
	state    json.RawMessage
	progress lifecycle.Progress
	control  lifecycle.Control
	// options are those that the task had when the session began; nil: none.
	options *store.Options
	// tries is the number of the present try of the batch, from 1; stored is the value of attempts in the database.
	tries, stored int
	limit         *Sizer // of batches
	following     *following
	trace         string // what is stored with the task for its trace

	planned  bool  // the plan was read, and options are complete
	started  bool  // the session has left the queue of permits and begun to execute
	begun    bool  // the task is EXECUTING in the database
	executed bool  // a batch has been committed
	stalled  bool  // the task was, when it was claimed
	handed   *bool // set when the last write is given to the group commit: the session is another goroutine's then; see [Session.own]
	summed   bool  // the counters of the last batch are the sum of its children's
}

// short returns a context for one call to the store.
func (c *current) short() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.ctx, c.Config.Call)
}

// readPlan reads the plan of the task.
func (c *current) readPlan() (store.Plan, error) { return c.readPlanOf(c.task.ID) }

// readPlanOf reads the plan of the task or of one above it.
func (c *current) readPlanOf(id uuid.UUID) (store.Plan, error) {
	ctx, cancel := c.short()
	defer cancel()
	return c.Store.Plan(ctx, id)
}

// conditions returns the conditions of the task.
func (c *current) conditions() lifecycle.Conditions {
	if c.options == nil {
		return lifecycle.Conditions{}
	}
	return c.options.Conditions
}

// isPreview reports whether the task is a preview.
func (c *current) isPreview() bool { return c.options != nil && c.options.Preview }

// parent returns the parent of the task; nil: the task is no child.
func (c *current) parent() *store.Child {
	if c.options == nil {
		return nil
	}
	return c.options.Child
}

// isBucket reports whether the task is a bucket or a range of its parent.
func (c *current) isBucket() bool { return c.parent().Bucket() }

// hasChildren reports whether the task may have children. A bucket has the kind of its parent, and no children. Before the plan of
// the task was read it is true where the plan may say that the task is divided into ranges: such a task must not end before these.
func (c *current) hasChildren() bool {
	return (c.kind.Children || c.kind.Divisible && (!c.planned || c.isDivided())) && !c.isBucket()
}

// isDivided reports whether the targets of the task are divided into ranges, which are executed side by side.
func (c *current) isDivided() bool {
	return c.kind.Divisible && c.options != nil && c.options.MaxParallel > 0 && !c.isBucket()
}

// whole is the task that the task is a bucket or a range of; zero: it is none.
func (c *current) whole() uuid.UUID {
	if !c.isBucket() {
		return uuid.Nil
	}
	return c.parent().Parent
}

// piece is the part of its parent's targets that the task has; nil: it is no range.
func (c *current) piece() *store.Range {
	if c.parent() == nil {
		return nil
	}
	return c.parent().Range
}

// hasReport reports whether the task has a result. A bucket has none: its parent has the result of the whole task.
func (c *current) hasReport() bool { return c.kind.HasReport && !c.isBucket() }

// order is the place of the task in the order of claims after a release.
func (c *current) order() int {
	return lifecycle.ClaimOrder(c.stalled && !c.executed, c.task.Priority, lifecycle.Unspent(c.stored))
}

// checkpoint returns the write of a batch that succeeded, without what the batch counted.
func (c *current) checkpoint(state, result json.RawMessage) store.Write {
	w := store.Write{
		Lease: c.lease, To: lifecycle.Executing, Begun: c.begun, Checkpoint: true,
		Revision: c.kind.Revision, State: state, Result: result,
	}
	if result != nil {
		w.Keep = c.Config.Keep(c.task.Kind)
	}
	if c.task.Revision != c.kind.Revision {
		w.Secrets = c.kind.Secrets // the task has the secrets of its own revision
	}
	return w
}

// check makes the store check a write that may bring the task, or one above it, to a limit. An end of the task is checked for those above.
func (c *current) check(w *store.Write) {
	w.CheckParents = c.parent() != nil && w.Checkpoint && (w.Progress.Failed > c.progress.Failed || w.To.Terminal() && w.Progress.Failed > 0)
	c.watch(w)
	if c.isBucket() {
		return // the policy of its kind is for the whole task
	}
	if !w.To.Terminal() && c.conditions().MustCheck(c.progress, w.Progress) {
		w.Check, w.StopAfter = true, c.kind.StopAfter
	}
}

// watch makes the store decide policies after a write that counts for them: the policies of the task and of its ancestors.
func (c *current) watch(w *store.Write) {
	if o := c.options; o != nil {
		w.Watched, w.Policies = o.Watched, o.Policies != nil && !w.To.Terminal()
	}
}

// notify makes the store notify the subscriptions of the task of the end that a write makes, or of its request. Before the plan of the
// task was read, it may have some.
func (c *current) notify(w *store.Write) {
	switch {
	case c.planned && !c.options.Notifies():
	case w.To.Terminal():
		w.Notify = notice.Ended
	case w.Pause != "" || w.Stop != "":
		w.Notify = notice.Policy
	}
}

// requeue returns the write that gives the task back without spending an attempt.
func (c *current) requeue(reason string) *store.Write {
	return &store.Write{Lease: c.lease, To: lifecycle.Queued, Attempts: lifecycle.Unspent(c.stored), Reason: reason}
}

// requeueIn is requeue until a delay has passed. A task that awaits its approval is paused by it.
func (c *current) requeueIn(delay time.Duration, reason string) *store.Write {
	w := c.requeue(reason)
	w.Delay = delay
	if c.conditions().AwaitsApproval(c.progress) {
		w.Progress = c.progress
		c.check(w)
	}
	return w
}

// terminal returns the write of an ending.
func (c *current) terminal(e ending) store.Write {
	tries := c.tries
	if e.unspent {
		tries = lifecycle.Unspent(tries)
	}
	w := store.Write{Lease: c.lease, To: e.status, Attempts: tries, Partial: e.how == EndStop, HasChildren: c.hasChildren()}
	w.StatusDetail = e.detail
	if e.class.Code != "" {
		w.StatusDetail = classify.Clean(e.class.Code + ": " + e.class.Detail)
		w.Attempt = c.attempt(e.class)
		w.Attempt.Attempt = tries
	}
	return w
}

// attempt is the record of a failed attempt.
func (c *current) attempt(class classify.Classification) *store.Attempt {
	return &store.Attempt{
		Process: c.Process, Fence: c.lease.Fence, Seq: c.lease.Seq,
		Attempt: c.tries, Class: string(class.Class), Code: class.Code, Detail: class.Detail,
	}
}

// newTx returns the transaction of a batch.
func (c *current) newTx() *LazyTx {
	if c.isPreview() {
		return newPreviewTx(c.Store, c.lease, c.Config.limits())
	}
	tx := newLazyTx(c.Store, c.lease, c.Config.limits())
	tx.watches, tx.trace = c.options.Watches(), c.trace
	tx.parent, tx.people = c.hasChildren(), [2]uuid.UUID{c.task.Owner, c.task.RunAs}
	return tx
}

// newStep returns the step of a call of the executor.
func (c *current) newStep(tx *LazyTx) *Step {
	return newStep(c.task, Env{Tx: tx, Limit: c.limit.size, Attempt: c.tries, Log: c.log, Preview: c.isPreview(), Options: c.options, Strategy: c.strategy()}, c.progress)
}

// shrink halves the limit after a statement that was too large.
func (c *current) shrink(limit int, class classify.Classification) {
	c.limit.lowerMax(limit / 2)
	c.Events.Report(taskevent.BatchShrunk{TaskRef: c.ref(), Limit: limit, NewLimit: c.limit.size, Detail: class.Detail})
}
