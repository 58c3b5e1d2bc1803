package shapes_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// waiter waits in each batch for something else than the database.
type waiter struct{}

func (waiter) Execute(ctx context.Context, b *taskkit.Batch[shapeSpec, struct{}]) (taskkit.Next, error) {
	_, next := taskkit.Take(b, b.Spec.Numbers)
	select {
	case <-time.After(20 * time.Millisecond):
		return next, nil
	case <-ctx.Done():
		return next, ctx.Err()
	}
}

// A frozen set of 4,000 numbers in batches of 10, each of which waits 20 ms, on two workers of four slots: as a whole, and in ranges of
// which eight are open.
func BenchmarkRanges(b *testing.B) {
	k := taskkit.NewKind(taskkind.Definition[shapeSpec, struct{}, struct{}]{
		Name: "waits", BatchSize: 10, MaxBatchSize: 10, Targets: taskkind.TargetsIn("numbers", func(s *shapeSpec) *[]int { return &s.Numbers }),
	})
	numbers := make([]int, 4000)
	for i := range numbers {
		numbers[i] = i
	}
	for _, open := range []func(testing.TB, ...testdb.Option) *testdb.DB{testdb.Postgres, testdb.SQLite} {
		db := open(b)
		schema := cmp.Or(db.Schema, taskkit.DefaultSchema)
		if err := taskkit.Migrate(b.Context(), db.DB, schema); err != nil {
			b.Fatal(err)
		}
		for range 2 {
			var r taskkit.Registry
			taskkit.Register(&r, k, waiter{})
			w, err := taskkit.NewWorker(b.Context(), db.DB, &r, taskkit.Config{Schema: schema, Slots: 4, SystemID: "bench", Poll: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			b.Cleanup(func() {
				cancel()
				if err := <-done; err != nil {
					b.Errorf("worker: %v", err)
				}
			})
		}
		client := taskkit.NewClient(db.DB, taskkit.WithSchema(schema))
		for _, parallel := range []int{0, 8} {
			b.Run(fmt.Sprintf("%s/parallel=%d", db.Short(), parallel), func(b *testing.B) {
				opts := []taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(schema), taskkit.WithTargets(slices.Values(numbers))}
				if parallel > 0 {
					opts = append(opts, taskkit.WithMaxParallel(parallel))
				}
				for b.Loop() {
					id, err := taskkit.Submit(b.Context(), db.DB, k, shapeSpec{}, opts...)
					if err == nil {
						_, err = client.Wait(b.Context(), id, nil)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
