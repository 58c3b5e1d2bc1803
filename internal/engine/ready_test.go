package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// failing is a store of which claims and heartbeats can be made to fail.
type failing struct {
	*memstore.Store
	claims, beats atomic.Bool
}

func (s *failing) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	if s.claims.Load() {
		return store.ClaimResult{}, errors.New("no answer")
	}
	return s.Store.Claim(ctx, c)
}

func (s *failing) Heartbeat(ctx context.Context, process string, draining bool) error {
	if s.beats.Load() {
		return errors.New("no answer")
	}
	return s.Store.Heartbeat(ctx, process, draining)
}

func (s *failing) RegisterWorker(ctx context.Context, p store.Process) error {
	if s.beats.Load() {
		return errors.New("no answer")
	}
	return s.Store.RegisterWorker(ctx, p)
}

// untilCancelled executes batches that last until their context ends.
type untilCancelled struct{ atOnce }

func (untilCancelled) Execute(ctx context.Context, _ *session.Step, _ json.RawMessage) (session.Next, json.RawMessage, error) {
	<-ctx.Done()
	return session.Next{}, nil, ctx.Err()
}

// A worker is ready while it could claim a task, and says what it lacks otherwise. It needs no free slot and no empty queue.
func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &failing{Store: memstore.New()}
		w := engine.New(s, demo(untilCancelled{}), config(t))
		is := func(what, want string) {
			t.Helper()
			synctest.Wait()
			err := w.Ready()
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
		is("before Run", "it is not registered")
		for range 100 {
			submit(t, s.Store)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		<-time.After(time.Second) // in the bubble
		is("a backlog, and no free slot", "")
		<-time.After(10 * time.Minute) // in the bubble
		is("after ten minutes of it", "")

		s.beats.Store(true)
		<-time.After(5 * time.Minute) // in the bubble
		is("while it cannot register", "it is not registered")
		s.beats.Store(false)
		<-time.After(2 * time.Minute) // in the bubble
		is("registered again", "")
		cancel()
		is("while it shuts down", "it is shutting down")
		if err := <-done; err != nil {
			t.Error(err)
		}
		is("after Run", "it is not registered")
	})
}

// A worker that looks for no tasks, because its claims fail, is not ready, and one in safe mode need not look.
func TestReadyNeedsPolls(t *testing.T) {
	t.Parallel()
	for safe, want := range map[bool]string{false: "it has not looked for tasks for", true: ""} {
		synctest.Test(t, func(t *testing.T) {
			s := &failing{Store: memstore.New()}
			c := config(t)
			c.SafeMode = safe
			w := engine.New(s, demo(atOnce{}), c)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			<-time.After(time.Minute) // in the bubble
			synctest.Wait()
			if err := w.Ready(); err != nil {
				t.Errorf("safe mode %t: %v", safe, err)
			}
			s.claims.Store(true)
			<-time.After(2 * time.Minute) // in the bubble
			synctest.Wait()
			if err := w.Ready(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("safe mode %t, claims fail: %v, want %q", safe, err, want)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
