package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/taskkit"
)

// Code says why a message was refused, for programs.
type Code string

// The codes of this package. A handler may have others.
const (
	// CodeNoID: the message has no id, so a repetition of it could not be recognised.
	CodeNoID Code = "no_id"
	// CodeInvalidID: the id is longer than [MaxID], or is not UTF-8, or has a NUL byte.
	CodeInvalidID Code = "invalid_id"
	// CodeTooLarge: the body is larger than [Config.MaxBody].
	CodeTooLarge Code = "too_large"
	// CodeInvalidNotBefore: the header of the earliest start holds no time.
	CodeInvalidNotBefore Code = "invalid_not_before"
	// CodeUndecodable: the handler could not decode the message.
	CodeUndecodable Code = "undecodable"
	// CodeRefused: the handler has refused the message without a code.
	CodeRefused Code = "refused"
	// CodePanic: the handler panicked.
	CodePanic Code = "panic"
	// CodeGaveUp: the handler has failed for now as often as [Config.MaxTries] says.
	CodeGaveUp Code = "gave_up"
	// CodeUnknownKind: no such kind is registered, or it takes no tasks any more.
	CodeUnknownKind Code = "unknown_kind"
	// CodeInvalidSpec: the spec breaks the rules of its kind.
	CodeInvalidSpec Code = "invalid_spec"
	// CodeInvalidOption: an option of the submission is wrong.
	CodeInvalidOption Code = "invalid_option"
	// CodeDuplicate: a key of the submission is taken by another task.
	CodeDuplicate Code = "duplicate"
	// CodeDatabase: the database refuses to store the task.
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

// ofHandler returns the code of a handler's error, or "" if the handler should be asked
// again.
func ofHandler(ctx context.Context, err error) Code {
	if marked, ok := errors.AsType[*classify.MarkedError](err); ok && taskkit.Classify(ctx, err) == taskkit.ClassPermanent {
		return cmp.Or(Code(marked.Code), CodeRefused)
	}
	if classify.Unclassified(ctx, err) {
		return CodeRefused
	}
	switch taskkit.Classify(ctx, err) {
	case taskkit.ClassPermanent:
		if classify.DatabaseError(err) {
			return CodeDatabase
		}
		return CodeUndecodable
	default:
		return ""
	}
}

// ofSubmission returns the code of an error of a submission, or "" if it may work later.
// Unspoiled: it was found before a statement, so the transaction can go on.
func ofSubmission(ctx context.Context, err error) (code Code, unspoiled bool) {
	switch {
	case is[*taskkit.SpecError](err), is[*taskkit.TargetsError](err):
		return CodeInvalidSpec, true
	case is[*taskkit.UnknownKindError](err), is[*taskkit.RetiredKindError](err):
		return CodeUnknownKind, true
	case is[*taskkit.OptionError](err):
		return CodeInvalidOption, true
	case is[*taskkit.DuplicateError](err), is[*taskkit.CoalesceError](err):
		return CodeDuplicate, false
	case is[*taskkit.SchemaError](err):
		return "", false
	case taskkit.Classify(ctx, err) == taskkit.ClassPermanent:
		return CodeDatabase, false
	default:
		return "", false
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
