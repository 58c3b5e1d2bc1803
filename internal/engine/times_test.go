package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// steady processes one item a batch, which takes some time, until it has done all.
type steady struct {
	atOnce
	items int
	takes time.Duration
	take  bool // as many as a batch may take

	mu    sync.Mutex
	ended []time.Time // of each item
}

func (x *steady) Execute(_ context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	n, _ := strconv.Atoi(strings.Trim(string(state), `{}"n:`))
	<-time.After(x.takes)
	batch := 1
	if x.take {
		batch = min(s.Limit, x.items-n)
	}
	s.Advance(batch)
	x.mu.Lock()
	defer x.mu.Unlock()
	for range batch {
		x.ended = append(x.ended, time.Now())
	}
	n += batch
	return session.Next{Done: n == x.items}, json.RawMessage(`{"n":` + strconv.Itoa(n) + `}`), nil
}

// A window that closes stops the task at a batch boundary, and it continues when the window opens
// next, by itself, whether a worker was there meanwhile or not.
func TestWindowCloses(t *testing.T) {
	t.Parallel()
	for name, absent := range map[string]bool{"with a worker": false, "without a worker": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// A bubble begins at midnight UTC, which is 01:00 in Oslo, on a Saturday.
				s, x := memstore.New(), &steady{items: 2000, takes: 10 * time.Second}
				window, err := lifecycle.ParseWindow("Fri-Sat 22:30-02:00 Europe/Oslo", time.Now())
				if err != nil {
					t.Fatal(err)
				}
				id := submit(t, s, func(n *store.NewTask) { n.Options.Window = window.String() })
				run := func(until time.Duration) {
					ctx, cancel := context.WithTimeout(t.Context(), until)
					defer cancel()
					if err := engine.New(s, demo(x), config(t)).Run(ctx); err != nil {
						t.Error(err)
					}
				}
				run(90 * time.Minute)
				row, err := s.Read(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				opens := time.Date(2000, 1, 1, 21, 30, 0, 0, time.UTC)
				if row.Status != lifecycle.Queued || !row.NotBefore.Equal(opens) || row.Attempts != 0 || !strings.Contains(row.WaitingReason, "22:30-02:00 Europe/Oslo is closed") {
					t.Fatalf("after the window: %+v", row)
				}
				done := len(x.ended)
				if done < 355 || done > 361 {
					t.Errorf("%d batches of 10 s in the first hour", done)
				}
				if absent {
					<-time.After(time.Until(opens.Add(time.Hour)))
				}
				run(30 * time.Hour)
				row, err = s.Read(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if row.Status != lifecycle.Queued || len(x.ended) == done {
					t.Fatalf("after the second window: %d batches, %+v", len(x.ended), row)
				}
				run(8 * 24 * time.Hour)
				row, err = s.Read(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if row.Status != lifecycle.Completed || len(x.ended) != x.items || row.Progress.Done != int64(x.items) {
					t.Errorf("at the end: %d batches, %+v", len(x.ended), row)
				}
				for _, at := range x.ended {
					// A batch that began in the window ends within 10 s of it.
					if !window.Open(at) && !window.Open(at.Add(-11*time.Second)) {
						t.Errorf("a batch at %s", at)
					}
				}
			})
		})
	}
}

// A task fails at its latest start, its deadline and its time limit, and keeps what it has done.
func TestTimesExpire(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return time.Now().Add(time.Duration(n) * time.Hour) }
	for name, c := range map[string]struct {
		times func() lifecycle.Times
		wait  time.Duration // before there is a worker
		code  string
		done  bool // something is
	}{
		"latest start":   {func() lifecycle.Times { return lifecycle.Times{LatestStart: hour(1)} }, 2 * time.Hour, "started_too_late", false},
		"started":        {func() lifecycle.Times { return lifecycle.Times{LatestStart: hour(1)} }, 0, "", true},
		"deadline":       {func() lifecycle.Times { return lifecycle.Times{Deadline: hour(1)} }, 0, "deadline_exceeded", true},
		"later deadline": {func() lifecycle.Times { return lifecycle.Times{Deadline: hour(9)} }, 0, "", true},
		"time limit":     {func() lifecycle.Times { return lifecycle.Times{TimeLimit: time.Hour} }, 3 * time.Hour, "time_limit_exceeded", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, x := memstore.New(), &steady{items: 720, takes: 10 * time.Second}
				id := submit(t, s, func(n *store.NewTask) { n.Options.Times = c.times() })
				<-time.After(c.wait)
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Hour)
				defer cancel()
				if err := engine.New(s, demo(x), config(t)).Run(ctx); err != nil {
					t.Error(err)
				}
				row, err := s.Read(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				want := lifecycle.Completed
				if c.code != "" {
					want = lifecycle.Failure
				}
				if row.Status != want || !strings.HasPrefix(row.Desc, c.code) || (row.Progress.Done > 0) != c.done || int(row.Progress.Done) != len(x.ended) {
					t.Errorf("got %+v", row)
				}
			})
		})
	}
}

