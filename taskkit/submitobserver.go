package taskkit

import "context"

// SubmitObserver follows submissions, for metrics and traces, see [WithObserver]. It is safe for concurrent use.
type SubmitObserver interface {
	// Submitting is called before tasks are stored. The statements get the context that it returns. ended is called afterwards, with
	// the ids of the tasks or the error of the submission. The tasks exist if the transaction commits.
	Submitting(ctx context.Context, s *Submitting) (_ context.Context, ended func(ids []ID, err error))
}

// Submitting is a submission that a [SubmitObserver] follows.
type Submitting struct {
	Kind  string
	Queue string
	Tasks int // how many are submitted
	// Traceparent is the W3C trace context that is stored with the tasks, from [WithTraceparent]; "": none. The observer may
	// change it.
	Traceparent string
}

// WithObserver lets an observer follow the submission. Without it nothing is called. Nil is none.
func WithObserver(o SubmitObserver) SubmitOption {
	return submitOption(func(s *submission) { s.observer = o })
}

// observe calls the observer before a submission of tasks, and returns what is called after it.
func (s *submission) observe(ctx context.Context, tasks int) (context.Context, func([]ID, error)) {
	o := Submitting{Kind: s.Kind, Queue: s.Queue, Tasks: tasks, Traceparent: s.Traceparent}
	ctx, ended := s.observer.Submitting(ctx, &o)
	s.Traceparent = o.Traceparent
	return ctx, ended
}
