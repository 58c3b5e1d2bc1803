package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/workrate"
)

// Store is all of a database. There is one implementation for each database and one conformance suite that both pass.
//
// Every method is one transaction, ends with the deadline of its context, and
// compares times on the database's clock only. Every change of a task is
// guarded by its status and its fence. A Store is safe for concurrent use.
//
// Its methods are grouped by subject. A worker needs the groups of [Runtime], and a client the groups of [Client].
type Store interface {
	Runtime
	Client
}

// Runtime is the part of a [Store] for workers.
type Runtime interface {
	Workers
	Sessions
	Upkeep
	Common
}

// Client is the part of a [Store] for clients. The handle that it was opened with decides in which transaction
// its methods run.
type Client interface {
	Common
	Reader
	Requests
	Ops
	Diagnosis
}

// Workers is what a worker process needs besides its sessions: registration, presence, claims.
type Workers interface {
	// Dialect returns the database's name.
	Dialect() dialect.Name
	// Schema returns the schema of the tables, "" on SQLite.
	Schema() string
	// RegisterWorker inserts the row of a worker process.
	RegisterWorker(ctx context.Context, p Process) error
	// Heartbeat renews the process's heartbeat. It returns ErrDead when the process
	// has been declared dead or has left: such a process never revives. A
	// presence lock that the process has lost is removed from its row.
	Heartbeat(ctx context.Context, process string, draining bool) error
	// Deregister ends the process and releases all tasks that it still has, without
	// spending an attempt, in one transaction.
	Deregister(ctx context.Context, process string) error
	// Watch watches the database for a process until ctx ends or watching fails. While it watches the process has presence, see
	// [PresenceReading]. Watch returns ErrNoWatch when this database cannot be watched from here (through a
	// pooler), after a self-test, and ErrDead when the process has been declared dead.
	Watch(ctx context.Context, process string, w Watcher) error
	// ReadPresence reads which locks of other live processes are free, and records in
	// the row of such a process when that was first seen. It never waits for a row
	// lock, and returns ErrNoPresence when locks cannot be read. A process whose own lock is
	// free has moved to another server, or its server was restarted, and the locks of all
	// others are free for the same reason: it reports none.
	ReadPresence(ctx context.Context, process string) (PresenceReading, error)
	// FoundAlive records that a process runs, and reports whether it had been declared
	// dead.
	FoundAlive(ctx context.Context, process string) (declaredDead bool, err error)
	// Probe returns nil if a worker can use the database: the tables exist, its role has the rights of docs/operations.md,
	// transactions may write, and statements work through the pooler. A *RefusedError says what is wrong. With disk, it writes
	// something that needs room and rolls that back.
	Probe(ctx context.Context, disk bool) error
	// ReadHealth reads the indicators that a query names, each with one statement that changes and locks
	// nothing. Indicators that this server does not have, or that this role may not read, are in
	// HealthReading.Unreadable. SQLite has none, and executes nothing.
	ReadHealth(ctx context.Context, q HealthQuery) (HealthReading, error)

	// Claim takes tasks in the order of [lifecycle.Ranks], then the oldest; none of a paused
	// queue, unless it is a claim of Requested tasks. Each comes back in SCHEDULING with its fence and attempts one higher. A
	// process that is not alive gets none.
	Claim(ctx context.Context, c Claim) (ClaimResult, error)
	// Unstarted returns the positions of the SCHEDULING tasks of a process. It is
	// used after a claim whose response was lost.
	Unstarted(ctx context.Context, process string) (map[uuid.UUID]Position, error)
	// Waiting reports whether a claim would find a task now. It does not see tasks of paused queues.
	Waiting(ctx context.Context, c Claim) (bool, error)
	// WaitingOwners returns the owners of the first [WaitingMax] tasks of each rank and queue that could be
	// claimed now, each with the place of its first task in the order of claims, see [lifecycle.ClaimOrder].
	WaitingOwners(ctx context.Context, c Claim) (map[uuid.UUID]int, error)
	// Release returns the connections that the store keeps to the pool. The store
	// may be used again.
	Release(ctx context.Context)
}

