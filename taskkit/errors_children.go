package taskkit

import "fmt"

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
)

func (e *ChildError) Error() string {
	switch {
	case e.Reason == NeededByParent:
		return fmt.Sprintf("taskkit: cannot delete task %s: its parent %s is in %s and goes by what has become of it: stop the task, or delete its parent", e.ID, e.Parent, e.Status)
	case e.Status == "":
		return fmt.Sprintf("taskkit: cannot retry task %s: its parent %s has been removed: submit its work again", e.ID, e.Parent)
	default:
		return fmt.Sprintf("taskkit: cannot retry task %s: its parent %s has ended in %s: retry that, and it retries its failed children", e.ID, e.Parent, e.Status)
	}
}
