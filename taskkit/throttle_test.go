package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/throttle"
)

// touchKind is a kind whose batches write the table touch.
var touchKind = taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: "touching", BatchSize: 1, MaxBatchSize: 1, Touches: []string{"touch"}})

// stepper does an item in each batch, and begins one when the test says so.
type stepper struct {
	*funcs[countSpec, countState]

	next    chan struct{} // one for each batch
	batches atomic.Int64
}

func newStepper() *stepper {
	s := &stepper{next: make(chan struct{}, 100)}
	s.funcs = &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
		s.batches.Add(1)
		select {
		case <-s.next:
		case <-ctx.Done():
		}
		return count(ctx, b, "w")
	}}
	return s
}

// free lets all batches go on.
func (s *stepper) free() { close(s.next) }

// throttled is the configuration of a worker that reads often.
func throttled(t *testing.T, db *testdb.DB, change func(*throttle.Config)) (taskkit.Config, *recorder) {
	t.Helper()
	c, r := quick(t, db), &recorder{}
	c.Observer = r
	c.Throttle.Interval = 50 * time.Millisecond
	change(&c.Throttle)
	return c, r
}

// items is how many items a task has whose cause to wait comes after its first batch: enough for
// many readings until it is seen.
const items = 300

// waits checks that a task waits for a reason while a cause lasts, and that it
// completes by itself after that.
func waits(t *testing.T, db *testdb.DB, c taskkit.Config, r *recorder, cause func() (end func()), want string) (stop func()) {
	t.Helper()
	x := newStepper()
	id := submitted(t, db, touchKind, countSpec{Items: items})
	stop = started(t, db, registered(touchKind, taskkit.Executor[countSpec, countState](x)), c)
	until(t, "the first batch runs", func() bool { return x.batches.Load() == 1 })
	end := cause()
	client := clientOf(db)
	var task *taskkit.Task
	var batches, freed int64
	until(t, "it waits: "+want, func() (ok bool) {
		var err error
		if task, err = client.Task(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if batches = x.batches.Load(); batches > freed { // it ends, and the task comes to a batch boundary
			freed = batches
			x.next <- struct{}{}
		}
		return task.Status == taskkit.StatusQueued && strings.Contains(task.WaitingReason, want)
	})
	why, err := client.Explain(t.Context(), id)
	if err != nil || !strings.HasPrefix(why.Text, "It is throttled: ") && !strings.HasPrefix(why.Text, "It is being prepared") && !strings.HasPrefix(why.Text, "It is running on") {
		t.Errorf("explained as %q, %v", why, err)
	}
	// It is claimed again and again, and executes nothing.
	fence, done := task.Fence, task.Progress
	until(t, "it was claimed thrice more", func() bool {
		task, err = client.Task(t.Context(), id)
		return err == nil && task.Fence >= fence+3
	})
	if task.Attempts > 1 || task.Progress != done || x.batches.Load() != batches { // 1: while it is claimed
		t.Errorf("%d attempts, %+v after %d batches; want 0, %+v after %d", task.Attempts, task.Progress, x.batches.Load(), done, batches)
	}
	end()
	x.free()
	task = ended(t, db, id)
	if task.Status != taskkit.StatusCompleted || task.Progress.Done != items {
		t.Errorf("%s %q with %+v", task.Status, task.StatusDetail, task.Progress)
	}
	checkTouched(t, db.DB, id, items)
	began, over, of := 0, 0, 0
	for _, e := range r.all() {
		switch e := e.(type) {
		case taskevent.ThrottleBegan:
			began++
		case taskevent.ThrottleEnded:
			over++
		case taskevent.TaskThrottled:
			of++
			if e.Task != id || e.Delay <= 0 || !strings.HasPrefix(e.Reason, "throttled: ") {
				t.Errorf("%+v", e)
			}
		case taskevent.TaskRetried, taskevent.IndicatorUnreadable:
			t.Errorf("%+v", e)
		}
	}
	if began == 0 || began != over || of < 3 {
		t.Errorf("%d began, %d ended, %d of the task", began, over, of)
	}
	return stop
}

// A task waits while VACUUM works on the table that its kind touches.
func TestThrottleVacuum(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.Postgres(t))
	makeTouch(t, db.DB)
	// It has enough pages for a VACUUM of minutes, unless autovacuum was here before.
	executeSQL(t, db.DB, "ALTER TABLE touch SET (autovacuum_enabled = off)")
	executeSQL(t, db.DB, "INSERT INTO touch SELECT repeat('x', 900), n, 'other' FROM generate_series(1, 8000) n")
	c, r := throttled(t, db, func(*throttle.Config) {})
	waits(t, db, c, r, func() (end func()) {
		return inSession(t, db.DB, "SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1", "VACUUM touch", func() bool {
			var works bool
			err := db.QueryRow("SELECT count(*) > 0 FROM pg_stat_progress_vacuum WHERE relid = 'touch'::regclass").Scan(&works)
			return err == nil && works
		})
	}, "throttled: VACUUM works on table touch")
}

