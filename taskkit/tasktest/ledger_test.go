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

// greetedKind has a ledger of the greeted people.
var greetedKind = taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: "greeted", Ledger: true})

// greetWalking greets the people from the position in its state on, as a walk through a
// table does.
func greetWalking(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	for range b.Limit {
		if b.State.Greeted == len(b.Spec.People) {
			return taskkit.Done, nil
		}
		p := b.Spec.People[b.State.Greeted]
		b.State.Greeted++
		if p[0] == 'F' {
			b.Fail(p, nil)
			continue
		}
		if _, err := b.Tx.ExecContext(ctx, "INSERT INTO greeted (person) VALUES ($1)", p); err != nil {
			return taskkit.More, err
		}
		b.Succeed(p)
	}
	return taskkit.More, nil
}

// Under each fault of a worker or a commit, the ledger has the people whom the transactions of
// the batches have greeted.
func TestLedgerUnderFaults(t *testing.T) {
	t.Parallel()
	var people []string
	for i := range 40 {
		people = append(people, fmt.Sprint([]string{"Ada", "Fails", "Kurt"}[i%3], i))
	}
	for name, open := range tasktest.Databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasktest.TestExecutor(t, tasktest.Case[spec, state, struct{}]{
				Kind: greetedKind, Open: open, Limit: 7, Spec: spec{People: people},
				New: func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return function(greetWalking) },
				Setup: func(ctx context.Context, db *sql.DB) error {
					_, err := db.ExecContext(ctx, "CREATE TABLE greeted (person text NOT NULL)")
					return err
				},
				Snapshot: ledgerAndTable,
			})
		})
	}
}

// ledgerAndTable returns the people whom the only task has greeted, in order, and an error
// if its ledger differs.
func ledgerAndTable(ctx context.Context, db *sql.DB) (any, error) {
	client := taskkit.NewClient(db)
	tasks, _, err := client.Tasks(ctx, taskkit.Filter{})
	if err != nil || len(tasks) != 1 {
		return nil, fmt.Errorf("%d tasks: %w", len(tasks), err)
	}
	var ledger []string
	for i, err := range client.Items(ctx, tasks[0].ID, taskkit.OutcomeSucceeded) {
		if err != nil {
			return nil, err
		}
		ledger = append(ledger, i.Text())
	}
	table, err := columnOf[string](ctx, db, "SELECT person FROM greeted")
	if err != nil {
		return nil, err
	}
	if a, b := fmt.Sprint(ledger), fmt.Sprint(table); a != b {
		return nil, fmt.Errorf("the ledger has %s, and the table %s", a, b)
	}
	return table, nil
}

// A batch of a unit test has the items that succeeded too.
func TestBatchSucceeds(t *testing.T) {
	t.Parallel()
	b := tasktest.NewBatch(t, greetedKind, spec{People: []string{"Ada", "Kurt"}}, state{})
	b.Succeed("Ada")
	b.Succeed("Kurt")
	b.Fail("Kurt", nil)
	items := b.Items()
	if len(items) != 2 || items[0].Outcome != taskkit.OutcomeSucceeded || items[1].Outcome != taskkit.OutcomeFailed {
		t.Errorf("items %+v", items)
	}
	if p := b.Progress(); p.Done != 1 || p.Failed != 1 {
		t.Errorf("progress %+v", p)
	}
}
