// Package maintain is what every worker does for all tasks beside its own: it removes old rows, submits the tasks of schedules,
// and wakes tasks whose wait is over.
package maintain

import (
	"context"
	"time"
)

// Intervals are when a worker maintains the tables.
type Intervals struct {
	// Idle is the shortest period for which idle tasks of any kind are kept (0: for ever), and Events the period for events.
	Idle   time.Duration
	Events time.Duration
	// CleanEvery is how often old rows are removed. 0: never.
	CleanEvery time.Duration
	// ScheduleEvery is how often new schedules are looked for. 0: schedules are not fired.
	ScheduleEvery time.Duration
	// UnknownKindAfter is after how long a task ends whose kind no worker has; 0 or less: never.
	UnknownKindAfter time.Duration
}

// wake signals c, unless a signal is pending.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
