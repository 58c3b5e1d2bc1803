package taskkit

import (
	"fmt"

	"taskkit.dev/internal/lifecycle"
)

// ChildError: a request for a child alone was refused because of its parent.
type ChildError struct {
	ID, Parent ID
	Status     Status // of the parent; "" if it has been removed
	Reason     ChildReason
}

// ChildReason is why a request for a child alone is refused.
type ChildReason string

// The reasons.
const (
	// ParentEnded: the child cannot be retried, because its parent has ended. A retry of the
	// parent retries its failed children.
	ParentEnded ChildReason = "parent ended"
	// NeededByParent: the child cannot be deleted, because its parent is open, or has failed
	// and can be retried. Without the child a stage would be done again, and the rows of a
	// bucket would be left out.
	NeededByParent ChildReason = "needed by parent"
	// PartOfParent: the child cannot be stopped, because it is a bucket or a stage of its parent, whose work would be
	// incomplete. Stop the parent, or leave the rest of the part out, see [WithSkip].
	PartOfParent ChildReason = "part of parent"
)

// childReasons are the reasons by the action that is refused.
var childReasons = map[lifecycle.Action]ChildReason{
	lifecycle.ActRetry: ParentEnded, lifecycle.ActDelete: NeededByParent, lifecycle.ActStop: PartOfParent,
}

func (e *ChildError) Error() string {
	switch {
	case e.Reason == NeededByParent:
		return fmt.Sprintf("taskkit: cannot delete task %s: its parent %s is in %s and goes by what has become of it: delete its parent", e.ID, e.Parent, e.Status)
	case e.Reason == PartOfParent:
		return fmt.Sprintf("taskkit: cannot stop task %s alone: it is a part of task %s, whose work would be incomplete: stop task %s, or leave the rest of the part out (WithSkip and WithReason)", e.ID, e.Parent, e.Parent)
	case e.Status == "":
		return fmt.Sprintf("taskkit: cannot retry task %s: its parent %s has been removed: submit its work again", e.ID, e.Parent)
	default:
		return fmt.Sprintf("taskkit: cannot retry task %s: its parent %s has ended in %s: retry that, and it retries its failed children", e.ID, e.Parent, e.Status)
	}
}
