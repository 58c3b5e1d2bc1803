package taskkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// DeadFilter selects dead letters: tasks that have ended in ERROR or FAILURE. Zero fields do not
// filter.
type DeadFilter struct {
	Kinds []string
	Code  string // of the error, such as "database"
	Queue string
	// OlderThan: only tasks that ended longer ago, by the database's clock.
	OlderThan time.Duration
}

// DeadGroup are the dead letters of a kind with a code.
type DeadGroup struct {
	Kind    string    `json:"kind"`
	Code    string    `json:"code"`
	Tasks   int64     `json:"tasks"`
	Oldest  time.Time `json:"oldest"` // when the first and the last of them ended
	Newest  time.Time `json:"newest"`
	Example ID        `json:"example"` // the one that was submitted last
}

// DeadReport is what became of the dead letters of a request.
type DeadReport struct {
	Done    int64 `json:"done"`
	Refused int64 `json:"refused"`
	// Refusals are the first 100 of those that were refused.
	Refusals []DeadRefusal `json:"refusals,omitempty"`
}

// DeadRefusal is a dead letter that could not be retried or deleted.
type DeadRefusal struct {
	ID  ID    `json:"id"`
	Err error `json:"-"`
	// Problem is the text of Err.
	Problem string `json:"problem"`
}

const (
	deadPage       = 500
	refusalsListed = 100
)

// filter returns the filter of the store, for a page.
func (f *DeadFilter) filter() (store.Filter, error) {
	if f.OlderThan < 0 {
		return store.Filter{}, &OptionError{"DeadFilter.OlderThan", "it is negative: use a positive duration, such as 24*time.Hour"}
	}
	if err := checkFilterText("Code", f.Code); err != nil {
		return store.Filter{}, err
	}
	of := Filter{Kinds: f.Kinds, Queue: f.Queue}
	if err := of.check(); err != nil {
		return store.Filter{}, err
	}
	return store.Filter{
		Kinds: f.Kinds, Queue: f.Queue, Code: f.Code, EndedFor: f.OlderThan,
		Statuses: []lifecycle.Status{lifecycle.Error, lifecycle.Failure}, Limit: deadPage,
	}, nil
}

// Dead groups the dead letters by kind and code, in this order. It reads every task that has ended.
func (c *Client) Dead(ctx context.Context, f DeadFilter) ([]DeadGroup, error) {
	sf, err := f.filter()
	if err != nil {
		return nil, err
	}
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.DeadGroups(ctx, sf)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	groups := make([]DeadGroup, len(found))
	for i, g := range found {
		groups[i] = DeadGroup(g)
	}
	return groups, nil
}

// DeadTasks returns a page of dead letters, those first that were submitted last. For the next page,
// before is the last id of the previous one, and the zero ID for the first. The limit is as that of a
// [Filter].
func (c *Client) DeadTasks(ctx context.Context, f DeadFilter, before ID, limit int) ([]*Task, error) {
	sf, err := f.filter()
	if err != nil {
		return nil, err
	}
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 50
	}
	sf.Before, sf.Limit = before, min(limit, 1000)
	found, err := op.Tasks(ctx, sf)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	tasks := make([]*Task, len(found))
	for i := range found {
		tasks[i] = fromStore(found[i])
	}
	return tasks, nil
}

// RetryDead makes the request of [Client.Retry] for each dead letter that the filter selects, with
// [WithActor] and [WithReason]; other options are an *[OptionError]. Each is a transaction of its own, unless the client was
// given one, and is recorded in the events of the task. A task that cannot be retried, because its
// unique key is taken or its parent has ended say, is in the report and does not keep the others; and
// one that has changed since it was listed is left alone. Any other error ends the call; the report
// then says what was done before.
func (c *Client) RetryDead(ctx context.Context, f DeadFilter, opts ...RequestOption) (*DeadReport, error) {
	return c.eachDead(ctx, f, lifecycle.ActRetry, opts)
}

// DropDead is [Client.RetryDead] with the request of [Client.Delete], irrevocably. A child of a task
// that is not complete is refused; it goes with its parent.
func (c *Client) DropDead(ctx context.Context, f DeadFilter, opts ...RequestOption) (*DeadReport, error) {
	return c.eachDead(ctx, f, lifecycle.ActDelete, opts)
}

// eachDead makes a request of each dead letter, page by page. A task that has ended again meanwhile
// keeps its id, so it does not come again.
func (c *Client) eachDead(ctx context.Context, f DeadFilter, action lifecycle.Action, opts []RequestOption) (*DeadReport, error) {
	report := new(DeadReport)
	sf, err := f.filter()
	if err != nil {
		return report, err
	}
	if _, err := onlyAudit(opts, "dead letters are retried and deleted"); err != nil {
		return report, err
	}
	op, err := c.tables(ctx)
	if err != nil {
		return report, err
	}
	for {
		page, err := op.Tasks(ctx, sf)
		if err != nil {
			return report, c.public(ctx, err)
		}
		for _, t := range page {
			listed := requestOption(func(r *requestOptions) { r.Dead = &t.Fence })
			_, err := c.request(ctx, t.ID, action, append([]RequestOption{listed}, opts...))
			switch {
			case err == nil:
				report.Done++
			case errors.Is(err, ErrNotFound): // it went with its parent, or another deleted it
			case isRefusal(err):
				report.Refused++
				if len(report.Refusals) < refusalsListed {
					report.Refusals = append(report.Refusals, DeadRefusal{t.ID, err, err.Error()})
				}
			default:
				return report, fmt.Errorf("after %d dead letters: %w", report.Done, err)
			}
		}
		if len(page) < sf.Limit {
			return report, nil
		}
		sf.Before = page[len(page)-1].ID
	}
}

// isRefusal reports whether an error is about one task, and not about the call.
func isRefusal(err error) bool {
	var (
		state     *StateError
		duplicate *DuplicateError
		parent    *ParentEndedError
		needed    *ChildNeededError
	)
	return errors.As(err, &state) || errors.As(err, &duplicate) || errors.As(err, &parent) || errors.As(err, &needed)
}
