package taskkit

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
)

// Client reads and controls tasks. Given a transaction, all its calls run in that
// transaction. It starts no goroutine, and is as safe for concurrent use as its
// handle.
type Client struct {
	db     ExecQuerier
	schema string
	err    error

	mu sync.Mutex
	op store.Client
}

// A ClientOption is an option of [NewClient]. Only this package implements it; see
// [WithSchema].
type ClientOption interface{ applyClient(c *Client) }

// NewClient returns a client. It does not use the database. Invalid options are
// reported by the first call.
func NewClient(db ExecQuerier, opts ...ClientOption) *Client {
	c := &Client{db: db}
	for _, o := range opts {
		o.applyClient(c)
	}
	if batch, ok := db.(*session.LazyTx); ok {
		if c.schema != "" {
			c.err = &OptionError{"WithSchema", "used with b.Tx, whose client reads the schema of the batch's task: leave the option out"}
		}
		c.schema = batch.Schema()
	}
	c.schema = cmp.Or(c.schema, DefaultSchema)
	if err := checkHandle("db", db); err != nil {
		c.err = err
	}
	return c
}

// tables detects the kind of database at the first call.
func (c *Client) tables(ctx context.Context) (store.Client, error) {
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
	c.op = dbstore.NewClient(c.db, c.schema, name)
	return c.op, nil
}

// public returns an error of the store as one of this package.
func (c *Client) public(ctx context.Context, err error) error {
	return public(migrate.Explain(ctx, c.db, c.schema, err))
}

// Task reads one task. It returns [ErrNotFound] when there is none.
func (c *Client) Task(ctx context.Context, id ID) (*Task, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Task(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	return c.read(ctx, op, found)
}

// read converts a task that was read from the tables. The progress of a task with children
// is the sum of its children's, which read counts. Every method that returns a task calls it.
func (c *Client) read(ctx context.Context, op store.Client, found store.Task) (*Task, error) {
	tasks, err := c.readAll(ctx, op, []store.Task{found})
	if err != nil {
		return nil, err
	}
	return tasks[0], nil
}

// readAll is read for a list.
func (c *Client) readAll(ctx context.Context, op store.Client, found []store.Task) ([]*Task, error) {
	tasks := make([]*Task, len(found))
	var parents []uuid.UUID
	for i := range found {
		tasks[i] = fromStore(found[i])
		if found[i].HasChildren {
			parents = append(parents, found[i].ID)
		}
	}
	if len(parents) == 0 {
		return tasks, nil
	}
	counts, err := op.CountChildren(ctx, parents)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	for _, t := range tasks {
		of, ok := counts[t.ID]
		if !ok {
			continue
		}
		t.Children = childCounts(of)
		t.Progress = t.Children.Progress
	}
	return tasks, nil
}

// Filter selects tasks. Zero fields do not filter, except Children. A list may have at most 10,000
// values. A value that no task can have is an *[OptionError].
type Filter struct {
	IDs       []ID
	Kinds     []string
	Statuses  []Status
	Owner     uuid.UUID
	Queue     string
	Reference string
	UniqueKey string
	Code      string // of the error, such as "database"
	Parent    ID
	Follows   ID // the task that they were made from, see Task.Follows
	// Children selects the children of tasks too. Without it only tasks without a parent are selected, unless
	// IDs, UniqueKey, Reference, Parent or Follows name the tasks.
	Children bool
	// Running: only tasks that a worker has, and tasks with such a task among their children, and theirs.
	Running  bool
	Previews bool // only previews, see [WithPreview]
	// Paused: only paused tasks, also those that a worker has until its batch has ended, and those that wait for approval.
	Paused   bool
	Approval bool // only tasks that wait for [Client.Approve], as their ControlReason says
	// EndedFor: only tasks that ended longer ago, by the database's clock.
	EndedFor time.Duration
	// Before selects only tasks older than this one, by id. For the next page
	// set it to what [Client.Tasks] returned as next. It goes with any filter.
	Before ID
	// Limit is the size of a page: 1 to 1,000. Defaults to 50.
	Limit int
}

// Tasks returns a page of tasks, newest first. The next page begins before next: set Filter.Before to it. The zero ID: there is none.
//
// IDs, UniqueKey, Reference, Parent, Follows, Owner without Children, Running, Paused, Approval, the statuses of tasks in flight and the statuses of dead letters each
// have an index, which is read newest first. What else the filter says is checked task by task, at most 10,000 of them, and of dead letters 1,000 of a kind and status, or 250 where the filter names none or more than 4 kinds:
// a page that has a next may have fewer tasks than its limit, even none.
//
// SpecJSON and StateJSON, which may be large, are left out; [Client.Task] reads them.
func (c *Client) Tasks(ctx context.Context, f Filter) (page []*Task, next ID, err error) {
	sf, err := f.store()
	if err != nil {
		return nil, ID{}, err
	}
	op, err := c.tables(ctx)
	if err != nil {
		return nil, ID{}, err
	}
	found, next, err := op.Tasks(ctx, sf)
	if err != nil {
		return nil, ID{}, c.public(ctx, err)
	}
	page, err = c.readAll(ctx, op, found)
	if err != nil {
		return nil, ID{}, err
	}
	return page, next, nil
}

// Counts returns the number of tasks in each status, of one kind or, for "", of
// all kinds. It reads the newest 100,000 tasks of all kinds, so its cost is bounded. exact
// is true if there are fewer; if it is false, there are at least as many tasks of each status as
// counts says.
func (c *Client) Counts(ctx context.Context, kind string) (counts map[Status]int64, exact bool, err error) {
	if err := checkFilterText("Kinds", kind); err != nil {
		return nil, false, err
	}
	op, err := c.tables(ctx)
	if err != nil {
		return nil, false, err
	}
	found, exact, err := op.Counts(ctx, kind, store.CountRead)
	if err != nil {
		return nil, false, c.public(ctx, err)
	}
	counts = make(map[Status]int64, len(found))
	for s, n := range found {
		counts[Status(s)] = n
	}
	return counts, exact, nil
}

// workers returns the live workers and those that ended within the last hour.
func (c *Client) workers(ctx context.Context) ([]store.Process, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Processes(ctx, time.Hour)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	return found, nil
}

// Attempts returns the latest failed attempts of a task, newest first.
func (c *Client) Attempts(ctx context.Context, id ID, limit int) ([]Attempt, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Attempts(ctx, id, limit)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	out := make([]Attempt, len(found))
	for i, a := range found {
		out[i] = Attempt{
			Created: a.Created, Worker: a.Process, Fence: a.Fence, Checkpoint: a.Seq,
			Attempt: a.Attempt, Class: a.Class, Code: a.Code, Detail: a.Detail,
		}
	}
	return out, nil
}

// Events returns the latest requests made of a task, newest first, and when it lost its worker. They outlive
// the task.
func (c *Client) Events(ctx context.Context, id ID, limit int) ([]Event, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.Events(ctx, id, limit)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	out := make([]Event, len(found))
	for i, e := range found {
		out[i] = Event{Created: e.Created, Action: e.Action, Actor: e.Actor, Reason: e.Reason, FromStatus: Status(e.FromStatus), Worker: e.Worker}
	}
	return out, nil
}
