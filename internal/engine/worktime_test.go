package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// paced runs one batch after another, each of which takes a time and does what it
// says. Its state is the number of the batch.
type paced struct {
	atOnce

	batches []func(s *session.Step) (session.Next, error)
}

func (x *paced) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	var n int
	if string(raw) != "{}" && len(raw) > 0 {
		if err := json.Unmarshal(raw, &n); err != nil {
			return session.Next{}, nil, err
		}
	}
	if _, err := s.Tx.ExecContext(ctx, insertItem, fmt.Sprint("batch ", n)); err != nil {
		return session.Next{}, nil, err
	}
	next, err := x.batches[n](s)
	return next, json.RawMessage(fmt.Sprint(n + 1)), err
}

// took is a batch that takes a time for a number of items.
func took(d time.Duration, items int) func(s *session.Step) (session.Next, error) {
	return func(s *session.Step) (session.Next, error) {
		<-time.After(d) // the clock of the bubble
		s.Advance(items)
		return session.Next{}, nil
	}
}

// then is a batch after which the task goes on as next says.
func then(next session.Next, batch func(s *session.Step) (session.Next, error)) func(s *session.Step) (session.Next, error) {
	return func(s *session.Step) (session.Next, error) {
		_, err := batch(s)
		return next, err
	}
}

// once is a batch that takes a time and fails, and does something else when it is
// tried again.
func once(d time.Duration, batch func(s *session.Step) (session.Next, error)) func(s *session.Step) (session.Next, error) {
	failed := false
	return func(s *session.Step) (session.Next, error) {
		if failed {
			return batch(s)
		}
		failed = true
		<-time.After(d) // the clock of the bubble
		return session.Next{}, errors.New("not now")
	}
}

// tooLarge is once with an error after which a smaller batch is tried at once.
func tooLarge(d time.Duration, batch func(s *session.Step) (session.Next, error)) func(s *session.Step) (session.Next, error) {
	first := once(d, batch)
	return func(s *session.Step) (session.Next, error) {
		next, err := first(s)
		if err != nil {
			err = &memstore.Error{State: "54000", Text: "too large"}
		}
		return next, err
	}
}

// measured runs a task of batches to its end, and returns its rate.
func measured(t *testing.T, s store.Runtime, mem *memstore.Store, batches ...func(s *session.Step) (session.Next, error)) (uuid.UUID, store.Rate) {
	t.Helper()
	mem.Accept(insertItem)
	id := submit(t, mem)
	c := config(t)
	c.MeasureEvery = 5 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	defer cancel()
	kinds := demo(&paced{batches: batches})
	kinds["demo"].Limit = 4
	if err := engine.New(s, kinds, c).Run(ctx); err != nil {
		t.Error(err)
	}
	task, err := mem.Task(t.Context(), id)
	if err != nil || task.Status != lifecycle.Completed {
		t.Errorf("ended in %s %q (%v)", task.Status, task.StatusDetail, err)
	}
	r, err := mem.Rate(t.Context(), id)
	if err != nil {
		t.Error(err)
	}
	if r.All.Items > task.Progress.Processed() {
		t.Errorf("%d items were measured, and the task has %d", r.All.Items, task.Progress.Processed())
	}
	return id, r
}

// What is stored is the time of batches, without waits and failed batches.
func TestWorkingTime(t *testing.T) {
	t.Parallel()
	done := session.Next{Done: true}
	type batches = []func(s *session.Step) (session.Next, error)
	for name, c := range map[string]struct {
		batches batches
		want    string // the samples
	}{
		"a short task": {batches{took(time.Second, 1), took(2*time.Second, 1), then(done, took(time.Second, 1))}, "[]"},
		"every five seconds": {
			batches{took(2*time.Second, 1), took(2*time.Second, 2), took(2*time.Second, 4), took(4*time.Second, 8), then(done, took(2*time.Second, 16))},
			"[{7 6s} {24 6s}]",
		},
		"long batches": {batches{took(8*time.Second, 1), then(done, took(9*time.Second, 2))}, "[{1 8s} {2 9s}]"},
		"a wait between": {
			batches{took(8*time.Second, 1), then(session.Next{Wait: time.Hour}, took(6*time.Second, 2)), then(done, took(7*time.Second, 3))},
			"[{1 8s} {2 6s} {3 7s}]",
		},
		"a batch that fails": {
			batches{took(8*time.Second, 1), once(9*time.Second, took(6*time.Second, 2)), then(done, took(time.Second, 3))},
			"[{1 8s} {2 6s}]",
		},
		"a batch that is too large": {
			batches{took(8*time.Second, 1), tooLarge(9*time.Second, took(6*time.Second, 2)), then(done, took(time.Second, 3))},
			"[{1 8s} {2 6s}]",
		},
		"a search before the first item": {
			batches{took(8*time.Second, 0), took(8*time.Second, 0), then(done, took(6*time.Second, 2))},
			"[{2 6s}]",
		},
		"batches without items": {
			batches{took(8*time.Second, 1), took(8*time.Second, 0), took(3*time.Second, 1), then(done, took(3*time.Second, 2))},
			"[{1 8s} {3 14s}]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mem := memstore.New()
				if _, r := measured(t, mem, mem, c.batches...); fmt.Sprint(r.Samples) != c.want {
					t.Errorf("samples: %v, want %s", r.Samples, c.want)
				}
			})
		})
	}
}

// A commit without an answer is counted once, and one that has not happened is not.
func TestWorkingTimeOfUnansweredCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &unanswered{Store: memstore.New()}
		_, r := measured(t, s, s.Store, took(6*time.Second, 1), took(7*time.Second, 2), then(session.Next{Done: true}, took(8*time.Second, 4)))
		if want := "[{1 6s} {2 7s} {4 8s}]"; fmt.Sprint(r.Samples) != want {
			t.Errorf("samples: %v, want %s", r.Samples, want)
		}
	})
}

// A preview says nothing about other tasks of its kind.
func TestWorkingTimeOfPreview(t *testing.T) {
	t.Parallel()
	for preview, want := range map[bool]int{true: 0, false: 1} {
		t.Run(fmt.Sprint(preview), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mem := memstore.New()
				mem.Accept(insertItem)
				id := submit(t, mem, func(n *store.NewTask) { n.Options.Preview = preview })
				c := config(t)
				c.MeasureEvery = 5 * time.Second
				kinds := demo(&paced{batches: []func(s *session.Step) (session.Next, error){then(session.Next{Done: true}, took(6*time.Second, 1))}})
				kinds["demo"].Preview = true
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := engine.New(mem, kinds, c).Run(ctx); err != nil {
					t.Error(err)
				}
				r, err := mem.Rate(t.Context(), id)
				of, kindErr := mem.KindRates(t.Context(), "demo", 10)
				if err != nil || kindErr != nil || len(r.Samples) != 1 || len(of) != want {
					t.Errorf("%v, %v; of the kind %v, %v", r, err, of, kindErr)
				}
			})
		})
	}
}
