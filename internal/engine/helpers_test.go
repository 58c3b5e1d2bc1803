package engine_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// insertItem is the statement with which executors write.
const insertItem = "INSERT INTO ledger (item) VALUES ($1)"

// config returns the configuration of a worker with one slot. Its times are long,
// because the clock of a synctest bubble does not wait.
func config(t *testing.T) engine.Config {
	t.Helper()
	return engine.Config{
		Config: session.Config{
			MaxAttempts: 3, BatchTimeout: 20 * time.Second, BatchTarget: time.Second, Quantum: time.Minute,
			Heartbeat: 10 * time.Second, Call: 10 * time.Second, LockTimeout: time.Second,
			Backoff: classify.Backoff{Base: time.Second, Cap: time.Minute},
		},
		System: "test", Queues: []string{"default"}, Slots: 1, SpecMax: 1 << 10, Drain: 20 * time.Second,
		DeadAfter: time.Minute, Poll: time.Second, PollListening: 15 * time.Second,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

// submit stores a task of the kind demo.
func submit(t *testing.T, s *memstore.Store, change ...func(*store.NewTask)) uuid.UUID {
	t.Helper()
	id, person := uuid.Must(uuid.NewV7()), uuid.New()
	n := store.NewTask{
		Submitted: store.Submitted{Kind: "demo", Owner: person, RunAs: person, Queue: "default"},
		ID:        id, Revision: 1, Spec: json.RawMessage(`{}`), Priority: 2, Total: -1,
		Options: new(store.Options),
	}
	for _, f := range change {
		f(&n)
	}
	if err := s.Insert(t.Context(), []store.NewTask{n}, false); err != nil {
		t.Fatal(err)
	}
	return id
}

// abandoned submits a task and lets a process claim it that is silent from then on.
func abandoned(t *testing.T, s *memstore.Store) uuid.UUID {
	t.Helper()
	id := submit(t, s)
	dead := store.Process{ID: "dead", Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, Slots: 1, DeadAfter: time.Second}
	if err := s.RegisterWorker(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), store.Claim{Process: "dead", Queues: dead.Queues, Kinds: dead.Kinds, Limit: 1}); err != nil {
		t.Fatal(err)
	}
	return id
}

// demo returns a worker's kinds: only "demo", whose tasks all run the same call.
func demo(c session.Call) map[string]*session.Kind {
	return map[string]*session.Kind{"demo": {
		Name: "demo", Revision: 1, Reads: []int{1}, Limit: 1,
		Open: func(session.Task, json.RawMessage) (session.Call, error) { return c, nil },
	}}
}

// runFor runs a worker for a time of the bubble's clock.
func runFor(t *testing.T, s store.Runtime, c engine.Config, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := engine.New(s, demo(atOnce{}), c).Run(ctx); err != nil {
		t.Error(err)
	}
}
