package tasktest_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasktest"
)

type spec struct {
	People []string `json:"people"`
}

type state struct {
	Greeted int `json:"greeted"`
}

var kind = taskkit.NewKind(taskkind.Definition[spec, state, int]{
	Name: "greet", BatchSize: 2,
})

// greeter writes greetings through the batch's transaction.
type greeter struct{}

func (greeter) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	for _, p := range people {
		if _, err := b.Tx.ExecContext(ctx, `INSERT INTO greeting (person) VALUES ($1)`, p); err != nil {
			return next, err
		}
	}
	b.State.Greeted += len(people)
	return next, nil
}

// Report returns how many were greeted.
func (greeter) Report(_ context.Context, b *taskkit.Batch[spec, state]) (int, error) {
	return b.State.Greeted, nil
}

func setup(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE greeting (person text NOT NULL)`)
	return err
}

func snapshot(ctx context.Context, db *sql.DB) (any, error) {
	rows, err := db.QueryContext(ctx, `SELECT person FROM greeting ORDER BY person`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var people []string
	for rows.Next() {
		var p string
		if err := rows.Scan(&p); err != nil {
			return nil, err
		}
		people = append(people, p)
	}
	return people, rows.Err()
}

func greetCase() tasktest.Case[spec, state, int] {
	return tasktest.Case[spec, state, int]{
		Kind:     kind,
		New:      func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return greeter{} },
		Setup:    setup,
		Spec:     spec{People: []string{"Ada", "Emmy", "Kurt", "Paul", "Rosa"}},
		Snapshot: snapshot,
		Part: func(part, whole any) error {
			p, _ := part.([]string)
			w, _ := whole.([]string)
			if len(p) == 0 || len(p) >= len(w) {
				return fmt.Errorf("%d of %d greeted", len(p), len(w))
			}
			return nil
		},
	}
}

// TestExecutor is one call in a test of yours. The same call runs below, as
// TestGreeter.
func ExampleTestExecutor() {
	_ = func(t *testing.T) {
		tasktest.TestExecutor(t, tasktest.Case[spec, state, int]{
			Kind:     kind,
			New:      func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return greeter{} },
			Setup:    setup,
			Spec:     spec{People: []string{"Ada", "Emmy", "Kurt", "Paul", "Rosa"}},
			Snapshot: snapshot,
		})
	}
	// Output:
}

// Run runs one task to its end, so that a test can check what the executor wrote and
// returned. TestRun below does the same.
func ExampleRun() {
	_ = func(t *testing.T) {
		db := tasktest.Open(t)
		if err := setup(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		out := tasktest.Run(t, kind, greeter{}, spec{People: []string{"Ada", "Kurt", "Emmy"}}, tasktest.WithDB(db))
		if out.Task.Status != taskkit.StatusCompleted || out.State.Greeted != 3 {
			t.Errorf("%s (%s) with %+v; failed attempts: %+v", out.Task.Status, out.Task.StatusDetail, out.State, out.Attempts)
		}
	}
	// Output:
}

// Start runs a worker until the test ends, for tests of several tasks: here of two that do not execute at once.
func ExampleStart() {
	_ = func(t *testing.T) {
		db := tasktest.Open(t)
		client := tasktest.Start(t, db, tasktest.WithKind(kind, greeter{}))
		ids, err := taskkit.SubmitMany(t.Context(), db, kind, make([]spec, 2), taskkit.System(), taskkit.WithLimit("greetings", 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if task, err := client.Wait(t.Context(), id, nil); err != nil || task.Status != taskkit.StatusCompleted {
				t.Errorf("%v, %v", task, err)
			}
		}
	}
	// Output:
}

func TestGreeter(t *testing.T) {
	t.Parallel()
	tasktest.TestExecutor(t, greetCase())
}

// Run runs one task to its end and returns its outcome.
func TestRun(t *testing.T) {
	t.Parallel()
	db := tasktest.Open(t)
	if err := setup(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	out := tasktest.Run(t, kind, greeter{}, spec{People: []string{"Ada", "Kurt", "Emmy"}}, tasktest.WithDB(db), tasktest.WithLimit(1))
	if out.Task.Status != taskkit.StatusCompleted || out.State.Greeted != 3 || out.Task.Checkpoints != 3 {
		t.Errorf("%s with %+v after %d checkpoints", out.Task.Status, out.State, out.Task.Checkpoints)
	}
	if n, err := taskkit.Fetch(t.Context(), out.Client, kind, out.Task.ID); err != nil || n != 3 {
		t.Errorf("result %d, %v", n, err)
	}
}

// careless keeps its position in a field, so after a crash it would start again.
type careless struct{ at int }

func (c *careless) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	from, to := c.at, min(c.at+b.Limit, len(b.Spec.People))
	c.at = to
	for _, p := range b.Spec.People[from:to] {
		if _, err := b.Tx.ExecContext(ctx, `INSERT INTO greeting (person) VALUES ($1)`, p); err != nil {
			return taskkit.More, err
		}
	}
	if to == len(b.Spec.People) {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// TestFaultsAreFound would be a failing test: what it shows is that the faults
// reach an executor that keeps state outside b.State.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	db := tasktest.Open(t)
	if err := setup(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	failed := false
	x := &careless{}
	tasktest.Run(t, kind, once{x, &failed}, spec{People: []string{"Ada", "Kurt", "Emmy"}}, tasktest.WithDB(db), tasktest.WithLimit(2))
	got, err := snapshot(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if people, _ := got.([]string); len(people) == 3 {
		t.Error("an executor that keeps its position in a field lost nothing after an error: the error did not reach it")
	}
}

// once fails one batch after its work.
type once struct {
	*careless
	failed *bool
}

func (o once) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	next, err := o.careless.Execute(ctx, b)
	if err == nil && !*o.failed {
		*o.failed = true
		return next, fmt.Errorf("after the work")
	}
	return next, err
}
