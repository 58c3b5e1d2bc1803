package session

import (
	"context"
	"time"

	"taskkit.dev/internal/store"
)

// A feature is something that some tasks have and others have not, such as times, children or a preview. A session
// makes the features of its task from its plan, and calls them in their order, on its own goroutine. committed may
// also run on the goroutine of the group commit, after the last write of the session: it must not block.
// A feature that does not need a method embeds [noFeature].
type feature interface {
	// between decides at a batch boundary whether the next batch may begin.
	between(ctx context.Context) (decision, error)
	// begin prepares the step of a batch, or of the last call of an ending.
	begin(step *Step) error
	// finish adds to the write of a batch that has succeeded. An error discards the batch.
	finish(step *Step, r *result) error
	// discarded follows a batch that was rolled back. It took this long.
	discarded(took time.Duration)
	// committed follows a committed write, after the session has advanced to it.
	committed(w *store.Write, a store.Applied)
	// readBack follows a write of unknown outcome, after the task was read and is still the session's. advanced
	// reports that the read-back has found a checkpoint that the session did not know.
	readBack(advanced bool)
	// gone follows a read-back after which the task is no longer the session's. An earlier write of the session may
	// have ended it.
	gone()
}

// A decision is what a feature decides at a batch boundary. The zero value lets the batch begin.
type decision struct {
	write *store.Write  // gives the task back
	end   *ending       // ends the task
	pause time.Duration // keeps the slot, and decides again after this time
}

// result is the outcome of a batch that has succeeded.
type result struct {
	store.Write
	next       Next
	another    bool // the executor is done with a round, and another one follows
	progressed bool // the attempts start over
	items      int  // for the size of the next batch
	took       time.Duration
}

// noFeature implements [feature] without doing anything.
type noFeature struct{}

func (noFeature) between(context.Context) (decision, error) { return decision{}, nil }
func (noFeature) begin(*Step) error                         { return nil }
func (noFeature) finish(*Step, *result) error               { return nil }
func (noFeature) discarded(time.Duration)                   {}
func (noFeature) committed(*store.Write, store.Applied)     {}
func (noFeature) readBack(bool)                             {}
func (noFeature) gone()                                     {}
