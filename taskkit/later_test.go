package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// LaterAt and Later leave the attempts as they were before the claim (CER-20).
// The time is absolute, and the reason is shown.
func TestLaterAt(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		until9 := time.Now().Add(9 * time.Hour).UTC().Truncate(time.Millisecond)
		k := newKind[countSpec, countState]("count", 10)
		cfg, r := quick(t, db), &recorder{}
		cfg.Observer = r
		started(t, db, registered(k, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			if b.Attempt <= 2 {
				return taskkit.More, errors.New("not yet")
			}
			switch b.State.Next++; {
			case b.Spec.Items == 1:
				b.Advance(1)
				return taskkit.LaterAt(until9, "the office is closed"), nil
			case b.State.Next == 1:
				return taskkit.Later(time.Millisecond), nil
			case b.State.Next == 2:
				return taskkit.LaterAt(time.Now().Add(-time.Hour), "the past"), nil
			default:
				return taskkit.LaterAt(until9, "the office is closed"), nil
			}
		}}), cfg)
		c := clientOf(db)
		for items, attempts := range map[int]int{0: 2, 1: 0} {
			id := submitted(t, db, k, countSpec{Items: items})
			var task *taskkit.Task
			until(t, "waits for its time", func() (ok bool) {
				var err error
				task, err = c.Task(t.Context(), id)
				return err == nil && task.Status == taskkit.StatusQueued && task.NotBefore.Equal(until9)
			})
			if task.Attempts != attempts {
				t.Errorf("%d items counted: %d attempts, want %d", items, task.Attempts, attempts)
			}
			if why, err := c.Explain(t.Context(), id); err != nil || !strings.Contains(why.Text, "the office is closed") {
				t.Errorf("explained as %q, %v", why, err)
			}
			checkReleases(t, r, id)
		}
	})
}

// checkReleases waits until a task of TestLaterAt was released until nine hours later,
// and checks the delays of its releases.
func checkReleases(t *testing.T, r *recorder, id taskkit.ID) {
	t.Helper()
	delays := make(map[string]time.Duration)
	until(t, "the last release is observed", func() bool {
		for _, e := range r.of(id) {
			if e, ok := e.(taskevent.TaskReleased); ok {
				delays[e.Reason] = e.Delay
			}
		}
		return delays["the office is closed"] != 0
	})
	if d := delays["the office is closed"]; d <= 8*time.Hour || d > 9*time.Hour {
		t.Errorf("released for %v, want nine hours less the time since", d)
	}
	if d := delays["the past"]; d != 0 {
		t.Errorf("released for %v until a time that has passed, want 0", d)
	}
	if d, ok := delays["asked to continue later"]; ok && d != time.Millisecond {
		t.Errorf("released for %v, want 1ms", d)
	}
}

// Values of Next can be compared and printed, and times are bounded.
func TestNextLater(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 0, 0, 1, time.FixedZone("x", 3600))
	for _, c := range []struct{ got, want string }{
		{taskkit.Later(time.Second).String(), "later 1s"},
		{taskkit.Later(-1).String(), "more"},
		{taskkit.LaterAt(time.Time{}, "x").String(), "more"},
		{taskkit.LaterAt(at, "x").String(), "later at 2026-03-01T08:00:00Z"},
		{taskkit.LaterAt(time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), "x").String(), "later at 9999-12-31T00:00:00Z"},
		{taskkit.LaterAt(time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), "x").String(), "later at 0001-01-01T00:00:01Z"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if taskkit.LaterAt(at, "x") != taskkit.LaterAt(at.UTC(), "x") || taskkit.LaterAt(at, "x") == taskkit.LaterAt(at, "y") {
		t.Error("values of Next cannot be compared")
	}
}
