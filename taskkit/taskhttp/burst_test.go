package taskhttp_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskhttp"
)

// observe is an observer that calls a function.
type observe func(taskevent.Event)

func (f observe) Observe(_ context.Context, e taskevent.Event) { f(e) }

// Bursts of starts take all connections of a pool for moments, and do not cost a worker on SQLite that shares it its wake-ups.
func TestBurstsOfStarts(t *testing.T) {
	t.Parallel()
	const connections, starts, bursts = 20, 40, 10
	db := testdb.SQLite(t, testdb.MaxConns(connections))
	e := newEnv(t, db)
	listening, lost := make(chan struct{}), atomic.Pointer[taskevent.WorkerPolling]{}
	var once sync.Once
	var r taskkit.Registry
	taskkit.Register(&r, workKind, e.work)
	w, err := taskkit.NewWorker(t.Context(), db.DB, &r, taskkit.Config{
		Schema: e.schema, Slots: 4, Heartbeat: time.Second, DeadAfter: time.Minute,
		Observer: observe(func(event taskevent.Event) {
			switch event := event.(type) {
			case taskevent.WorkerListening:
				once.Do(func() { close(listening) })
			case taskevent.WorkerPolling:
				lost.CompareAndSwap(nil, &event)
			}
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-listening
	for range bursts {
		var all sync.WaitGroup
		ids := make(chan taskkit.ID, starts)
		for range starts {
			all.Go(func() {
				r := e.do(t, "POST", startPath, `{"mode":"done"}`)
				if r.status != http.StatusAccepted && r.status != http.StatusOK {
					t.Errorf("%d %s", r.status, r.body)
					return
				}
				ids <- r.job(t).ID
			})
		}
		all.Wait()
		close(ids)
		for id := range ids {
			e.reach(t, id, taskhttp.Succeeded)
		}
	}
	if p := lost.Load(); p != nil && !errors.Is(p.Err, context.Canceled) {
		t.Errorf("the worker polls again in %v: %v", p.RetryIn, p.Err)
	}
}
