package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// asks is a request, and what must be so afterwards.
type asks struct {
	name    string
	request func(*taskkit.Client, context.Context, taskkit.ID) error
	done    func(*taskkit.Task, error) bool
}

func requests() []asks {
	return []asks{
		{
			"stop", func(c *taskkit.Client, ctx context.Context, id taskkit.ID) error {
				_, err := c.Stop(ctx, id)
				return err
			},
			func(t *taskkit.Task, err error) bool { return err == nil && t.Status == taskkit.StatusCompleted },
		},
		{
			"pause", func(c *taskkit.Client, ctx context.Context, id taskkit.ID) error {
				_, err := c.Pause(ctx, id)
				return err
			},
			func(t *taskkit.Task, err error) bool {
				return err == nil && t.Status == taskkit.StatusQueued && t.Control == taskkit.ControlPause
			},
		},
		{
			"delete", func(c *taskkit.Client, ctx context.Context, id taskkit.ID) error {
				_, err := c.Delete(ctx, id)
				return err
			},
			func(_ *taskkit.Task, err error) bool { return errors.Is(err, taskkit.ErrNotFound) },
		},
	}
}

// delay is how long a batch of these tests takes.
const delay = 50 * time.Millisecond

// situation is where a worker may be when something is asked of its task.
type situation struct {
	name    string
	prepare func(*harness) taskkit.ID
	// silent: the request is noted when its worker has just fallen silent, so
	// somebody must first find that out.
	silent bool
}

// running submits a task and waits until a worker has it.
func (f *harness) running() (taskkit.ID, *worker) {
	f.Helper()
	w := f.launch()
	id := f.submit(100_000, delay)
	f.executes(id)
	return id, w
}

func (f *harness) executes(id taskkit.ID) {
	f.Helper()
	f.until("it executes", func() bool {
		t := f.task(id)
		return t.Status == taskkit.StatusExecuting && t.Checkpoints > 0
	})
}

func (f *harness) signal(w *worker, s syscall.Signal) {
	f.Helper()
	if err := w.Process.Signal(s); err != nil {
		f.Fatal(err)
	}
}

// alive returns how many workers are alive.
func (f *harness) alive() (n int) {
	f.Helper()
	ws, err := taskops.New(f.client).Workers(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	for _, w := range ws {
		if w.Alive {
			n++
		}
	}
	return n
}

func situations() []situation {
	return []situation{
		{name: "live", prepare: func(f *harness) taskkit.ID { id, _ := f.running(); return id }},
		{name: "live and full", prepare: func(f *harness) taskkit.ID {
			id, _ := f.running()
			if _, err := f.client.Pause(f.Context(), id); err != nil {
				f.Fatal(err)
			}
			other := f.submit(100_000, delay)
			f.executes(other)
			for range 20 {
				f.submit(100_000, delay) // a queue before it
			}
			if _, err := f.client.Resume(f.Context(), id); err != nil {
				f.Fatal(err)
			}
			return id
		}},
		{name: "killed, with another", silent: true, prepare: func(f *harness) taskkit.ID {
			id, w := f.running()
			f.launch()
			f.signal(w, syscall.SIGKILL)
			return id
		}},
		{name: "stopped, with another", silent: true, prepare: func(f *harness) taskkit.ID {
			id, w := f.running()
			f.launch()
			f.until("both workers are there", func() bool { return f.alive() == 2 })
			f.Cleanup(func() { _ = w.Process.Signal(syscall.SIGCONT) })
			f.stopOutsideAWrite(w)
			return id
		}},
		{name: "killed, and nobody else", prepare: func(f *harness) taskkit.ID {
			id, w := f.running()
			f.signal(w, syscall.SIGKILL)
			f.until("it has been silent for too long", func() bool { return f.alive() == 0 })
			return id
		}},
		{name: "absent", prepare: func(f *harness) taskkit.ID { return f.submit(10, delay) }},
		{name: "without the kind", prepare: func(f *harness) taskkit.ID {
			id, w := f.running()
			f.signal(w, syscall.SIGTERM)
			<-w.gone
			f.launch(func(a *workerArgs) { a.Other = true })
			return id
		}},
	}
}

// Whatever has become of the worker, a request takes effect within a batch, a
// heartbeat and a second; when the worker has just fallen silent, after the time
// that it may be. The long form asserts that, the short form that it does.
func TestRequestsTakeEffect(t *testing.T) {
	t.Parallel()
	_, long := prove.Budget(t)
	for name, open := range map[string]func(testing.TB, ...testdb.Option) *testdb.DB{"postgres": testdb.Postgres, "sqlite": testdb.SQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times, late := map[string]any{}, 0
			for _, at := range situations() {
				for _, r := range requests() {
					if !long && r.name != "stop" {
						continue
					}
					t.Run(at.name+"/"+r.name, func(t *testing.T) {
						f := newHarness(t, open(t))
						took := f.request(at, r)
						times[at.name+"/"+r.name] = took.Round(time.Millisecond).String()
						bound := delay + f.args.Heartbeat + time.Second
						if at.silent {
							bound += f.args.DeadAfter
						}
						t.Logf("%v, bound %v", took.Round(time.Millisecond), bound)
						if took > bound {
							late++
							if long {
								t.Errorf("it took %v, want at most %v", took, bound)
							}
						}
						f.check(oracle.Options{})
					})
				}
			}
			if long {
				times["violations"] = late
				prove.Record(t, "requests-"+name, times)
			}
		})
	}
}

