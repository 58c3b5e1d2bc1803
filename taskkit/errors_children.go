package taskkit

import "fmt"

// ParentEndedError: a child cannot be retried alone, because its parent has ended.
type ParentEndedError struct {
	ID, Parent ID
	Status     Status // of the parent
}

func (e *ParentEndedError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("taskkit: cannot retry task %s: its parent %s has been removed: submit its work again", e.ID, e.Parent)
	}
	return fmt.Sprintf("taskkit: cannot retry task %s: its parent %s has ended in %s: retry that, and it retries its failed children", e.ID, e.Parent, e.Status)
}

// ChildNeededError: a child cannot be deleted alone, because its parent is open, or has failed
// and can be retried. Without the child a stage would be done again, and the rows of a bucket
// would be left out.
type ChildNeededError struct {
	ID, Parent ID
	Status     Status // of the parent
}

func (e *ChildNeededError) Error() string {
	return fmt.Sprintf("taskkit: cannot delete task %s: its parent %s is in %s and goes by what has become of it: stop the task, or delete its parent", e.ID, e.Parent, e.Status)
}
