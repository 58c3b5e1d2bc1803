package intake

import (
	"context"

	"taskkit.dev/internal/access"
	"taskkit.dev/taskkit"
)

// Handler decides whether a message becomes a task ([Submit], [SubmitJSON]) or is dropped ([Drop]).
// The consumer calls it from one goroutine, before its transaction begins. Its context ends after
// [Config.CallTimeout]. It is called again for the same message after a failure, so it must have no
// lasting effects and must not change the message.
//
// With an error the message is refused: by its code if it is a [taskkit.Permanent] one, otherwise as
// [CodeRefused]. An error that [taskkit.Transient] or [taskkit.RetryAfter] marks, and a transient
// error of a database or network, is not final: the handler is called again later,
// [Config.MaxTries] times in all and for [Config.MaxHold] at most.
type Handler func(ctx context.Context, m Message) (Decision, error)

// Decision is the decision of a handler about a message.
type Decision struct {
	submit func(ctx context.Context, tx taskkit.ExecQuerier, opts []taskkit.SubmitOption) (taskkit.ID, error)
	lock   string // the reference of its kind, which the submission locks; "": none
	reason string
}

// call submits the task, and recovers a panic, for example in a method of the spec.
func (d *Decision) call(ctx context.Context, tx taskkit.ExecQuerier, first []taskkit.SubmitOption) (id taskkit.ID, err error) {
	defer recovered(&err)
	return d.submit(ctx, tx, first)
}

// Submit decides that a task is submitted. The options must name the owner, as for
// [taskkit.Submit]. Before them the consumer sets a reason that names the source and the message, and the
// earliest start from [Message.NotBefore].
func Submit[Spec, State, Result any](k *taskkit.Kind[Spec, State, Result], spec Spec, opts ...taskkit.SubmitOption) Decision {
	kind := "" // of a kind that is missing, which Submit refuses
	if k != nil {
		kind = k.Name()
	}
	return Decision{lock: lockOf(kind, opts), submit: func(ctx context.Context, tx taskkit.ExecQuerier, first []taskkit.SubmitOption) (taskkit.ID, error) {
		return taskkit.Submit(ctx, tx, k, spec, append(first, opts...)...)
	}}
}

// SubmitJSON is [Submit] for a handler that reads the name of the kind from the message.
func SubmitJSON(r *taskkit.Registry, kind string, spec []byte, opts ...taskkit.SubmitOption) Decision {
	return Decision{lock: lockOf(kind, opts), submit: func(ctx context.Context, tx taskkit.ExecQuerier, first []taskkit.SubmitOption) (taskkit.ID, error) {
		return r.SubmitJSON(ctx, tx, kind, spec, append(first, opts...)...)
	}}
}

func lockOf(kind string, opts []taskkit.SubmitOption) string {
	if reference := access.ReferenceOf(opts); reference != "" {
		return kind + "\x00" + reference
	}
	return ""
}

// Drop decides that a message becomes no task. It is recorded with this reason and
// acknowledged. The reason must not be empty.
func Drop(reason string) Decision { return Decision{reason: reason} }
