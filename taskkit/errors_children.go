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