// A task waits while a session waits for long for a lock on its table.
func TestThrottleLocks(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.Postgres(t))
	makeTouch(t, db.DB)
	executeSQL(t, db.DB, "INSERT INTO touch VALUES ('other', 1, 'other')")
	c, r := throttled(t, db, func(c *throttle.Config) { c.LockWait = 20 * time.Millisecond })
	waits(t, db, c, r, func() (end func()) {
		tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("UPDATE touch SET worker = 'blocks' WHERE task = 'other'"); err != nil {
			t.Fatal(err)
		}
		stop := inSession(t, db.DB, "SELECT 1", "UPDATE touch SET worker = 'waits' WHERE task = 'other'", func() bool {
			var waits bool
			err := db.QueryRow("SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", db.Schema).Scan(&waits)
			return err == nil && waits
		})
		return func() {
			stop()
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
	}, "for a lock on table touch")
}

// withStandby returns a database on a server of its own, with the table touch, and the standby of the server.
func withStandby(t *testing.T) (*testdb.DB, *cluster.Server) {
	t.Helper()
	server, err := cluster.StartPostgres(t.Context(), cluster.Unsynced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	db := migrated(t, testdb.On(t, server))
	makeTouch(t, db.DB)
	standby, err := server.Standby(t.Context(), "cluster_name = 'second'", "wal_receiver_status_interval = 1s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	return db, standby
}

// A task waits while a standby has its replay paused, whatever writes the WAL.
func TestThrottleReplica(t *testing.T) {
	t.Parallel()
	db, standby := withStandby(t)
	replica, err := sql.Open("pgx", standby.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replica.Close() })
	until(t, "the standby follows", func() (follows bool) {
		err := db.QueryRow("SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming'").Scan(&follows)
		return err == nil && follows
	})
	c, r := throttled(t, db, func(c *throttle.Config) { c.ReplicaBytes = 4 << 20 })
	waits(t, db, c, r, func() (end func()) {
		executeSQL(t, replica, "SELECT pg_wal_replay_pause()")
		executeSQL(t, db.DB, "INSERT INTO touch SELECT repeat('x', 900), n, 'other' FROM generate_series(1, 8000) n")
		return func() { executeSQL(t, replica, "SELECT pg_wal_replay_resume()") }
	}, "throttled: standby second is ")
}

// A task waits while WAL is written too fast.
func TestThrottleWAL(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.On(t, testdb.OwnServer(t)))
	makeTouch(t, db.DB)
	c, r := throttled(t, db, func(c *throttle.Config) { c.WALRate = 1 << 20 })
	waits(t, db, c, r, func() (end func()) {
		return inSession(t, db.DB, "CREATE TABLE written (s text)",
			"DO $$ BEGIN LOOP INSERT INTO written SELECT repeat('x', 900) FROM generate_series(1, 50); PERFORM pg_sleep(0.002); END LOOP; END $$",
			func() bool { return true })
	}, "throttled: WAL is written at ")
}

