package engine

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Kind is a registered bulk action without its types. Package taskkit makes one
// from a typed executor: this is the seam between generics and plain code.
type Kind struct {
	Name      string
	Revision  int    // written with every checkpoint
	Reads     []int  // revisions that may be claimed
	Secrets   string // pointers to the secrets of spec and state, one a line
	Limit     int    // items a batch begins with
	HasAbort  bool
	HasReport bool
	// Open decodes the spec of a task. The call is one session's; its error
	// is the mechanism's problem and ends the task in ERROR.
	Open func(t Task, spec json.RawMessage) (Call, error)
}

// Task is what does not change while a session holds a task.
type Task struct {
	ID       uuid.UUID
	Kind     string // as stored, perhaps an alias
	Revision int    // of the state; it changes with the first checkpoint of a newer one
	// SpecRevision is that of the spec.
	SpecRevision int
	Owner        uuid.UUID
	RunAs        uuid.UUID
}

// Call is an executor bound to one task. Every method is given the state as
// JSON and decodes it anew, so that a batch after a batch sees exactly what a
// batch after a crash would.
type Call interface {
	// Execute performs one batch and returns the new state. Next is as in
	// taskkit.Next: 0 more, -1 done, otherwise a delay.
	Execute(ctx context.Context, s *Step, state json.RawMessage) (next int64, out json.RawMessage, err error)
	Abort(ctx context.Context, s *Step, state json.RawMessage) error
	Report(ctx context.Context, s *Step, state json.RawMessage) (json.RawMessage, error)
}

// Ending says why Abort or Report is called.
type Ending string

// The endings.
const (
	NotEnding Ending = ""
	EndDone   Ending = "done"
	EndStop   Ending = "stopped"
	EndFailed Ending = "failed"
	EndDelete Ending = "deleted"
)

// Env is what a call is given beside its task and state.
type Env struct {
	Tx      *LazyTx
	Limit   int
	Attempt int
	Ending  Ending
	Log     *slog.Logger
}

// Store is the store that an engine works on.
type Store = store.Store
