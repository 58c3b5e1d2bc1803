package taskkit

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
)

// ID names a task. It is a UUIDv7, so ids sort by the time of submission.
type ID = uuid.UUID

// Batch is one call of Execute: what was asked, how far it is, and the
// transaction to work in. It is valid until the call returns and is not safe
// for concurrent use.
type Batch[Spec, State any] struct {
	Task  ID
	Owner uuid.UUID // who asked
	RunAs uuid.UUID // as whom the work executes
	Spec  Spec      // validated; read-only
	State State     // what the last committed batch left; change it freely
	// Tx is the batch's transaction. It begins with its first statement, so a
	// batch that is busy elsewhere holds none open. It cannot be committed by
	// the executor. See [EntDriver] for an ent client inside it.
	Tx      ExecQuerier
	Limit   int          // take on at most so many items
	Attempt int          // tries of this batch, from 1
	Log     *slog.Logger // carries the task's id and kind

	step *engine.Step
}

// Take returns the next b.Limit elements of a list in the spec, and what to
// return from Execute: [More], or [Done] with the last of them. The position
// is kept by the runtime and committed with the batch; Take sets the task's
// total and counts what it returned as dealt with. Called again in the same
// batch it returns the same elements.
func Take[T, Spec, State any](b *Batch[Spec, State], all []T) ([]T, Next) {
	from, to := b.step.Take(len(all), b.Limit)
	if to >= len(all) {
		return all[from:to], Done
	}
	return all[from:to], More
}

// Fail records that an item will never work, and the task goes on. The record
// commits with the batch. The code for clients is that of a [Permanent] error,
// otherwise "item_failed"; the error's text is for operators.
func (b *Batch[Spec, State]) Fail(item any, err error) {
	b.step.Fail(fmt.Sprint(item), err)
}

// Try calls f inside a savepoint of b.Tx: when f returns an error, or panics,
// what it wrote through b.Tx is undone and the transaction stays usable. Try
// returns f's error, or an error of the savepoint itself.
func (b *Batch[Spec, State]) Try(ctx context.Context, f func() error) error {
	return b.step.Try(ctx, f)
}

// Key returns an idempotency key for an effect outside b.Tx: the same for the
// same task and item, on every attempt and every worker.
func (b *Batch[Spec, State]) Key(item any) string {
	return uuid.NewSHA1(b.Task, []byte(fmt.Sprint(item))).String()
}

// Advance counts n more items as dealt with. Items that this batch failed or
// skipped are among them. [Take] calls it.
func (b *Batch[Spec, State]) Advance(n int) { b.step.Advance(n) }

// Skip says that n of the items dealt with needed nothing.
func (b *Batch[Spec, State]) Skip(n int) { b.step.Skip(n) }

// Ending says why Abort or Report is called, so that an Abort can keep what a
// stopped task's Report needs. It is [NotEnding] during Execute.
func (b *Batch[Spec, State]) Ending() Ending { return Ending(b.step.Ending) }

// Ending is why a task ends.
type Ending string

// The endings.
const (
	NotEnding Ending = Ending(engine.NotEnding)
	EndDone   Ending = Ending(engine.EndDone)   // Execute returned Done
	EndStop   Ending = Ending(engine.EndStop)   // somebody asked; what was done stays
	EndFailed Ending = Ending(engine.EndFailed) // FAILURE or ERROR
	EndDelete Ending = Ending(engine.EndDelete) // the task and its result are being removed
)

// Total sets the number of items of the whole task, for progress.
func (b *Batch[Spec, State]) Total(n int) { b.step.Total(n) }
