package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/throttle"
)

// healthy is a store whose health a test sets, and that counts the readings and the claims of tasks.
type healthy struct {
	*memstore.Store

	mu      sync.Mutex
	err     error // of a reading
	reads   []store.HealthQuery
	claimed int
}

func (h *healthy) ReadHealth(ctx context.Context, q store.HealthQuery) (store.HealthReading, error) {
	h.mu.Lock()
	h.reads = append(h.reads, q)
	err := h.err
	h.mu.Unlock()
	if err != nil {
		return store.HealthReading{}, err
	}
	return h.Store.ReadHealth(ctx, q)
}

func (h *healthy) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	r, err := h.Store.Claim(ctx, c)
	h.mu.Lock()
	h.claimed += len(r.Tasks)
	h.mu.Unlock()
	return r, err
}

// counts returns how many readings and claims of tasks there were since the last call.
func (h *healthy) counts() (reads, claimed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	reads, claimed = len(h.reads), h.claimed
	h.reads, h.claimed = nil, 0
	return reads, claimed
}

func (h *healthy) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

// stepping takes a second for each batch, until it has made enough of them.
type stepping struct {
	atOnce
	batches int

	mu sync.Mutex
	at []time.Time // when a batch began
}

func (s *stepping) Execute(_ context.Context, _ *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	var done struct{ Batches int }
	if err := json.Unmarshal(state, &done); err != nil {
		return session.Next{}, nil, err
	}
	<-time.After(time.Second)
	done.Batches++
	return session.Next{Done: done.Batches == s.batches}, json.RawMessage(fmt.Sprintf(`{"Batches":%d}`, done.Batches)), nil
}

// batches returns how many batches have begun since a time, and when the first of them did.
func (s *stepping) begun(since time.Time) (n int, first time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.at {
		if at.After(since) {
			if n == 0 {
				first = at
			}
			n++
		}
	}
	return n, first
}

// throttled is a bubble's store with a kind that touches the table people, and its worker.
type throttled struct {
	*testing.T
	s      *healthy
	call   *stepping
	config engine.Config
	events []taskevent.Event
	mu     sync.Mutex
}

const interval = 5 * time.Second

func newThrottled(t *testing.T, batches int) *throttled {
	t.Helper()
	e := &throttled{T: t, s: &healthy{Store: memstore.New()}, call: &stepping{batches: batches}, config: config(t)}
	e.config.Throttle = session.ThrottleConfig{Interval: interval, Vacuum: true}
	e.config.Observe = func(_ context.Context, ev taskevent.Event) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.events = append(e.events, ev)
	}
	return e
}

// run runs workers while f runs.
func (e *throttled) run(workers int, f func()) {
	e.Helper()
	kinds := demo(e.call)
	kinds["demo"].Touches = []string{"people", "enrolments"}
	ctx, cancel := context.WithCancel(e.Context())
	ended := make(chan error, workers)
	for range workers {
		w := engine.New(e.s, kinds, e.config)
		go func() { ended <- w.Run(ctx) }()
	}
	f()
	cancel()
	for range workers {
		if err := <-ended; err != nil {
			e.Error(err)
		}
	}
}

// vacuum sets whether VACUUM works on a table.
func (e *throttled) vacuum(table string, works bool) {
	var r store.HealthReading
	if works {
		r.Vacuums = []store.Vacuum{{Table: table, Command: "autovacuum", Percent: -1}}
	}
	e.s.SetHealth(r)
}

// task reads a task.
func (e *throttled) task(id uuid.UUID) store.Task {
	e.Helper()
	task, err := e.s.Task(e.Context(), id)
	if err != nil {
		e.Fatal(err)
	}
	return task
}

// seen returns the events of a type.
func seen[E taskevent.Event](e *throttled) (found []E) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.events {
		if ev, ok := ev.(E); ok {
			found = append(found, ev)
		}
	}
	return found
}

