package tasktest_test

import (
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
	newExecutor func() taskkit.Executor[spec, state]
	mode        string // a subtest that finds it, or "" for the run without a fault
	only        bool   // no other subtest finds it
	says        string // part of the output of the failing test
}

var mistakes = map[string]mistake{
	"targets in a field": {
		func() taskkit.Executor[spec, state] { return &cachesTargets{} },
		"crash_after_every_batch", true, "tables differ from an uninterrupted run",
	},
	"position in a field": {
		func() taskkit.Executor[spec, state] { return &keepsPosition{} },
		"crash_after_every_batch", false, "the task is not done after 130 batches",
	},
	"more without progress": {
		func() taskkit.Executor[spec, state] { return function(neverDone) },
		"", false, "10 batches in a row returned More, changed nothing in b.State and counted nothing",
	},
	"more after everything was taken": {
		func() taskkit.Executor[spec, state] { return function(moreAfterAll) },
		"", false, "FAILURE: no_progress: the batch returned More and counted nothing, and Take has no element left",
	},
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

// function is an executor whose Execute is a function.
type function func(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error)

func (f function) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	return f(ctx, b)
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
		Kind:  plainKind,
		New:   func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return m.newExecutor() },
		Setup: setup, Snapshot: snapshot,
		Spec: spec{People: []string{"Ada", "Emmy", "Kurt", "Paul", "Rosa"}},
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
