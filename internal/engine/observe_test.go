package engine

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// observedSession is a session that reports to an observer.
func observedSession(ctx context.Context, log *slog.Logger, user func(context.Context, taskevent.Event)) *session {
	o := newObserver(ctx, Config{Log: log, Observe: user}).as("w")
	return newSession(ctx, &sessionDeps{events: o}, &Kind{Name: "demo", Limit: 10}, store.ClaimedTask{Kind: "demo"})
}

// reportOneBatch reports what a batch of a session does.
func reportOneBatch(s *session, step *Step) {
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

// Every event has a line of its own, and those of reportFrequent have the level
// DEBUG.
func TestLines(t *testing.T) {
	t.Parallel()
	frequent := []taskevent.Event{taskevent.TaskClaimed{}, taskevent.BatchDone{}, taskevent.CheckpointWritten{}, taskevent.TaskReleased{}, taskevent.TaskThrottled{}, taskevent.TaskEnded{Status: string(lifecycle.Completed)}}
	rare := []taskevent.Event{
		taskevent.WorkerStarted{},
		taskevent.WorkerStarted{SafeMode: true},
		taskevent.WorkerEnded{},
		taskevent.WorkerPolling{},
		taskevent.PresenceMissing{},
		taskevent.PresenceUnknown{},
		taskevent.ThrottleBegan{},
		taskevent.ThrottleEnded{},
		taskevent.IndicatorUnreadable{},
		taskevent.DeclaredDead{},
		taskevent.HeartbeatFailed{},
		taskevent.ClaimFailed{},
		taskevent.GroupCommitFailed{},
		taskevent.CallFailed{Call: taskevent.CallRegister},
		taskevent.CallFailed{Call: taskevent.CallDeregister},
		taskevent.CallFailed{Call: taskevent.CallReap},
		taskevent.CallFailed{Call: taskevent.CallPresence},
		taskevent.CallFailed{Call: taskevent.CallFoundAlive},
		taskevent.CallFailed{Call: taskevent.CallCheckClaims},
		taskevent.CallFailed{Call: taskevent.CallSchedules},
		taskevent.ScheduleFired{},
		taskevent.ScheduleMissed{},
		taskevent.ScheduleFailed{},
		taskevent.ScheduleFailed{Wall: "2026-03-29 02:30"},
		taskevent.BatchesCancelled{},
		taskevent.SessionsAbandoned{},
		taskevent.TasksTakenOver{},
		taskevent.KindUnknown{},
		taskevent.UnknownKindsEnded{},
		taskevent.ClaimLost{},
		taskevent.BatchShrunk{},
		taskevent.ItemSkipped{},
		taskevent.TaskRetried{},
		taskevent.TaskLost{},
		taskevent.ExecutorAbandoned{},
		taskevent.CommitReadBack{},
		taskevent.ReadBackFailed{},
		taskevent.EndingFailed{},
		taskevent.WriteRefused{},
	}
	messages := make(map[string]bool)
	check := func(e taskevent.Event, debug bool) {
		level, message, args := line(e)
		if (level == slog.LevelDebug) != debug {
			t.Errorf("%T has the level %v", e, level)
		}
		if messages[message] || message == noLine || len(args)%2 != 0 {
			t.Errorf("%T has the line %q with %d arguments", e, message, len(args))
		}
		messages[message] = true
	}
	for _, e := range frequent {
		check(e, true)
	}
	for _, e := range rare {
		check(e, false)
	}
}

// The first panic of the user's observer is logged; events after it still arrive.
func TestObserverPanics(t *testing.T) {
	t.Parallel()
	calls := 0
	log := &countingHandler{Handler: slog.DiscardHandler}
	o := newObserver(t.Context(), Config{Log: slog.New(log), Observe: func(context.Context, taskevent.Event) {
		calls++
		panic(fmt.Sprintf("call %d", calls))
	}})
	for range 3 {
		o.report(taskevent.HeartbeatFailed{DeadlineIn: time.Second})
	}
	if calls != 3 || log.errors != 1 {
		t.Errorf("%d calls and %d errors logged, want 3 and 1", calls, log.errors)
	}
}

// countingHandler counts the errors of a log.
type countingHandler struct {
	slog.Handler

	errors int
}

// Enabled implements [slog.Handler].
func (*countingHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (h *countingHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelError {
		h.errors++
	}
	return nil
}
