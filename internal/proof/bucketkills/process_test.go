package bucketkills_test

import (
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/taskkit"
)

func TestMain(m *testing.M) {
	workers.Main(m, 6, func(a workers.Args, r *taskkit.Registry) taskkit.Config {
		taskkit.Register(r, visitKind, visitor{a.Table("visited")})
		return taskkit.Config{
			Slots: 2, Heartbeat: 300 * time.Millisecond, DeadAfter: 2 * time.Second, BatchTimeout: time.Second,
			Poll: 50 * time.Millisecond, PollListening: 200 * time.Millisecond,
			Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000, Logger: slog.New(slog.DiscardHandler),
		}
	})
}
