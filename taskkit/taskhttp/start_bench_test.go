package taskhttp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// BenchmarkStart compares starts over HTTP with Submit alone, 8 clients each. The two take
// turns, so that what else the machine does disturbs both. The goal is a ratio of 0.7.
func BenchmarkStart(b *testing.B) {
	for name, open := range map[string]func(testing.TB, ...testdb.Option) *testdb.DB{"postgres": testdb.Postgres, "sqlite": testdb.SQLite} {
		b.Run(name, func(b *testing.B) {
			e := newEnv(b, open(b), func(c *taskhttp.Config) { c.Logger = slog.New(slog.DiscardHandler) })
			transport := &http.Transport{MaxIdleConnsPerHost: clients}
			b.Cleanup(transport.CloseIdleConnections)
			submit := func(ctx context.Context) error {
				_, err := taskkit.Submit(ctx, e.db, workKind, workSpec{Mode: done}, taskkit.OwnedBy(e.person), taskkit.WithSchema(e.schema))
				return err
			}
			start := func(ctx context.Context) error {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.web.URL+startPath, strings.NewReader(`{"mode":"done"}`))
				if err != nil {
					return err
				}
				r.Header.Set("Person", e.person.String())
				r.Header.Set("Content-Type", "application/json")
				resp, err := (&http.Client{Transport: transport}).Do(r)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp.Body) // or the connection is closed
				return errors.Join(err, resp.Body.Close())
			}
			var alone, overHTTP time.Duration
			for range b.N {
				alone += together(b, submit)
				overHTTP += together(b, start)
			}
			calls := float64(b.N * turn)
			b.ReportMetric(calls/alone.Seconds(), "submits/s")
			b.ReportMetric(calls/overHTTP.Seconds(), "starts/s")
			b.ReportMetric(alone.Seconds()/overHTTP.Seconds(), "ratio")
		})
	}
}

const (
	clients = 8
	turn    = 400 // calls
)

// together makes the calls of a turn from all clients and returns how long that took.
func together(b *testing.B, call func(context.Context) error) time.Duration {
	b.Helper()
	var (
		calls atomic.Int64
		wg    sync.WaitGroup
		began = time.Now()
	)
	for range clients {
		wg.Go(func() {
			for calls.Add(1) <= turn {
				if err := call(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}
