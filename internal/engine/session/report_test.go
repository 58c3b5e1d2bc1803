package session

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// observedSession is a session that reports to an observer.
func observedSession(ctx context.Context, log *slog.Logger, user func(context.Context, taskevent.Event)) *Session {
	o := observe.New(ctx, log, user).As("w")
	return New(ctx, &Deps{Events: o}, &Kind{Name: "demo", Limit: 10}, store.ClaimedTask{Kind: "demo"})
}

// reportOneBatch reports what a batch of a session does.
func reportOneBatch(s *Session, step *Step) {
	s.reportBatch(step, time.Second, lifecycle.Progress{Done: 10}, classify.Classification{})
	s.reportWritten(&store.Write{Checkpoint: true, To: lifecycle.Executing, Progress: lifecycle.Progress{Done: 10}}, lifecycle.None)
}

// The events of a batch cost no allocation while nobody receives them.
func TestEventsOfABatchAllocateNothing(t *testing.T) { //nolint:paralleltest // AllocsPerRun must be alone
	s := observedSession(t.Context(), slog.New(slog.DiscardHandler), nil)
	step := newStep(s.task, Env{Limit: 10}, s.progress)
	if n := testing.AllocsPerRun(1000, func() { reportOneBatch(s, step) }); n != 0 {
		t.Errorf("%v allocations in a batch, want none", n)
	}
}

func BenchmarkEventsOfABatch(b *testing.B) {
	for name, user := range map[string]func(context.Context, taskevent.Event){
		"log":      nil,
		"observer": func(context.Context, taskevent.Event) {},
	} {
		b.Run(name, func(b *testing.B) {
			s := observedSession(b.Context(), slog.New(slog.DiscardHandler), user)
			step := newStep(s.task, Env{Limit: 10}, s.progress)
			b.ReportAllocs()
			for b.Loop() {
				reportOneBatch(s, step)
			}
		})
	}
}