// Sessions is what the session of a leased task needs.
type Sessions interface {
	// Begin opens the transaction of one batch of a leased task and locks the
	// task's row against takeover, at the latest with the first statement. When the task lease is lost,
	// ErrLost is the error of Begin or of that statement.
	Begin(ctx context.Context, l Lease, t TxTimeouts) (Tx, error)
	// Apply makes the writes in one transaction and reports, in their order,
	// the outcome of each. A write whose guard does not hold is not applied;
	// the others are. It does not change the writes.
	Apply(ctx context.Context, process string, writes []*Write) ([]Applied, error)
	// Positions returns the positions of tasks. It is used after a commit whose
	// outcome is unknown. A task without a row is absent.
	Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Position, error)
	// Deferred reads the positions, in ascending order, of a task's deferred items
	// after a position, at most limit, and counts all after it.
	Deferred(ctx context.Context, id uuid.UUID, after int64, limit int) (positions []int64, all int64, err error)
	// TakePermits gives each of these tasks a permit of each of its limits, or none. It waits for others that
	// change the same keys at the same time. The answers are in the order of the requests. A task
	// that has its permits keeps them until its session ends: the lease itself is the permit, so permits cannot leak.
	TakePermits(ctx context.Context, tasks []PermitRequest) ([]PermitAnswer, error)
	// StoreTrace replaces the traceparent of a leased task. A task whose lease is gone stays as it is.
	StoreTrace(ctx context.Context, l Lease, traceparent string) error
	// RetryChildren retries the failed children of a leased task: a page of at most
	// limit. It returns how many. Less than limit means that there are no more, and Family.Retry is
	// false from then on.
	RetryChildren(ctx context.Context, l Lease, limit int) (int, error)
}

// Upkeep is what workers do for tasks that no session has. Except for WakeWaiting its methods wait for no
// row lock, and skip rows that others have locked.
type Upkeep interface {
	// Reap declares processes dead that have been silent for longer than the limit in their row,
	// and those whose rows name one of the absent locks, see
	// [PresenceReading]. It releases every task in flight that no live process
	// holds, marking it stalled, and applies requests that no worker will apply. It keeps nothing in memory.
	Reap(ctx context.Context, absent []int64) (Reaped, error)
	// WakeWaiting makes the first tasks due that wait for permits of these keys, as
	// many as there are permits, and returns them. It is called after the commit that may have freed a permit, never
	// before. It also forgets the tasks with these keys that no longer wait or execute.
	WakeWaiting(ctx context.Context, keys []string) ([]uuid.UUID, error)

	// DueSchedules reads the schedules that are due, of these kinds, the oldest first. It locks
	// nothing.
	DueSchedules(ctx context.Context, p DueSchedules) (SchedulesFound, error)
	// FireSchedule stores tasks and what follows for their schedule in one transaction, if the
	// schedule still has this version; otherwise it does nothing and returns false. A task
	// whose idempotency key is taken is left out: f.Tasks then has the id of the task with the key,
	// and so has the last task of the schedule.
	FireSchedule(ctx context.Context, f ScheduleFire) (bool, error)
	// FireSchedules is FireSchedule for several schedules in one transaction, in few
	// statements. After an error, such as that a task's key is taken, nothing was stored
	// unless the answer was lost: call FireSchedule for each.
	FireSchedules(ctx context.Context, fires []ScheduleFire) (fired []bool, err error)

	// EraseResults erases the results that have expired, at most limit, the oldest
	// first, and returns how many.
	EraseResults(ctx context.Context, limit int) (int, error)
	// EndedKinds returns the kinds of the tasks that have ended, in their order.
	EndedKinds(ctx context.Context) ([]EndedKind, error)
	// RemoveEnded removes tasks of one page, in one transaction, with all that belongs to
	// them except their events. Children stay while their parent is open or can be retried.
	RemoveEnded(ctx context.Context, p EndedTasks) (RemovedEnded, error)
	// RemoveIdle removes the tasks of one page that are idle, as RemoveEnded does. A task with open children stays.
	RemoveIdle(ctx context.Context, p WaitingTasks) (RemovedIdle, error)
	// ExpireTasks reads a page of the tasks whose options may end or remove them by now. It fails those whose latest start or
	// deadline is over and that wait, if no worker has begun them or no live process would claim them, leased to the process
	// for a moment, and removes those that have been kept for as long as their options say. Those with a request or with open
	// children are left. Removed tasks have at most so many recorded items, or are one.
	ExpireTasks(ctx context.Context, process string, limit int, items int64) (Expired, error)
	// PruneVersions forgets newest versions of references that have had no task for long enough, and looks for the tasks of
	// others. It returns of how many rows it has done one of both, at most the limit. One with a task, whatever its status, stays.
	PruneVersions(ctx context.Context, p OldVersions) (int, error)
	// SeeUnknownKinds records the kinds that are unknown now, and forgets kinds that have become
	// known. It returns the kinds to report, each to one caller a day, and whether any kind is unknown.
	SeeUnknownKinds(ctx context.Context) (report []UnknownKind, some bool, err error)
	// EndUnknownKinds ends tasks in ERROR, at most limit, that have been due for longer than this and
	// whose kind has been unknown for as long and still is. Tasks of paused queues, with
	// a request, or with open children are left. The tasks are leased to the process for a moment.
	EndUnknownKinds(ctx context.Context, process string, after time.Duration, limit int) ([]uuid.UUID, error)
}

