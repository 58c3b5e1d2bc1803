package adapters_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// on runs a test on each database. PostgreSQL is reached through PgBouncer.
func on(t *testing.T, f func(t *testing.T, open func(testing.TB) *sql.DB)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB) *sql.DB{
		"sqlite": tasktest.Open,
		"postgres": func(tb testing.TB) *sql.DB {
			tb.Helper()
			return testdb.Pooled(tb).DB
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open)
		})
	}
}

// population is how many people the tests act on: five batches of 20 and a bit.
const (
	population = 107
	limit      = 20
)

// everyone is a query for all.
func everyone() targets.Targets { return targets.Targets{Query: &targets.Query{Everyone: true}} }

// setup makes the domain and fills it.
func setup(ctx context.Context, db *sql.DB) error {
	if err := caseload.Create(ctx, db); err != nil {
		return err
	}
	_, err := caseload.Generate(ctx, db, population, 3)
	return err
}

// filled opens a database, fills it, and returns a client of it and everybody.
func filled(tb testing.TB, open func(testing.TB) *sql.DB) (*sql.DB, *ent.Client, []uuid.UUID) {
	tb.Helper()
	db := open(tb)
	if err := setup(tb.Context(), db); err != nil {
		tb.Fatal(err)
	}
	c, err := caseload.Open(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	people, err := caseload.People(tb.Context(), c, caseload.Query{}, uuid.Nil, uuid.Nil, population+1)
	if err != nil {
		tb.Fatal(err)
	}
	return db, c, people
}

// ledger reads how often each person was touched, as sorted lines.
func ledger(ctx context.Context, db *sql.DB) (lines []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT person, action, count(*) FROM caseload_touch GROUP BY person, action")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var person, action string
		var n int
		if err := rows.Scan(&person, &action, &n); err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprint(person, " ", action, " ", n))
	}
	slices.Sort(lines)
	return lines, rows.Err()
}

// clean fails the test unless the ledger shows exactly these people, once each.
func clean(t *testing.T, c *ent.Client, action string, task taskkit.ID, people []uuid.UUID) {
	t.Helper()
	f, err := caseload.Audit(t.Context(), c, action, []uuid.UUID{task}, people)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Clean() || f.Touched != len(people) {
		t.Errorf("%s: %v; want %d touched", action, f, len(people))
	}
}

// completed fails the test unless the task has completed with this progress.
func completed[Spec, State, Result any](t *testing.T, o *tasktest.Outcome[Spec, State, Result], done, failed, skipped int) {
	t.Helper()
	p := o.Task.Progress
	if o.Task.Status != taskkit.StatusCompleted || int(p.Done) != done || int(p.Failed) != failed || int(p.Skipped) != skipped {
		t.Errorf("%s (%s) with %+v; want COMPLETED with %d done, %d failed, %d skipped", o.Task.Status, o.Task.StatusDetail, p, done, failed, skipped)
	}
}
