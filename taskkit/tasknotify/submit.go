package tasknotify

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
)

// Submit stores a notification that is about no event of a task, such as a finding of a check. It is delivered if tx commits. The target
// is needed. At defaults to now. It takes the options of taskkit.Submit: WithIdempotencyKey makes it the only notification with the key, and
// without OwnedBy it is the system's.
func Submit(ctx context.Context, tx taskkit.Execer, n notice.Notice, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
	if !notice.ValidTarget(n.Target) {
		return taskkit.ID{}, &taskkit.OptionError{Option: "tasknotify.Submit", Problem: fmt.Sprintf("%.70q is not the name of a target", n.Target)}
	}
	if n.Event == "" || n.Event == notice.Ended {
		return taskkit.ID{}, &taskkit.OptionError{Option: "tasknotify.Submit", Problem: "the notification has no event"}
	}
	if n.At.IsZero() {
		n.At = time.Now().UTC()
	}
	return taskkit.Submit(ctx, tx, Kind, n, append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithPriority(taskkit.PriorityHigh)}, opts...)...)
}
