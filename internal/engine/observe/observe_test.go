package observe

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// Every event has a line of its own. The events of Frequent have the level DEBUG, and so does a cause
// that no operator can remove.
func TestLines(t *testing.T) {
	t.Parallel()
	frequent := []taskevent.Event{
		taskevent.TaskClaimed{},
		taskevent.BatchDone{},
		taskevent.CheckpointWritten{},
		taskevent.TaskReleased{},
		taskevent.TaskThrottled{},
		taskevent.TaskEnded{Status: string(lifecycle.Completed)},
		taskevent.PresenceMissing{Err: fmt.Errorf("watch: %w", store.ErrInMemory)},
	}
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
		taskevent.OutageBegan{},
		taskevent.OutageEnded{},
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
		taskevent.TasksExpired{},
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
	o := New(t.Context(), slog.New(log), func(context.Context, taskevent.Event) {
		calls++
		panic(fmt.Sprintf("call %d", calls))
	})
	for range 3 {
		o.Report(taskevent.HeartbeatFailed{DeadlineIn: time.Second})
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
