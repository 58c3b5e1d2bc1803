package taskhttp

import (
	"context"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// change is a request that changes a job.
type change struct {
	op   Operation
	call func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)
	// decide says what the status of a job means for the request.
	decide func(t *taskkit.Task, j *Job) decision
}

// decision is what the status of a job means for a request.
type decision int

const (
	possible decision = iota
	ignored           // an admissible request that has no effect
	refused
)

// changes are the requests, with the table of PTV-16 to 22. What is possible here may be
// refused by the task itself.
var changes = []change{
	{OpStop, (*taskkit.Client).Stop, func(t *taskkit.Task, j *Job) decision {
		switch {
		case j.Status == Deleted, never(t):
			return refused
		case j.Done, j.Status == Stopping:
			return ignored
		}
		return possible
	}},
	{OpPause, (*taskkit.Client).Pause, func(_ *taskkit.Task, j *Job) decision {
		switch {
		case j.Done, j.Status == Stopping:
			return refused
		case j.Paused:
			return ignored
		}
		return possible
	}},
	{OpResume, (*taskkit.Client).Resume, whenPaused},
	{OpApprove, (*taskkit.Client).Approve, whenPaused},
	{OpRetry, (*taskkit.Client).Retry, func(_ *taskkit.Task, j *Job) decision {
		if j.Status != Failed {
			return refused
		}
		return possible
	}},
}

func whenPaused(_ *taskkit.Task, j *Job) decision {
	if !j.Paused {
		return refused
	}
	return possible
}

// changeBody is the body of a request that changes a job.
type changeBody struct {
	Reason string `json:"reason"` // why, for those who read the task's events
}

func checkReason(reason string) error {
	if utf8.RuneCountInString(reason) > maxReason {
		return ErrBadParameter.because("the reason is longer than %d characters", maxReason)
	}
	return nil
}

// maxReason bounds a reason, in characters.
const maxReason = 1000

var changeCodec = taskjson.Reflected[changeBody]()

// change makes a request of a job.
func (s *Server) change(w http.ResponseWriter, r *http.Request, who Caller, c change) error {
	t, err := s.task(r, who, c.op)
	if err != nil {
		return err
	}
	if _, err := query(r); err != nil {
		return err
	}
	opts, err := s.requestOptions(w, r, who)
	if err != nil {
		return err
	}
	j := s.job(r.Context(), who, t, 0)
	switch c.decide(t, j) {
	case refused:
		return ErrNotPossible.because("a job that is %s cannot be changed by %s", describe(t, j), c.op).of(j)
	case ignored:
		s.answer(w, http.StatusOK, j)
		return nil
	case possible:
	}
	changed, err := c.call(s.client, r.Context(), t.ID, opts...)
	if err != nil {
		return s.unchanged(r, who, t, c.op, err)
	}
	s.answer(w, http.StatusAccepted, s.changedJob(r.Context(), who, t, changed))
	return nil
}

// changedJob makes the answer about a task as a request has returned it, which does not say whether it is a preview.
func (s *Server) changedJob(ctx context.Context, who Caller, before, now *taskkit.Task) *Job {
	now.Preview = before.Preview
	return s.job(ctx, who, now, 0)
}

// requestOptions reads the body of a request that changes a job.
func (s *Server) requestOptions(w http.ResponseWriter, r *http.Request, who Caller) ([]taskkit.RequestOption, error) {
	opts := []taskkit.RequestOption{taskkit.WithActor(who.Owner)}
	raw, err := s.body(w, r, true)
	if err != nil || raw == nil {
		return opts, err
	}
	var b changeBody
	if err := changeCodec.Decode(raw, &b); err != nil {
		return nil, refusedJSON(ErrNotJSON, err)
	}
	if err := checkReason(b.Reason); err != nil {
		return nil, err
	}
	return append(opts, taskkit.WithReason(b.Reason)), nil
}

// describe names the state of a job.
func describe(t *taskkit.Task, j *Job) string {
	switch {
	case never(t):
		return string(j.Status) + " and has not begun"
	case j.Paused:
		return string(j.Status) + " and paused"
	}
	return string(j.Status)
}

// unchanged says why a task has refused a request.
func (s *Server) unchanged(r *http.Request, who Caller, t *taskkit.Task, op Operation, err error) error {
	state, isState := errors.AsType[*taskkit.StateError](err)
	_, isDuplicate := errors.AsType[*taskkit.DuplicateError](err)
	switch {
	case errors.Is(err, taskkit.ErrNotFound):
		return ErrNoSuchJob
	case isDuplicate:
		return ErrKeyTaken
	case !isState:
		return err
	}
	// It may have changed since it was read.
	found, err := s.rows(r.Context(), []taskkit.ID{t.ID})
	if err != nil {
		return err
	}
	now := found[t.ID]
	if now == nil {
		return ErrNoSuchJob
	}
	j := s.job(r.Context(), who, now, 0)
	p := ErrNotPossible.because("a job that is %s cannot be changed by %s", describe(now, j), op).of(j)
	if detail, ok := conditionDetails[state.Condition]; ok {
		p.Detail = detail
	}
	return p
}

// conditionDetails say to clients which condition of a task withholds it.
var conditionDetails = map[taskkit.Condition]string{
	taskkit.ConditionNeedsApproval:     "the job waits for an approval",
	taskkit.ConditionNeedsNoApproval:   "the job does not wait for an approval: resume it",
	taskkit.ConditionNeedsSecondPerson: "the job must be approved by somebody else than who has started it",
	taskkit.ConditionLimitReached:      "the job has reached its limit of failed items",
}

// errChildNeeded is the problem of a job that cannot be deleted before another one.
var errChildNeeded = ErrNotPossible.because("the job is part of another one that is not complete: stop it, or delete the other")

// delete removes a job. To delete what does not exist is allowed (PTV-34).
func (s *Server) delete(w http.ResponseWriter, r *http.Request, who Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	began := time.Now()
	t, err := s.task(r, who, OpDelete)
	if err == nil && t.Control != taskkit.ControlDelete {
		_, err = s.client.Delete(r.Context(), t.ID, taskkit.WithActor(who.Owner))
	}
	if child, ok := errors.AsType[*taskkit.ChildError](err); ok && child.Reason == taskkit.NeededByParent {
		return errChildNeeded
	}
	if err != nil && !errors.Is(err, ErrNoSuchJob) && !errors.Is(err, taskkit.ErrNotFound) {
		return err
	}
	if err != nil {
		conceal(r, began)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
