package tasktest_test

import (
	"cmp"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasktest"
)

// mistake is an executor that TestExecutor must not accept.
type mistake struct {
	newExecutor func(db *sql.DB) taskkit.Executor[spec, state]
	mode        string // a subtest that finds it, or "" for the run without a fault
	only        bool   // no other subtest finds it
	says        string // part of the output of the failing test
	// kind is plainKind if it is nil.
	kind *taskkit.Kind[spec, state, struct{}]
}

var mistakes = map[string]mistake{
	"targets in a field": {
		func(*sql.DB) taskkit.Executor[spec, state] { return &cachesTargets{} },
		"crash_after_every_batch", true, "rows are missing: does the executor keep its position in b.State, and only there?", nil,
	},
	"position in a field": {
		func(*sql.DB) taskkit.Executor[spec, state] { return &keepsPosition{} },
		"crash_after_every_batch", false, "the task is not done after 32 batches", nil,
	},
	"more without progress": {
		func(*sql.DB) taskkit.Executor[spec, state] { return function(neverDone) },
		"", false, "10 batches in a row returned More, changed nothing in b.State and counted nothing", nil,
	},
	"cursor forgotten, with a total": {
		func(*sql.DB) taskkit.Executor[spec, state] { return forgetsCursor{total: true} },
		"", false, "FAILURE: no_progress: 100 batches in a row returned More, changed nothing in b.State and counted nothing, or more than the total", nil,
	},
	"cursor forgotten": {
		func(*sql.DB) taskkit.Executor[spec, state] { return forgetsCursor{} },
		"", false, "1000 batches in a row counted items and left b.State as it was: the executor forgets its cursor", nil,
	},
	"cursor forgotten, with items": {
		func(*sql.DB) taskkit.Executor[spec, state] { return forgetsCursor{items: true} },
		"", false, "no_progress: the batch returned More, recorded the items of the batch before and changed nothing in b.State", nil,
	},
	"more after everything was taken": {
		func(*sql.DB) taskkit.Executor[spec, state] { return function(moreAfterAll) },
		"", false, "FAILURE: no_progress: the batch returned More and counted nothing, and Take has no element left", nil,
	},
	"idempotent write outside b.Tx": {
		func(db *sql.DB) taskkit.Executor[spec, state] { return writesOutside{db: db} },
		"error_at_the_end_of_every_batch", false, "the executor writes outside b.Tx: after a batch was rolled back", nil,
	},
	"idempotent write outside b.Tx, commit lost": {
		func(db *sql.DB) taskkit.Executor[spec, state] { return writesOutside{db: db} },
		"first_commit_of_every_batch_lost", false, "the executor writes outside b.Tx: after a batch was rolled back", nil,
	},
	"write outside b.Tx after one in it": {
		func(db *sql.DB) taskkit.Executor[spec, state] { return writesOutside{db: db, inside: true} },
		"error_at_the_end_of_every_batch", false, "the executor writes outside b.Tx: after a batch was rolled back", nil,
	},
	"kind of a stage missing": {
		func(*sql.DB) taskkit.Executor[spec, state] { return staged{} },
		"", false, "waits for a child of the kind greet, which is not registered in this test", stagedKind,
	},
	"kind of a child missing": {
		func(*sql.DB) taskkit.Executor[spec, state] { return delegates{} },
		"", false, "waits for a child of the kind greet, which is not registered in this test", parentKind,
	},
}

// onSQLite is what the output says there of mistakes that have another effect: the run without a fault finds them.
var onSQLite = map[string]string{
	"write outside b.Tx after one in it": "does the executor write other than through b.Tx, which holds the write lock?",
}

// greet writes greetings.
func greet(ctx context.Context, b *taskkit.Batch[spec, state], people []string) error {
	for _, p := range people {
		if _, err := b.Tx.ExecContext(ctx, `INSERT INTO greeting (person) VALUES ($1)`, p); err != nil {
			return err
		}
	}
	return nil
}

// cachesTargets reads its targets in the first batch and keeps them in a field.
type cachesTargets struct{ people []string }

func (x *cachesTargets) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	if b.State.Greeted == 0 {
		x.people = b.Spec.People
	}
	rest := x.people[min(b.State.Greeted, len(x.people)):]
	now := rest[:min(b.Limit, len(rest))]
	b.State.Greeted += len(now)
	b.Advance(len(now))
	if len(now) == len(rest) {
		return taskkit.Done, greet(ctx, b, now)
	}
	return taskkit.More, greet(ctx, b, now)
}

// keepsPosition keeps its position in fields, and handles failed attempts right.
type keepsPosition struct{ from, to int }