// Common is what both workers and clients call.
type Common interface {
	// Plan reads the spec of a task and what is in its plan. A worker reads it when
	// ClaimedTask.Spec is nil: the spec is larger than Claim.SpecMax or in the plan, or the task was given options later.
	Plan(ctx context.Context, id uuid.UUID) (Plan, error)
	// Targets reads the pages from first to last of the frozen targets of a task, in
	// their order. A page that does not exist is absent.
	Targets(ctx context.Context, id uuid.UUID, first, last int) ([]TargetPage, error)
	// Attempts reads the failed attempts of a task, the newest first.
	Attempts(ctx context.Context, id uuid.UUID, limit int) ([]Attempt, error)
	// Events reads the events of a task, the newest first.
	Events(ctx context.Context, id uuid.UUID, limit int) ([]Event, error)
	// Processes lists worker processes, live ones first. Those that ended
	// longer than since ago are left out.
	Processes(ctx context.Context, since time.Duration) ([]Process, error)
	// Children lists the children of a task after one of them (the zero id: all), in the
	// order of their ids, at most limit; with their states or without.
	Children(ctx context.Context, parent, after uuid.UUID, limit int, states bool) ([]ChildTask, error)
	// CountChildren counts the children of each task, and adds up their progress. Of a child that has children itself these are
	// counted instead. A task without children is absent. It reads the open children only, except after a retry of one that had ended.
	CountChildren(ctx context.Context, parents []uuid.UUID) (map[uuid.UUID]ChildCounts, error)
	// FailedChild returns the first child of a task that has ended in FAILURE or ERROR;
	// ErrNotFound when there is none.
	FailedChild(ctx context.Context, parent uuid.UUID) (ChildTask, error)
	// Family reads the children of a leased task as its session needs them.
	Family(ctx context.Context, l Lease) (Family, error)
	// WakeParents makes each of these tasks due whose wait is over, and returns them. It
	// is called after the commit that may have ended the wait, never before.
	WakeParents(ctx context.Context, parents []uuid.UUID) ([]uuid.UUID, error)
	// PassOn passes the request that stands on each of these tasks on to its open children,
	// and takes a pause back that it has passed on before: a page of at most limit. Children
	// that no worker has begun end or are removed at once, as by a request; of a task that is
	// to be deleted also children that have ended. It returns the children that have changed,
	// since they may have children themselves, and whether there are more to change.
	PassOn(ctx context.Context, parents []uuid.UUID, limit int) (changed []uuid.UUID, more bool, err error)
	// PruneEvents deletes events of any task that are older than this, the oldest
	// first, at most limit, and returns how many. Both arguments are positive.
	PruneEvents(ctx context.Context, olderThan time.Duration, limit int) (int, error)
}

