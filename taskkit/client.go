package taskkit

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Client reads tasks and asks things of them, over whatever handle it is given:
// a *sql.DB, or a transaction, in which case everything takes part in it. It
// starts nothing and is as safe for concurrent use as its handle.
type Client struct {
	db     ExecQuerier
	schema string
	err    error

	mu sync.Mutex
	op store.Operator
}

// ClientOption changes a client. [InSchema] is one.
type ClientOption interface{ applyClient(*Client) }

// NewClient makes a client. It does not touch the database; mistakes in the
// options are returned by the first call.
func NewClient(db ExecQuerier, opts ...ClientOption) *Client {
	c := &Client{db: db, schema: DefaultSchema}
	for _, o := range opts {
		o.applyClient(c)
	}
	return c
}

// operator asks the database what it is, once.
func (c *Client) operator(ctx context.Context) (store.Operator, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.op != nil {
		return c.op, nil
	}
	name, err := dialect.Detect(ctx, c.db)
	if err != nil {
		return nil, &ConnectError{err}
	}
	c.op = store.NewOperator(c.db, c.schema, name)
	return c.op, nil
}

// Task reads one task. [ErrNotFound] when there is none.
func (c *Client) Task(ctx context.Context, id ID) (*Task, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	t, err := op.Task(ctx, id)
	if err != nil {
		return nil, public(err)
	}
	return fromStore(t), nil
}

// Filter selects tasks; zero fields do not filter. A list holds at most 10,000
// values. What no task can have is an *[OptionError].
type Filter struct {
	IDs       []ID
	Kinds     []string
	Statuses  []Status
	Owner     uuid.UUID
	Queue     string
	Reference string
	UniqueKey string
	Parent    ID
	// Before is the keyset: only tasks older than this one, by id. Take the
	// last of a page for the next page.
	Before ID
	// Limit is the size of a page. Defaults to 50, at most 1,000.
	Limit int
}

// Tasks returns a page of tasks, newest first, without their Spec and State,
// which may be large: read those with [Client.Task].
func (c *Client) Tasks(ctx context.Context, f Filter) ([]*Task, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	sf := store.Filter{
		IDs: f.IDs, Kinds: f.Kinds, Owner: f.Owner, Queue: f.Queue, Reference: f.Reference,
		UniqueKey: f.UniqueKey, Parent: f.Parent, Before: f.Before, Limit: f.Limit,
	}
	for _, s := range f.Statuses {
		sf.Statuses = append(sf.Statuses, workflow.Status(s))
	}
	if sf.Limit <= 0 {
		sf.Limit = 50
	}
	sf.Limit = min(sf.Limit, 1000)
	found, err := op.Tasks(ctx, sf)
	if err != nil {
		return nil, public(err)
	}
	tasks := make([]*Task, len(found))
	for i := range found {
		tasks[i] = fromStore(found[i])
	}
	return tasks, nil
}

// Counts returns the number of tasks of each status, of one kind, or of all
// kinds for "". It reads every row.
func (c *Client) Counts(ctx context.Context, kind string) (map[Status]int64, error) {
	if err := checkFilterText("Kinds", kind); err != nil {
		return nil, err
	}
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Counts(ctx, kind)
	if err != nil {
		return nil, public(err)
	}
	counts := make(map[Status]int64, len(found))
	for s, n := range found {
		counts[Status(s)] = n
	}
	return counts, nil
}

// Workers returns the workers that live, and those that ended in the last hour.
func (c *Client) Workers(ctx context.Context) ([]WorkerInfo, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	ps, err := op.Processes(ctx, time.Hour)
	if err != nil {
		return nil, public(err)
	}
	infos := make([]WorkerInfo, len(ps))
	for i, p := range ps {
		infos[i] = WorkerInfo{
			ID: p.ID, Version: p.Version, Kinds: p.Kinds, Queues: p.Queues, Slots: p.Slots,
			Busy: p.Busy, Draining: p.Draining, Started: p.Started, Heartbeat: p.Heartbeat, Silence: p.Silence,
			DeadAfter: p.DeadAfter, Alive: p.Alive(), Ended: p.Ended, Why: p.Why,
		}
	}
	return infos, nil
}

// Failures returns a page of the items that a task recorded as failed, in the
// order of their ids, after one of them (the zero UUID: from the first).
func (c *Client) Failures(ctx context.Context, id ID, after uuid.UUID, limit int) ([]ItemFailure, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Failures(ctx, id, after, limit)
	if err != nil {
		return nil, public(err)
	}
	out := make([]ItemFailure, len(found))
	for i, f := range found {
		out[i] = ItemFailure(f)
	}
	return out, nil
}

// Attempts returns the last failed attempts of a task, newest first.
func (c *Client) Attempts(ctx context.Context, id ID, limit int) ([]Attempt, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Attempts(ctx, id, limit)
	if err != nil {
		return nil, public(err)
	}
	out := make([]Attempt, len(found))
	for i, a := range found {
		out[i] = Attempt{
			Created: a.Created, Worker: a.Process, Fence: a.Fence, Checkpoint: a.Seq,
			Attempt: a.Attempt, Class: Class(a.Class), Code: a.Code, Detail: a.Detail,
		}
	}
	return out, nil
}

// Events returns the last operators' actions on a task, newest first. They
// outlive the task.
func (c *Client) Events(ctx context.Context, id ID, limit int) ([]Event, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Events(ctx, id, limit)
	if err != nil {
		return nil, public(err)
	}
	out := make([]Event, len(found))
	for i, e := range found {
		out[i] = Event{Created: e.Created, Action: e.Action, Actor: e.Actor, Reason: e.Reason, Was: Status(e.Was)}
	}
	return out, nil
}
