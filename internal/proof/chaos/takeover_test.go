package chaos_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// A worker with a task in flight is killed, at default settings, while another one lives, which
// takes the task over. The long form kills 200, if there is time, and checks that 99 of 100 takeovers take
// no longer than four seconds from the kill to the end of the task's next batch.
func TestTakeover(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		f := newHarness(t, db)
		f.args.Defaults = true
		over := f.within(3, 200)
		id := f.submit(1_000_000, 20*time.Millisecond)
		workers := map[string]*worker{}
		var took []time.Duration
		for !over(len(took)) {
			for len(workers) < 2 {
				w := f.launch()
				workers[w.name] = w
			}
			f.untilPresent(2)
			took = append(took, f.killHolder(id, workers, nil))
		}
		f.recordTakeovers("takeover-"+short(db), took, 4*time.Second, id)
	})
}

// The only worker is killed and started again, at default settings. Its task goes on soon after
// that: the long form does so 50 times, if there is time, and checks that it never takes longer than three seconds
// from the start of the new process.
func TestRestart(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		f := newHarness(t, db)
		f.args.Defaults = true
		over := f.within(2, 50)
		id := f.submit(1_000_000, 20*time.Millisecond)
		workers := map[string]*worker{}
		start := func() {
			w := f.launch()
			workers[w.name] = w
		}
		start()
		var took []time.Duration
		for !over(len(took)) {
			f.untilPresent(1)
			took = append(took, f.killHolder(id, workers, start))
		}
		f.recordTakeovers("restart-"+short(db), took, 3*time.Second, id)
	})
}

// recordTakeovers stops the task, has the oracle check, and records how long takeovers took. In the
// long form 99 of 100 must be within bound.
func (f *harness) recordTakeovers(name string, took []time.Duration, bound time.Duration, id taskkit.ID) {
	f.Helper()
	if _, err := f.client.Stop(f.Context(), id); err != nil {
		f.Fatal(err)
	}
	f.until("it has stopped", func() bool { return f.task(id).Status == taskkit.StatusCompleted })
	r := f.check(oracle.Options{Ended: true})
	p50, p99, most := quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1)
	f.Logf("%d kills: p50 %v, p99 %v, longest %v; %d touches", len(took), p50, p99, most, r.Counts.Touches)
	if r.Counts.Reclaims < int64(len(took)) {
		f.Errorf("%d kills and %d takeovers", len(took), r.Counts.Reclaims)
	}
	if n, err := f.falselyDead(); err != nil || n > 0 {
		f.Errorf("%d workers were declared dead although they ran, %v", n, err)
	}
	if !f.long {
		return
	}
	if p99 > bound {
		f.Errorf("p99 is %v, want at most %v", p99, bound)
	}
	prove.Record(f.T, name, map[string]any{
		"kills": len(took), "p50": p50.String(), "p99": p99.String(), "longest": most.String(),
		"touches": r.Counts.Touches, "violations": len(r.Violations),
	})
}

// short is a database's name for records.
func short(db *testdb.DB) string {
	if db.Dialect == dialect.SQLite {
		return "sqlite"
	}
	return "postgres"
}

// killHolder waits until a task executes, kills the worker that has it, calls then, and returns
// how long it was from there to the end of the task's next batch.
func (f *harness) killHolder(id taskkit.ID, workers map[string]*worker, then func()) time.Duration {
	f.Helper()
	var at *taskkit.Task
	f.until("it executes", func() bool {
		at = f.task(id)
		return at.Status == taskkit.StatusExecuting && at.LeaseStarted != nil && workers[systemOf(at.Worker)] != nil
	})
	fence, name := at.Fence, systemOf(at.Worker)
	f.until("a batch has ended", func() bool { return f.task(id).Checkpoints > at.Checkpoints })
	w := workers[name]
	if err := w.Process.Signal(syscall.SIGKILL); err != nil {
		f.Fatal(err)
	}
	killed := time.Now()
	delete(workers, name)
	if then != nil {
		<-w.gone
		killed = time.Now()
		then()
	}
	f.until("another has it", func() bool {
		at = f.task(id)
		return at.Fence > fence && at.Status == taskkit.StatusExecuting
	})
	f.until("a batch has ended", func() bool { return f.task(id).Checkpoints > at.Checkpoints })
	return time.Since(killed)
}

// untilPresent waits until so many workers have presence locks.
func (f *harness) untilPresent(n int) {
	f.Helper()
	f.until("they are present", func() bool {
		ws, err := taskops.New(f.client).Workers(f.Context())
		if err != nil {
			return false
		}
		present := 0
		for _, w := range ws {
			if w.Present {
				present++
			}
		}
		return present == n
	})
}

// falselyDead counts the workers that were declared dead although they ran.
func (f *harness) falselyDead() (n int, err error) {
	err = f.db.QueryRowContext(f.Context(), "SELECT count(*) FROM taskkit_task_process WHERE found_alive_date IS NOT NULL").Scan(&n)
	return n, err
}

// systemOf is the name of the worker in its identity, SSP-24.
func systemOf(identity string) string {
	name, _, _ := strings.Cut(identity, "-")
	return name
}