// stopOutsideAWrite stops a worker. On SQLite one that is stopped inside a write
// keeps every other writer of the file waiting, for as long as it stands: no bound
// holds then, and none is promised. Such a one goes on and is stopped again.
func (f *harness) stopOutsideAWrite(w *worker) {
	f.Helper()
	for {
		f.signal(w, syscall.SIGSTOP)
		if f.db.Dialect != dialect.SQLite {
			return
		}
		f.until("every thread of it has stopped", func() bool { return hasStopped(w.Process.Pid) })
		if f.writable() {
			return
		}
		f.Logf("worker %s was stopped inside a write, and goes on", w.name)
		f.signal(w, syscall.SIGCONT)
		// Stopped again at once, it would still be inside the same write.
		f.until("its write is over", f.writable)
	}
}

// hasStopped reports whether all threads of a process that was sent SIGSTOP have stopped. One that was inside a system call stops
// at its end, and has then perhaps taken a lock. Where the system does not say, it reports true.
func hasStopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		// The state follows the name, which is in parentheses and may contain some.
		stat, err := os.ReadFile(thread) //nolint:gosec // of a process of the test
		if i := bytes.LastIndexByte(stat, ')'); err == nil && !bytes.HasPrefix(stat[i+1:], []byte(" T ")) {
			return false
		}
	}
	return true
}

// writable reports whether somebody else can write to the file within some seconds.
func (f *harness) writable() bool {
	ctx, cancel := context.WithTimeout(f.Context(), 3*time.Second)
	defer cancel()
	tx, err := f.db.BeginTx(ctx, nil)
	if err == nil {
		err = tx.Rollback()
	}
	return err == nil
}

// request makes a request in a situation, and returns how long it was until it had
// taken effect. A request that the database was too busy for is made again, as a
// client does it; that time counts.
func (f *harness) request(at situation, r asks) time.Duration {
	f.Helper()
	id := at.prepare(f)
	began, refused := time.Now(), ""
	f.until("it is asked", func() bool {
		err := r.request(f.client, f.Context(), id)
		if err != nil && err.Error() != refused {
			refused = err.Error()
			f.Logf("%s: %v", r.name, err)
		}
		if err != nil && taskkit.IsPermanent(f.Context(), err) {
			f.Fatal(err)
		}
		return err == nil
	})
	f.until("it has taken effect", func() bool { return r.done(f.client.Task(f.Context(), id)) })
	return time.Since(began)
}
