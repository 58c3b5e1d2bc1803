package tasktest

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
)

// logger writes to the log of the test, from INFO on.
func logger(tb testing.TB) *slog.Logger {
	tb.Helper()
	return slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// runtimeLogger returns the log of the workers of a test. Planned faults have the same warnings at every batch, which
// would bury the message of the test. So of what the runtime logs, warnings and errors are written, each once. What
// executors log is written as it is.
func runtimeLogger(l *slog.Logger) *slog.Logger {
	return slog.New(&runtimeLog{l.Handler(), &sync.Map{}})
}

// runtimeLog is the handler of a runtimeLogger.
type runtimeLog struct {
	slog.Handler

	written *sync.Map // by message and what it is about
}

// Enabled implements [slog.Handler].
func (h *runtimeLog) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements [slog.Handler].
func (h *runtimeLog) Handle(ctx context.Context, r slog.Record) error {
	about := r.Message
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "task", "schedule", "reason", "error":
			about += " " + a.Value.String()
		}
		return true
	})
	if _, written := h.written.LoadOrStore(about, true); written {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler]. The log of an executor has its task as an attribute.
func (h *runtimeLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	of := h.Handler.WithAttrs(attrs)
	if slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Key == "task" }) {
		return of
	}
	return &runtimeLog{of, h.written}
}

// WithGroup implements [slog.Handler].
func (h *runtimeLog) WithGroup(name string) slog.Handler {
	return &runtimeLog{h.Handler.WithGroup(name), h.written}
}