// Some hours pass quickly in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// A task waits while VACUUM works on its table, without executing anything or spending an attempt, is claimed once an interval,
// and continues within an interval after that.
func TestThrottleWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newThrottled(t, 20)
		id := submit(t, e.s.Store)
		e.run(1, func() {
			pass(7500 * time.Millisecond)
			e.vacuum("people", true)
			began := time.Now()
			e.s.counts()
			pass(2*interval + 2*time.Second)
			if reads, _ := e.s.counts(); reads < 2 {
				t.Errorf("%d readings in two intervals: nobody noticed when the task was due", reads)
			}
			task := e.task(id)
			if task.Status != lifecycle.Queued || task.Attempts != 0 || task.WaitingReason != "throttled: autovacuum works on table people" || task.Seq == 0 {
				t.Errorf("%s with %d attempts at checkpoint %d: %q", task.Status, task.Attempts, task.Seq, task.WaitingReason)
			}
			stopped := time.Now()
			e.s.counts()
			pass(time.Hour)
			if n, _ := e.call.begun(stopped); n != 0 {
				t.Errorf("%d batches although VACUUM works on the table", n)
			}
			if reads, claimed := e.s.counts(); reads < 700 || reads > 721 || claimed > 721 {
				t.Errorf("%d readings and %d claims of the task in an hour of intervals of 5 s", reads, claimed)
			}
			if after := e.task(id); after.Attempts != 0 || after.Seq != task.Seq || after.Progress != task.Progress {
				t.Errorf("was %+v, is %+v", task, after)
			}
			e.vacuum("people", false)
			well := time.Now()
			pass(interval + 100*time.Millisecond)
			if n, first := e.call.begun(stopped); n == 0 || first.Sub(well) > interval+50*time.Millisecond {
				t.Errorf("%d batches, the first %v after the end of the cause", n, first.Sub(well))
			}
			pass(time.Minute)
			if task := e.task(id); task.Status != lifecycle.Completed || task.Seq != 20 {
				t.Errorf("%s at checkpoint %d", task.Status, task.Seq)
			}
			if n, _ := e.call.begun(time.Time{}); n != 20 {
				t.Errorf("%d batches, want 20", n)
			}
			begins, ends := seen[taskevent.ThrottleBegan](e), seen[taskevent.ThrottleEnded](e)
			if len(begins) != 1 || begins[0].Indicator != "vacuum" || begins[0].Err != nil || len(ends) != 1 || ends[0].Duration < time.Hour || ends[0].Duration > time.Since(began) {
				t.Errorf("began %+v, ended %+v", begins, ends)
			}
			of := seen[taskevent.TaskThrottled](e)
			if len(of) < 700 || of[0].Task != id || of[0].Indicator != "vacuum" || of[0].Delay <= 0 || of[0].Delay > interval+time.Millisecond {
				t.Errorf("%d events of the task: %+v", len(of), of[:min(len(of), 1)])
			}
		})
	})
}

// A worker reads once an interval, however many tasks and slots it has. A task that waits is claimed again when the next
// reading is due, whichever worker claims it.
func TestThrottleReadsOncePerWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const workers, tasks, intervals = 3, 60, 12
		e := newThrottled(t, 1000)
		e.config.Slots = 10
		for range tasks {
			submit(t, e.s.Store)
		}
		e.run(workers, func() {
			pass(time.Second)
			for _, works := range []bool{false, true} {
				e.vacuum("people", works)
				pass(interval + time.Second)
				e.s.counts()
				pass(intervals * interval)
				reads, claimed := e.s.counts()
				least := workers * (intervals - 1) * 9 / 10
				if works {
					least = intervals - 1 // a worker that has claimed none does not read
				}
				if reads < least || reads > workers*(intervals+1) {
					t.Errorf("VACUUM works: %t: %d readings of %d workers in %d intervals", works, reads, workers, intervals)
				}
				// A reading of another worker may be due a little later, and then holds again.
				if most := 2 * tasks * (intervals + 1); works && claimed > most {
					t.Errorf("%d claims of %d tasks in %d intervals, want at most %d", claimed, tasks, intervals, most)
				}
			}
			e.vacuum("people", false)
			well := time.Now()
			pass(interval + 100*time.Millisecond)
			if n, _ := e.call.begun(well); n < workers*e.config.Slots {
				t.Errorf("%d batches in an interval after the end of the cause", n)
			}
		})
	})
}

