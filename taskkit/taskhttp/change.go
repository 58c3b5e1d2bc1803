package taskhttp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// change is a request that changes a job.
type change struct {
	op   Operation
	call func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)
	// decide says what the status of a job means for the request. A request that is possible may
	// be refused by the task itself, as refusal says beforehand.
	decide  func(t *taskkit.Task, j *Job) decision
	refusal func(*taskkit.Refusals) error
}

// decision is what the status of a job means for a request.
type decision int

const (
	possible decision = iota
	ignored           // an admissible request that has no effect
	refused
)

// changes are the requests, with the table of the protocol.
var changes = []change{
	{OpStop, (*taskkit.Client).Stop, func(t *taskkit.Task, j *Job) decision {
		switch {
		case j.Status == Deleted, never(t):
			return refused
		case j.Done, j.Status == Stopping:
			return ignored
		}
		return possible
	}, func(r *taskkit.Refusals) error { return r.Stop }},
	{OpPause, (*taskkit.Client).Pause, func(_ *taskkit.Task, j *Job) decision {
		switch {
		case j.Done, j.Status == Stopping:
			return refused
		case j.Paused:
			return ignored
		}
		return possible
	}, func(r *taskkit.Refusals) error { return r.Pause }},
	{OpResume, (*taskkit.Client).Resume, whenPaused, func(r *taskkit.Refusals) error { return r.Resume }},
	{OpApprove, (*taskkit.Client).Approve, whenPaused, func(r *taskkit.Refusals) error { return r.Approve }},
	{OpRetry, (*taskkit.Client).Retry, func(_ *taskkit.Task, j *Job) decision {
		if j.Status != Failed {
			return refused
		}
		return possible
	}, func(r *taskkit.Refusals) error { return r.Retry }},
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
	if strings.ContainsRune(reason, 0) {
		return ErrBadParameter.because("the reason contains a NUL character")
	}
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
	if err := meets(r, j.Revision); err != nil {
		return err
	}
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
	reason, err := s.reason(w, r)
	opts := []taskkit.RequestOption{taskkit.WithActor(who.Owner)}
	if reason != "" {
		opts = append(opts, taskkit.WithReason(reason))
	}
	return opts, err
}

// reason reads a body that has a reason, or nothing.
func (s *Server) reason(w http.ResponseWriter, r *http.Request) (string, error) {
	raw, err := s.body(w, r, true, changeCodec.Check)
	if err != nil || raw == nil {
		return "", err
	}
	var b changeBody
	if err := changeCodec.Decode(raw, &b); err != nil {
		return "", refusedJSON(ErrNotJSON, err)
	}
	return b.Reason, checkReason(b.Reason)
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
	if e, ok := errors.AsType[*taskkit.DuplicateError](err); ok {
		return s.taken(r, who, e.ID, refusalDetail(err))
	}
	switch p := problemOf(err); {
	case p == nil, p.Status >= http.StatusInternalServerError:
		return err
	case !errors.Is(p, ErrNotPossible):
		return p
	}
	// It may have changed since it was read.
	found, readErr := s.rows(r.Context(), []taskkit.ID{t.ID})
	if readErr != nil {
		return readErr
	}
	now := found[t.ID]
	if now == nil {
		return ErrNoSuchJob
	}
	j := s.job(r.Context(), who, now, 0)
	p := ErrNotPossible.because("a job that is %s cannot be changed by %s", describe(now, j), op)
	if detail := refusalDetail(err); detail != "" {
		p.Detail = detail
	}
	return p.of(j)
}

// refusalDetail says to clients why a task has refused a request, if the status is not why; "": it is.
func refusalDetail(err error) string {
	if e, ok := errors.AsType[*taskkit.StateError](err); ok {
		return conditionDetails[e.Condition]
	}
	if e, ok := errors.AsType[*taskkit.ChildError](err); ok {
		return childDetails[e.Reason]
	}
	if e, ok := errors.AsType[*taskkit.DuplicateError](err); ok && e.By == "idempotency key" {
		return "the job is continued by another one"
	}
	switch {
	case a[*taskkit.ItemsError](err):
		return "no other job can be made of the items of this one: there are none left, they are not recorded, or belong to its children"
	case a[*taskkit.PreviewError](err):
		return "the preview cannot be applied: it has found the items while it ran, is outdated, or has reached its limit of failed items"
	}
	return ""
}

// conditionDetails say to clients which condition of a task withholds it.
var conditionDetails = map[taskkit.Condition]string{
	taskkit.ConditionNeedsApproval:     "the job waits for an approval",
	taskkit.ConditionNeedsNoApproval:   "the job does not wait for an approval: resume it",
	taskkit.ConditionNeedsSecondPerson: "the job must be approved by somebody else than its owner and who has started it",
	taskkit.ConditionLimitReached:      "the job has reached its limit of failed items",
}

// childDetails say to clients why a job cannot be changed alone that is part of another.
var childDetails = map[taskkit.ChildReason]string{
	taskkit.ParentEnded:    "the job is part of another one that has ended: retry the other",
	taskkit.NeededByParent: "the job is part of another one that is not complete: delete the other",
	taskkit.PartOfParent:   "the job is part of another one, which would be incomplete without it: stop the other",
}

// delete removes a job and answers with it as it was. To delete what does not exist is allowed, and so is a repetition.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, who Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	began := time.Now()
	none := func() error {
		conceal(r, began)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	t, err := s.task(r, who, OpDelete)
	if errors.Is(err, ErrNoSuchJob) {
		return none()
	}
	if err != nil {
		return err
	}
	j := s.job(r.Context(), who, t, 0)
	if err := meets(r, j.Revision); err != nil {
		return err
	}
	if t.Control != taskkit.ControlDelete {
		deleted, err := s.client.Delete(r.Context(), t.ID, taskkit.WithActor(who.Owner))
		if errors.Is(err, taskkit.ErrNotFound) {
			return none()
		}
		if err != nil {
			return s.unchanged(r, who, t, OpDelete, err)
		}
		j = s.changedJob(r.Context(), who, t, deleted)
	}
	s.answer(w, http.StatusOK, j)
	return nil
}
