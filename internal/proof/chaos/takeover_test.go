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
)

// Workers are killed in the middle of their tasks, several at once; others take
// the tasks over. The long form kills 200 and checks that 99 of 100 takeovers take
// no longer than a worker may be silent and a second.
func TestTakeover(t *testing.T) {
	t.Parallel()
	_, long := prove.Budget(t)
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		f := newHarness(t, db)
		kills, atOnce := 4, 2
		if long {
			kills, atOnce = 200, 10
			if db.Dialect == dialect.SQLite {
				atOnce = 5 // all of them write to one file
			}
		}
		var ids []taskkit.ID
		for range atOnce {
			ids = append(ids, f.submit(100_000, 50*time.Millisecond))
		}
		workers := map[string]*worker{}
		var took []time.Duration
		for len(took) < kills {
			for range 2*atOnce - len(workers) {
				w := f.launch()
				workers[w.name] = w
			}
			took = append(took, f.killHolders(ids, workers)...)
		}
		for _, id := range ids {
			if _, err := f.client.Stop(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range ids {
			f.until("it has stopped", func() bool { return f.task(id).Status == taskkit.StatusCompleted })
		}
		r := f.check(oracle.Options{Ended: true})
		bound := f.args.DeadAfter + time.Second
		p50, p99, most := quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1)
		t.Logf("%d kills: takeover p50 %v, p99 %v, longest %v; %d touches", len(took), p50, p99, most, r.Counts.Touches)
		if r.Counts.Reclaims < int64(len(took)) {
			t.Errorf("%d kills and %d takeovers", len(took), r.Counts.Reclaims)
		}
		if !long {
			return
		}
		if p99 > bound {
			t.Errorf("takeover p99 is %v, want at most %v", p99, bound)
		}
		prove.Record(t, "takeover-"+short(db), map[string]any{
			"kills": len(took), "p50": p50.String(), "p99": p99.String(), "longest": most.String(),
			"dead after": f.args.DeadAfter.String(), "touches": r.Counts.Touches, "violations": len(r.Violations),
		})
	})
}

// short is a database's name for records.
func short(db *testdb.DB) string {
	if db.Dialect == dialect.SQLite {
		return "sqlite"
	}
	return "postgres"
}

// killHolders waits until each task executes, kills the workers that have them,
// and returns how long it was until each was claimed again, by the database's
// clock.
func (f *harness) killHolders(ids []taskkit.ID, workers map[string]*worker) (took []time.Duration) {
	f.Helper()
	fences := map[taskkit.ID]int64{}
	var holders []string
	for _, id := range ids {
		f.until("it executes", func() bool {
			t := f.task(id)
			fences[id] = t.Fence
			if t.Status != taskkit.StatusExecuting || t.Checkpoints == 0 {
				return false
			}
			holders = append(holders, systemOf(t.Worker))
			return true
		})
	}
	at := f.now()
	for _, name := range holders {
		if workers[name] == nil {
			continue // it was declared dead with the first task, and then had the second
		}
		if err := workers[name].Process.Signal(syscall.SIGKILL); err != nil {
			f.Fatal(err)
		}
		delete(workers, name)
	}
	for _, id := range ids {
		var t *taskkit.Task
		f.until("another has it", func() bool {
			t = f.task(id)
			return t.Fence > fences[id] && t.Scheduled != nil
		})
		took = append(took, t.Scheduled.Sub(at))
	}
	return took
}

// systemOf is the name of the worker in its identity, SSP-24.
func systemOf(identity string) string {
	name, _, _ := strings.Cut(identity, "-")
	return name
}
