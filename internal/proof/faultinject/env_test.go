package faultinject_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

const (
	// patience is how long a harmed worker is left alone before a healthy one
	// comes, where the plan is patient.
	patience = 2 * time.Second
	// stuck is how long a task may stand unchanged, and all others too. A COMMIT that gets no
	// answer alone waits for 15 s; the rest is for a busy machine.
	stuck = time.Minute
	// leaving is how long a worker may take to end, and what it has asked for to
	// happen.
	leaving = 2 * time.Minute
)

// env is a database in which runs follow each other, watched by an oracle.
type env struct {
	db     *testdb.DB
	schema string
	oracle *oracle.Oracle
	next   int64            // entity that no task has
	work   work             // what the tasks of a run are
	plans  map[string]*plan // by task
	harm   func(*plan) (harm, error)
	// harmed are the times of the worker that is harmed in this process.
	harmed limits
	// untilHit is how long a task may stand unchanged before a fault that is sure to strike
	// has: until then the harmed worker is alone, and on a busy machine it may need many starts.
	untilHit time.Duration
}

// work is what the tasks of a run are.
type work string

// The works.
const (
	stepsWork  work = ""       // one task of three batches
	mixedWork  work = "mixed"  // a mixed task and a preview of one
	familyWork work = "family" // a task in buckets
)

// harm is what stands between a worker and its database in one run.
type harm interface {
	// args complete what a worker process is told.
	args(workerArgs) workerArgs
	// open opens the database of a worker in this process.
	open() (*sql.DB, error)
	// launched hands over the worker process that is to be harmed.
	launched(*process)
	// hit is closed when the first fault strikes.
	hit() <-chan struct{}
	// drained waits until all that the harmed worker has asked for has
	// happened. The worker is gone.
	drained(ctx context.Context) error
	// close ends it and returns what was struck, and how many positions there
	// were.
	close() (struck []string, n int)
}

func newEnv(tb testing.TB, db *testdb.DB) *env {
	tb.Helper()
	l := &env{db: db, schema: db.Schema, plans: make(map[string]*plan), harmed: harmedLimits, untilHit: max(stuck, testdb.Patience(tb))}
	if db.Dialect == dialect.SQLite {
		l.schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(tb.Context(), db.DB, l.schema); err != nil {
		tb.Fatalf("migrate: %v", err)
	}
	var err error
	if l.oracle, err = oracle.New(oracle.Dialect(db.Dialect), l.schema); err != nil {
		tb.Fatal(err)
	}
	if err := l.oracle.Install(tb.Context(), db); err != nil {
		tb.Fatal(err)
	}
	return l
}

// outcome is what became of a run.
type outcome struct {
	plan      *plan
	struck    []string
	positions int
	takenOver bool // the healthy worker did a batch
	attempts  int  // failed attempts that were recorded
	took      time.Duration
	err       error // the violation
	log       string
}

// run runs one task under a plan, and checks the result.
func (l *env) run(ctx context.Context, p *plan) (out outcome) {
	began := time.Now()
	out.plan = p
	log := &logBuffer{}
	defer func() { out.took, out.log = time.Since(began), log.String() }()
	ids, err := l.submitRun(ctx)
	if err != nil {
		out.err = err
		return out
	}
	for _, id := range ids {
		l.plans[id.String()] = p
	}
	h, err := l.harm(p)
	if err != nil {
		out.err = err
		return out
	}
	out.err = l.toTheEnd(ctx, ids, p, h, log)
	out.struck, out.positions = h.close()
	if err := l.verifyRun(ctx, ids, &out); out.err == nil {
		out.err = err
	}
	return out
}

// submitRun submits the tasks of a run.
func (l *env) submitRun(ctx context.Context) ([]taskkit.ID, error) {
	switch l.work {
	case stepsWork:
		id, err := l.submit(ctx)
		return []taskkit.ID{id}, err
	case familyWork:
		id, err := l.submitFamily(ctx)
		return []taskkit.ID{id}, err
	case mixedWork:
	}
	id, err := l.submitMixed(ctx, false)
	if err != nil {
		return nil, err
	}
	preview, err := l.submitMixed(ctx, true)
	return []taskkit.ID{id, preview}, err
}

// verifyRun says what is wrong with the ended tasks of a run.
func (l *env) verifyRun(ctx context.Context, ids []taskkit.ID, out *outcome) error {
	switch l.work {
	case stepsWork:
		return l.verify(ctx, ids[0], out)
	case familyWork:
		return l.verifyFamily(ctx, ids[0])
	case mixedWork:
	}
	return errors.Join(l.verifyMixed(ctx, ids[0], false), l.verifyMixed(ctx, ids[1], true))
}

// submit submits a task with a set of its own.
func (l *env) submit(ctx context.Context) (id taskkit.ID, err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return id, fmt.Errorf("submit: %w", err)
	}
	defer tx.Rollback()
	set := oracle.Range{First: l.next, Past: l.next + items}
	l.next += items
	id, err = taskkit.Submit(ctx, tx, stepsKind, stepsSpec{First: set.First}, taskkit.WithSchema(l.schema), taskkit.System())
	if err != nil {
		return id, fmt.Errorf("submit: %w", err)
	}
	if err := l.oracle.Declare(ctx, tx, id.String(), set); err != nil {
		return id, err
	}
	return id, tx.Commit()
}

