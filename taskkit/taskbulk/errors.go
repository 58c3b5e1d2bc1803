package taskbulk

import (
	"errors"
	"fmt"

	"taskkit.dev/taskkit"
)

// ErrNone: no task matches. Nothing was submitted.
var ErrNone = errors.New("taskbulk: no task matches, so there is nothing to do")

// FilterError: no index serves the filter, and there are more than 1,000,000 tasks to look for it in. Nothing was submitted.
type FilterError struct {
	// Filter says in words what the filter selects.
	Filter string
}

func (e *FilterError) Error() string {
	return fmt.Sprintf("taskbulk: no index serves the filter %q, and there are more than 1,000,000 tasks: add an owner, a parent, a reference or a unique key, "+
		"the statuses ERROR and FAILURE or SCHEDULING and EXECUTING alone, Running, or name the tasks by their ids", e.Filter)
}

// TooManyError: more tasks match than Request.Max. Nothing was submitted.
type TooManyError struct{ Max int64 }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("taskbulk: more than %d tasks match: narrow the filter, and submit one bulk operation after the other", e.Max)
}

// refuse returns the error of a field of a request.
func refuse(field, problem string) error {
	return &taskkit.OptionError{Option: "taskbulk.Request." + field, Problem: problem}
}
