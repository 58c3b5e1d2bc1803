package bucketkills_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

const (
	// rounds is how many there are; longRounds in the long form, if its time is enough.
	rounds, longRounds = 3, 100
	// rows is how many a round has.
	rows = 1600
)

// names are the values of the column by which every other round is divided. The order of their
// bytes differs from a dictionary, and one is NULL.
var names = []string{"'Ärger'", "'Zoë'", "'anna'", "'Anna'", "''", "NULL", "'😀 smile'", "'zebra'", "'ÿ'", "'Émile'", "'O''Brien'", "'\u00a0'"}

// columnOf is the column by which the rows of a round are divided.
func columnOf(round int) string { return []string{"name", "id"}[round%2] }

// Each row of each round is visited, fails or is skipped once, and is listed so, though two of four worker processes are killed in the
// middle of their buckets. Of three rounds one has a stop policy, which pauses it, and one is previewed before.
func TestBucketsUnderKills(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		n, began := rounds, time.Now()
		budget, long := prove.Budget(t)
		if long {
			n = longRounds
		}
		e := newEnv(t, db)
		killed, takeovers := 0, 0
		done := 0
		// In a round on a fast machine both may be killed between two tasks: then there is another.
		for ; (done < n || takeovers == 0 && done < longRounds) && (!long || time.Since(began) < budget); done++ {
			k, taken := e.round(done)
			killed, takeovers = killed+k, takeovers+taken
		}
		if takeovers == 0 {
			t.Error("no bucket and no task was taken over: nothing was killed in the middle")
		}
		name := "sqlite"
		if db.Dialect == dialect.Postgres {
			name = "postgres"
		}
		prove.Record(t, "bucketkills-"+name, map[string]any{"rounds": done, "kills": killed, "takeovers": takeovers, "violations": e.violations})
	})
}

// env is four workers and a table.
type env struct {
	*testing.T
	db         *testdb.DB
	args       workers.Args
	table      string
	rng        *rand.Rand
	client     *taskkit.Client
	workers    []*workers.Worker
	violations int
}

func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	a := workers.On(db)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	e := &env{
		T: t, db: db, args: a, table: a.Table("visited"), rng: rand.New(rand.NewPCG(seed, 0)),
		client: taskkit.NewClient(db.DB, taskkit.WithSchema(a.Schema)), workers: make([]*workers.Worker, 4),
	}
	if err := taskkit.Migrate(t.Context(), db.DB, a.Schema); err != nil {
		t.Fatal(err)
	}
	e.exec("CREATE TABLE " + e.table + " (round integer NOT NULL, id integer NOT NULL, name text, visits integer NOT NULL, PRIMARY KEY (round, id))")
	for i := range e.workers {
		e.workers[i] = workers.Launch(t, a)
	}
	return e
}

func (e *env) exec(query string) {
	e.Helper()
	if _, err := e.db.ExecContext(e.Context(), query); err != nil {
		e.Fatalf("%.100q: %v", query, err)
	}
}

func (e *env) number(query string) (n int) {
	e.Helper()
	if err := e.db.QueryRowContext(e.Context(), query).Scan(&n); err != nil {
		e.Fatalf("%.100q: %v", query, err)
	}
	return n
}

func (e *env) violation(format string, args ...any) {
	e.Helper()
	e.violations++
	e.Errorf(format, args...)
}

// round visits the rows of a round and kills two workers meanwhile. It returns how many it has
// killed, and how often a task was claimed more often than its waits ask for.
func (e *env) round(round int) (killed, takeovers int) {
	e.Helper()
	values := ""
	for i, name := range names {
		values += fmt.Sprintf(" WHEN %d THEN %s", i, name)
	}
	e.exec(fmt.Sprintf(`INSERT INTO %s (round, id, name, visits)
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT %d, i, CASE i %% %d%s END, 0 FROM c`,
		e.table, rows, round, len(names), values))
	spec := visitSpec{Round: round, Rows: rows, Column: columnOf(round)}
	submit := func(opts ...taskkit.SubmitOption) taskkit.ID {
		id, err := taskkit.Submit(e.Context(), e.db.DB, visitKind, spec, append(opts, taskkit.System(), taskkit.WithSchema(e.args.Schema))...)
		if err != nil {
			e.Fatal(err)
		}
		return id
	}
	var opts []taskkit.SubmitOption
	switch round % 3 {
	case 1:
		opts = append(opts, taskkit.WithStopAfter("10"))
	case 2:
		killed, takeovers = e.preview(round, submit(taskkit.WithPreview()))
	}
	id := submit(opts...)
	if len(opts) > 0 {
		e.pausedByPolicy(round, id)
	}
	for range 2 {
		least := rows * (1 + e.rng.IntN(6)) / 10
		e.until(fmt.Sprintf("%d rows of round %d are visited", least, round), func() bool {
			return e.number(fmt.Sprintf("SELECT count(*) FROM %s WHERE round = %d AND visits > 0", e.table, round)) >= least
		})
		i := e.rng.IntN(len(e.workers))
		e.workers[i].Kill()
		e.workers[i] = workers.Launch(e.T, e.args)
		killed++
	}
	return killed, takeovers + e.check(round, e.ended(round, id))
}

// ended waits until a task has ended.
func (e *env) ended(round int, id taskkit.ID) *taskkit.Task {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), testdb.Patience(e))
	defer cancel()
	task, err := e.client.Wait(ctx, id, nil)
	if err != nil {
		why, _ := e.client.Explain(e.Context(), id)
		e.Fatalf("round %d: %v (%s)", round, err, why)
	}
	return task
}

