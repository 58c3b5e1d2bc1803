package taskops

import (
	"context"
	"time"

	"taskkit.dev/taskkit"
)

// PruneEvents deletes events (see [taskkit.Client.Events]) that are older than olderThan by
// the database's clock, of all tasks, the oldest first. It deletes at most limit in
// one transaction and returns how many; call it again until it returns fewer than
// limit. There is no other way to delete an event: the database refuses it.
//
// Both arguments must be positive; otherwise the error is an *[taskkit.OptionError].
func (o *Operator) PruneEvents(ctx context.Context, olderThan time.Duration, limit int) (int, error) {
	if olderThan <= 0 {
		return 0, &taskkit.OptionError{Option: "olderThan", Problem: "it must be positive, such as 90*24*time.Hour"}
	}
	if limit <= 0 {
		return 0, &taskkit.OptionError{Option: "limit", Problem: "it must be positive, such as 1000"}
	}
	op, err := o.store(ctx)
	if err != nil {
		return 0, err
	}
	n, err := op.PruneEvents(ctx, olderThan, limit)
	if err != nil {
		return 0, o.public(ctx, err)
	}
	return n, nil
}
