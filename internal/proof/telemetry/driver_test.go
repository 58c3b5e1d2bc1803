package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The spans of an instrumented pgx are below the batch whose statements they are: the first batch of a worker's work is the slice.
func TestTraceOfInstrumentedDriver(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	if err := taskkit.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	e, w, k := newEnv(t, db), newWork(), kindNamed("work")
	tr := e.trace(sdktrace.AlwaysSample())
	config, err := pgx.ParseConfig(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	config.Tracer = otelpgx.NewTracer(otelpgx.WithTracerProvider(tr.provider))
	instrumented := *db
	instrumented.DB = stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = instrumented.DB.Close() })
	var batches atomic.Int32
	w.batches = func(ctx context.Context, b *workBatch) {
		n := batches.Add(1)
		for _, statement := range []string{"first", "second"} {
			if _, err := b.Tx.ExecContext(ctx, fmt.Sprintf("SELECT 'the %s statement of batch %d'", statement, n)); err != nil {
				t.Error(err)
			}
		}
	}
	var r taskkit.Registry
	taskkit.Register(&r, k, w)
	newEnv(t, &instrumented).start(&r, taskkit.Config{Observer: tr})
	e.ended(e.submit(k, workSpec{Numbers: []int{1, 2, 3, 4, 5, 6}}, taskkit.WithObserver(tr)))
	below := map[string]trace.SpanContext{"1": tr.await("run work", 1)[0].SpanContext}
	for _, s := range tr.spans("batch work") {
		if n := attributeOf(s, "taskkit.batch"); n != "1" {
			below[n] = s.SpanContext
		}
	}
	for n := range batches.Load() {
		for _, statement := range []string{"first", "second"} {
			text := fmt.Sprintf("the %s statement of batch %d", statement, n+1)
			found := 0
			for _, s := range tr.exporter.GetSpans() {
				if !strings.Contains(attributeOf(s, "db.query.text"), text) {
					continue
				}
				found++
				if want := below[fmt.Sprint(n+1)]; s.Parent.SpanID() != want.SpanID() || s.SpanContext.TraceID() != want.TraceID() {
					t.Errorf("%s is below %v, want the batch %v", text, s.Parent.SpanID(), want.SpanID())
				}
			}
			if found != 1 {
				t.Errorf("%s has %d spans", text, found)
			}
		}
	}
}
