package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/throttle"
)

// A reading is as old as what was read first, and one that takes longer than an interval still serves all sessions that
// wait for it.
func TestThrottleSlowReading(t *testing.T) {
	t.Parallel()
	slow := func(e *throttled, d, every time.Duration) {
		e.config.Throttle.Interval = every
		e.config.Throttle.Indicators = []throttle.Indicator{{Name: "mails", Check: func(context.Context) (string, error) { pass(d); return "", nil }}}
	}
	t.Run("age", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newThrottled(t, 20)
			slow(e, 2*time.Second, interval)
			began := time.Now()
			submit(t, e.s.Store)
			e.run(1, func() {
				pass(time.Second)
				e.vacuum("people", true) // the tables were read before, and the indicator has not answered yet
				pass(time.Minute)
				if n, _ := e.call.begun(began); n == 0 {
					t.Error("no batch")
				}
				if n, first := e.call.begun(began.Add(interval + 50*time.Millisecond)); n != 0 {
					t.Errorf("%d batches after an interval, the first %v after the beginning of the reading", n, first.Sub(began))
				}
			})
		})
	})
	t.Run("longer than an interval", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			e := newThrottled(t, 1000)
			e.config.Slots = 10
			slow(e, 500*time.Millisecond, 200*time.Millisecond)
			for range e.config.Slots {
				submit(t, e.s.Store)
			}
			began := time.Now()
			e.run(1, func() {
				pass(time.Minute)
				if n, _ := e.call.begun(began); n < 300 { // 1.5 s each
					t.Errorf("%d batches in a minute of %d tasks", n, e.config.Slots)
				}
			})
		})
	})
}

// An indicator that uses up the time of a reading makes only the tasks of its own kinds wait: another one that
// has answered is not taken for one that has not.
func TestThrottleSlowIndicatorOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newThrottled(t, 100)
		e.config.Throttle = session.ThrottleConfig{Interval: interval, Indicators: []throttle.Indicator{
			{Name: "slow", Kinds: []string{"other"}, Check: func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }},
			{Name: "quick", Check: func(context.Context) (string, error) { return "", nil }},
		}}
		submit(t, e.s.Store)
		e.run(1, func() {
			pass(10 * time.Minute)
			if of := seen[taskevent.TaskThrottled](e); len(of) > 0 {
				t.Errorf("the task was throttled %d times: %+v", len(of), of[0])
			}
		})
	})
}
