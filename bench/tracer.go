package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// tracer measures the statements that claim tasks, on the client, from the request to
// the last row.
type tracer struct {
	mu     sync.Mutex
	claims []time.Duration
}

type tracedKey struct{}

// TraceQueryStart implements [pgx.QueryTracer].
func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "SKIP LOCKED") {
		return ctx
	}
	return context.WithValue(ctx, tracedKey{}, time.Now())
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (t *tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	began, ok := ctx.Value(tracedKey{}).(time.Time)
	if !ok {
		return
	}
	t.mu.Lock()
	t.claims = append(t.claims, time.Since(began))
	t.mu.Unlock()
}

// p99 returns the 99th percentile of the claims, in milliseconds.
func (t *tracer) p99() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.Sort(t.claims)
	return quantile(t.claims, 0.99)
}

// reset removes the measured times.
func (t *tracer) reset() {
	t.mu.Lock()
	t.claims = nil
	t.mu.Unlock()
}