// The rate of a task is kept, and can be changed while it runs. One that waits long gives its slot back.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, x := memstore.New(), &steady{items: 5000, takes: time.Millisecond, take: true}
		id := submit(t, s, func(n *store.NewTask) { n.Options.MaxRate = 50 })
		c := config(t)
		c.MeasureEvery = 5 * time.Second
		kinds := demo(x)
		kinds["demo"].Limit = 1000
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- engine.New(s, kinds, c).Run(ctx) }()
		processed := func() int {
			x.mu.Lock()
			defer x.mu.Unlock()
			return len(x.ended)
		}
		during := func(d time.Duration) int {
			before := processed()
			<-time.After(d)
			return processed() - before
		}
		if n := during(time.Minute); n < 2850 || n > 3150 {
			t.Errorf("%d items in a minute at 50 a second", n)
		}
		if _, err := s.Request(t.Context(), id, store.Request{Action: lifecycle.ActChange, MaxRate: 0.1}); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		if n := during(10 * time.Minute); n < 57 || n > 63 {
			t.Errorf("%d items in ten minutes at 0.1 a second", n)
		}
		row, err := s.Read(t.Context(), id)
		if err != nil || row.Status != lifecycle.Queued || row.Attempts != 0 || !strings.Contains(row.WaitingReason, "0.1 items a second") {
			t.Errorf("between two batches: %+v, %v", row, err)
		}
		// One that waits for long because of a low rate goes on when the rate is raised, but not when it is lowered.
		request := func(rate float64) {
			t.Helper()
			if _, err := s.Request(t.Context(), id, store.Request{Action: lifecycle.ActChange, MaxRate: rate}); err != nil {
				t.Fatal(err)
			}
		}
		request(0.001)
		<-time.After(10 * time.Second)
		if n := during(10 * time.Minute); n > 1 {
			t.Errorf("%d items in ten minutes at 0.001 a second", n)
		}
		request(0.0009)
		if n := during(time.Minute); n > 1 {
			t.Errorf("%d items in a minute after a lower rate", n)
		}
		request(10)
		if n := during(time.Minute); n < 540 || n > 660 {
			t.Errorf("%d items in the minute after the rate was raised to 10 a second", n)
		}
		request(-1)
		<-time.After(time.Minute)
		if n := processed(); n != x.items {
			t.Errorf("%d items without a rate, want all %d", n, x.items)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// deferring takes as many items a batch as it may, and defers all of them.
type deferring struct {
	atOnce
	items atomic.Int64
}

func (x *deferring) Execute(_ context.Context, s *session.Step, _ json.RawMessage) (session.Next, json.RawMessage, error) {
	const all = 5000
	key := strconv.Itoa
	from, to := s.Take(all, s.Limit, key)
	for i := from; i < to; i++ {
		s.Defer(key(i), errors.New("not now"))
	}
	x.items.Add(int64(to - from))
	return session.Next{Done: from == to}, json.RawMessage(`{}`), nil
}

// An item that is deferred has been processed, as far as the rate is concerned.
func TestRateOfDeferredItems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, x := memstore.New(), &deferring{}
		submit(t, s, func(n *store.NewTask) { n.Options.MaxRate = 50 })
		kinds := demo(x)
		kinds["demo"].Limit = 1000
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := engine.New(s, kinds, config(t)).Run(ctx); err != nil {
			t.Error(err)
		}
		if n := x.items.Load(); n < 2850 || n > 3150 {
			t.Errorf("%d items in a minute at 50 a second", n)
		}
	})
}
