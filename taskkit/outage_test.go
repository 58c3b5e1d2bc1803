package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskkind"
)

// A fault is something that keeps a worker from using its database, whatever the task.
type fault struct {
	begin, mend func(t *testing.T)
	// unseen: the tasks may not notice it.
	unseen bool
}

// outageTasks is how many tasks meet a fault.
const outageTasks = 40

// meetFault lets forty tasks meet a fault: some in a batch, some in a claim, and the others before they are claimed. No task ends
// while it lasts, none spends an attempt, all complete when it is mended, and the log has a line for its begin and one for
// its end.
func meetFault(t *testing.T, owner, worker *testdb.DB, f fault) {
	t.Helper()
	x := newOutageExecutor(worker.Dialect == dialect.SQLite)
	log := newLineCounter(t)
	began := make(chan struct{}, 100)
	c := quick(t, worker)
	c.Logger = slog.New(log)
	if worker.Direct != worker.DSN {
		c.ListenDSN = worker.Direct
	}
	c.Observer = observerFunc(func(e taskevent.Event) {
		if _, ok := e.(taskevent.OutageBegan); ok {
			began <- struct{}{}
		}
	})
	started(t, worker, x.registry(), c)
	ids := make([]taskkit.ID, outageTasks)
	for i := range ids {
		ids[i] = submitted(t, owner, x.parent, countSpec{Items: 3}, taskkit.WithLimit("outage", outageTasks))
	}
	for range c.Slots {
		x.await(t)
	}
	f.begin(t)
	x.open()
	if !f.unseen {
		select {
		case <-began:
		case <-time.After(testdb.Patience(t)):
			t.Fatal("the worker did not notice the fault")
		}
	}
	observe := time.NewTimer(300 * time.Millisecond) // of the fault
	defer observe.Stop()
	<-observe.C
	f.mend(t)
	for _, id := range ids {
		task := ended(t, owner, id)
		if task.Status != taskkit.StatusCompleted {
			t.Errorf("ended in %s: %s", task.Status, task.StatusDetail)
		}
		checkTouched(t, owner.DB, id, 3)
	}
	var tasks, completed, attempts int
	if err := owner.QueryRowContext(t.Context(), fmt.Sprintf(`SELECT count(*), count(CASE WHEN workflow_status = 'COMPLETED' THEN 1 END),
		(SELECT count(*) FROM %s) FROM %s`, table(owner, "taskkit_task_attempt"), table(owner, "taskkit_queued_task"))).Scan(&tasks, &completed, &attempts); err != nil {
		t.Fatal(err)
	}
	if tasks != 2*outageTasks || completed != tasks || attempts != 0 || x.attempt.Load() != 1 {
		t.Errorf("%d of %d tasks have completed with %d failed attempts, at attempt %d, want %d tasks, all, none, and 1",
			completed, tasks, attempts, x.attempt.Load(), 2*outageTasks)
	}
	if !f.unseen && !slices.Equal(log.lines.get(), outageLines) {
		t.Errorf("the log has the lines\n%s\nwant one for the begin and one for the end of the fault", strings.Join(log.lines.get(), "\n"))
	}
}

// outageLines are the lines of a fault.
var outageLines = []string{"the database cannot be used; nothing is claimed, and no task spends an attempt", "the database can be used again"}

// outageExecutor executes parents, each with a child, that write all that a worker writes.
type outageExecutor struct {
	parent, child *taskkit.Kind[countSpec, countState, string]
	entered       chan struct{}
	gate          chan struct{}
	open          func()
	oneWriter     bool         // the database has one
	attempt       atomic.Int64 // the highest that a batch had
}

func newOutageExecutor(oneWriter bool) *outageExecutor {
	gate := make(chan struct{})
	return &outageExecutor{
		parent:  taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: "parent", BatchSize: 10, Children: true}),
		child:   newKind[countSpec, countState]("child", 10),
		entered: make(chan struct{}, 1000), gate: gate, open: sync.OnceFunc(func() { close(gate) }), oneWriter: oneWriter,
	}
}

