package browser_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// workerArgs are what a worker in a process of its own gets besides its database.
type workerArgs struct {
	SystemID string
	HoldAt   int
	Repaired bool
}

func TestMain(m *testing.M) {
	workers.Main(m, 6, func(args workers.Args, r *taskkit.Registry) taskkit.Config {
		var a workerArgs
		if err := json.Unmarshal(args.Extra, &a); err != nil {
			panic(err)
		}
		register(r, enroller{holdAt: a.HoldAt, repaired: a.Repaired})
		config := workerConfig(args.Schema)
		config.SystemID, config.Logger = a.SystemID, slog.New(slog.DiscardHandler)
		return config
	})
}

// launch starts a worker in a process of its own, and returns how it is killed. It ends with the test at the latest.
func (s *site) launch(t *testing.T, a workerArgs) (kill func()) {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	args := workers.On(s.db)
	args.Extra = raw
	return workers.Launch(t, args).Kill
}

// work runs a worker in this process until the test ends.
func (s *site) work(tb testing.TB) {
	tb.Helper()
	config := workerConfig(s.schema)
	config.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil))
	w, err := taskkit.NewWorker(tb.Context(), s.db.DB, kinds(), config)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
}

// submit submits a task of a person.
func submit[Spec, State, Result any](tb testing.TB, s *site, k *taskkit.Kind[Spec, State, Result], person string, spec Spec, opts ...taskkit.SubmitOption) taskkit.ID {
	tb.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.OwnedBy(s.people[person].ID), taskkit.WithSchema(s.schema)}, opts...)
	id, err := taskkit.Submit(tb.Context(), s.db.DB, k, spec, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// ended waits until a task has ended.
func (s *site) ended(tb testing.TB, id taskkit.ID) {
	tb.Helper()
	if _, err := s.client.Wait(testdb.Within(tb), id, nil); err != nil {
		tb.Fatal(err)
	}
}

// until waits until something holds.
func (*site) until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	ctx := testdb.Within(tb)
	for !holds() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			tb.Fatalf("%s: %v", what, ctx.Err())
		}
	}
}
