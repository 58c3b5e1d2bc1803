package taskkit

import (
	"context"
	"log/slog"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/taskkit/segment"
)

// ID identifies a task. It is a UUIDv7, so ids sort by time of submission.
type ID = uuid.UUID

// Batch is the argument of one call of an executor: the task, its position, and
// the transaction to work in. It is valid until the call returns and is not safe
// for concurrent use. The runtime makes it; in a unit test, tasktest.NewBatch
// does.
type Batch[Spec, State any] struct {
	Task ID
	// Parent is the task of which this one is a child: of a bucket the task that was divided,
	// of a stage the composite task. It is zero for a task that is no child.
	Parent ID
	Bucket bool      // the task is a bucket or a range: what it writes belongs to the work of Parent
	Owner  uuid.UUID // the person who submitted the task
	RunAs  uuid.UUID // the person as whom the work executes
	Spec   Spec      // validated, read-only
	State  State     // as the last committed batch left it; may be changed
	// Tx is the batch's transaction. It begins with its first statement, so a
	// batch that is busy elsewhere keeps none open. The executor cannot commit it.
	// See [Batch.EntDriver] for an ent client that works in it.
	Tx ExecQuerier
	// Preview: the task is a preview, see [WithPreview]. What is written through Tx is
	// rolled back; the executor must leave out every other effect, such as a mail.
	Preview bool
	// Segment is the part of the work that a bucket has, and builds the predicate for it. In a task of a kind with buckets
	// that is executed as a whole it is [segment.All], as it can be in a bucket that is alone; for other kinds it is the zero Segment. See [Segmenter].
	Segment segment.Segment
	// Children counts the children of the task before the batch.
	Children struct {
		Open   int // neither ended nor removed
		Failed int // in FAILURE or ERROR
	}
	Limit   int          // the number of items to process at most
	Attempt int          // counts the attempts of this batch, from 1
	Log     *slog.Logger // has the task's id and kind as attributes

	step *session.Step
}

// runtime returns what the batch records into.
func (b *Batch[Spec, State]) runtime() *session.Step {
	if b.step == nil {
		panic("taskkit: this Batch was not made by the runtime: make one for a unit test with tasktest.NewBatch")
	}
	return b.step
}

// Fail records that an item failed permanently, and the task continues. The record
// is committed with the batch. The code shown to clients is that of a [Permanent]
// error, otherwise "item_failed". The error's text is for operators.
//
// An item is identified by its JSON, and a task has one outcome for each item: the
// last. Pass what [Take] returned, or an identifier of it. What has no JSON that it
// can be read back from, such as a struct with unexported fields, is identified by
// the text of [fmt.Sprint]. So is an item of more than 1,024 bytes: the text is cut
// and ends in a hash.
func (b *Batch[Spec, State]) Fail(item any, err error) {
	b.runtime().Fail(itemkey.Encode(item), err)
}

// Defer records that an item cannot be processed now, and why. The task goes on, and
// when Execute has returned [Done] it waits, 30 minutes the first time and 6 hours the
// second, or as Definition.DeferDelays says. Then it calls Execute again, with the
// deferred items alone: [Take] returns them in the order of their positions. What is
// deferred after the last wait fails, with the code and text of that error.
//
// Item must be an element as Take returned it in this batch. With another item the
// batch fails permanently with the code misuse; an executor that walks through
// the database by itself cannot defer. A deferred item counts as neither processed nor
// failed. If the task is stopped meanwhile it is unprocessed.
func (b *Batch[Spec, State]) Defer(item any, err error) {
	b.runtime().Defer(itemkey.Encode(item), err)
}

// Skip records that a processed item needed nothing, or was left out, and why: a
// code for clients. It stores a row for the item, as [Batch.Fail] does. An item
// about which there is nothing to say need not be skipped and counts as done.
func (b *Batch[Spec, State]) Skip(item any, code string) {
	b.runtime().Skip(itemkey.Encode(item), code)
}

// Succeed records that an item was processed, and needs neither Fail nor Skip. If the
// kind has the word ledger in its directive, [Client.Items] lists the items for which
// Succeed was called. Without the word it only counts, so that the word can be added
// later. It is for an executor that finds its items itself: what [Take] returns from
// the list of the directive has succeeded if nothing else is recorded of it.
//
// An item counts as processed once, whether it was counted by Succeed, Fail and Skip or
// by [Batch.Advance]: the batch has processed as many items as the greater of the two
// says. The last outcome counts, so an executor may call Succeed for all items of a
// page and Fail for some of them afterwards. If [Batch.Try] or [Each] undoes what its
// function wrote, it also undoes the calls of Succeed in it. Items are identified as by
// [Batch.Fail].
func (b *Batch[Spec, State]) Succeed(item any) {
	b.runtime().Succeed(itemkey.Encode(item))
}

// Note says of an item, in a preview, what would become of it, such as "active -> exited".
// The report of the preview counts the items with each note and shows the first 100
// items, see [Client.Preview]. An item has one note in a batch, the last. A note of
// more than 200 bytes is cut. Outside a preview Note does nothing. Items are identified
// as by [Batch.Fail].
func (b *Batch[Spec, State]) Note(item any, note string) {
	if b.Preview {
		b.runtime().Note(itemkey.Encode(item), note)
	}
}

// Try calls f inside a savepoint of b.Tx. When f returns an error or panics, what
// it wrote through b.Tx is rolled back and the transaction stays usable. Items that f
// recorded with [Batch.Succeed] have then not succeeded; what else it recorded stays.
// Try returns f's error, or an error of the savepoint itself.
func (b *Batch[Spec, State]) Try(ctx context.Context, f func() error) error {
	return b.runtime().Try(ctx, f)
}

// IdempotencyKey returns an idempotency key for an effect outside b.Tx. It is the same for
// the same task and item, on every attempt and every worker. Items are identified as
// by [Batch.Fail].
func (b *Batch[Spec, State]) IdempotencyKey(item any) string {
	return uuid.NewSHA1(b.Task, []byte(itemkey.Encode(item))).String()
}

// Advance counts n more items as processed, including those that this batch failed
// or skipped. [Take] calls it.
func (b *Batch[Spec, State]) Advance(n int) { b.runtime().Advance(n) }

// Total sets the number of items of the whole task, for progress. In the method Segments it is the number in all buckets, which is else
// known when all have been submitted and have a total.
func (b *Batch[Spec, State]) Total(n int) { b.runtime().Total(n) }

// EndReason says why Abort or Report is called, so that an Abort can keep what the
// Report of a stopped task needs. It is empty during Execute.
func (b *Batch[Spec, State]) EndReason() EndReason { return EndReason(b.runtime().Ending) }

// EndReason is why a task ends.
type EndReason string

// The endings. A task that ends while no worker runs it has neither Abort nor
// Report called.
const (
	EndDone   EndReason = "done"    // Execute returned Done: Report
	EndStop   EndReason = "stopped" // it was stopped, what was done is kept: Abort, then Report; or it is superseded: Report
	EndFailed EndReason = "failed"  // FAILURE or ERROR: Abort
	EndDelete EndReason = "deleted" // the task and its result are being removed: Abort
)