func (x *outageExecutor) registry() *taskkit.Registry {
	var r taskkit.Registry
	taskkit.Register(&r, x.parent, &aborting[countSpec, countState]{
		funcs:  funcs[countSpec, countState]{execute: x.execute},
		abort:  func(context.Context, *countBatch) error { return nil },
		report: func(context.Context, *countBatch) (string, error) { return "result", nil },
	})
	taskkit.Register(&r, x.child, &funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
		return taskkit.Done, nil
	}})
	return &r
}

// await waits until a task is in a batch.
func (x *outageExecutor) await(t *testing.T) {
	t.Helper()
	select {
	case <-x.entered:
	case <-time.After(testdb.Patience(t)):
		t.Fatal("no task is executed")
	}
}

// wait waits until the fault has begun.
func (x *outageExecutor) wait(ctx context.Context) {
	x.entered <- struct{}{}
	select {
	case <-x.gate:
	case <-ctx.Done():
	}
}

func (x *outageExecutor) execute(ctx context.Context, b *countBatch) (taskkit.Next, error) {
	x.attempt.Store(max(x.attempt.Load(), int64(b.Attempt)))
	if b.State.Next > 0 {
		return taskkit.Done, nil
	}
	// Some tasks meet the fault with their first statement, as all do on SQLite, and some when their transaction is open.
	first := x.oneWriter || b.Task[15]%2 == 0
	if first {
		x.wait(ctx)
	}
	if err := touch(ctx, b.Tx, b.Task, 0, b.Spec.Items, strings.Repeat("w", 1000)); err != nil {
		return taskkit.More, err
	}
	if !first {
		x.wait(ctx)
	}
	if _, err := taskkit.Submit(ctx, b.Tx, x.child, countSpec{}, taskkit.WithParent(b.Task)); err != nil {
		return taskkit.More, err
	}
	b.State.Next = b.Spec.Items
	b.Total(b.Spec.Items)
	b.Fail(1, errors.New("an item that fails"))
	return taskkit.AwaitChildren(0, taskkit.ContinueParent), nil
}

// lineCounter counts the lines of a log that are not of the level DEBUG.
type lineCounter struct {
	slog.Handler

	*lines
}

func newLineCounter(t *testing.T) *lineCounter {
	t.Helper()
	return &lineCounter{Handler: slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}), lines: new(lines)}
}

type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) get() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.text)
}

// ordinary are lines of a worker that is well.
var ordinary = []string{"worker started", "worker ended", "cannot listen for new tasks; polling"}

func (h *lineCounter) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug && !slices.Contains(ordinary, r.Message) {
		h.mu.Lock()
		h.text = append(h.text, r.Message)
		h.mu.Unlock()
	}
	return h.Handler.Handle(ctx, r)
}

func (h *lineCounter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineCounter{h.Handler.WithAttrs(attrs), h.lines}
}

// A fault of the database, or of the access to it, ends no task and costs none an attempt: it is not theirs.
func TestOutage(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(r *testdb.Roles, owner *testdb.DB) fault{
		"EXECUTE revoked": func(_ *testdb.Roles, owner *testdb.DB) fault {
			return fault{
				begin: statements(owner, "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA "+owner.Schema+" FROM PUBLIC"),
				mend:  statements(owner, "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "+owner.Schema+" TO PUBLIC"),
			}
		},
		"schema renamed": func(_ *testdb.Roles, owner *testdb.DB) fault {
			return fault{
				begin: statements(owner, "ALTER SCHEMA "+owner.Schema+" RENAME TO "+owner.Schema+"_gone"),
				mend:  statements(owner, "ALTER SCHEMA "+owner.Schema+"_gone RENAME TO "+owner.Schema),
			}
		},
		"read-only": func(r *testdb.Roles, owner *testdb.DB) fault {
			return fault{
				begin: statements(owner, "ALTER ROLE "+r.Name("worker")+" SET default_transaction_read_only = on", terminate(r)),
				mend:  statements(owner, "ALTER ROLE "+r.Name("worker")+" RESET default_transaction_read_only", terminate(r)),
			}
		},
		"no connection": func(r *testdb.Roles, owner *testdb.DB) fault {
			return fault{
				begin: statements(owner, "ALTER ROLE "+r.Name("worker")+" CONNECTION LIMIT 0", terminate(r)),
				mend:  statements(owner, "ALTER ROLE "+r.Name("worker")+" CONNECTION LIMIT -1"),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner, worker, roles := asWorker(t, testdb.Postgres(t))
			meetFault(t, owner, worker, begin(roles, owner))
		})
	}
}