// running is a worker at work, in this process or in one of its own.
type running struct {
	done <-chan struct{} // closed when it has ended, of itself too
	stop func() error
}

// here runs a worker in this process. One that can not begin tries again if it
// is stubborn, as a program that is started anew.
func (l *env) here(db *sql.DB, name string, slots int, times limits, stubborn bool, log *logBuffer) running {
	ctx, cancel := context.WithCancel(context.Background()) // it outlives what the run waits for
	done := make(chan struct{})
	go func() {
		defer close(done)
		to := slog.New(slog.NewTextHandler(log, nil)).With("as", name)
		for ctx.Err() == nil {
			w, err := newWorker(db, l.schema, name, l.oracle, slots, times, to)
			if err == nil {
				err = w.Run(ctx)
			}
			if err == nil {
				return
			}
			to.Info("the worker gives up, as a program would", "error", err)
			if !stubborn {
				return
			}
		}
	}()
	return running{done, func() error {
		cancel()
		select {
		case <-done:
			return nil
		case <-time.After(leaving):
			return fmt.Errorf("worker %s does not stop within %v", name, leaving)
		}
	}}
}

// harmedWorker starts the worker that is to be harmed.
func (l *env) harmedWorker(p *plan, h harm, log *logBuffer) (running, error) {
	for _, f := range p.faults {
		if f.action.ownProcess() {
			proc, err := launch(h.args(workerArgs{Dialect: l.db.Dialect, Schema: l.schema, Name: "harmed"}), log)
			if err != nil {
				return running{}, err
			}
			h.launched(proc)
			return running{proc.done, proc.stop}, nil
		}
	}
	db, err := h.open()
	if err != nil {
		return running{}, err
	}
	r := l.here(db, "harmed", 1, l.harmed, p.sure, log)
	return running{r.done, func() error { return errors.Join(r.stop(), db.Close()) }}, nil
}

// toTheEnd runs submitted tasks until they have ended and everybody who had to do
// with them is gone.
func (l *env) toTheEnd(ctx context.Context, ids []taskkit.ID, p *plan, h harm, log *logBuffer) error {
	first, err := l.harmedWorker(p, h, log)
	if err != nil {
		return err
	}
	var healthy *running
	come := func() {
		if healthy == nil {
			r := l.here(l.db.DB, "healthy", 2, healthyLimits, true, log)
			healthy = &r
		}
	}
	for _, id := range ids {
		err = errors.Join(err, l.wait(ctx, id, p, h, first.done, come))
	}
	err = errors.Join(err, first.stop())
	within, cancel := context.WithTimeout(ctx, leaving)
	defer cancel()
	err = errors.Join(err, h.drained(within))
	if healthy != nil {
		err = errors.Join(err, healthy.stop())
	}
	return err
}

