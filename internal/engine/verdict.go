package engine

import (
	"context"
	"errors"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
)

// judged is an error of a user's code that was judged where it came from. To
// ask an error anything is to run code of its maker's, which may panic or end
// its goroutine: on the session's own that would end the worker, or cost it a
// slot.
type judged struct {
	verdict errclass.Verdict
	text    string
	lost    bool
}

// Error implements error.
func (j *judged) Error() string { return j.text }

// Is lets a lost hold be recognised.
func (j *judged) Is(target error) bool { return j.lost && target == store.ErrLost }

// judge is [errclass.Judge] for errors of the store and of users' code.
func judge(ctx context.Context, err error) errclass.Verdict {
	if j, ok := errors.AsType[*judged](err); ok {
		return j.verdict
	}
	return errclass.Judge(ctx, err)
}

// apart runs a user's code on a goroutine of its own and sends what became of
// it, once: an error that is safe to ask, whatever the code did.
func apart(ctx context.Context, f func(context.Context) error) <-chan error {
	returned := make(chan error, 1)
	go func() {
		err := error(&errclass.Mark{
			Class: errclass.Permanent, Code: errclass.CodeGoexit,
			Err: errors.New("the executor ended its goroutine with runtime.Goexit"),
		})
		defer func() {
			if v := recover(); v != nil {
				err = errclass.Panic(v)
			}
			returned <- err
		}()
		if got := f(ctx); got != nil {
			err = &judged{errclass.Judge(ctx, got), got.Error(), errors.Is(got, store.ErrLost)}
			return
		}
		err = nil
	}()
	return returned
}