// A task waits for an indicator of the application, on both databases.
func TestThrottleIndicator(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		var mails atomic.Int64
		change := func(c *throttle.Config) {
			c.Indicators = []throttle.Indicator{{Name: "outbox", Kinds: []string{"touching", "of_another_worker"}, Check: func(context.Context) (string, error) {
				switch n := mails.Load(); {
				case n < 0:
					return "", errors.New("the outbox cannot be read")
				case n > 1000:
					return fmt.Sprintf("%d mails wait", n), nil
				}
				return "", nil
			}}}
		}
		for n, want := range map[int64]string{12_000: "throttled: outbox: 12000 mails wait", -1: "throttled: outbox failed: the outbox cannot be read"} {
			c, r := throttled(t, db, change)
			stop := waits(t, db, c, r, func() (end func()) {
				mails.Store(n)
				return func() { mails.Store(10) }
			}, want)
			stop()
		}
	})
}

// executeSQL runs a statement.
func executeSQL(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// inSession starts a statement in a session of its own, which ends with the test or by the function that is returned,
// and waits until it has begun to work.
func inSession(t *testing.T, db *sql.DB, before, statement string, works func() bool) (end func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for s := range strings.SplitSeq(before, "; ") {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var pid int
	if err := conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement)
		done <- err
	}()
	end = sync.OnceFunc(func() {
		executeSQL(t, db, fmt.Sprintf("SELECT pg_cancel_backend(%d)", pid))
		var canceled *pgconn.PgError
		if err := <-done; !errors.As(err, &canceled) || canceled.Code != "57014" {
			t.Errorf("%s: %v, want it to be cancelled", statement, err)
		}
		_ = conn.Raw(func(any) error { return errors.New("its settings differ") }) // the pool closes it
		_ = conn.Close()
	})
	t.Cleanup(end)
	until(t, statement+" works", works)
	return end
}

// statementCounter counts the statements of a pool.
type statementCounter struct {
	mu         sync.Mutex
	statements []string
}

func (c *statementCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements = append(c.statements, d.SQL)
	return ctx
}

func (*statementCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// of returns how many of the statements contain a text.
func (c *statementCounter) of(text string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.statements {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

// A task of a kind that touches nothing runs not one statement about health, and one that touches a table runs those of
// its worker's interval: not one for each batch.
func TestThrottleStatements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind   *taskkit.Kind[countSpec, countState, string]
		change func(*throttle.Config)
		most   int
	}{
		"nothing": {countKind, func(*throttle.Config) {}, 0},
		"off":     {touchKind, func(c *throttle.Config) { c.Off = true }, 0},
		"touches": {touchKind, func(c *throttle.Config) { c.Interval = time.Hour }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t, testdb.Postgres(t))
			makeTouch(t, db.DB)
			config, err := pgx.ParseConfig(db.DSN)
			if err != nil {
				t.Fatal(err)
			}
			counter := &statementCounter{}
			config.Tracer = counter
			traced := *db
			traced.DB = stdlib.OpenDB(*config)
			t.Cleanup(func() { _ = traced.Close() })
			wc, _ := throttled(t, &traced, c.change)
			var ids []taskkit.ID
			for range 5 {
				ids = append(ids, submitted(t, db, c.kind, countSpec{Items: 40}))
			}
			stop := started(t, &traced, registered(c.kind, counting("w")), wc)
			for _, id := range ids {
				if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
					t.Errorf("%s %q", task.Status, task.StatusDetail)
				}
			}
			stop()
			for _, view := range []string{"pg_stat_progress_vacuum", "pg_stat_replication", "waitstart"} {
				if n := counter.of(view); n != c.most {
					t.Errorf("%d statements read %s, want %d", n, view, c.most)
				}
			}
			if counter.of("taskkit_queued_task") == 0 {
				t.Error("no statement was counted")
			}
		})
	}
}

