package oracle

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// checker is one check: of one snapshot of a database and its logs, or of a
// [History].
type checker struct {
	opts    Options
	report  *Report
	now     int64
	history *History // nil: of a database
	o       *Oracle  // of a database, as is conn
	conn    *sql.Conn

	calls  []call
	logged map[string][]Range // sets that the logs name
	ends   map[string]string  // of tasks that the logs name: the status, or "deleted"
	events map[string]map[string]int64

	processes map[string]*process
	alive     []span // when some process was alive
	silence   int64  // the longest that a process may be silent
}

func newChecker(opts Options) *checker {
	return &checker{
		opts: opts.defaults(), report: &Report{},
		logged: make(map[string][]Range), ends: make(map[string]string), events: make(map[string]map[string]int64),
		processes: make(map[string]*process),
	}
}

// Check reads ledger, history, tasks and client logs, and returns what it has
// read and which invariants are violated. It may run while workers run: it reads
// one snapshot of the database, and the logs before it. It changes nothing.
func (o *Oracle) Check(ctx context.Context, db *sql.DB, opts Options) (*Report, error) {
	c := newChecker(opts)
	c.o = o
	var err error
	if c.calls, c.report.Counts.Logs, err = readLogs(opts.Logs); err != nil {
		return nil, err
	}
	if c.conn, err = db.Conn(ctx); err != nil {
		return nil, fmt.Errorf("oracle: a connection to check on: %w", err)
	}
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if o.dialect == SQLite {
		begin = "BEGIN DEFERRED"
	}
	if _, err := c.conn.ExecContext(ctx, begin); err != nil {
		_ = c.conn.Close()
		return nil, fmt.Errorf("oracle: begin to read: %w", err)
	}
	err = c.run(ctx)
	if _, rerr := c.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); rerr != nil {
		_ = c.conn.Raw(func(any) error { return driver.ErrBadConn }) // not to be used again
	}
	_ = c.conn.Close() // it has only read
	if err != nil {
		return nil, err
	}
	return c.report.sorted(), nil
}

// found adds a violation.
func (c *checker) found(invariant, task, format string, args ...any) {
	c.report.add(c.opts.Most, Violation{invariant, task, fmt.Sprintf(format, args...)})
}

func (c *checker) run(ctx context.Context) error {
	err := c.each(ctx, "SELECT {now}", nil, func(rows *sql.Rows) error { return rows.Scan(&c.now) })
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		c.readProcesses, c.readCalls, c.checkTasks, c.compareCalls,
		c.checkCounters, c.checkUnseen, c.checkOrphans, c.checkFamilies, c.checkKeys,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkTasks reads the tasks in pages and checks each by itself.
func (c *checker) checkTasks(ctx context.Context) error {
	after := zeroID
	for {
		tasks, err := c.page(ctx, after)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			c.checkTask(t)
		}
		if len(tasks) == 0 {
			return nil
		}
		after = tasks[len(tasks)-1].ID
	}
}

// checkTask checks a task by itself.
func (c *checker) checkTask(t *Task) {
	c.tally(t)
	c.checkLife(t)
	c.checkNumbers(t)
	c.checkRows(t)
	c.checkSet(t)
	c.checkTouches(t)
	c.checkAttempts(t)
	c.checkOutcomes(t)
	c.checkConditions(t)
	c.checkSearch(t)
	c.checkLedger(t)
	if c.history == nil {
		c.checkLimbo(t)
	}
	c.checkRequests(t)
	c.checkObedience(t)
	c.checkFacts(t)
}

// tally counts a task, and keeps what the logs are compared with.
func (c *checker) tally(t *Task) {
	n := &c.report.Counts
	n.Tasks++
	if t.Declared {
		n.Sets++
	}
	r, deleted := t.last()
	end := r.Status
	switch {
	case deleted:
		n.Deleted++
		end = gone
	case r.Status == completed:
		n.Completed++
		if r.Partial != 0 {
			n.Stopped++
		}
	case r.Status == failure:
		n.Failed++
	case r.Status == errored:
		n.Errors++
	default:
		n.Unended++
		if c.opts.Ended && r.Control != pause {
			c.found("I7", t.ID, "the run is over, and the task is %s (process %q, reason %q)", r.Status, r.Process, r.Reason)
		}
	}
	if c.opts.Ended && !deleted && r.terminal() && r.Control == deleteAsked {
		c.found("I8", t.ID, "the run is over, and the task is %s although its deletion was accepted", r.Status)
	}
	if _, asked := c.ends[t.ID]; asked {
		c.ends[t.ID], c.events[t.ID] = end, t.Events
	}
	for _, h := range t.Changes {
		n.Changes++
		switch {
		case h.claim():
			n.Claims++
		case h.checkpoint():
			n.Checkpoints++
		}
		if h.Old.inFlight() && h.New.Status == queued && c.lost(h) {
			n.Reclaims++
		}
		if h.Old.terminal() && h.New.Status == queued {
			n.Retries++
		}
	}
	for _, b := range t.Touches {
		n.Touches += b.N
	}
}

// lost reports whether a release took the task from a process that had ended.
func (c *checker) lost(h *Change) bool {
	p := c.processes[h.Old.Process]
	return p != nil && p.ended != 0 && p.ended <= h.At && h.New.Attempts >= h.Old.Attempts
}
