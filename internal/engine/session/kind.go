package session

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// Kind is a registered bulk action without its types. Package taskkit makes one
// from a typed executor: this is the seam between generics and plain code.
type Kind struct {
	Name     string
	Revision int    // written with every checkpoint
	Reads    []int  // revisions that may be claimed
	Secrets  string // pointers to the secrets of spec and state, one a line
	Limit    int    // items a batch begins with
	MaxBatch int    // upper bound of a batch; 0 is none of the kind's own
	// SkipPoison fails an item that is alone in its batch and kills its worker
	// again, and continues the task. False ends the task in ERROR.
	SkipPoison bool
	// Preview: the executor can be executed without effect, see [Env].
	Preview bool
	// Ledger: the items that [Step.Succeed] records are stored.
	Ledger bool
	// StopAfter is the stop policy of tasks that have none of their own.
	StopAfter lifecycle.StopPolicy
	// DeferDelays is how long a task waits before each round over its deferred items.
	DeferDelays []time.Duration
	// Strategy is what becomes of errors of tasks that have no strategy of their own; nil: the default.
	Strategy taskpolicy.Strategy
	// Touches are the tables that its batches write.
	Touches []string
	// FindsTargets: the executor finds the targets of tasks that are submitted without, or the segments of their buckets,
	// and its calls are each a [Targeter].
	FindsTargets bool
	// Children: tasks of the kind may have children. Divisible: a task may be divided into ranges of its targets.
	Children, Divisible bool
	// HasLimits: the calls of the executor are each a [Limiter].
	HasLimits bool
	HasAbort  bool
	HasReport bool
	// Scheduled makes a task of a schedule, without id, key and reason. An error will not get
	// better: the spec cannot be read, or the kind accepts no tasks.
	Scheduled func(s *store.Schedule) (store.NewTask, error)
	// Open decodes the spec of a task. The call belongs to one session. An error
	// is one of the runtime, not of the executor, and ends the task in ERROR.
	Open func(t Task, spec json.RawMessage) (Call, error)
	// DecodeTargets decodes a page of frozen targets, which stands for a list of the
	// task's spec: to a []T with the type of the list, and its length. Nil: the kind
	// has no list of targets.
	DecodeTargets func(t Task, spec json.RawMessage, field string, keys json.RawMessage) (list any, n int, err error)
}

// Task is what does not change during a session of a task.
type Task struct {
	ID       uuid.UUID
	Kind     string // as stored, perhaps an alias
	Revision int    // of the state; it changes with the first checkpoint of a newer one
	// SpecRevision is the revision of the spec.
	SpecRevision int
	Owner        uuid.UUID
	RunAs        uuid.UUID
	Queue        string
	Priority     int
}

// Call is an executor bound to one task. Every method is given the state as
// JSON and decodes it again, so that a batch that follows another sees exactly
// what a batch after a crash would.
type Call interface {
	// Execute performs one batch and returns what is next and the new state.
	Execute(ctx context.Context, s *Step, state json.RawMessage) (next Next, out json.RawMessage, err error)
	Abort(ctx context.Context, s *Step, state json.RawMessage) error
	Report(ctx context.Context, s *Step, state json.RawMessage) (json.RawMessage, error)
}

// Targeter is a [Call] of a kind that [Kind.FindsTargets].
type Targeter interface {
	// Targets finds more targets, and returns them as JSON in the revision of the
	// task's spec, what is next and the new state. Field is the name of the list that
	// they stand for; "": they are the segments of its buckets.
	Targets(ctx context.Context, s *Step, field string, state json.RawMessage) (keys [][]byte, next Next, out json.RawMessage, err error)
}

// Next is what an executor requests after a successful batch. The zero value requests
// another batch.
type Next struct {
	Done   bool
	Wait   time.Duration // positive: another batch after that long
	At     time.Time     // not zero: another batch no sooner than then
	Reason string        // why the task waits; "" is a default
	// AwaitChildren: another batch when at most OpenAtMost children of the task are open.
	AwaitChildren bool
	OpenAtMost    int64
	OnFailure     store.OnFailure
	// LeftOut, with Done, names what was left out of the work of the task, which is then partial; "": nothing.
	LeftOut string
	// Divided: the children process the items of the task, whose total is their total. MoreParts: some do not exist yet.
	Divided, MoreParts bool
}

// later reports whether the task is released until its next batch.
func (n Next) later() bool { return n.Wait > 0 || !n.At.IsZero() }

// Ending is why Abort or Report is called.
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
	// Preview: what the executor writes is rolled back, and it must do nothing else
	// that lasts.
	Preview bool
	Log     *slog.Logger
	Targets *Targets // nil: the task has no frozen targets
	// Deferred are the deferred items to take; nil: the task goes over its whole list.
	Deferred  *Deferred
	LastRound bool // no round follows: an item that is deferred fails
	// Strategy is what becomes of errors of the task's items; nil: they fail.
	Strategy taskpolicy.Strategy
	// Child names the parent of the task; nil: it has none. Family are the task's own children,
	// before this batch; nil: it can have none.
	Child  *store.Child
	Family *store.Family
	// Options are the options of the task; nil: none, and the task can have no children.
	Options *store.Options
	// CountChildren counts the children of the task, see [store.Common]; nil: it can have none.
	CountChildren func(ctx context.Context) (store.ChildCounts, error)
	// Children lists the children of the task, see [store.Common]; nil: it can have none.
	Children func(ctx context.Context, after uuid.UUID, limit int, states bool) ([]store.ChildTask, error)
}
