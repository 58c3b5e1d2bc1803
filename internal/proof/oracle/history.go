package oracle

import (
	"cmp"
	"slices"
	"strings"
)

// History is all that is known of a run. There are two sources: the database that
// an [Oracle] watched, which [Oracle.Check] reads in pages, and a run in memory,
// which fills a History and calls [History.Check]. The same checks read both.
//
// Tasks of a History must have Facts, and every Submit must be logged by Submitted.
type History struct {
	// Resubmits says that clients submit again under an idempotency key whose task
	// may have been removed meanwhile.
	Resubmits bool

	tasks map[string]*Task
	calls []call
}

// NewHistory returns an empty history.
func NewHistory() *History { return &History{tasks: make(map[string]*Task)} }

// Task is all that is known of one task.
type Task struct {
	ID, Kind                  string
	UniqueKey, IdempotencyKey string // of a History; the database is queried for them
	Changes                   []*Change
	Touches                   []Touches
	Attempts                  []Attempt
	Outcomes                  map[string]int64 // rows of items, by outcome
	Events                    map[string]int64 // requests of operators, by action
	Current                   *Row             // nil: the row does not exist
	DeletedAbove              bool             // a delete of a task of which it is a child, to any depth, was requested
	FailedChild               bool             // a child of it has failed, so that it may end without the rest
	Declared                  bool
	Set                       []Range // the entities that the task is to touch
	Facts                     *Facts  // nil: not known

	size   int64 // of the set
	ledger ledger
}

// Facts are what a run in memory knows of a task beyond its rows.
type Facts struct {
	Items      int64              // that its executor processes; the last cursor
	Unreadable bool               // its spec cannot be decoded
	Permanent  bool               // its executor returned a permanent error or panicked
	Attempt    int                // the highest attempt for which its executor was called
	Plan       []PlannedItem      // by position
	Recorded   map[string][]int64 // the items that have a row of an outcome
	// Search is how many different targets the task has found, by how far its search is;
	// nil: it does not search for its targets.
	Search      []int64
	Given       []int64 // how many targets its executor was given, each number once
	Targets     []int64 // those that are stored at the end
	KeepsLedger bool
	Ledger      map[int64][]int64  // what is stored at the end, by the checkpoint_seq that the batch began with
	Accepted    map[Accepted]int64 // writes that a worker was told were made, and how often
}

// PlannedItem is what must become of an item. Two of the same entity are an item to which the task comes
// twice.
type PlannedItem struct {
	Entity  int64
	Touched bool   // when its outcome is final
	Outcome string // the final one that is a row, or "" if it succeeds
	Pass    int64  // in which that becomes final; it is deferred in those before
}

// Accepted is what a worker knows of a write that was made.
type Accepted struct {
	Fence, Seq int64
	To         string // the status; "deleted" if the row was removed
}

// Author says who made a change.
type Author int

// The authors. A database does not tell.
const (
	Unknown   Author = iota
	Holder           // the worker that held the task, by a write under its fence
	Submitter        // a submission, which stored the task or was merged into it
	Other
)

// Row is a task's row.
type Row struct {
	Status                                        string
	Fence, Seq, Attempts                          int64
	Control, Process                              string
	State, Spec                                   string // or digests
	Total, Position, Round, Done, Failed, Skipped int64
	Started, Stopped, Due                         int64  // 1 or 0 for a date or none; Due in microseconds
	Reason                                        string // why it waits
	Partial                                       int64  // 1: it ended by a stop
	Cursor                                        int64  // of the state; only where Facts are known
	Search                                        int64  // how far the search is, of the state; only where Facts are known
}

func (r *Row) processed() int64 { return r.Done + r.Failed + r.Skipped }
func (r *Row) inFlight() bool   { return r.Status == scheduling || r.Status == executing }
func (r *Row) terminal() bool {
	return r.Status == completed || r.Status == failure || r.Status == errored
}

// Change is one change of a task's row: an INSERT, an UPDATE or a DELETE.
type Change struct {
	ID, At, Tx int64 // At in microseconds; Tx is the transaction or the commit
	Op         string
	By         Author
	Old, New   Row
	// Conditions are those that the transaction of the change has read or written.
	Conditions Conditions
	Found      *Found // nil: no targets were found; only where Facts are known
}

// Found are the targets that a task has found, all until and with a change.
type Found struct {
	Set      []int64
	Complete bool
}

// checkpoint reports whether the change is a committed batch. A batch that ends a
// task that is to be deleted removes the row.
func (h *Change) checkpoint() bool {
	return h.Op == "UPDATE" && h.New.Seq == h.Old.Seq+1 || h.Op == "DELETE" && h.By != Other && h.Old.inFlight()
}

// coalesced reports whether the change is a submission with a reference that
// replaced a waiting task: its spec and, with it, its state and counters. Where the author is
// not known, only another spec shows it.
func (h *Change) coalesced() bool {
	merged := h.By == Submitter || h.By == Unknown && h.Old.Spec != h.New.Spec
	return h.Op == "UPDATE" && merged && h.Old.Fence == h.New.Fence && h.Old.Status == queued && h.New.Status == queued
}