// What no kind touches makes no task wait, and without tables, indicators or an interval nothing is read.
func TestThrottleCostsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(e *throttled)
		reads  bool
	}{
		"another table": {func(e *throttled) { e.vacuum("other", true) }, true},
		"no interval":   {func(e *throttled) { e.config.Throttle.Interval = 0 }, false},
		"no limit":      {func(e *throttled) { e.config.Throttle.Vacuum = false }, false},
		"an indicator of another": {func(e *throttled) {
			e.config.Throttle = session.ThrottleConfig{Interval: interval, Indicators: []throttle.Indicator{{Name: "x", Kinds: []string{"other"}, Check: unexpected(e.T)}}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newThrottled(t, 20)
				e.T = t
				e.vacuum("people", true)
				c.change(e)
				id := submit(t, e.s.Store)
				e.run(1, func() {
					pass(time.Minute)
					if task := e.task(id); task.Status != lifecycle.Completed || task.Fence != 1 {
						t.Errorf("%s %q with fence %d", task.Status, task.WaitingReason, task.Fence)
					}
					if reads, _ := e.s.counts(); (reads > 0) != c.reads {
						t.Errorf("%d readings", reads)
					}
				})
			})
		})
	}
}

// unexpected is an indicator that nobody may call.
func unexpected(t *testing.T) func(context.Context) (string, error) {
	t.Helper()
	return func(context.Context) (string, error) {
		t.Error("an indicator was called that concerns no kind")
		return "", nil
	}
}

// A task that waits can be paused, stopped and deleted.
func TestThrottleRequests(t *testing.T) {
	t.Parallel()
	for control, want := range map[lifecycle.Action]string{lifecycle.ActStop: "COMPLETED", lifecycle.ActPause: "QUEUED PAUSE", lifecycle.ActDelete: ""} {
		t.Run(string(control), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newThrottled(t, 20)
				e.vacuum("people", true)
				id := submit(t, e.s.Store)
				e.run(1, func() {
					pass(time.Minute)
					if _, err := e.s.Request(t.Context(), id, store.Request{Action: control}); err != nil {
						t.Fatal(err)
					}
					pass(2 * interval)
					got := ""
					task, err := e.s.Task(t.Context(), id)
					if err == nil {
						got = strings.TrimSpace(string(task.Status) + " " + strings.TrimPrefix(string(task.Control), string(lifecycle.None)))
					}
					if got != want {
						t.Errorf("is %q, want %q (%v)", got, want, err)
					}
					if n, _ := e.call.begun(time.Time{}); n != 0 {
						t.Errorf("%d batches", n)
					}
				})
			})
		})
	}
}

// A database whose health cannot be read makes tasks wait. What is unreadable or missing does not, and is said once.
func TestThrottleUnreadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newThrottled(t, 50)
		e.s.fail(errors.New("no answer"))
		id := submit(t, e.s.Store)
		e.run(1, func() {
			pass(time.Minute)
			if task := e.task(id); task.Attempts != 0 || task.Seq != 0 || task.WaitingReason != "throttled: the health of the database cannot be read: no answer" {
				t.Errorf("%d attempts at checkpoint %d: %q", task.Attempts, task.Seq, task.WaitingReason)
			}
			e.s.fail(nil)
			e.s.SetHealth(store.HealthReading{
				Unreadable: map[store.HealthIndicator]error{store.HealthReplicas: errors.New("no right")}, Missing: []string{"people"},
			})
			pass(time.Minute)
			if task := e.task(id); task.Status != lifecycle.Completed {
				t.Errorf("%s %q", task.Status, task.WaitingReason)
			}
			var said []string
			for _, u := range seen[taskevent.IndicatorUnreadable](e) {
				said = append(said, u.Indicator+": "+u.Err.Error())
			}
			if len(said) != 2 || said[0] != "replicas: no right" || !strings.Contains(said[1], "touches the table people, which does not exist") {
				t.Errorf("%q", said)
			}
			if b := seen[taskevent.ThrottleBegan](e); len(b) != 1 || b[0].Indicator != session.IndicatorHealth || b[0].Err == nil {
				t.Errorf("%+v", b)
			}
		})
	})
}

