package oracle

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// checker is one check: one snapshot of the database and the logs.
type checker struct {
	o      *Oracle
	opts   Options
	conn   *sql.Conn
	report *Report
	now    int64

	calls  []call
	logged map[string][]Range // sets that the logs name
	ends   map[string]string  // of tasks that the logs name: the status, or "deleted"
	events map[string]map[string]int64

	processes map[string]*process
	alive     []span // when some process was alive
	silence   int64  // the longest that a process may be silent
}

// Check reads ledger, history, tasks and client logs, and returns what it has
// looked at and what it has found. It may run while workers run: it reads one
// snapshot of the database, and the logs before it. It changes nothing.
func (o *Oracle) Check(ctx context.Context, db *sql.DB, opts Options) (*Report, error) {
	c := &checker{
		o: o, opts: opts.defaults(), report: &Report{},
		logged: make(map[string][]Range), ends: make(map[string]string), events: make(map[string]map[string]int64),
		processes: make(map[string]*process),
	}
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

// found notes a violation.
func (c *checker) found(invariant, task, format string, args ...any) {
	c.report.add(c.opts.Most, Violation{invariant, task, fmt.Sprintf(format, args...)})
}

func (c *checker) run(ctx context.Context) error {
	err := c.each(ctx, "SELECT {now}", nil, func(rows *sql.Rows) error { return rows.Scan(&c.now) })
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		c.readProcesses, c.resolveCalls, c.checkTasks, c.checkCalls,
		c.checkCounters, c.checkStrays, c.checkOrphans, c.checkUniqueKeys,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkTasks checks each task by itself.
func (c *checker) checkTasks(ctx context.Context) error {
	after := zeroID
	for {
		tasks, err := c.page(ctx, after)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			c.tally(t)
			c.checkLife(t)
			c.checkNumbers(t)
			c.checkRows(t)
			c.checkSet(t)
			c.checkTouches(t)
			c.checkAttempts(t)
			c.checkLimbo(t)
			c.checkRequests(t)
		}
		if len(tasks) == 0 {
			return nil
		}
		after = tasks[len(tasks)-1].id
	}
}

// tally counts a task, and keeps what the logs are compared with.
func (c *checker) tally(t *task) {
	n := &c.report.Counts
	n.Tasks++
	if t.declared {
		n.Sets++
	}
	r, deleted := t.last()
	end := r.status
	switch {
	case deleted:
		n.Deleted++
		end = gone
	case r.status == completed:
		n.Completed++
		if r.control == stop {
			n.Stopped++
		}
	case r.status == failure:
		n.Failed++
	case r.status == errored:
		n.Errors++
	default:
		n.Unended++
		if c.opts.Ended && r.control != pause {
			c.found("I7", t.id, "the run is over, and the task is %s (process %q, reason %q)", r.status, r.process, r.reason)
		}
	}
	if _, asked := c.ends[t.id]; asked {
		c.ends[t.id], c.events[t.id] = end, t.events
	}
	for _, h := range t.changes {
		n.Changes++
		switch {
		case h.claim():
			n.Claims++
		case h.checkpoint():
			n.Checkpoints++
		}
		if h.old.inFlight() && h.new.status == queued && c.lost(h) {
			n.Reclaims++
		}
		if h.old.terminal() && h.new.status == queued {
			n.Retries++
		}
	}
	for _, b := range t.touches {
		n.Touches += b.n
	}
}

// lost reports whether a release took the task from a process that had ended.
func (c *checker) lost(h *change) bool {
	p := c.processes[h.old.process]
	return p != nil && p.ended != 0 && p.ended <= h.at && h.new.attempts >= h.old.attempts
}
