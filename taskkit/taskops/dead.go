package taskops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit"
)

// DeadFilter selects dead letters: tasks without a parent that have ended in ERROR or FAILURE. Zero fields do not
// filter, except Children.
type DeadFilter struct {
	Kinds []string
	Code  string // of the error, such as "database"
	Queue string
	// OlderThan: only tasks that ended longer ago, by the database's clock.
	OlderThan time.Duration
	// Children selects children too. A child cannot be retried once its parent has ended: a retry of the
	// parent retries its failed children.
	Children bool
	// Most is about how many dead letters [Operator.Dead] reads in all, but at least 100 of each kind and status. Defaults to 10,000 of each.
	// All other methods read all that the filter selects.
	Most int
}

// DeadGroup are the dead letters of a kind with a code.
type DeadGroup struct {
	Kind    string     `json:"kind"`
	Code    string     `json:"code"`
	Tasks   int64      `json:"tasks"`
	Oldest  time.Time  `json:"oldest"` // when the first and the last of them ended
	Newest  time.Time  `json:"newest"`
	Example taskkit.ID `json:"example"` // the one that was submitted last
}

// DeadGroups are the groups of the dead letters.
type DeadGroups struct {
	Groups []DeadGroup `json:"groups"`
	// Truncated are the kinds that have more dead letters than were read, which are the newest of a kind in FAILURE
	// and the newest in ERROR, as many as [DeadFilter.Most] says: the numbers of their groups are lower bounds, and there may be more of these groups.
	Truncated []string `json:"truncated,omitempty"`
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
	ID  taskkit.ID `json:"id"`
	Err error      `json:"-"`
	// Problem is the text of Err.
	Problem string `json:"problem"`
}

const (
	deadPage       = 500
	refusalsListed = 100
)

// page returns the filter of a page of dead letters.
func (f *DeadFilter) page(before taskkit.ID, limit int) taskkit.Filter {
	return taskkit.Filter{
		Kinds: f.Kinds, Queue: f.Queue, Code: f.Code, EndedFor: f.OlderThan, Children: f.Children, Before: before, Limit: limit,
		Statuses: []taskkit.Status{taskkit.StatusError, taskkit.StatusFailure},
	}
}

// Dead groups the dead letters by kind and code, in this order. Without [DeadFilter.Most] it reads at most 20,000 of a kind, and as many children, see
// [DeadGroups.Truncated], and no other tasks. It returns an *[taskkit.OptionError] for a negative Most.
func (o *Operator) Dead(ctx context.Context, f DeadFilter) (*DeadGroups, error) {
	if f.Most < 0 {
		return nil, &taskkit.OptionError{Option: "DeadFilter.Most", Problem: fmt.Sprintf("%d is negative", f.Most)}
	}
	sf, err := access.FilterOf(f.page(taskkit.ID{}, 0))
	if err != nil {
		return nil, err
	}
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.DeadGroups(ctx, sf, f.Most)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	groups := &DeadGroups{Groups: make([]DeadGroup, len(found.Groups)), Truncated: found.Truncated}
	for i, g := range found.Groups {
		groups.Groups[i] = DeadGroup(g)
	}
	return groups, nil
}

// DeadTasks returns a page of dead letters, those first that were submitted last, and what before is for the next page: the
// zero ID if there is none. The first page is before the zero ID. Pages and limits are as in [taskkit.Client.Tasks].
func (o *Operator) DeadTasks(ctx context.Context, f DeadFilter, before taskkit.ID, limit int) (page []*taskkit.Task, next taskkit.ID, err error) {
	return o.client.Tasks(ctx, f.page(before, limit))
}

// RetryDead makes the request of [taskkit.Client.Retry] for each dead letter that the filter selects, with
// [taskkit.WithActor] and [taskkit.WithReason]; other options are an *[taskkit.OptionError]. Each is a transaction of its own, unless the client was
// given one, and is recorded in the events of the task. A task that cannot be retried, because its
// unique key is taken or its parent has ended say, is in the report and does not keep the others; and
// one that has changed since it was listed is left alone. Any other error ends the call; the report
// then says what was done before.
func (o *Operator) RetryDead(ctx context.Context, f DeadFilter, opts ...taskkit.RequestOption) (*DeadReport, error) {
	return o.eachDead(ctx, f, lifecycle.ActRetry, opts)
}

// DropDead is [Operator.RetryDead] with the request of [taskkit.Client.Delete], irrevocably. A child of a task
// that is not complete is refused; it goes with its parent.
func (o *Operator) DropDead(ctx context.Context, f DeadFilter, opts ...taskkit.RequestOption) (*DeadReport, error) {
	return o.eachDead(ctx, f, lifecycle.ActDelete, opts)
}

// eachDead makes a request of each dead letter, page by page. A task that has ended again meanwhile
// keeps its id, so it does not come again.
func (o *Operator) eachDead(ctx context.Context, f DeadFilter, action lifecycle.Action, opts []taskkit.RequestOption) (*DeadReport, error) {
	report := new(DeadReport)
	r, err := access.RequestOf(opts, "dead letters are retried and deleted")
	if err != nil {
		return report, err
	}
	r.Action = action
	for before := (taskkit.ID{}); ; {
		page, next, err := o.DeadTasks(ctx, f, before, deadPage)
		if err != nil {
			return report, err
		}
		for _, t := range page {
			r.Dead = &t.Fence
			err := o.access.Request(ctx, t.ID, r)
			switch {
			case err == nil:
				report.Done++
			case errors.Is(err, taskkit.ErrNotFound): // it went with its parent, or another deleted it
			case isRefusal(err):
				report.Refused++
				if len(report.Refusals) < refusalsListed {
					report.Refusals = append(report.Refusals, DeadRefusal{t.ID, err, err.Error()})
				}
			default:
				return report, fmt.Errorf("after %d dead letters: %w", report.Done, err)
			}
		}
		if next == (taskkit.ID{}) {
			return report, nil
		}
		before = next
	}
}

// isRefusal reports whether an error is about one task, and not about the call.
func isRefusal(err error) bool {
	var (
		state     *taskkit.StateError
		duplicate *taskkit.DuplicateError
		child     *taskkit.ChildError
	)
	return errors.As(err, &state) || errors.As(err, &duplicate) || errors.As(err, &child)
}
