package oracle_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// watched brings a test's database up to date and puts an oracle on it.
func watched(tb testing.TB, db *testdb.DB) (*oracle.Oracle, string) {
	tb.Helper()
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(tb.Context(), db.DB, schema); err != nil {
		tb.Fatalf("migrate: %v", err)
	}
	o, err := oracle.New(oracle.Dialect(db.Dialect), schema)
	if err != nil {
		tb.Fatal(err)
	}
	if err := o.Install(tb.Context(), db); err != nil {
		tb.Fatal(err)
	}
	return o, schema
}

// env is a database in which lives of tasks are played by hand, in SQL, past
// taskkit's guards: what no engine may do is done here on purpose.
type env struct {
	*testing.T
	db   *testdb.DB
	o    *oracle.Oracle
	next int64 // entity that nobody has used
	logs string
}

// newEnv makes one. A process "w-1" lives in it.
func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	o, _ := watched(t, db)
	w := &env{T: t, db: db, o: o, logs: t.TempDir()}
	guards, on := []string{"insert", "transition", "sequence", "immutable", "spec"}, ""
	if db.Dialect == dialect.Postgres {
		guards, on = append(guards, "claim"), " ON taskkit_queued_task"
	}
	for _, g := range guards {
		w.do("DROP TRIGGER taskkit_guard_" + g + on)
	}
	// Two of taskkit's own constraints stand in the way of some lives.
	w.do("DROP INDEX taskkit_unique_key")
	w.do("DROP INDEX taskkit_idempotency_key")
	w.register("w-1")
	w.lives("w-1", 4)
	return w
}

// do runs a statement.
func (w *env) do(query string, args ...any) {
	w.Helper()
	w.on(w.db, query, args...)
}

func (w *env) on(db oracle.Execer, query string, args ...any) {
	w.Helper()
	if _, err := db.ExecContext(w.Context(), query, args...); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
}

// together runs f in one transaction.
func (w *env) together(f func(tx *sql.Tx)) {
	w.Helper()
	tx, err := w.db.BeginTx(w.Context(), nil)
	if err != nil {
		w.Fatal(err)
	}
	defer tx.Rollback()
	f(tx)
	if err := tx.Commit(); err != nil {
		w.Fatal(err)
	}
}

// register adds a live process that may be silent for two minutes.
func (w *env) register(name string) {
	w.Helper()
	w.do("INSERT INTO taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots) VALUES ($1, '', 120000, '{}', '[]', 1)", name)
}

// life is a task whose life is played.
type life struct {
	*env
	id    string
	first int64 // of its ten entities
}

const size = 10

// submit begins the life of a task of ten entities of its own.
func (w *env) submit(columns ...string) *life {
	w.Helper()
	l := &life{env: w, id: uuid.NewString(), first: w.next}
	w.next += size
	names, values := "", ""
	for _, c := range columns {
		name, value, _ := strings.Cut(c, "=")
		names += ", " + name
		values += ", " + value
	}
	w.together(func(tx *sql.Tx) {
		zero := uuid.Nil.String()
		w.on(tx, `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name`+names+`)
VALUES ($1, $2, $3, $4, $5, 'played'`+values+`)`, l.id, zero, zero, zero, zero)
		if err := w.o.Declare(w.Context(), tx, l.id, oracle.Range{First: l.first, Past: l.first + size}); err != nil {
			w.Fatal(err)
		}
	})
	return l
}

// set changes the task's row.
func (l *life) set(change string) *life {
	l.Helper()
	l.do("UPDATE taskkit_queued_task SET "+change+" WHERE id = $1", l.id)
	return l
}

// The steps of a life that breaks nothing.
const (
	now     = "CURRENT_TIMESTAMP"
	claim   = "workflow_status = 'SCHEDULING', fence = fence + 1, attempts = attempts + 1, scheduled_by_process = 'w-1', execution_started_date = NULL"
	start   = "workflow_status = 'EXECUTING', execution_started_date = " + now
	release = "workflow_status = 'QUEUED', scheduled_by_process = NULL, attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END, waiting_reason = 'interrupted'"
	finish  = "workflow_status = 'COMPLETED', scheduled_by_process = NULL, workflow_stopped_date = " + now
	fail    = "workflow_status = 'FAILURE', scheduled_by_process = NULL, workflow_stopped_date = " + now
)