// preview kills a worker while a preview runs, which visits nothing and counts what would be visited.
func (e *env) preview(round int, id taskkit.ID) (killed, takeovers int) {
	e.Helper()
	e.until("the preview runs", func() bool {
		task, err := e.client.Task(e.Context(), id)
		return err == nil && task.Progress.Processed() > 0
	})
	i := e.rng.IntN(len(e.workers))
	e.workers[i].Kill()
	e.workers[i] = workers.Launch(e.T, e.args)
	task := e.ended(round, id)
	report, err := e.client.Preview(e.Context(), id)
	if err != nil {
		e.Fatal(err)
	}
	if n := e.number(fmt.Sprintf("SELECT count(*) FROM %s WHERE round = %d AND visits > 0", e.table, round)); n > 0 {
		e.violation("round %d: a preview has visited %d rows", round, n)
	}
	if len(report.Changes) != 1 || report.Changes[0].Rows != int64(expected(taskkit.OutcomeSucceeded)) || report.Progress.Failed != int64(expected(taskkit.OutcomeFailed)) {
		e.violation("round %d: the preview reports %+v, %+v", round, report.Changes, report.Progress)
	}
	return 1, int(task.Fence) - 1
}

// pausedByPolicy waits until a task with a stop policy is paused, kills a worker meanwhile, and resumes it.
func (e *env) pausedByPolicy(round int, id taskkit.ID) {
	e.Helper()
	e.until("the task is paused by its policy", func() bool {
		task, err := e.client.Task(e.Context(), id)
		return err == nil && task.Control == taskkit.ControlPause
	})
	e.until("what was in flight is done", func() bool {
		task, err := e.client.Task(e.Context(), id)
		return err == nil && !task.Running()
	})
	task, err := e.client.Task(e.Context(), id)
	if err != nil {
		e.Fatal(err)
	}
	// Each of eight slots had a batch in flight at most, and a batch of 20 rows has one that fails by its id, or of one name some.
	if p := task.Progress; p.Failed < 10 || p.Processed() == rows {
		e.violation("round %d: paused with %+v", round, p)
	}
	if _, err := e.client.Resume(e.Context(), id, taskkit.WithStopAfter("1000")); err != nil {
		e.Fatal(err)
	}
}

// expected is how many rows of a round have an outcome.
func expected(o taskkit.Outcome) (n int) {
	for id := 1; id <= rows; id++ {
		if outcomeOf(id) == o {
			n++
		}
	}
	return n
}

func outcomeOf(id int) taskkit.Outcome {
	switch {
	case fails(id):
		return taskkit.OutcomeFailed
	case skips(id):
		return taskkit.OutcomeSkipped
	default:
		return taskkit.OutcomeSucceeded
	}
}

// checkItems compares the items of a task with what became of its rows.
func (e *env) checkItems(round int, id taskkit.ID) {
	e.Helper()
	for _, o := range []taskkit.Outcome{taskkit.OutcomeFailed, taskkit.OutcomeSkipped, taskkit.OutcomeSucceeded, taskkit.OutcomeUnprocessed} {
		seen := make(map[string]bool)
		for i, err := range e.client.Items(e.Context(), id, o) {
			if err != nil {
				e.Fatal(err)
			}
			if n, err := strconv.Atoi(i.Text()); err != nil || outcomeOf(n) != o || seen[i.Text()] {
				e.violation("round %d: item %s is listed as %s, or twice", round, i.Text(), o)
			}
			seen[i.Text()] = true
		}
		if len(seen) != expected(o) {
			e.violation("round %d: %d items are listed as %s, and %d are", round, len(seen), o, expected(o))
		}
	}
}

// until polls the database.
func (e *env) until(what string, f func() bool) {
	e.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testdb.Patience(e))
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			e.Fatalf("still not so: %s", what)
		}
	}
}

// check checks a round that has ended.
func (e *env) check(round int, task *taskkit.Task) (takeovers int) {
	e.Helper()
	if task.Status != taskkit.StatusCompleted || task.Partial {
		e.violation("round %d ended in %s: %s", round, task.Status, task.StatusDetail)
	}
	if n := e.number(fmt.Sprintf("SELECT count(*) FROM %s WHERE round = %d AND visits <> CASE WHEN id %% 50 = 0 OR id %% 33 = 0 THEN 0 ELSE 1 END", e.table, round)); n > 0 {
		e.violation("round %d: %d rows were not visited once, or failed and were visited", round, n)
	}
	if total, err := taskkit.Fetch(e.Context(), e.client, visitKind, task.ID); err != nil || total != expected(taskkit.OutcomeSucceeded) {
		e.violation("round %d: the buckets have visited %d rows (%v), and there are %d", round, total, err, expected(taskkit.OutcomeSucceeded))
	}
	e.checkItems(round, task.ID)
	children, err := e.client.Children(e.Context(), task.ID, taskkit.ID{}, 1000)
	if err != nil {
		e.Fatal(err)
	}
	seen := map[int]bool{}
	for _, c := range children {
		if seen[c.Bucket] || c.Status != taskkit.StatusCompleted || c.Partial {
			e.violation("round %d: bucket %d is there twice, or is %s", round, c.Bucket, c.Status)
		}
		seen[c.Bucket] = true
		if c.Ended == nil || c.Ended.After(*task.Stopped) {
			e.violation("round %d: bucket %d ended after its task", round, c.Bucket)
		}
		child, err := e.client.Task(e.Context(), c.ID)
		if err != nil {
			e.Fatal(err)
		}
		takeovers += int(child.Fence) - 1
	}
	if columnOf(round) == "id" && len(children) != buckets || len(children) == 0 || !seen[1] || !seen[len(children)] {
		e.violation("round %d has %d buckets", round, len(children))
	}
	return takeovers
}