// wait waits until the task has ended, and calls the healthy worker when its
// time has come.
func (l *env) wait(ctx context.Context, id taskkit.ID, p *plan, h harm, gone <-chan struct{}, come func()) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(2 * patience) // where nothing strikes
	defer late.Stop()
	unchanged := stuck
	if p.sure {
		late.Stop()
		unchanged = l.untilHit
	}
	over := time.NewTimer(unchanged)
	defer over.Stop()
	hit := h.hit()
	for at := ""; ; {
		var (
			status, process     string
			control             string
			fence, seq, changes int64
		)
		err := l.db.QueryRowContext(ctx, `SELECT workflow_status, fence, checkpoint_seq, coalesce(scheduled_by_process, 'nobody'), control,
  (SELECT coalesce(max(id), 0) FROM oracle_history)
FROM taskkit_queued_task WHERE id = $1`, id.String()).Scan(&status, &fence, &seq, &process, &control, &changes)
		switch {
		case err != nil:
			return fmt.Errorf("read whether the task has ended: %w", err)
		case status == "COMPLETED" || status == "FAILURE" || status == "ERROR":
			return nil
		case control == "PAUSE":
			// It waits for the row, which a session that fell silent may hold for ever.
			limited, cancel := context.WithTimeout(ctx, stuck)
			err := l.resume(limited, id)
			cancel()
			if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				return &stuckError{stuck, at}
			}
			if err != nil {
				return fmt.Errorf("resume task %s: %w", id, err)
			}
		}
		if now := fmt.Sprintf("%s, fence %d, checkpoint_seq %d, held by %s, after change %d of all tasks", status, fence, seq, process, changes); now != at {
			at = now
			over.Reset(unchanged)
		}
		select {
		case <-tick.C:
		case <-hit:
			hit = nil
			if !p.patient {
				come()
			}
			late.Reset(patience)
			unchanged = stuck
			over.Reset(unchanged)
		case <-gone:
			gone = nil
			come()
		case <-late.C:
			come()
		case <-over.C:
			return &stuckError{unchanged, at}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stuckError: a task stands unchanged although a worker is there.
type stuckError struct {
	since time.Duration
	at    string
}

func (e *stuckError) Error() string {
	return fmt.Sprintf("the task is stuck for %v: %s", e.since, e.at)
}

// verify says what is wrong with an ended task.
func (l *env) verify(ctx context.Context, id taskkit.ID, out *outcome) error {
	var (
		status, desc                         string
		fence, seq, done, total, att         int64
		touches, entities, healthy, attempts int64
	)
	err := l.db.QueryRowContext(ctx, `SELECT workflow_status, coalesce(workflow_status_desc, ''), fence, checkpoint_seq, items_done, coalesce(items_total, -1), attempts,
  (SELECT count(*) FROM oracle_touch t WHERE t.task = $1), (SELECT count(DISTINCT entity) FROM oracle_touch t WHERE t.task = $1),
  (SELECT count(*) FROM oracle_touch t WHERE t.task = $1 AND worker = 'healthy'), (SELECT count(*) FROM taskkit_task_attempt a WHERE a.task_id = q.id)
FROM taskkit_queued_task q WHERE q.id = $2`, id.String(), id.String()).Scan(
		&status, &desc, &fence, &seq, &done, &total, &att, &touches, &entities, &healthy, &attempts)
	if err != nil {
		return fmt.Errorf("read task %s: %w", id, err)
	}
	out.takenOver, out.attempts = healthy > 0, int(attempts)
	if status != "COMPLETED" || done != items || total != items || touches != items || entities != items {
		return fmt.Errorf("task %s is %s (%s) with fence %d, checkpoint_seq %d, attempts %d: %d of %d done, %d touches of %d entities, want %d of each",
			id, status, desc, fence, seq, att, done, total, touches, entities, items)
	}
	return l.budget(ctx, id)
}

// budget holds that no attempt is spent but by a claim or a failure since the
// last checkpoint.
func (l *env) budget(ctx context.Context, id taskkit.ID) error {
	rows, err := l.db.QueryContext(ctx, `SELECT old_status, new_status, new_fence - old_fence, new_seq - old_seq, new_attempts
FROM oracle_history WHERE task = $1 AND op = 'UPDATE' ORDER BY id`, id.String())
	if err != nil {
		return fmt.Errorf("read the history of task %s: %w", id, err)
	}
	defer rows.Close()
	var may int64
	for n := 1; rows.Next(); n++ {
		var (
			from, to                string
			claim, checkpoint, have int64
		)
		if err := rows.Scan(&from, &to, &claim, &checkpoint, &have); err != nil {
			return fmt.Errorf("read the history of task %s: %w", id, err)
		}
		switch {
		case checkpoint > 0:
			may = 0
		case claim > 0, from == "EXECUTING" && to == "QUEUED", from == "SCHEDULING" && to == "QUEUED":
			may++
		}
		if have > may {
			return fmt.Errorf("task %s has %d attempts after its change %d (%s to %s), and at most %d were made", id, have, n, from, to, may)
		}
	}
	return rows.Err()
}

// planOf returns the plan of the run to which a task belongs; nil without one. A child has the plan
// of its parent.
func (l *env) planOf(ctx context.Context, tb testing.TB, task string) *plan {
	tb.Helper()
	for task != "" {
		if p := l.plans[task]; p != nil {
			return p
		}
		var parent sql.NullString
		err := l.db.QueryRowContext(ctx, "SELECT parent_id FROM taskkit_queued_task WHERE id = $1", task).Scan(&parent)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			tb.Errorf("read the parent of task %s: %v", task, err)
		}
		task = parent.String
	}
	return nil
}

// check lets the oracle check everything that ran in the env.
func (l *env) check(ctx context.Context) (*oracle.Report, error) {
	return l.oracle.Check(ctx, l.db.DB, oracle.Options{
		Ended: true, MaxAttempts: maxAttempts, BatchTimeout: healthyLimits.batch,
		Call: 15 * time.Second, // the runtime's bound of a COMMIT
		// The machine is full: what is slow is not what is looked for here.
		Slack: time.Minute,
	})
}