// A right that is missing on any table ends no task.
func TestOutageOfRight(t *testing.T) {
	t.Parallel()
	seen := []string{"taskkit_queued_task", "taskkit_task_plan", "taskkit_task_parent", "taskkit_task_item", "taskkit_task_result"}
	for _, name := range tablesOf(t, migrated(t, testdb.Postgres(t))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner, worker, roles := asWorker(t, testdb.Postgres(t))
			on := "INSERT ON " + table(owner, name)
			meetFault(t, owner, worker, fault{
				begin:  statements(owner, "REVOKE "+on+" FROM "+roles.Name("worker")),
				mend:   statements(owner, "GRANT "+on+" TO "+roles.Name("worker")),
				unseen: !slices.Contains(seen, name),
			})
		})
	}
}

// tablesOf returns the names of taskkit's tables.
func tablesOf(t *testing.T, db *testdb.DB) (names []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = $1", db.Schema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	return names
}

// A pooler that begins to mix prepared statements ends no task.
func TestOutageOfPooler(t *testing.T) {
	t.Parallel()
	owner := migrated(t, testdb.PgBouncer(t))
	makeTouch(t, owner.DB)
	config, err := pgx.ParseConfig(owner.DSN)
	if err != nil {
		t.Fatal(err)
	}
	var wrong atomic.Bool
	worker := *owner
	worker.DB = stdlib.OpenDB(*config, stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
		if wrong.Load() {
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
		}
		return nil
	}))
	t.Cleanup(func() { _ = worker.DB.Close() })
	worker.SetMaxOpenConns(16)
	// The test goes past the pooler, since the batches of the worker may hold all of its connections.
	direct, err := sql.Open("pgx", owner.Direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = direct.Close() })
	owner.DB = direct
	set := func(to bool) func(*testing.T) {
		return func(*testing.T) {
			wrong.Store(to)
			worker.SetMaxIdleConns(0) // each connection is a new one
		}
	}
	meetFault(t, owner, &worker, fault{begin: set(true), mend: set(false)})
}

// asWorker returns a database with taskkit's tables, and a handle for a role with the rights of a worker.
func asWorker(t *testing.T, db *testdb.DB) (owner, worker *testdb.DB, roles *testdb.Roles) {
	t.Helper()
	owner = migrated(t, db)
	makeTouch(t, owner.DB)
	roles = testdb.NewRoles(t, owner, "../docs/operations.md")
	statements(owner, "GRANT INSERT ON touch TO "+roles.Name("worker"))(t)
	return owner, roles.As("worker"), roles
}

// statements returns what executes statements.
func statements(db *testdb.DB, list ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		for _, s := range list {
			if _, err := db.ExecContext(context.WithoutCancel(t.Context()), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
}

// terminate is a statement that ends the connections of the worker.
func terminate(r *testdb.Roles) string {
	return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + r.Name("worker") + "'"
}

// An executor can make the last write of its batch fail in the same way. That is its own fault, and does not go on for ever.
func TestOutageOfExecutor(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"read-only": "SET LOCAL transaction_read_only = on",
		"role":      "SET LOCAL ROLE pg_monitor",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t, testdb.Postgres(t))
			log := newLineCounter(t)
			c := quick(t, db)
			c.Logger = slog.New(log)
			started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
				_, err := b.Tx.ExecContext(ctx, statement)
				return taskkit.Done, err
			}}), c)
			task := ended(t, db, submitted(t, db, countKind, countSpec{Items: 1}))
			if task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, "3 tries") {
				t.Errorf("ended in %s: %s, want %s after 3 tries", task.Status, task.StatusDetail, taskkit.StatusFailure)
			}
			if slices.Contains(log.get(), outageLines[0]) {
				t.Error("the worker takes what an executor did for a fault of the database")
			}
		})
	}
}