// Reader reads single tasks and lists them.
type Reader interface {
	// Task reads one task; ErrNotFound when there is none.
	Task(ctx context.Context, id uuid.UUID) (Task, error)
	// Tasks lists tasks, newest first, by keyset, without spec and state: a
	// page with them could be gigabytes. The list goes on before next; the zero id: it does not. A page ends early where
	// many tasks were read that the filter does not select, see ListRead.
	Tasks(ctx context.Context, f Filter) (page []Task, next uuid.UUID, err error)
	// TaskRefs lists tasks as Tasks does.
	TaskRefs(ctx context.Context, f Filter) (page []TaskRef, next uuid.UUID, err error)
	// Matching returns the ids of the newest [MatchingRead] tasks that end with a suffix, at most limit, the newest first.
	Matching(ctx context.Context, suffix string, limit int) ([]uuid.UUID, error)
	// TaskOptions reads what a task was given besides its spec and targets. A task that does
	// not exist has none.
	TaskOptions(ctx context.Context, id uuid.UUID) (Options, error)
	// Subjects reads what decides about requests of tasks, and locks nothing. A task without a row is absent.
	Subjects(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*Subject, error)
	// Result reads a task's result with its revision. A task without a result has a nil one.
	Result(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error)
	// Fetch reads as Result does, and records when the result was first fetched.
	Fetch(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error)
	// Items lists the items of a task with an outcome by their position and then by
	// the time of their first record, by keyset. Items of unknown position come first.
	Items(ctx context.Context, id uuid.UUID, outcome Outcome, after ItemCursor, limit int) ([]Item, error)
	// ChildrenHaving lists, as Children does, the children that may have items with an outcome, and those that have children.
	ChildrenHaving(ctx context.Context, parent, after uuid.UUID, limit int, outcome Outcome) ([]ChildTask, error)
	// FailedItems lists the items of all tasks that failed at a time or later, the newest first, before one of them, at most limit.
	// The first page is before one without an id, at the end of the time.
	FailedItems(ctx context.Context, from time.Time, before FailedItem, limit int) ([]FailedItem, error)
	// ItemRecords lists what became of an item in all tasks, the newest first, before a record, at most limit: records that are at
	// most as old as age, if that is not 0. The first page is before a record without a time.
	ItemRecords(ctx context.Context, key string, age time.Duration, before ItemRecord, limit int) ([]ItemRecord, error)
	// Recorded returns the keys that have a row with an outcome.
	Recorded(ctx context.Context, id uuid.UUID, keys []string) ([]string, error)
	// Ledger lists the pages of the ledger of a task, which are of batches after this
	// one (-1: all), in their order, at most limit.
	Ledger(ctx context.Context, id uuid.UUID, after int64, limit int) ([]LedgerPage, error)
	// LedgerItems returns how many items are in the ledger of a task.
	LedgerItems(ctx context.Context, id uuid.UUID) (int64, error)
	// Rate reads the rate of a task. A task that has none, or does not exist, has the
	// zero value.
	Rate(ctx context.Context, id uuid.UUID) (Rate, error)
}

// Requests changes what becomes of tasks. What changes a queue, a limit or a schedule records a [SettingChange] in the
// same transaction.
type Requests interface {
	// Request records a request on a task, and applies it at once if no worker is needed.
	// It returns the task as it is afterwards. ErrNotFound, or a *StateError
	// when the task's status does not allow it.
	Request(ctx context.Context, id uuid.UUID, r Request) (Task, error)
	// Derive stores the task that f returns. f reads the source task in the same transaction, and others by [Origin.Also]. Its row
	// is locked first, so that it does not change meanwhile. An error of f is returned as it is, and nothing is stored.
	// In a caller's transaction, an error may come after statements that only a
	// rollback undoes. Derive returns the id of the new task.
	Derive(ctx context.Context, from uuid.UUID, notify bool, f func(Origin) (NewTask, error)) (uuid.UUID, error)
	// PauseQueue pauses a queue, or resumes it. A claim that begins after it has committed
	// takes nothing from a paused queue, except tasks that are to end. A queue that is already
	// paused, or not, stays as it is, with the person who made it so.
	PauseQueue(ctx context.Context, p QueueChange) error
	// SetLimit sets how many tasks with a key may execute at once, whatever their own options; 0 removes
	// the setting. More makes waiting tasks due, less ends none that execute. It forgets no task, as
	// WakeWaiting does: an operator has no right to.
	SetLimit(ctx context.Context, key string, atMost int, by uuid.UUID, reason string) error
	// ChangeSchedule calls change with the present time by the database's clock and a
	// schedule, which has only its name if there is none, and stores what change has made of
	// it, if it is different. change may be called several times. Its error is returned as it is.
	ChangeSchedule(ctx context.Context, name string, change func(now time.Time, s *Schedule) error) (Schedule, error)
	// DeleteSchedule removes a schedule; ErrNoSchedule when there is none. Its tasks stay.
	DeleteSchedule(ctx context.Context, name string, by uuid.UUID, reason string) error
}

