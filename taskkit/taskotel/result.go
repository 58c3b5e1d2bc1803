package taskotel

import (
	"errors"

	"taskkit.dev/taskkit"
)

// resultOf returns the position in results of what a submission has come to.
func resultOf(err error) int {
	const (
		stored = iota
		duplicate
		refused
		failed
	)
	switch {
	case err == nil || is[*taskkit.PausedError](err): // a paused task has taken the submission
		return stored
	case is[*taskkit.DuplicateError](err):
		return duplicate
	case is[*taskkit.SpecError](err), is[*taskkit.OptionError](err), is[*taskkit.UsageError](err), is[*taskkit.CoalesceError](err), is[*taskkit.SupersededError](err):
		return refused
	}
	return failed
}

// is reports whether an error is one of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
