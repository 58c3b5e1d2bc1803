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

// ParentOpenError: a child cannot be deleted alone, because its parent is open. Without it a
// stage would be done again, and the rows of a bucket would be left out.
type ParentOpenError struct {
	ID, Parent ID
	Status     Status // of the parent
}

func (e *ParentOpenError) Error() string {
	return fmt.Sprintf("taskkit: cannot delete task %s: its parent %s is %s and counts on it: stop the task, or delete its parent", e.ID, e.Parent, e.Status)
}