func (x *keepsPosition) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	if b.Attempt == 1 {
		x.from = x.to
	}
	x.to = min(x.from+b.Limit, len(b.Spec.People))
	b.Advance(x.to - x.from)
	if err := greet(ctx, b, b.Spec.People[x.from:x.to]); err != nil {
		return taskkit.More, err
	}
	if x.to == len(b.Spec.People) {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// writesOutside writes greetings that a repeat does not double, and commits them itself.
type writesOutside struct {
	db     *sql.DB
	inside bool // it has begun b.Tx
}

func (x writesOutside) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	if x.inside {
		if _, err := b.Tx.ExecContext(ctx, "UPDATE greeting SET person = person"); err != nil {
			return next, err
		}
	}
	for _, p := range people {
		_, err := x.db.ExecContext(ctx, "INSERT INTO greeting (person) SELECT CAST($1 AS text) WHERE NOT EXISTS (SELECT 1 FROM greeting WHERE person = $1)", p)
		if err != nil {
			return next, err
		}
	}
	return next, nil
}

// function is an executor whose Execute is a function.
type function func(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error)

func (f function) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	return f(ctx, b)
}

// forgetsCursor walks, and never stores how far it is.
type forgetsCursor struct{ total, items bool }

func (x forgetsCursor) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	rest := b.Spec.People[b.State.Greeted:]
	now := rest[:min(b.Limit, len(rest))]
	if len(now) == 0 {
		return taskkit.Done, nil
	}
	if x.total {
		b.Total(len(b.Spec.People))
	}
	if x.items {
		for _, p := range now {
			b.Skip(p, "greeted_before")
		}
	}
	b.Advance(len(now))
	return taskkit.More, greet(ctx, b, now)
}

func neverDone(context.Context, *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	return taskkit.More, nil
}

func moreAfterAll(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	people, _ := taskkit.Take(b, b.Spec.People)
	return taskkit.More, greet(ctx, b, people)
}

// plainKind is a kind without a result.
var plainKind = taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{
	Name: "plain", BatchSize: 2,
})

// The environment of the process that runs a mistake's test.
const (
	mistakeEnv = "TASKTEST_MISTAKE"
	serverEnv  = "TASKTEST_POSTGRES"
)

// TestMistake is the test of an executor with a mistake. It fails, in a process
// that TestFindsMistakes starts, and is skipped otherwise.
func TestMistake(t *testing.T) { //nolint:paralleltest // it has a process of its own
	m, ok := mistakes[os.Getenv(mistakeEnv)]
	if !ok {
		t.Skip("runs in a process that TestFindsMistakes starts")
	}
	c := tasktest.Case[spec, state, struct{}]{
		Kind:  cmp.Or(m.kind, plainKind),
		New:   func(_ testing.TB, db *sql.DB) taskkit.Executor[spec, state] { return m.newExecutor(db) },
		Setup: setup, Snapshot: snapshot,
		Spec: spec{People: []string{"Ada", "Emmy", "Kurt", "Paul", "Rosa"}},
	}
	if onSQLite[os.Getenv(mistakeEnv)] != "" {
		c.Open = tasktest.OpenImpatient // it waits for its own lock
	}
	if dsn := os.Getenv(serverEnv); dsn != "" {
		c.Open = func(tb testing.TB) *sql.DB {
			tb.Helper()
			return emptied(tb, dsn)
		}
	}
	tasktest.TestExecutor(t, c)
}

// emptied opens a migrated PostgreSQL database and removes what an earlier run has left.
func emptied(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	var own string
	if err := db.QueryRowContext(tb.Context(), "SELECT current_schema()").Scan(&own); err != nil {
		tb.Fatal(err)
	}
	if err := testdb.Empty(tb.Context(), db, own, taskkit.DefaultSchema); err != nil {
		tb.Fatal(err)
	}
	return db
}

// maxLines is how many lines of its log the runtime writes in all subtests of a test that fails. With each line of a worker
// that a fault ends there were hundreds.
const maxLines = 100

// TestExecutor fails on each mistake, in the expected mode and with the reason.
func TestFindsMistakes(t *testing.T) {
	t.Parallel()
	for database, dsn := range map[string]func(testing.TB) string{
		"sqlite":   func(testing.TB) string { return "" },
		"postgres": func(tb testing.TB) string { tb.Helper(); return testdb.Pooled(tb).Direct },
	} {
		for name, m := range mistakes {
			t.Run(database+"/"+strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				if says, ok := onSQLite[name]; ok && database == "sqlite" {
					m.mode, m.says = "", says
				}
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMistake$", "-test.v")
				cmd.Env = append(os.Environ(), mistakeEnv+"="+name, serverEnv+"="+dsn(t))
				out, err := cmd.CombinedOutput()
				if err == nil {
					t.Fatalf("TestExecutor accepts it:\n%s", out)
				}
				text := string(out)
				if !strings.Contains(text, m.says) {
					t.Errorf("the test does not say %q:\n%s", m.says, text)
				}
				if n := strings.Count(text, "level="); n > maxLines {
					t.Errorf("%d lines of the runtime's log, want at most %d:\n%s", n, maxLines, text)
				}
				const failed = "--- FAIL: TestMistake/"
				if m.mode != "" && !strings.Contains(text, failed+m.mode) {
					t.Errorf("the mode %s passes:\n%s", m.mode, text)
				}
				if n := strings.Count(text, failed); m.only && n != 1 {
					t.Errorf("%d modes fail, want %s alone:\n%s", n, m.mode, text)
				}
			})
		}
	}
}