// A worker whose database is restarted says so once, and once that it is back.
func TestOutageOfRestart(t *testing.T) {
	t.Parallel()
	server := testdb.OwnServer(t)
	owner := migrated(t, testdb.On(t, server))
	makeTouch(t, owner.DB)
	meetFault(t, owner, owner, fault{
		begin: func(t *testing.T) {
			t.Helper()
			if err := server.Fast(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		mend: func(t *testing.T) {
			t.Helper()
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// A worker that the database would refuse does not start, and says what mends it.
func TestNewWorkerRefused(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, worker *testdb.DB, problem, remedy string) {
		t.Helper()
		_, err := taskkit.NewWorker(t.Context(), worker.DB, registered(countKind, counting("w")), quick(t, worker))
		refused, ok := errors.AsType[*taskkit.RefusedError](err)
		if !ok || !strings.Contains(refused.Problem, problem) || !strings.Contains(refused.Remedy, remedy) {
			t.Errorf("NewWorker returned %v, want that %s: %s", err, problem, remedy)
		}
	}
	t.Run("rights", func(t *testing.T) {
		t.Parallel()
		owner, worker, roles := asWorker(t, testdb.Postgres(t))
		name := roles.Name("worker")
		for on, also := range map[string]string{
			"INSERT ON " + table(owner, "taskkit_task_item"):       "",
			"UPDATE ON " + table(owner, "taskkit_schedule"):        "",
			"USAGE ON SCHEMA " + owner.Schema:                      "",
			"DELETE, INSERT ON " + table(owner, "taskkit_limit"):   "",
			"EXECUTE ON FUNCTION " + owner.Schema + ".taskkit_una": ", PUBLIC",
		} {
			what := strings.Replace(on, "taskkit_una", "taskkit_unapplied(task uuid, held bigint, seq bigint, ends boolean)", 1)
			statements(owner, "REVOKE "+what+" FROM "+name+also)(t)
			if strings.HasPrefix(on, "USAGE") {
				_, err := taskkit.NewWorker(t.Context(), worker.DB, registered(countKind, counting("w")), quick(t, worker))
				if err == nil {
					t.Error("a worker starts that may not use the schema")
				}
			} else {
				right, object, _ := strings.Cut(what, " ON ")
				check(t, worker, strings.TrimPrefix(object, "FUNCTION "), fmt.Sprintf("ON %s TO %q", object, name))
				check(t, worker, strings.Split(right, ",")[0], "GRANT ")
			}
			statements(owner, "GRANT "+what+" TO "+name)(t)
		}
		if _, err := taskkit.NewWorker(t.Context(), worker.DB, registered(countKind, counting("w")), quick(t, worker)); err != nil {
			t.Errorf("with all rights: %v", err)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		owner, worker, roles := asWorker(t, testdb.Postgres(t))
		statements(owner, "ALTER ROLE "+roles.Name("worker")+" SET default_transaction_read_only = on")(t)
		check(t, worker, "read-only", "default_transaction_read_only")
	})
	t.Run("pooler", func(t *testing.T) {
		t.Parallel()
		db := testdb.PgBouncer(t)
		migrated(t, db)
		wrong := strings.Replace(db.DSN, "default_query_exec_mode=exec", "default_query_exec_mode=cache_statement", 1)
		handle, err := sql.Open("pgx", wrong)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = handle.Close() })
		check(t, &testdb.DB{DB: handle, Dialect: db.Dialect, Schema: db.Schema}, "pooler", "default_query_exec_mode=exec")
	})
}
