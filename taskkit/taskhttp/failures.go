package taskhttp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// Failures selects failed items of several jobs that have ended, of which one new job is started.
type Failures struct {
	Jobs []taskkit.ID `json:"jobs"` // at least 1, at most 1,000
	// From and To are between which times the items failed: at From or later, and before To.
	From  *time.Time        `json:"from,omitempty"`
	To    *time.Time        `json:"to,omitempty"`
	Codes []string          `json:"codes,omitempty"` // of the items; none: all
	Items []json.RawMessage `json:"items,omitempty"` // the items themselves, as [Item] has them; none: all
	// Reason says why, for those who read the task.
	Reason string `json:"reason,omitempty"`
}

// The greatest lengths of a selection.
const (
	maxFailedJobs  = 1000
	maxFailedItems = 10_000
)

var failuresCodec = taskjson.Reflected[Failures]()

// retrySelected starts one job over failed items of several, and answers with it as to a start.
func (s *Server) retrySelected(w http.ResponseWriter, r *http.Request, who Caller) error {
	if s.isDraining() {
		return ErrShuttingDown.later(retryLater)
	}
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	raw, err := s.body(w, r, false, failuresCodec.Check)
	if err != nil {
		return err
	}
	var f Failures
	if err := failuresCodec.Decode(raw, &f); err != nil {
		return refusedJSON(ErrNotJSON, err)
	}
	if err := checkReason(f.Reason); err != nil {
		return err
	}
	if len(f.Jobs) == 0 || len(f.Jobs) > maxFailedJobs {
		return ErrBadParameter.because("jobs must name 1 to %d jobs", maxFailedJobs)
	}
	selected := taskkit.Failures{Tasks: f.Jobs, Codes: f.Codes}
	for _, i := range f.Items {
		selected.Items = append(selected.Items, i)
	}
	if f.From != nil {
		selected.From = *f.From
	}
	if f.To != nil {
		selected.To = *f.To
	}
	newest, err := s.allowed(r.Context(), who, OpRetryFailed, f.Jobs)
	if err != nil {
		return err
	}
	opts := []taskkit.SubmitOption{taskkit.WithActor(who.Owner)}
	if f.Reason != "" {
		opts = append(opts, taskkit.WithReason(f.Reason))
	}
	id, err := s.client.RetrySelected(r.Context(), selected, opts...)
	if a[*taskkit.OptionError](err) {
		return ErrBadParameter.because("from must be before to, and there are at most %d codes and items", maxFailedItems)
	}
	return s.followed(w, r, who, newest, OpRetryFailed, id, err)
}

// allowed returns the newest of some jobs, if the caller may do this with all of them.
func (s *Server) allowed(ctx context.Context, who Caller, op Operation, ids []taskkit.ID) (newest *taskkit.Task, err error) {
	found, err := s.rows(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		t := found[id]
		switch {
		case t == nil || !s.may(ctx, who, OpWatch, t):
			return nil, ErrNoSuchJob
		case !s.may(ctx, who, op, t):
			return nil, ErrForbidden
		case t.Control == taskkit.ControlDelete:
			return nil, ErrDeleted.of(s.job(ctx, who, t, 0))
		case newest == nil || newest.Created.Before(t.Created):
			newest = t
		}
	}
	return newest, nil
}

// RetrySelected starts one job over failed items of several that have ended, and returns it. A repetition returns the same job.
func (c *Client) RetrySelected(ctx context.Context, f Failures) (*Job, error) {
	body, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("taskhttp: encode a selection: %w", err)
	}
	return c.job(ctx, call{method: http.MethodPost, path: c.root() + "/" + string(OpRetryFailed), body: body, again: true})
}
