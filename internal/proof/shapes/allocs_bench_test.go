package shapes_test

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// nothing does nothing, in one batch.
type nothing struct{}

func (nothing) Execute(context.Context, *taskkit.Batch[struct{}, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// BenchmarkAllocations counts what the process allocates for a plain task of one batch that uses no option, from its submission to its
// end. On SQLite most of it is the driver's.
func BenchmarkAllocations(b *testing.B) {
	k := taskkit.NewKind(taskkind.Definition[struct{}, struct{}, struct{}]{Name: "nothing", BatchSize: 1})
	for _, open := range []func(testing.TB, ...testdb.Option) *testdb.DB{testdb.Postgres, testdb.SQLite} {
		db := open(b)
		b.Run(db.Short(), func(b *testing.B) {
			schema := cmp.Or(db.Schema, taskkit.DefaultSchema)
			if err := taskkit.Migrate(b.Context(), db.DB, schema); err != nil {
				b.Fatal(err)
			}
			var r taskkit.Registry
			taskkit.Register(&r, k, nothing{})
			w, err := taskkit.NewWorker(b.Context(), db.DB, &r, taskkit.Config{Schema: schema, Slots: 1, SystemID: "bench", Poll: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			client := taskkit.NewClient(db.DB, taskkit.WithSchema(schema))
			var ids []taskkit.ID
			submit := func(n int) {
				for range n {
					id, err := taskkit.Submit(b.Context(), db.DB, k, struct{}{}, taskkit.System(), taskkit.WithSchema(schema))
					if err != nil {
						b.Fatal(err)
					}
					ids = append(ids, id)
				}
			}
			const tasks = 1000
			submit(tasks)
			ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
			done := make(chan error, 1)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			go func() { done <- w.Run(ctx) }()
			if _, err := client.Wait(b.Context(), ids[tasks-1], nil); err != nil {
				b.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			cancel()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/tasks, "allocs/task")
			b.ReportMetric(0, "ns/op")
		})
	}
}
