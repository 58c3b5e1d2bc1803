package fairness_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// databases are tested one after another where times are measured.
var databases = []struct {
	name string
	open func(testing.TB, ...testdb.Option) *testdb.DB
}{{"postgres", testdb.Postgres}, {"sqlite", testdb.SQLite}}

// env is some worker processes and their database.
type env struct {
	*testing.T
	db      *testdb.DB
	args    workers.Args
	rng     *rand.Rand
	client  *taskkit.Client
	workers []*workers.Worker

	violations int
}

func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	a := workers.On(db)
	e := &env{T: t, db: db, args: a, rng: rand.New(rand.NewPCG(seed, 0)), client: taskkit.NewClient(db.DB, taskkit.WithSchema(a.Schema))}
	if err := taskkit.Migrate(t.Context(), db.DB, a.Schema); err != nil {
		t.Fatal(err)
	}
	return e
}

// launch starts worker processes with so many slots each, and ends those that there are.
func (e *env) launch(processes, slots int) {
	e.Helper()
	for _, w := range e.workers {
		w.Kill()
	}
	e.args.Slots, e.workers = slots, nil
	for range processes {
		e.workers = append(e.workers, workers.Launch(e.T, e.args))
	}
}

// replace kills a worker process and starts another.
func (e *env) replace(i int) {
	e.Helper()
	e.workers[i].Kill()
	e.workers[i] = workers.Launch(e.T, e.args)
}

// submit submits n tasks of an owner.
func (e *env) submit(n int, spec workSpec, owner taskkit.ID) []taskkit.ID {
	e.Helper()
	specs := make([]workSpec, n)
	for i := range specs {
		specs[i] = spec
	}
	ids, err := taskkit.SubmitMany(e.Context(), e.db.DB, workKind, specs, taskkit.OwnedBy(owner), taskkit.WithSchema(e.args.Schema))
	if err != nil {
		e.Fatal(err)
	}
	return ids
}

// read returns a task.
func (e *env) read(id taskkit.ID) *taskkit.Task {
	e.Helper()
	t, err := e.client.Task(e.Context(), id)
	if err != nil {
		e.Fatal(err)
	}
	return t
}

// until waits until all of some tasks are in a state.
func (e *env) until(what string, ids []taskkit.ID, is func(*taskkit.Task) bool) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), testdb.Patience(e))
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, id := range ids {
		for t := e.read(id); !is(t); t = e.read(id) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				e.Fatalf("wait until a task %s: it is %s %s with %d items done", what, t.Status, t.Control, t.Progress.Done)
			}
		}
	}
}

// progressed waits until each of some tasks has done more than it has now.
func (e *env) progressed(ids []taskkit.ID) {
	e.Helper()
	before := make(map[taskkit.ID]int64)
	for _, id := range ids {
		before[id] = e.read(id).Progress.Done
	}
	e.until("goes on", ids, func(t *taskkit.Task) bool {
		return t.Status == taskkit.StatusExecuting && t.Progress.Done > before[t.ID]
	})
}

// all calls a function for tasks.
func (e *env) all(ids []taskkit.ID, call func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)) {
	e.Helper()
	for _, id := range ids {
		if _, err := call(e.Context(), id); err != nil {
			e.Fatal(err)
		}
	}
}

// wait lets time pass.
func (e *env) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-e.Context().Done():
	}
}

// violation reports what was promised and is not so.
func (e *env) violation(format string, args ...any) {
	e.Helper()
	e.violations++
	e.Errorf(format, args...)
}
