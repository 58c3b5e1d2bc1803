package taskkit

import (
	"errors"
	"fmt"
	"strings"

	"taskkit.dev/internal/store"
)

// ItemsError: the items of a task cannot be listed, retried or continued as they are.
type ItemsError struct {
	ID      ID
	Action  string // what was tried, such as "retry the failed items"
	Problem string // and what to do
	// Keys are the first items that it is about, as JSON; empty for a problem of the
	// whole task.
	Keys []string
}

func (e *ItemsError) Error() string {
	of := " of "
	if e.Action == actContinue {
		of = " "
	}
	text := fmt.Sprintf("taskkit: cannot %s%stask %s: %s", e.Action, of, e.ID, e.Problem)
	if len(e.Keys) == 0 {
		return text
	}
	return text + "; the first are " + shownKeys(e.Keys)
}

// tried sets what was tried in an *[ItemsError] that does not say it.
func tried(action string, err error) error {
	if e, ok := errors.AsType[*ItemsError](err); ok && e.Action == "" {
		e.Action = action
	}
	return err
}

// ofItems reports whether an error is one of this package that came up while the store
// read the items of a new task.
func ofItems(err error) bool {
	var (
		items     *ItemsError
		corrected *CorrectionsError
		state     *StateError
		option    *OptionError
		preview   *PreviewError
	)
	return errors.As(err, &items) || errors.As(err, &corrected) || errors.As(err, &state) || errors.As(err, &option) ||
		errors.As(err, &preview)
}

// shownKeys are keys for a text.
func shownKeys(keys []string) string {
	short := make([]string, len(keys))
	for i, k := range keys {
		short[i] = shorten(k)
	}
	return strings.Join(short, ", ")
}

// CorrectionsError: the corrections given to [Client.RetryCorrected] are not those of
// the failed items of the task. It has the first ten of each problem.
type CorrectionsError struct {
	ID      ID
	Unknown []Correction // of what is no failed item of the task, or was changed
	Missing []Item       // failed items without a correction
	Invalid []Correction // to what is not of the item's type
	Omitted int          // how many more there are of all
}

func (e *CorrectionsError) Error() string {
	var parts []string
	part := func(what string, n int, text func(i int) string) {
		var each []string
		for i := range n {
			each = append(each, text(i))
		}
		if n > 0 {
			parts = append(parts, what+": "+strings.Join(each, ", "))
		}
	}
	part("not a failed item of the task", len(e.Unknown), func(i int) string {
		return fmt.Sprintf("%q at position %d", shorten(e.Unknown[i].Item), e.Unknown[i].Position)
	})
	part("missing", len(e.Missing), func(i int) string {
		return fmt.Sprintf("%q at position %d", shorten(e.Missing[i].Text()), e.Missing[i].Position)
	})
	part("corrected to what is not of the same type", len(e.Invalid), func(i int) string {
		return fmt.Sprintf("%q at position %d to %q", shorten(e.Invalid[i].Item), e.Invalid[i].Position, shorten(e.Invalid[i].Corrected))
	})
	if e.Omitted > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", e.Omitted))
	}
	return fmt.Sprintf("taskkit: cannot retry the corrected items of task %s: %s; list the failed items again, and change only what is corrected",
		e.ID, strings.Join(parts, "; "))
}

func (e *CorrectionsError) unknown(c *Correction) { e.Unknown = appendShown(e, e.Unknown, *c) }
func (e *CorrectionsError) invalid(c *Correction) { e.Invalid = appendShown(e, e.Invalid, *c) }
func (e *CorrectionsError) missing(i *store.Item) { e.Missing = appendShown(e, e.Missing, itemOf(i)) }

// appendShown adds what a list of an error has room for.
func appendShown[T any](e *CorrectionsError, list []T, v T) []T {
	if len(list) == shownItems {
		e.Omitted++
		return list
	}
	return append(list, v)
}
