package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit"
)

// Code is the reason why a message was refused, for programs.
type Code string

// The codes of this package. A handler may have others.
const (
	// CodeNoID: the message has no id, so a repetition could not be recognised.
	CodeNoID Code = "no_id"
	// CodeInvalidID: the id is longer than [MaxID], or is not UTF-8, or has a NUL byte.
	CodeInvalidID Code = "invalid_id"
	// CodeTooLarge: the body is larger than [Config.MaxBody].
	CodeTooLarge Code = "too_large"
	// CodeInvalidNotBefore: the header of the earliest start has no valid time.
	CodeInvalidNotBefore Code = "invalid_not_before"
	// CodeUndecodable: the handler could not decode the message.
	CodeUndecodable Code = "undecodable"
	// CodeRefused: the handler has refused the message without a code.
	CodeRefused Code = "refused"
	// CodePanic: the handler or a method of the spec panicked.
	CodePanic Code = "panic"
	// CodeGaveUp: the handler has returned transient errors [Config.MaxTries] times, or for [Config.MaxHold].
	CodeGaveUp Code = "gave_up"
	// CodeUnknownKind: no such kind is registered, or it is retired.
	CodeUnknownKind Code = "unknown_kind"
	// CodeInvalidSpec: the spec breaks the rules of its kind.
	CodeInvalidSpec Code = "invalid_spec"
	// CodeInvalidOption: an option of the submission is wrong.
	CodeInvalidOption Code = "invalid_option"
	// CodeDuplicate: a key of the submission is taken by another task.
	CodeDuplicate Code = "duplicate"
	// CodeDatabase: the database refuses a value, of the task or of a statement of the handler.
	CodeDatabase Code = "database"
)

// RefusedError is why a message was refused.
type RefusedError struct {
	Source, ID string
	Code       Code
	Err        error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("intake: message %q of source %s is refused (%s): %v", e.ID, e.Source, e.Code, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// ofHandler returns the code of a handler's error, or "" if the handler should be called
// again.
func ofHandler(ctx context.Context, err error) Code {
	class := classify.Classify(ctx, err)
	permanent := class.Class == lifecycle.Permanent
	mark, marked := errors.AsType[*classify.MarkedError](err)
	switch {
	case is[*panicError](err):
		return CodePanic
	case marked && permanent:
		return cmp.Or(Code(mark.Code), CodeRefused)
	case marked, classify.LostConnection(err), errors.Is(err, context.Canceled):
		return ""
	case classify.DatabaseError(err):
		return ofDatabase(class)
	case permanent:
		return CodeUndecodable
	case classify.Unclassified(ctx, err):
		return CodeRefused
	default:
		return ""
	}
}

// ofSubmission returns the code of an error of a submission, or "" if it may succeed later.
func ofSubmission(ctx context.Context, err error) Code {
	switch {
	case is[*panicError](err):
		return CodePanic
	case is[*taskkit.SpecError](err), is[*taskkit.TargetsError](err):
		return CodeInvalidSpec
	case is[*taskkit.UsageError](err):
		return CodeUnknownKind
	case is[*taskkit.OptionError](err):
		return CodeInvalidOption
	case is[*taskkit.DuplicateError](err), is[*taskkit.CoalesceError](err):
		return CodeDuplicate
	default:
		return ofDatabase(classify.Classify(ctx, err))
	}
}

// ofDatabase returns the code of an error of the database, or "" if the message is not the cause: a
// missing permission fails for every message, until an operator grants it.
func ofDatabase(class classify.Classification) Code {
	if class.Class == lifecycle.Permanent && (class.OfItem || class.TooLarge) {
		return CodeDatabase
	}
	return ""
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
