package executors_test

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

// databases are the databases of the tests. PostgreSQL is reached through PgBouncer.
var databases = map[string]func(testing.TB) *sql.DB{
	"sqlite": tasktest.Open,
	"postgres": func(tb testing.TB) *sql.DB {
		tb.Helper()
		return testdb.Pooled(tb).DB
	},
}

// on runs a test on each database.
func on(t *testing.T, f func(t *testing.T, open func(testing.TB) *sql.DB)) {
	t.Helper()
	onEach(t, databases, f)
}

// A division divides a task.
type division struct {
	bucketSize, buckets int
	of                  func(people []uuid.UUID) targets.Targets
}

// onEachDivision runs a test on each database and each division: into several buckets, one bucket, and ranges.
func onEachDivision(t *testing.T, f func(t *testing.T, open func(testing.TB) *sql.DB, d division)) {
	t.Helper()
	all := func([]uuid.UUID) targets.Targets { return everyone() }
	for name, d := range map[string]division{
		"buckets": {bucketSize, 3, all},
		"bucket":  {0, 1, all},
		"ranges":  {0, 2, func(people []uuid.UUID) targets.Targets { return targets.Targets{People: people} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on(t, func(t *testing.T, open func(testing.TB) *sql.DB) { f(t, open, d) })
		})
	}
}

// onEach runs a test on each of some databases.
func onEach(t *testing.T, databases map[string]func(testing.TB) *sql.DB, f func(t *testing.T, open func(testing.TB) *sql.DB)) {
	t.Helper()
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open)
		})
	}
}

// population is how many people the tests act on: five batches of 20 and a bit.
// Where there are buckets, each has about 40 people.
const (
	population = 107
	limit      = 20
	bucketSize = 40
)

// setup makes the domain and fills it.
func setup(ctx context.Context, db *sql.DB) error {
	if err := caseload.Create(ctx, db); err != nil {
		return err
	}
	_, err := caseload.Generate(ctx, db, population, 3)
	return err
}

// open returns a client of a database that setup has filled, and everybody.
func open(tb testing.TB, db *sql.DB) (*ent.Client, []uuid.UUID) {
	tb.Helper()
	c, err := caseload.Open(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	people, err := caseload.People(tb.Context(), c, caseload.Query{}, uuid.Nil, uuid.Nil, population+1)
	if err != nil {
		tb.Fatal(err)
	}
	return c, people
}

// filled opens a database and fills it.
func filled(tb testing.TB, open0 func(testing.TB) *sql.DB) (*sql.DB, *ent.Client, []uuid.UUID) {
	tb.Helper()
	db := open0(tb)
	if err := setup(tb.Context(), db); err != nil {
		tb.Fatal(err)
	}
	c, people := open(tb, db)
	return db, c, people
}

// everyone is a query for all.
func everyone() targets.Targets { return targets.Targets{Query: &targets.Query{Everyone: true}} }

// ledger reads how often each person was touched, as lines.
func ledger(ctx context.Context, db *sql.DB) ([]string, error) {
	return lines(ctx, db, "SELECT person, action, count(*) FROM caseload_touch GROUP BY person, action")
}

// lines returns the rows of a query of three columns, sorted.
func lines(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []string{}
	for rows.Next() {
		var a, b, c string
		if err := rows.Scan(&a, &b, &c); err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprint(a, " ", b, " ", c))
	}
	slices.Sort(all)
	return all, rows.Err()
}

// partOf checks that lines are a subset of others.
func partOf(part, whole any) error {
	some, _ := part.([]string)
	all, _ := whole.([]string)
	if len(some) == 0 || len(some) >= len(all) {
		return fmt.Errorf("%d lines are left of %d, want some of them", len(some), len(all))
	}
	for _, l := range some {
		if !slices.Contains(all, l) {
			return fmt.Errorf("%q is not what a whole run does", l)
		}
	}
	return nil
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

// completedBuckets fails the test unless the task has completed, and its buckets with this
// progress in all. It returns the keys of the items that failed, with their codes.
func completedBuckets[Spec, State, Result any](t *testing.T, o *tasktest.Outcome[Spec, State, Result], buckets, done, failed int) (failures []string) {
	t.Helper()
	children, _, err := o.Client.Tasks(t.Context(), taskkit.Filter{Parent: o.Task.ID, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var p taskkit.Progress
	for _, c := range children {
		if c.Status != taskkit.StatusCompleted || c.Progress.Total != c.Progress.Processed() {
			t.Errorf("a bucket is %s with %+v: %s", c.Status, c.Progress, c.StatusDetail)
		}
		p.Done, p.Failed, p.Skipped = p.Done+c.Progress.Done, p.Failed+c.Progress.Failed, p.Skipped+c.Progress.Skipped
		for i, err := range o.Client.Items(t.Context(), c.ID, taskkit.OutcomeFailed) {
			if err != nil {
				t.Fatal(err)
			}
			failures = append(failures, i.Text()+" "+i.Code)
		}
	}
	if o.Task.Status != taskkit.StatusCompleted || int(p.Done) != done || int(p.Failed) != failed || p.Skipped != 0 || len(children) != buckets {
		t.Errorf("%s (%s) with %d buckets and %+v; want COMPLETED with %d, %d done, %d failed",
			o.Task.Status, o.Task.StatusDetail, len(children), p, buckets, done, failed)
	}
	return failures
}

// completed fails the test unless the task has completed with this progress.
func completed[Spec, State, Result any](t *testing.T, o *tasktest.Outcome[Spec, State, Result], done, failed, skipped int) {
	t.Helper()
	p := o.Task.Progress
	if o.Task.Status != taskkit.StatusCompleted || int(p.Done) != done || int(p.Failed) != failed || int(p.Skipped) != skipped {
		t.Errorf("%s (%s) with %+v; want COMPLETED with %d done, %d failed, %d skipped", o.Task.Status, o.Task.StatusDetail, p, done, failed, skipped)
	}
}