// An indicator of the user's that says why, fails, panics, ends its goroutine or does not answer makes tasks wait, and
// they continue once it says nothing. It is never called while it has not returned.
func TestThrottleIndicators(t *testing.T) {
	t.Parallel()
	ill := map[string]struct {
		check func(ctx context.Context, release <-chan struct{}) (string, error)
		want  string
	}{
		"reason": {func(context.Context, <-chan struct{}) (string, error) { return "12 mails wait", nil }, "throttled: mails: 12 mails wait"},
		"error":  {func(context.Context, <-chan struct{}) (string, error) { return "", errors.New("no answer") }, "throttled: mails failed: no answer"},
		"panic":  {func(context.Context, <-chan struct{}) (string, error) { panic("nil map") }, "throttled: mails failed: panic: nil map"},
		"goexit": {func(context.Context, <-chan struct{}) (string, error) { runtime.Goexit(); return "", nil }, "throttled: mails failed: it ended its goroutine with runtime.Goexit"},
		"hang":   {func(_ context.Context, release <-chan struct{}) (string, error) { <-release; return "", nil }, "throttled: mails has not answered for "},
		"ctx":    {func(ctx context.Context, _ <-chan struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() }, "throttled: mails "},
	}
	for name, c := range ill {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newThrottled(t, 3)
				var mu sync.Mutex
				well, calls, at := false, 0, 0
				release := make(chan struct{})
				e.config.Throttle = session.ThrottleConfig{Interval: interval, Indicators: []throttle.Indicator{{Name: "mails", Kinds: []string{"demo"}, Check: func(ctx context.Context) (string, error) {
					mu.Lock()
					calls, at = calls+1, at+1
					if at > 1 {
						t.Error("called twice at a time")
					}
					answer := well
					mu.Unlock()
					defer func() { mu.Lock(); at--; mu.Unlock() }()
					if answer {
						return "", nil
					}
					return c.check(ctx, release)
				}}}}
				id := submit(t, e.s.Store)
				e.run(1, func() {
					pass(5 * time.Minute)
					task := e.task(id)
					if task.Status != lifecycle.Queued || task.Attempts != 0 || task.Seq != 0 || !strings.HasPrefix(task.WaitingReason, c.want) || strings.Contains(task.WaitingReason, "\n") {
						t.Errorf("%s with %d attempts at checkpoint %d: %q, want %q", task.Status, task.Attempts, task.Seq, task.WaitingReason, c.want)
					}
					mu.Lock()
					if calls > 61 || name == "hang" && calls != 1 {
						t.Errorf("%d calls", calls)
					}
					well = true
					mu.Unlock()
					close(release)
					pass(2*interval + 4*time.Second)
					if task := e.task(id); task.Status != lifecycle.Completed {
						t.Errorf("%s: %q", task.Status, task.WaitingReason)
					}
					b, n := seen[taskevent.ThrottleBegan](e), seen[taskevent.ThrottleEnded](e)
					if len(b) != 1 || len(n) != 1 || (b[0].Err == nil) != (name == "reason") {
						t.Errorf("began %+v, ended %+v", b, n)
					}
				})
			})
		})
	}
}
