package taskkit_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// A worker is stopped with SIGSTOP inside a batch. Another takes its task over
// and finishes it. The first goes on and commits nothing.
func TestStoppedWorkerCommitsNothing(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		const items = 5000
		dir := t.TempDir()
		touchFile(t, dir, "hold-first")
		id := submitted(t, db, countKind, countSpec{Items: items})

		beforeTx := db.Dialect == dialect.SQLite
		// PostgreSQL ends the transaction of a worker that is silent a second after the
		// time of a batch; until then the task cannot be taken over.
		args := workerArgs{Name: "first", Dir: dir, BeforeTx: beforeTx, Slow: 5 * time.Millisecond, BatchTimeout: 8 * time.Second}
		first := launch(t, db, args)
		until(t, "first is inside a batch", func() bool { return exists(dir, "held-first") })
		stopped(t, db, first)
		silence(t, db, args)

		launch(t, db, workerArgs{Name: "second", Dir: dir})
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted {
			t.Fatalf("task ended in %s: %s", task.Status, task.StatusDetail)
		}
		fence, checkpoints := task.Fence, task.Checkpoints
		if fence < 2 {
			t.Errorf("fence %d: the task was never taken over", fence)
		}
		checkTouched(t, db.DB, id, items)

		touchFile(t, dir, "go-first")
		first.signal(t, syscall.SIGCONT)
		// The first worker notices, begins anew under another identity, and is
		// alive: by then its batch has tried to commit.
		until(t, "first has begun anew", func() bool {
			ws, err := taskops.New(clientOf(db)).Workers(t.Context())
			if err != nil {
				t.Fatalf("read workers: %v", err)
			}
			n := 0
			for _, w := range ws {
				if len(w.ID) > 5 && w.ID[:5] == "first" {
					n++
				}
			}
			return n >= 2
		})
		first.signal(t, syscall.SIGTERM)
		<-first.done

		checkTouched(t, db.DB, id, items)
		after, err := clientOf(db).Task(t.Context(), id)
		if err != nil {
			t.Fatalf("read task: %v", err)
		}
		if after.Fence != fence || after.Checkpoints != checkpoints || after.Status != taskkit.StatusCompleted {
			t.Errorf("the row changed after the end: %+v", after)
		}
	})
}

// Three workers under load are restarted one after the other, twice.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		const tasks, items = 30, 4000
		var ids []taskkit.ID
		for range tasks {
			ids = append(ids, submitted(t, db, countKind, countSpec{Items: items}))
		}
		next := 0
		begin := func() *process {
			next++
			return launch(t, db, workerArgs{Name: fmt.Sprintf("w%d", next), Slow: 20 * time.Millisecond})
		}
		workers := []*process{begin(), begin(), begin()}
		alive := func(n int) {
			until(t, "workers are up", func() bool {
				ws, err := taskops.New(clientOf(db)).Workers(t.Context())
				if err != nil {
					t.Fatalf("read workers: %v", err)
				}
				up := 0
				for _, w := range ws {
					if w.Alive && !w.Draining && w.Ended == nil {
						up++
					}
				}
				return up >= n
			})
		}
		left := func() (n int) {
			ws, err := taskops.New(clientOf(db)).Workers(t.Context())
			if err != nil {
				t.Fatalf("read workers: %v", err)
			}
			for _, w := range ws {
				if w.Ended != nil && w.EndReason == "left" {
					n++
				}
			}
			return n
		}
		var longest time.Duration
		for round := range 2 {
			for i, w := range workers {
				alive(3)
				sent := time.Now()
				w.signal(t, syscall.SIGTERM)
				<-w.done
				if w.err != nil {
					t.Errorf("worker left with %v", w.err)
				}
				longest = max(longest, time.Since(sent))
				if n := left(); n != 3*round+i+1 {
					t.Errorf("%d workers have ended, and the rows of %d say that they left", 3*round+i+1, n)
				}
				workers[i] = begin()
			}
		}
		t.Logf("longest time from SIGTERM to exit: %v", longest)
		for _, id := range ids {
			task := ended(t, db, id)
			if task.Status != taskkit.StatusCompleted || task.Attempts != 0 {
				t.Errorf("task %s: %s, attempts %d: %s", id, task.Status, task.Attempts, task.StatusDetail)
			}
			attempts, err := clientOf(db).Attempts(t.Context(), id, 10)
			if err != nil {
				t.Fatalf("read attempts: %v", err)
			}
			if len(attempts) != 0 {
				t.Errorf("task %s: failed attempts were recorded: %+v", id, attempts)
			}
			checkTouched(t, db.DB, id, items)
		}
	})
}

// A task of a million items runs in flat memory though its worker is killed ten
// times on the way.
func TestMillionItemsKilledTenTimes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a million rows: not with -short")
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		const items, kills = 1_000_000, 10
		id := submitted(t, db, countKind, countSpec{Items: items})
		client := clientOf(db)
		progress := func() int64 {
			task, err := client.Task(t.Context(), id)
			if err != nil {
				t.Fatalf("read task: %v", err)
			}
			return task.Progress.Done
		}
		begin := time.Now()
		var peak int64
		for k := range kills {
			w := launch(t, db, workerArgs{Name: fmt.Sprintf("k%d", k)})
			goal := int64(items) * int64(k+1) / (kills + 1)
			until(t, fmt.Sprintf("%d items are done", goal), func() bool { return progress() >= goal })
			peak = max(peak, w.rss())
			w.signal(t, syscall.SIGKILL)
			<-w.done
		}
		last := launch(t, db, workerArgs{Name: "last"})
		task := ended(t, db, id)
		peak = max(peak, last.rss())
		last.signal(t, syscall.SIGTERM)
		t.Logf("1,000,000 items in %v with %d kills, peak RSS of a worker %d MiB, %d batches, %d holds",
			time.Since(begin).Round(time.Millisecond), kills, peak>>20, task.Checkpoints, task.Fence)
		if task.Status != taskkit.StatusCompleted || task.Progress.Done != items {
			t.Errorf("task ended in %s with %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		if peak > 256<<20 {
			t.Errorf("peak RSS %d MiB: memory is not flat", peak>>20)
		}
		checkTouched(t, db.DB, id, items)
	})
}

// stopped stops a process at a moment when it does not hold SQLite's only write
// lock, as its heartbeat or its reaper may: then nobody could take over.
func stopped(tb testing.TB, db *testdb.DB, p *process) {
	tb.Helper()
	for {
		p.signal(tb, syscall.SIGSTOP)
		if db.Dialect == dialect.Postgres {
			return
		}
		until(tb, "all threads of the process have stopped", func() bool { return threadsStopped(p.Process.Pid) })
		ctx, cancel := context.WithTimeout(tb.Context(), 3*time.Second)
		_, err := db.ExecContext(ctx, "DELETE FROM touch WHERE item < 0") // a write of nothing
		cancel()
		if err == nil {
			return
		}
		p.signal(tb, syscall.SIGCONT)
	}
}

// threadsStopped reports whether no thread of a process runs any more, which a
// signal does not wait for. Without /proc it is assumed.
func threadsStopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return true
	}
	for _, file := range threads {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the name, which is in parentheses and may contain any.
		name := bytes.LastIndexByte(line, ')')
		if !bytes.HasPrefix(line[name+1:], []byte(" T")) {
			return false
		}
	}
	return true
}

func touchFile(tb testing.TB, dir, name string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