// checkpoint is the commit of a batch of n items.
func checkpoint(n int) string {
	return fmt.Sprintf("checkpoint_seq = checkpoint_seq + 1, attempts = 0, items_total = %d, items_done = items_done + %d", size, n)
}

// touch touches the entities of a task from one to another, counted from its
// first.
func (l *life) touch(tx oracle.Execer, worker string, from, past int64) {
	l.Helper()
	if err := l.o.Touch(l.Context(), tx, l.id, worker, oracle.Range{First: l.first + from, Past: l.first + past}); err != nil {
		l.Fatal(err)
	}
}

// batch is a batch that touches and counts.
func (l *life) batch(from, past int64, also ...string) *life {
	l.Helper()
	l.together(func(tx *sql.Tx) {
		l.touch(tx, "w", from, past)
		set := strings.Join(append([]string{checkpoint(int(past - from))}, also...), ", ")
		l.on(tx, "UPDATE taskkit_queued_task SET "+set+" WHERE id = $1", l.id)
	})
	return l
}

// attempt records a failed attempt under a fence.
func (l *life) attempt(fence, attempt int, class string) *life {
	l.Helper()
	l.do(`INSERT INTO taskkit_task_attempt (id, task_id, process, fence, checkpoint_seq, attempt, class, code, detail)
VALUES ($1, $2, 'w-1', $3, 0, $4, $5, 'planted', '')`, uuid.NewString(), l.id, fence, attempt, class)
	return l
}

// event records what an operator asked.
func (l *life) event(action string) *life {
	l.Helper()
	l.do("INSERT INTO taskkit_task_event (id, task_id, action, was) VALUES ($1, $2, $3, '')", uuid.NewString(), l.id, action)
	return l
}

// remove deletes the task's row.
func (l *life) remove() *life {
	l.Helper()
	l.do("DELETE FROM taskkit_queued_task WHERE id = $1", l.id)
	return l
}

// whole is a life that breaks nothing: two batches, one hold given back.
func (w *env) whole(columns ...string) *life {
	w.Helper()
	return w.submit(columns...).set(claim).set(start).batch(0, 4).set(release).set(claim).set(start).batch(4, 10, finish)
}

// unseen runs f while the oracle's triggers do not see it.
func (l *life) unseen(change string) *life {
	l.Helper()
	if l.db.Dialect == dialect.Postgres {
		l.together(func(tx *sql.Tx) {
			l.on(tx, "SET LOCAL session_replication_role = replica")
			l.on(tx, change, l.id)
		})
		return l
	}
	// SQLite has no switch for it; history is made to forget instead.
	l.together(func(tx *sql.Tx) {
		l.on(tx, change, l.id)
		l.on(tx, "DELETE FROM oracle_history WHERE id = (SELECT max(id) FROM oracle_history)")
	})
	return l
}

// later moves the changes of a task after the first n by so many hours.
func (l *life) later(n int, hours int) *life {
	l.Helper()
	l.do(`UPDATE oracle_history SET at = at + $1 WHERE task = $2 AND id NOT IN (
  SELECT id FROM oracle_history WHERE task = $3 ORDER BY id LIMIT $4)`, int64(hours)*3600*1_000_000, l.id, l.id, n)
	return l
}

// lives writes down that a process has lived for so many hours from now on, with a
// heartbeat every twelve seconds.
func (w *env) lives(name string, hours int) {
	w.Helper()
	beats := hours * 3600 / 12
	w.do(`INSERT INTO oracle_process (at, op, process, heartbeat, dead_after, ended)
SELECT p.at + CAST(n.i AS bigint) * 12000000, 'UPDATE', p.process, 0, p.dead_after, 0 FROM oracle_process p,
  (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n) n
WHERE p.process = $2 AND p.op = 'INSERT'`, beats, name)
}

// log opens a client log.
func (w *env) log(name string) *oracle.Log {
	w.Helper()
	l, err := oracle.OpenLog(w.logs, name)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = l.Close() })
	return l
}

// must fails the test when a line could not be written.
func (w *env) must(c *oracle.Call, err error) *oracle.Call {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func check(tb testing.TB, db *testdb.DB, o *oracle.Oracle, p oracle.Options) *oracle.Report {
	tb.Helper()
	r, err := o.Check(context.WithoutCancel(tb.Context()), db.DB, p)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
