package tasktest_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// greetAll writes greetings by one statement for all people of a call.
func greetAll(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	return next, taskkit.Each(ctx, b, people, func(ctx context.Context, people []string) error {
		var values []string
		var args []any
		for i, p := range people {
			values = append(values, fmt.Sprintf("($%d)", i+1))
			args = append(args, p)
		}
		_, err := b.Tx.ExecContext(ctx, "INSERT INTO greeting (person) VALUES "+strings.Join(values, ", "), args...)
		if err == nil {
			b.State.Greeted += len(people)
		}
		return err
	})
}

func setupRefusing(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE greeting (person text NOT NULL CHECK (person NOT IN ('Kurt', 'Rosa')))`)
	return err
}

// Under each fault in a batch with Each, its bad items fail once and the others are
// written once.
func TestEachUnderFaults(t *testing.T) {
	t.Parallel()
	tasktest.TestExecutor(t, tasktest.Case[spec, state, struct{}]{
		Kind: plainKind, Limit: 4, Setup: setupRefusing, Snapshot: snapshot,
		New:  func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return function(greetAll) },
		Spec: spec{People: []string{"Ada", "Emmy", "Kurt", "Paul", "Rosa", "Max", "Lise", "Otto", "Hedy", "Alan"}},
	})
}

// In a unit test Each works as in a worker.
func TestEachInNewBatch(t *testing.T) {
	t.Parallel()
	db := tasktest.Open(t)
	if err := setupRefusing(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	b := tasktest.NewBatch(t, plainKind, spec{People: []string{"Ada", "Kurt", "Emmy"}}, state{}, tasktest.WithTx(tx), tasktest.WithLimit(3))
	if next, err := greetAll(t.Context(), b.Batch); err != nil || next != taskkit.Done {
		t.Fatalf("%v, %v", next, err)
	}
	if f := b.Items(); len(f) != 1 || f[0].Text() != "Kurt" || f[0].Outcome != taskkit.OutcomeFailed || b.State.Greeted != 2 {
		t.Errorf("items %+v and %d greeted, want Kurt and 2", f, b.State.Greeted)
	}
}

// Without items Each needs no transaction.
func TestEachOfNothing(t *testing.T) {
	t.Parallel()
	b := tasktest.NewBatch(t, plainKind, spec{}, state{})
	if err := taskkit.Each(t.Context(), b.Batch, nil, func(context.Context, []string) error {
		t.Error("called without items")
		return nil
	}); err != nil {
		t.Error(err)
	}
}
