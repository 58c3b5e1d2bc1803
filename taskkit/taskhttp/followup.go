package taskhttp

import (
	"context"
	"errors"
	"net/http"

	"taskkit.dev/taskkit"
)

// followUp is a request that starts another job, made of one that has ended.
type followUp struct {
	op      Operation
	summary string
	call    func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.SubmitOption) (taskkit.ID, error)
	// check returns the error that call would return.
	check func(*taskkit.Client, context.Context, taskkit.ID) error
	// possible reports whether check need be asked: without it call refuses.
	possible func(*taskkit.Task, *Job) bool
}

// followUps are these requests.
var followUps = []followUp{
	{
		OpRetryFailed, "Start a job over the failed items of this one", (*taskkit.Client).RetryFailed, (*taskkit.Client).CheckRetryFailed,
		func(t *taskkit.Task, j *Job) bool {
			return t.Ended() && !j.Preview && t.Version == nil && t.Progress.Failed > 0
		},
	},
	{
		OpContinue, "Start a job over what this one, which was stopped or has failed, has not processed", (*taskkit.Client).Continue, (*taskkit.Client).CheckContinue,
		func(t *taskkit.Task, j *Job) bool {
			return !j.Preview && t.Version == nil && (j.Status == Failed || j.Partial)
		},
	},
	{
		OpApply, "Start a job that does exactly what this preview has previewed", (*taskkit.Client).Apply, (*taskkit.Client).CheckApply,
		func(_ *taskkit.Task, j *Job) bool { return j.Preview && j.Status == Succeeded && !j.Partial },
	},
}

// follow starts a job made of another, and answers with it as to a start. There is one of each: a
// repetition is answered with the job that the first request has started.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, who Caller, f followUp) error {
	if s.isDraining() {
		return ErrShuttingDown.later(retryLater)
	}
	t, err := s.task(r, who, f.op)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	reason, err := s.reason(w, r)
	if err != nil {
		return err
	}
	opts := []taskkit.SubmitOption{taskkit.WithActor(who.Owner)}
	if reason != "" {
		opts = append(opts, taskkit.WithReason(reason))
	}
	if err := meets(r, snapshot(t, 0).Revision); err != nil {
		return err
	}
	if t.Control == taskkit.ControlDelete {
		return ErrDeleted.of(s.job(r.Context(), who, t, 0))
	}
	id, err := f.call(s.client, r.Context(), t.ID, opts...)
	return s.followed(w, r, who, t, f.op, id, err)
}

// followed answers with the job that was made of others, of which t is one, or with the one that an earlier request has started.
func (s *Server) followed(w http.ResponseWriter, r *http.Request, who Caller, t *taskkit.Task, op Operation, id taskkit.ID, err error) error {
	made, isDuplicate := errors.AsType[*taskkit.DuplicateError](err)
	replayed := isDuplicate && made.By == "idempotency key"
	if replayed {
		id, err = made.ID, nil
	}
	if err != nil {
		return s.unchanged(r, who, t, op, err)
	}
	found, err := s.rows(r.Context(), []taskkit.ID{id})
	if err != nil {
		return err
	}
	next := found[id]
	switch {
	case next == nil:
		return ErrNoSuchJob // deleted meanwhile
	case replayed && !s.may(r.Context(), who, OpWatch, next):
		return ErrKeyTaken
	case replayed:
		w.Header().Set("Idempotent-Replayed", "true")
	}
	return s.started(w, r, who, next)
}

// RetryFailed starts a job over the failed items of one that has ended, and returns it. A repetition returns
// the same job; so does one of [Client.Continue] and [Client.Apply].
func (c *Client) RetryFailed(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpRetryFailed, reason, true)
}

// Continue starts a job over what one that was stopped or has failed has not processed, and returns it.
func (c *Client) Continue(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpContinue, reason, true)
}

// Apply starts a job that does exactly what a preview has previewed, and returns it.
func (c *Client) Apply(ctx context.Context, id taskkit.ID, reason string) (*Job, error) {
	return c.change(ctx, id, OpApply, reason, true)
}
