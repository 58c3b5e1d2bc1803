package lifecycle_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/lifecycle"
)

func TestAfterError(t *testing.T) {
	t.Parallel()
	const backoff = 10 * time.Second
	for _, tc := range []struct {
		class   lifecycle.Class
		attempt int // of 3
		after   time.Duration
		want    lifecycle.Reaction
		delay   time.Duration
	}{
		{lifecycle.Transient, 1, 0, lifecycle.Retry, backoff},
		{lifecycle.Transient, 2, 0, lifecycle.Retry, backoff},
		{lifecycle.Transient, 1, time.Second, lifecycle.Retry, backoff},
		{lifecycle.Transient, 1, time.Minute, lifecycle.Retry, time.Minute},
		{lifecycle.Transient, 3, 0, lifecycle.GiveUp, 0},
		{lifecycle.Transient, 3, time.Minute, lifecycle.GiveUp, 0},
		{lifecycle.Transient, 4, 0, lifecycle.GiveUp, 0},
		{lifecycle.Permanent, 1, 0, lifecycle.Fail, 0},
		{lifecycle.Permanent, 3, 0, lifecycle.Fail, 0},
		{lifecycle.Refused, 1, 0, lifecycle.Retry, backoff},
		{lifecycle.Refused, 3, 0, lifecycle.GiveUp, 0},
		{lifecycle.Interrupted, 1, 0, lifecycle.Release, 0},
		{lifecycle.Interrupted, 3, 0, lifecycle.Release, 0},
		{lifecycle.LeaseLost, 1, 0, lifecycle.Verify, 0},
		{lifecycle.LeaseLost, 3, 0, lifecycle.Verify, 0},
	} {
		got, delay := lifecycle.AfterError(lifecycle.BatchError{
			Class: tc.class, Attempt: tc.attempt, MaxAttempts: 3, Backoff: backoff, After: tc.after,
		})
		if got != tc.want || delay != tc.delay {
			t.Errorf("%s at attempt %d of 3, after %v: %d in %v, want %d in %v", tc.class, tc.attempt, tc.after, got, delay, tc.want, tc.delay)
		}
	}
}

// A refused statement is tried three times, however many attempts a task has.
func TestAfterErrorOfRefusedStatement(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]lifecycle.Reaction{1: lifecycle.Retry, 2: lifecycle.Retry, 3: lifecycle.GiveUp} {
		if got, _ := lifecycle.AfterError(lifecycle.BatchError{Class: lifecycle.Refused, Attempt: attempt, MaxAttempts: 20}); got != want {
			t.Errorf("attempt %d of 20: %d, want %d", attempt, got, want)
		}
	}
	if got, _ := lifecycle.AfterError(lifecycle.BatchError{Class: lifecycle.Refused, Attempt: 1, MaxAttempts: 1}); got != lifecycle.GiveUp {
		t.Errorf("attempt 1 of 1: %d, want that the task is given up", got)
	}
}

func TestAfterErrorOfTooLargeBatch(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]lifecycle.Reaction{100: lifecycle.Shrink, 2: lifecycle.Shrink, 1: lifecycle.Fail, 0: lifecycle.Fail} {
		got, _ := lifecycle.AfterError(lifecycle.BatchError{
			Class: lifecycle.Permanent, Attempt: 1, MaxAttempts: 3, TooLarge: true, Limit: limit,
		})
		if got != want {
			t.Errorf("limit %d: %d, want %d", limit, got, want)
		}
	}
}

func TestPoisoned(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]bool{1: false, 2: false, 3: false, 4: true, 5: true} {
		if got := lifecycle.Poisoned(attempts, 3); got != want {
			t.Errorf("%d attempts of 3: poisoned is %v", attempts, got)
		}
	}
}

func TestQuarantined(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]bool{1: false, 2: false, 3: true, 4: true} {
		if got := lifecycle.Quarantined(true, attempts); got != want {
			t.Errorf("%d attempts, last worker lost: quarantined is %v", attempts, got)
		}
		if lifecycle.Quarantined(false, attempts) {
			t.Errorf("%d attempts, last worker not lost: quarantined", attempts)
		}
	}
}

func TestRunsAlone(t *testing.T) {
	t.Parallel()
	for attempts, want := range map[int]bool{1: false, 2: false, 3: true, 4: true} {
		if got := lifecycle.RunsAlone(attempts); got != want {
			t.Errorf("%d attempts: runs alone is %v", attempts, got)
		}
	}
}

func TestPoisonItem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		stalled         bool
		attempts, limit int
		want            bool
	}{
		{true, 4, 1, true},
		{true, 9, 1, true},
		{true, 3, 1, false},  // the last attempt was not in quarantine
		{true, 9, 2, false},  // the item was not alone
		{false, 9, 1, false}, // the last attempt ended in an error
	} {
		if got := lifecycle.PoisonItem(tc.stalled, tc.attempts, tc.limit); got != tc.want {
			t.Errorf("stalled %v, %d attempts, last limit %d: %v", tc.stalled, tc.attempts, tc.limit, got)
		}
	}
}

func TestSkipItem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		seq      int64
		progress lifecycle.Progress
		deferred int64 // the next deferred item
		want     int64
	}{
		"in the first batch":                 {0, lifecycle.Progress{Total: -1}, 0, 1},
		"at the last item":                   {2, lifecycle.Progress{Total: 5, Position: 4}, 0, 5},
		"after the last item":                {2, lifecycle.Progress{Total: 5, Position: 5}, 0, 0},
		"without Take":                       {2, lifecycle.Progress{Total: 5, Done: 4}, 0, 0},
		"after a deferred item":              {2, lifecycle.Progress{Total: 5, Position: 3, Deferred: true}, 0, 4},
		"before a deferred item":             {4, lifecycle.Progress{Total: 5, Round: 1}, 2, 2},
		"between deferred items":             {5, lifecycle.Progress{Total: 5, Round: 1, Position: 2, Deferred: true}, 4, 4},
		"after all items that were deferred": {6, lifecycle.Progress{Total: 5, Round: 1, Position: 4}, 0, 0},
	} {
		row := lifecycle.Row{Seq: tc.seq, Progress: tc.progress}
		if got := row.Skippable(tc.deferred); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
		after, want := row.SkipItem(tc.want).Progress, tc.progress
		want.Position, want.Failed = tc.want, want.Failed+1
		if after != want {
			t.Errorf("%s: after a skip: %+v, want %+v", name, after, want)
		}
	}
}