// A role without rights finds vacuums and locks, says once that it cannot see standbys, and works.
func TestThrottleWithoutRights(t *testing.T) {
	t.Parallel()
	db, _ := withStandby(t)
	for _, s := range []string{"CREATE ROLE plain LOGIN", "GRANT USAGE ON SCHEMA " + db.Schema + " TO plain", "GRANT ALL ON ALL TABLES IN SCHEMA " + db.Schema + " TO plain"} {
		executeSQL(t, db.DB, s)
	}
	plain := asRole(t, db, "plain")
	c, r := throttled(t, plain, func(c *throttle.Config) { c.Interval = 10 * time.Millisecond })
	started(t, plain, registered(touchKind, counting("w")), c)
	for range 5 {
		if task := ended(t, db, submitted(t, db, touchKind, countSpec{Items: 20})); task.Status != taskkit.StatusCompleted {
			t.Errorf("%s %q", task.Status, task.StatusDetail)
		}
	}
	var said []string
	for _, e := range r.all() {
		if e, ok := e.(taskevent.IndicatorUnreadable); ok {
			said = append(said, fmt.Sprint(e.Indicator, ": ", e.Err))
		}
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "replicas: ") || !strings.Contains(said[0], "pg_monitor") {
		t.Errorf("said %q", said)
	}
}

// Mistakes in the configuration are reported before the worker starts.
func TestThrottleRefused(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	ok := func(context.Context) (string, error) { return "", nil }
	for want, c := range map[string]throttle.Config{
		"Throttle.Interval":               {Interval: time.Millisecond},
		"Throttle.WALRate":                {WALRate: -1},
		"Throttle.IgnoreReplicas":         {IgnoreReplicas: []string{"a", ""}},
		"Throttle.Indicators[0].Name":     {Indicators: []throttle.Indicator{{Name: "Not a name", Check: ok}}},
		"Throttle.Indicators[1].Name":     {Indicators: []throttle.Indicator{{Name: "a", Check: ok}, {Name: "a", Check: ok}}},
		"Throttle.Indicators[0].Check":    {Indicators: []throttle.Indicator{{Name: "a"}}},
		"Throttle.Indicators[0].Kinds":    {Indicators: []throttle.Indicator{{Name: "a", Check: ok, Kinds: []string{"Not a kind"}}}},
		"Config.Throttle.Indicators[1].K": {Indicators: []throttle.Indicator{{Name: "b", Check: ok}, {Name: "a", Check: ok, Kinds: []string{}}}},
	} {
		var option *taskkit.OptionError
		_, err := taskkit.NewWorker(t.Context(), db.DB, registered(countKind, counting("w")), taskkit.Config{Throttle: c})
		if !errors.As(err, &option) || !strings.Contains(option.Option, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	aliased := taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: "renamed", Aliases: []string{"former"}})
	c := taskkit.Config{Throttle: throttle.Config{Indicators: []throttle.Indicator{{Name: "a", Check: ok, Kinds: []string{"former"}}}}}
	if _, err := taskkit.NewWorker(t.Context(), db.DB, registered(aliased, counting("w")), c); err == nil || !strings.Contains(err.Error(), "alias of the kind renamed") {
		t.Errorf("an alias: %v", err)
	}
	for _, name := range []string{"vacuum", "replicas", "wal", "locks", "health"} {
		c := taskkit.Config{Throttle: throttle.Config{Indicators: []throttle.Indicator{{Name: name, Check: ok}}}}
		if _, err := taskkit.NewWorker(t.Context(), db.DB, registered(countKind, counting("w")), c); err == nil {
			t.Errorf("an indicator of one's own may be called %s", name)
		}
	}
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), `"a b" is not a table that it touches`) {
			t.Errorf("panic %v", v)
		}
	}()
	taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: "bad", Touches: []string{"a b"}})
}