// superseded reports whether a submission ended a waiting task because another took it.
func (h *Change) superseded() bool {
	return h.Op == "UPDATE" && h.By == Submitter && h.Old.Status == queued && h.New.Status == completed
}

// begins returns the checkpoint_seq from which on the task works for its present
// spec.
func (t *Task) begins() (seq int64) {
	for _, h := range t.Changes {
		if h.coalesced() {
			seq = h.New.Seq
		}
	}
	return seq
}

// claim reports whether the change is a claim.
func (h *Change) claim() bool { return h.Op == "UPDATE" && h.New.Fence > h.Old.Fence }

// Touches are the touches of one call of [Oracle.Touch], or of several equal calls.
type Touches struct {
	Fence, Seq, Tx int64
	Worker, Holder string
	Seen           string // what the transaction saw of others; only on a database
	N, First, Last int64
}

// Attempt is a recorded failed attempt.
type Attempt struct {
	Fence, Seq, Number  int64
	Class, Code, Detail string
}

// Task returns the record of a task and adds it if there is none.
func (h *History) Task(id string) *Task {
	t := h.tasks[id]
	if t == nil {
		t = &Task{ID: id, Events: make(map[string]int64), Facts: &Facts{Accepted: make(map[Accepted]int64)}}
		h.tasks[id] = t
	}
	return t
}

// Submitted adds a client's Submit with its outcome, one of OutcomeOK,
// OutcomeDuplicate, OutcomeRefused and OutcomeUnknown.
func (h *History) Submitted(client string, s Submission, task, outcome string) {
	h.calls = append(h.calls, call{file: client, op: opSubmit, kind: s.Kind, key: s.Key, unique: s.UniqueKey, set: s.Set, task: task, outcome: outcome})
}

// Check returns what is in the history and which invariants it violates. A
// History has no processes and no clock that can be relied on, so the bounds in
// time are not checked.
func (h *History) Check(opts Options) *Report {
	c := newChecker(opts)
	c.history = h
	c.calls = slices.Clone(h.calls)
	c.resolveCalls(h.inserted(idempotencyKey))
	var ids []string
	for id, t := range h.tasks {
		if len(t.Changes) > 0 || len(t.Touches) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		t := h.tasks[id]
		if len(t.Changes) == 0 {
			c.found("I1", id, "was touched for, and was never there")
			continue
		}
		if t.Changes[0].Op != "INSERT" {
			c.found("I3", id, "has changed, and nobody saw it being submitted")
		}
		if _, named := c.ends[id]; !named {
			c.found("I2", id, "was never submitted")
		}
		t.fill()
		c.checkTask(t)
	}
	c.checkCalls(h.inserted(idempotencyKey), h.inserted(uniqueKey))
	for _, column := range []string{uniqueKey, idempotencyKey} {
		h.keyChanges(column, c.keyWatch(column))
	}
	return c.report.sorted()
}

// fill adds up the touches of a task, those for its present spec.
func (t *Task) fill() {
	t.Set, t.size = checkedSet(t.Set)
	times := make(map[int64]int64)
	begins := t.begins()
	for _, b := range t.Touches {
		if b.Seq < begins {
			continue
		}
		for e := b.First; e <= b.Last; e++ {
			times[e]++
		}
	}
	entities := make([]int64, 0, len(times))
	for e := range times {
		entities = append(entities, e)
	}
	slices.Sort(entities)
	for _, e := range entities {
		t.ledger.add(t.Set, e, times[e])
	}
}

func (t *Task) key(column string) keyed {
	if column == uniqueKey {
		return keyed{t.Kind, t.UniqueKey}
	}
	return keyed{t.Kind, t.IdempotencyKey}
}

// inserted returns the tasks that were ever inserted with each key.
func (h *History) inserted(column string) map[keyed][]string {
	born := make(map[keyed][]string)
	h.keyChanges(column, func(k keyed, id, op, _ string) {
		if op == "INSERT" {
			born[k] = append(born[k], id)
		}
	})
	return born
}

// keyChanges calls f with every change of a task that has a key, in their order
// for each key.
func (h *History) keyChanges(column string, f func(k keyed, id, op, status string)) {
	type keyChange struct {
		key    keyed
		task   string
		change *Change
	}
	var all []keyChange
	for _, t := range h.tasks {
		for _, ch := range t.Changes {
			if k := t.key(column); k.key != "" {
				all = append(all, keyChange{k, t.ID, ch})
			}
		}
	}
	slices.SortFunc(all, func(a, b keyChange) int {
		return cmp.Or(strings.Compare(a.key.kind, b.key.kind), strings.Compare(a.key.key, b.key.key), cmp.Compare(a.change.ID, b.change.ID))
	})
	for _, k := range all {
		f(k.key, k.task, k.change.Op, k.change.New.Status)
	}
}
