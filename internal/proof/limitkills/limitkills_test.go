package limitkills_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

const (
	// keys is how many keys there are in the long form, and perKey how many tasks of each a round has. The short form has
	// shortKeys, and one round.
	keys, shortKeys, perKey = 1000, 8, 6
	// processes is how many worker processes there are, with four slots each.
	processes = 4
	// longInterval and shortInterval are the time between two kills. In the long form a process lives for 20 seconds
	// on average, so that all slots are taken most of the time; the short form is over in seconds, and has to have kills.
	longInterval, shortInterval = 5 * time.Second, time.Second
)

// Never more tasks with a key execute at once than its limit, while worker processes are killed, and all end.
func TestLimitsUnderKills(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		n, interval := shortKeys, shortInterval
		budget, long := prove.Budget(t)
		if long {
			n, interval = keys, longInterval
		}
		e := newEnv(t, db)
		rounds, tasks, began := 0, 0, time.Now()
		for ; rounds == 0 || long && time.Since(began) < budget*4/5; rounds++ {
			tasks += e.round(n, interval)
		}
		if e.kills == 0 || e.highest < limit {
			t.Errorf("%d kills, and at most %d tasks of a key at once: nothing was shown", e.kills, e.highest)
		}
		name := "sqlite"
		if db.Dialect == dialect.Postgres {
			name = "postgres"
		}
		prove.Record(t, "limitkills-"+name, map[string]any{
			"rounds": rounds, "keys": n, "tasks": tasks, "kills": e.kills, "sessions": e.sessions, "most at once": e.highest, "violations": e.violations,
		})
	})
}

// env is four worker processes and what they have written.
type env struct {
	*testing.T
	db      *testdb.DB
	args    workers.Args
	rng     *rand.Rand
	client  *taskkit.Client
	workers []*workers.Worker

	kills, sessions, highest, violations int
}

func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	a, seed := workers.On(db), rand.Uint64()
	t.Logf("seed %d", seed)
	e := &env{
		T: t, db: db, args: a, rng: rand.New(rand.NewPCG(seed, 0)),
		client: taskkit.NewClient(db.DB, taskkit.WithSchema(a.Schema)), workers: make([]*workers.Worker, processes),
	}
	if err := taskkit.Migrate(t.Context(), db.DB, a.Schema); err != nil {
		t.Fatal(err)
	}
	at := "timestamptz"
	if db.Dialect == dialect.SQLite {
		at = "real"
	}
	e.exec("CREATE TABLE " + a.Table("worked") + " (key integer NOT NULL, task text NOT NULL, session text NOT NULL, what text NOT NULL, at " + at + " NOT NULL)")
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

// round submits tasks with n keys, and kills a worker in each interval until all have ended. It returns how many tasks
// there were.
func (e *env) round(n int, interval time.Duration) int {
	e.Helper()
	e.exec("DELETE FROM " + e.args.Table("worked"))
	specs := make([]workSpec, 0, n*perKey)
	for key := range n {
		for range perKey {
			specs = append(specs, workSpec{key})
		}
	}
	e.rng.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
	ids, err := taskkit.SubmitMany(e.Context(), e.db.DB, workKind, specs, taskkit.System(), taskkit.WithSchema(e.args.Schema))
	if err != nil {
		e.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(e.Context(), 10*testdb.Patience(e))
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for left := len(ids); left > 0; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			e.Fatalf("%d of %d tasks have not ended", left, len(ids))
		}
		i := e.rng.IntN(len(e.workers))
		e.workers[i].Kill()
		e.workers[i] = workers.Launch(e.T, e.args)
		e.kills++
		counts, exact, err := e.client.Counts(ctx, workKind.Name())
		if err != nil || !exact {
			e.Fatalf("counts that are exact (%t): %v", exact, err)
		}
		left = 0
		for status, c := range counts {
			if status == taskkit.StatusQueued || status == taskkit.StatusScheduling || status == taskkit.StatusExecuting {
				left += int(c)
			}
		}
	}
	e.check(ids)
	return len(ids)
}

// check checks what was written in a round.
func (e *env) check(ids []taskkit.ID) {
	e.Helper()
	w := e.args.Table("worked")
	var incomplete int
	if err := e.db.QueryRowContext(e.Context(), "SELECT count(*) FROM (SELECT task FROM "+w+" GROUP BY task HAVING count(*) <> $1) t", 2*batches).Scan(&incomplete); err != nil {
		e.Fatal(err)
	}
	var tasks int
	if err := e.db.QueryRowContext(e.Context(), "SELECT count(DISTINCT task) FROM "+w).Scan(&tasks); err != nil {
		e.Fatal(err)
	}
	if incomplete > 0 || tasks != len(ids) {
		e.violations += max(incomplete, 1)
		e.Errorf("%d of %d tasks have not executed each of their batches once", incomplete+len(ids)-tasks, len(ids))
	}
	// A session executes from the beginning of its first batch to the end of its last one. How many others of its
	// key do when it begins is highest at one of the beginnings.
	rows, err := e.db.QueryContext(e.Context(), `WITH s AS (SELECT key, session, min(at) AS begins, max(at) AS ends FROM `+w+` GROUP BY key, session)
SELECT a.key, (SELECT count(*) FROM s b WHERE b.key = a.key AND b.begins <= a.begins AND b.ends > a.begins) FROM s a`)
	if err != nil {
		e.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, n int
		if err := rows.Scan(&key, &n); err != nil {
			e.Fatal(err)
		}
		e.sessions++
		e.highest = max(e.highest, n)
		if n > limit {
			e.violations++
			e.Errorf("%d tasks with key %d executed at once", n, key)
		}
	}
	if err := rows.Err(); err != nil {
		e.Fatal(err)
	}
}
