package tasktest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// NewBatch makes one batch, with which a unit test calls an executor once.
// TestNewBatch below does the same.
func ExampleNewBatch() {
	_ = func(t *testing.T, tx *sql.Tx) {
		b := tasktest.NewBatch(t, kind, spec{People: []string{"Ada", "Emmy", "Kurt"}}, state{},
			tasktest.WithTx(tx), tasktest.WithLimit(2))
		next, err := greeter{}.Execute(t.Context(), b.Batch)
		if err != nil || next != taskkit.More || b.State.Greeted != 2 || b.Progress().Done != 2 {
			t.Errorf("%v, %v, %+v, %+v", next, err, b.State, b.Progress())
		}
	}
	// Output:
}

// begin begins a transaction on a database with the executor's table.
func begin(t *testing.T) *sql.Tx {
	t.Helper()
	db := tasktest.Open(t)
	if err := setup(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func TestNewBatch(t *testing.T) {
	t.Parallel()
	tx := begin(t)
	people := spec{People: []string{"Ada", "Emmy", "Kurt"}}
	b := tasktest.NewBatch(t, kind, people, state{}, tasktest.WithTx(tx))
	next, err := greeter{}.Execute(t.Context(), b.Batch)
	if want := (taskkit.Progress{Total: 3, Done: 2}); err != nil || next != taskkit.More || b.State.Greeted != 2 || b.Progress() != want {
		t.Errorf("first batch: %v, %v, %+v, progress %+v, want %+v", next, err, b.State, b.Progress(), want)
	}
	b = tasktest.NewBatch(t, kind, people, b.State, tasktest.WithTx(tx), tasktest.WithTaken(2))
	next, err = greeter{}.Execute(t.Context(), b.Batch)
	if err != nil || next != taskkit.Done || b.State.Greeted != 3 {
		t.Errorf("second batch: %v, %v, %+v", next, err, b.State)
	}
	var rows int
	if err := tx.QueryRowContext(t.Context(), `SELECT count(*) FROM greeting`).Scan(&rows); err != nil || rows != 3 {
		t.Errorf("%d rows, %v, want 3", rows, err)
	}
}

func TestNewBatchRecords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := tasktest.NewBatch(t, kind, spec{}, state{}, tasktest.WithTx(begin(t)),
		tasktest.WithAttempt(3), tasktest.WithEnding(taskkit.EndStop))
	if b.Attempt != 3 || b.EndReason() != taskkit.EndStop || b.Limit != 2 {
		t.Errorf("attempt %d, ending %s, limit %d", b.Attempt, b.EndReason(), b.Limit)
	}
	b.Total(9)
	b.Advance(4)
	b.Skip("Emmy", "greeted_before")
	b.Fail("Kurt", taskkit.Permanent("gone", nil))
	if want := (taskkit.Progress{Total: 9, Done: 2, Failed: 1, Skipped: 1}); b.Progress() != want {
		t.Errorf("progress %+v, want %+v", b.Progress(), want)
	}
	items := b.Items()
	if len(items) != 2 || items[0].Text() != "Emmy" || items[0].Outcome != taskkit.OutcomeSkipped || items[0].Code != "greeted_before" {
		t.Errorf("items %+v, want Emmy skipped", items)
	} else if k := items[1]; k.Text() != "Kurt" || k.Outcome != taskkit.OutcomeFailed || k.Code != "gone" || k.Attempt != 3 {
		t.Errorf("items %+v, want Kurt failed", items)
	}
	undone := errors.New("undone")
	insert := func(b *tasktest.Batch[spec, state]) error {
		_, err := b.Tx.ExecContext(ctx, `INSERT INTO greeting (person) VALUES ('Ada')`)
		return err
	}
	if err := b.Try(ctx, func() error { return errors.Join(insert(b), undone) }); !errors.Is(err, undone) {
		t.Errorf("Try: %v", err)
	}
	if err := b.Try(ctx, func() error { return insert(b) }); err != nil {
		t.Errorf("Try: %v", err)
	}
	var rows entsql.Rows
	if err := b.EntDriver().Query(ctx, `SELECT count(*) FROM greeting`, []any{}, &rows); err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if n, err := entsql.ScanInt(rows); err != nil || n != 1 {
		t.Errorf("%d rows, %v, want 1: the first insert was rolled back", n, err)
	}
}

func TestNewBatchWithoutTransaction(t *testing.T) {
	t.Parallel()
	b := tasktest.NewBatch(t, kind, spec{People: []string{"Ada"}}, state{})
	if people, next := taskkit.Take(b.Batch, b.Spec.People); len(people) != 1 || next != taskkit.Done {
		t.Errorf("Take: %v, %v", people, next)
	}
	if _, err := b.Tx.ExecContext(t.Context(), "SELECT 1"); err == nil || !strings.Contains(err.Error(), "WithTx") {
		t.Errorf("b.Tx: %v, want an error that names WithTx", err)
	}
}

// A batch of a task with a frozen set takes from the set.
func TestNewBatchWithTargets(t *testing.T) {
	t.Parallel()
	b := tasktest.NewBatch(t, kind, spec{}, state{}, tasktest.WithTargets("Ada", "Bob", "Eve"), tasktest.WithTaken(1), tasktest.WithLimit(1))
	people, next := taskkit.Take(b.Batch, b.Spec.People)
	if len(people) != 1 || people[0] != "Bob" || next != taskkit.More || b.Progress().Total != 3 {
		t.Errorf("Take: %v, %v, %+v", people, next, b.Progress())
	}
}

// The panic of a Batch that the runtime has not made names NewBatch.
func TestBatchByHand(t *testing.T) {
	t.Parallel()
	b := &taskkit.Batch[spec, state]{Spec: spec{People: []string{"Ada"}}, Limit: 1}
	for name, use := range map[string]func(){
		"Take":      func() { taskkit.Take(b, b.Spec.People) },
		"Fail":      func() { b.Fail("Ada", nil) },
		"Skip":      func() { b.Skip("Ada", "") },
		"Try":       func() { _ = b.Try(context.Background(), func() error { return nil }) },
		"EntDriver": func() { b.EntDriver() },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, "tasktest.NewBatch") {
					t.Errorf("%s: %s, want a panic that names tasktest.NewBatch", name, v)
				}
			}()
			use()
		}()
	}
}