// Ops reads the figures and settings that operators work with.
type Ops interface {
	// Counts counts the tasks of each status, of one kind or ("") of all, among the newest tasks, as many as read says. exact:
	// there are fewer tasks, so no count is too low.
	Counts(ctx context.Context, kind string, read int) (counts map[lifecycle.Status]int64, exact bool, err error)
	// Backgrounds reads more of tasks than their rows, with one statement for each part of the query that names
	// tasks, and two for their limits. A task of which nothing was found is absent.
	Backgrounds(ctx context.Context, query BackgroundQuery) (map[uuid.UUID]*Background, error)
	// KindRates reads the rates of the newest tasks of a kind that have one.
	KindRates(ctx context.Context, kind string, limit int) ([]workrate.History, error)
	// DeadGroups counts the dead letters that a filter selects by kind and code, in this order, among the newest [DeadRead] of
	// each kind and status. Of the filter, the fields Kinds, Queue, Code, EndedFor and Roots count. If total is not 0, it reads no more
	// than so many in all, of each kind and status alike, but always 100 of each.
	DeadGroups(ctx context.Context, f Filter, total int) (DeadGroups, error)
	// PausedQueues returns the queues that have been paused once, by name.
	PausedQueues(ctx context.Context) ([]QueuePause, error)
	// QueueCounts counts the tasks of each queue that has a waiting task or one in flight,
	// by name. It reads all tasks in flight. Of the waiting tasks it counts at most read of each kind, revision and rank in a queue.
	QueueCounts(ctx context.Context, read int) ([]QueueCounts, error)
	// WaitingCauses counts the tasks that wait and are not due, and those that are paused, by the word of package taskcause: a paused task is
	// [lifecycle.CauseApproval] or [lifecycle.CausePaused], due or not. Of each kind, revision and rank in a queue it reads at most so many that
	// have a time, and as many that have none, and ten times as many in all; of the paused ones ten times as many of each word, and as many children.
	WaitingCauses(ctx context.Context, read int) (map[string]int64, error)
	// EndedBetween counts the tasks that ended in a span of the database's time, its begin included. Of each kind it reads at most so many; exact
	// is false if there may be more. It does not count those that are kept for a time of their own, see [Options].
	EndedBetween(ctx context.Context, from, until time.Time, read int) (n int64, exact bool, err error)
	// ElectReader makes a live process the reader of figures for a time, unless another live process is. It returns whether the process
	// is the reader.
	ElectReader(ctx context.Context, process string, term time.Duration) (bool, error)
	// SettingChanges lists the changes of settings, the newest first.
	SettingChanges(ctx context.Context, f SettingFilter) ([]SettingChange, error)
	// Limited lists the keys of limits that are in use or set, in their order, after a key, at most limit.
	Limited(ctx context.Context, after string, limit int) ([]LimitUse, error)
	// FindUnknownKinds returns the kinds that are unknown now. It counts some of their due tasks, see [UnknownCounted].
	FindUnknownKinds(ctx context.Context) ([]UnknownKind, error)
	// UnknownKinds returns the kinds that have been recorded as unknown, by queue, kind and revision.
	UnknownKinds(ctx context.Context) ([]UnknownKind, error)
	// Schedule reads a schedule; ErrNoSchedule when there is none.
	Schedule(ctx context.Context, name string) (Schedule, error)
	// ListSchedules reads the schedules whose names come after this one, by name.
	ListSchedules(ctx context.Context, after string, limit int) ([]Schedule, error)
}
