package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/taskpolicy"
)

// Execer is a handle that can execute: all that Insert needs.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Querier is a handle that can execute and query.
type Querier interface {
	Execer
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is the transaction of one batch. One goroutine may end it while another
// still uses it: what comes after the end is refused, and never committed by
// itself.
type Tx interface {
	Querier
	// Handle returns a handle for one statement, which it refuses as ExecContext
	// would. Where there is one it is the driver's own: ent sets its session
	// variables on a *sql.Tx and on nothing that wraps one.
	Handle(query string) (Querier, error)
	// Insert stores tasks as [Insert] does.
	Insert(ctx context.Context, tasks []NewTask, notify bool) error
	// Savepoint marks the present point of the transaction. The name must be an
	// SQL identifier that needs no quotes.
	Savepoint(ctx context.Context, name string) error
	// RollbackTo undoes everything since the savepoint, which stays open. It also
	// makes a transaction usable again in which a statement has failed since.
	RollbackTo(ctx context.Context, name string) error
	// ReleaseSavepoint closes the savepoint and keeps what was done since.
	ReleaseSavepoint(ctx context.Context, name string) error
	// RenewSavepoint does the same and opens it again, in one round trip.
	RenewSavepoint(ctx context.Context, name string) error
	// Commit applies the batch's last write inside the transaction and commits.
	// Applied.OK is false, and the transaction rolled back, when the task lease is
	// gone. After an error of class unknown (see [Unknown]) the outcome is open:
	// read Positions.
	Commit(ctx context.Context, w Write) (Applied, error)
	// Rollback gives everything up. It may be called after Commit and does
	// nothing then.
	Rollback()
}

// TxTimeouts bound one batch's transaction on the server's side, so that a worker
// that is stopped or cut off frees its rows.
type TxTimeouts struct {
	Idle      time.Duration // longest silence inside the transaction
	Statement time.Duration // longest statement
	Lock      time.Duration // longest wait for a lock
}

// Lease is the task lease of one session.
type Lease struct {
	ID    uuid.UUID
	Fence int64
	Seq   int64 // checkpoint_seq on which the next write builds
}

// Claim selects the tasks that a process would take.
type Claim struct {
	Process string
	Queues  []string         // at least one
	Kinds   map[string][]int // kind, or alias of one, to claimable revisions
	Limit   int              // at most 10,000 take effect
	// Requested takes only waiting tasks with a request to stop or to be
	// deleted, whether they are due or not; the latter first.
	Requested bool
	// TriedFirst takes, within a priority, the tasks with the most failed tries first.
	TriedFirst bool
	// SpecMax is the size in bytes up to which a spec comes with the claim.
	SpecMax int
	// Waited also reads how long each task had been due, where that costs a column; not of requested tasks.
	Waited bool
}

// WaitingMax is how many tasks [Workers.WaitingOwners] reads of each rank and queue.
const WaitingMax = 1000

// ClaimResult is the answer to a Claim.
type ClaimResult struct {
	Tasks []ClaimedTask
	// Next is how long until the next waiting task of these queues is due, when
	// fewer than Limit were found; negative when none is waiting. It is 0 when there may be
	// more tasks at once, which the store has not searched for.
	Next time.Duration
	// Paused reports, when fewer than Limit were found, that one of these queues is paused: then
	// the tasks in it that are to end were not taken. A claim of Requested tasks takes them.
	Paused bool
	// Searched reports that most of the time of the claim went into reading rows that it did not take.
	Searched bool
}

// ClaimedTask is a task that a claim returned.
type ClaimedTask struct {
	Lease
	Kind     string
	Revision int // of the state
	// SpecRevision is the revision of the spec, which is never written again.
	SpecRevision int
	Queue        string
	Owner        uuid.UUID
	RunAs        uuid.UUID
	Spec         json.RawMessage // nil: too large to come along, null in the database, or the task has a spec_revision there; read it with Plan
	State        json.RawMessage
	Priority     int // of a claim of Requested tasks: the highest
	Attempts     int // this claim included
	Stalled      bool
	Control      lifecycle.Control
	Progress     lifecycle.Progress
	Created      time.Time
	// Waited is how long it had been due when it was claimed; 0: the claim did not read it.
	Waited time.Duration
}

// Position is the status and the position of a task.
type Position struct {
	Lease
	Status   lifecycle.Status
	Control  lifecycle.Control
	Process  string
	State    json.RawMessage
	Attempts int
	Progress lifecycle.Progress
}

// Process is the row of a worker process.
type Process struct {
	ID        string
	Version   string
	Kinds     map[string][]int
	Queues    []string
	Slots     int
	DeadAfter time.Duration
	SafeMode  bool // it claims nothing
	// MaxAttempts is how often it tries a batch without progress.
	MaxAttempts int

	// Read only.
	Started   time.Time
	Heartbeat time.Time
	Silence   time.Duration // since the last heartbeat, by the database's clock
	Busy      int           // slots with a task that it has claimed
	Draining  bool
	Ended     *time.Time
	EndReason string
	// FoundAlive is when a process that had been declared dead turned out to run: its
	// tasks were taken over although it still had them.
	FoundAlive *time.Time
	Present    bool // its row names a presence lock
}

// Alive reports whether the process can hold tasks.
func (p Process) Alive() bool { return p.Ended == nil && p.Silence < p.DeadAfter }

// Reaped is the result of a pass of the reaper.
type Reaped struct {
	Dead     []string    // processes declared dead
	Released []uuid.UUID // tasks that no live process held
	Ended    []uuid.UUID // tasks ended or removed because that was requested
	Woken    []uuid.UUID // tasks whose wait was over: for children, or for a permit
	Passed   []uuid.UUID // children to which the request of their parent was passed on
}

// NewTask is one task to insert. Its JSON keeps each field but Targets.Keys.
type NewTask struct {
	Submitted
	// ID must never have been another task's, not even one that was removed: a
	// task lease is identified by it and by a fence that begins at 0, and a late
	// write of the removed task would count for this one.
	ID        uuid.UUID       `json:",omitzero"`
	Revision  int             `json:",omitzero"`
	Spec      json.RawMessage `json:",omitzero"` // nil: null
	Start     Start           `json:",omitzero"` // not with Reference
	Targets   *NewTargets     `json:",omitzero"` // nil: none that are frozen; not with Reference
	Options   *Options        `json:",omitzero"` // nil: none; of many tasks it may be the same; not with Reference
	Ledger    bool            `json:",omitzero"` // with Reference: the waiting tasks may have ledgers
	Secrets   string          `json:",omitzero"` // pointers to what must not be shown, one a line
	Actor     uuid.UUID       `json:",omitzero"` // who submits it; zero: the owner
	Priority  int             `json:",omitzero"`
	NotBefore time.Time       `json:",omitzero"` // zero: now
	Delay     time.Duration   `json:",omitzero"` // added to the database's now; not with NotBefore
	Total     int64           `json:",omitzero"` // negative: unknown
}

// Task is a row of QueuedTask as a reader sees it.
type Task struct {
	Submitted
	ID                    uuid.UUID
	Created, Modified     time.Time
	CreatedBy, ModifiedBy uuid.UUID
	Spec, State           json.RawMessage
	Revision              int // of State
	SpecRevision          int
	Secrets               string
	Status                lifecycle.Status
	StatusDetail          string
	Scheduled             *time.Time
	Started, LeaseStarted *time.Time // first start, and first start under the last lease
	Stopped               *time.Time
	Process               string
	Fence, Seq            int64
	Attempts              int
	NotBefore             time.Time
	Wait                  time.Duration // until NotBefore, by the database's clock; negative when due
	Priority              int
	Stalled               bool
	WaitingReason         string // why it waits; "" unless it is QUEUED
	Control               lifecycle.Control
	ControlBy             uuid.UUID
	ControlReason         string
	Partial               bool // COMPLETED by a stop
	Progress              lifecycle.Progress
	HasChildren           bool
	HasOpenChildren       bool          // only of a task to which a request was made: when it was
	Found                 *int64        // targets found so far while the task finds them, else nil; not in lists
	Preview               bool          // see Options.Preview; in lists only with Filter.Previews
	Elapsed               time.Duration // from created to stopped, or to the database's now
	ResultExpires         *time.Time    // nil: there is no result, or it is kept for ever
	ResultErased          bool
}

// Filter selects tasks. Zero fields do not filter.
type Filter struct {
	IDs       []uuid.UUID
	Kinds     []string
	Statuses  []lifecycle.Status
	Owner     uuid.UUID
	Queue     string
	Reference string
	UniqueKey string
	Parent    uuid.UUID
	Follows   uuid.UUID
	Previews  bool   // only previews
	Paused    bool   // only tasks that are paused, or will be when their worker sees it
	Approval  bool   // only tasks that wait for approval, which are paused
	Roots     bool   // only tasks without a parent
	Running   bool   // only tasks in flight, and those that have one below them
	Code      string // only tasks whose StatusDetail begins with this code
	// EndedFor: only tasks that ended longer ago than this, by the database's clock.
	EndedFor time.Duration
	Before   uuid.UUID // keyset: only tasks with a smaller id
	Limit    int
}

// Names reports whether a filter names its tasks, so that a list of them has children too.
func (f *Filter) Names() bool {
	return len(f.IDs) > 0 || f.UniqueKey != "" || f.Reference != "" || f.Parent != uuid.Nil || f.Follows != uuid.Nil
}

// Only reports whether a filter selects nothing but statuses of which this is true.
func (f *Filter) Only(is func(lifecycle.Status) bool) bool {
	return len(f.Statuses) > 0 && !slices.ContainsFunc(f.Statuses, func(s lifecycle.Status) bool { return !is(s) })
}

// Indexed reports whether an index has what a list of the filter reads. Otherwise it looks for its tasks among all, newest first.
func (f *Filter) Indexed() bool {
	switch {
	case f.Running, f.Paused, f.Approval, f.Names(), f.Only(lifecycle.Status.InFlight):
		return true
	case f.Owner != uuid.Nil:
		return f.Roots // the index has no children
	default:
		return f.Only(lifecycle.Status.Dead)
	}
}

// TaskRef is what [Reader.TaskRefs] reads of a task.
type TaskRef struct {
	ID      uuid.UUID
	Kind    string
	Control lifecycle.Control
}

// MatchingRead is how many tasks [Reader.Matching] reads at most.
const MatchingRead = 100_000

// CountRead is how many tasks [Ops.Counts] reads at most for a client.
const CountRead = 100_000

// ListRead is how many tasks [Reader.Tasks] reads at most besides those that it lists, and DeadSearch how many dead letters of a kind and status: of
// each where a filter names a few kinds, and DeadSearchMany otherwise.
const (
	ListRead       = 10_000
	DeadSearch     = 1_000
	DeadSearchMany = 250
)

// Request is an operator's request.
type Request struct {
	Action lifecycle.Action
	Actor  uuid.UUID // zero: unknown
	Reason string
	// Skip, with a retry: the element that Take returns next is recorded as a
	// failed item. The error is ErrNoSkip where lifecycle.Row.Skippable is false.
	Skip bool
	// StopAfter is the new stop policy of the task; none leaves it as it is. It is only for
	// requests that let the task go on, and for ActChange.
	StopAfter lifecycle.StopPolicy
	// Policies are the new policies of the task; nil leaves them.
	Policies *taskpolicy.Policies
	// MaxParallel, with ActChange, is the new bound of the open buckets of the task; 0 leaves it.
	MaxParallel int
	// MaxRate, with ActChange, is the new rate of the task, in items a second; negative: it has
	// none any more. 0 leaves it.
	MaxRate float64
	// Priority, with ActChange, is the new priority of the task; 0 leaves it.
	Priority int
	// Dead, if it is not nil, makes the request only while the task is in ERROR or FAILURE with this
	// fence: as it was listed among the dead letters. Otherwise it is refused.
	Dead *int64
	// Effective: a request that would change nothing, such as the stop of a task that has ended, is refused and not recorded.
	Effective bool
}

// EventReason is the reason as it is recorded in the events of the task.
func (r *Request) EventReason() string {
	var changed []string
	if r.Priority > 0 {
		changed = append(changed, fmt.Sprintf("priority %d", r.Priority))
	}
	if r.MaxParallel > 0 {
		changed = append(changed, fmt.Sprintf("max parallel %d", r.MaxParallel))
	}
	switch {
	case r.MaxRate > 0:
		changed = append(changed, fmt.Sprintf("max rate %g", r.MaxRate))
	case r.MaxRate < 0:
		changed = append(changed, "no max rate")
	}
	if r.StopAfter != (lifecycle.StopPolicy{}) {
		changed = append(changed, "limit "+r.StopAfter.String())
	}
	if r.Policies != nil {
		changed = append(changed, fmt.Sprintf("%d policies", len(*r.Policies)))
	}
	text := strings.Join(changed, ", ")
	if text == "" || r.Reason == "" {
		return text + r.Reason
	}
	return text + ": " + r.Reason
}

// Attempt is one failed attempt.
type Attempt struct {
	Created time.Time
	Process string
	Fence   int64
	Seq     int64
	Attempt int
	Class   string
	Code    string
	Detail  string
}

// Event is one action of an operator on a task, or what a policy or the loss of a worker did to it.
type Event struct {
	Created time.Time
	Action  string
	Actor   uuid.UUID
	Reason  string
	// FromStatus is the status in which the request found the task.
	FromStatus lifecycle.Status
	// Worker is the process that was lost; "" in all other events.
	Worker string
}

// LostReason is the reason in the event of a task whose worker was lost after so many items. The heartbeat is the last one of the
// worker; zero when its row is gone.
func LostReason(items int64, heartbeat, now time.Time) string {
	reason := fmt.Sprintf("after %d items", items)
	if !heartbeat.IsZero() {
		reason += fmt.Sprintf(", %.1f s after its last heartbeat", now.Sub(heartbeat).Seconds())
	}
	return reason
}
