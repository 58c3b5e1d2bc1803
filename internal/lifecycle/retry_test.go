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
	for _, tc := range []struct {
		row  lifecycle.Row
		want bool
	}{
		{lifecycle.Row{Progress: lifecycle.Progress{Total: -1}}, true},                   // in the first batch
		{lifecycle.Row{Seq: 2, Progress: lifecycle.Progress{Total: 5, Taken: 4}}, true},  // at the last item
		{lifecycle.Row{Seq: 2, Progress: lifecycle.Progress{Total: 5, Taken: 5}}, false}, // after it
		{lifecycle.Row{Seq: 2, Progress: lifecycle.Progress{Total: 5, Done: 4}}, false},  // without Take
	} {
		if got := tc.row.CanSkip(); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.row, got, tc.want)
		}
		after, before := tc.row.SkipItem().Progress, tc.row.Progress
		before.Taken, before.Failed = before.Taken+1, before.Failed+1
		if after != before {
			t.Errorf("after a skip: %+v, want %+v", after, before)
		}
	}
}
