package taskbulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// Request is a bulk operation before it is submitted.
type Request struct {
	Verb Verb
	// Filter selects the tasks, in each page: Before and Limit must be zero. Without Statuses it selects those that the verb is for, others are
	// refused. A filter that no index serves is refused with a *[FilterError] where there are more than 1,000,000 tasks. Bulk operations are
	// never among the tasks.
	Filter taskkit.Filter
	// All must be set if the filter is empty: it selects all tasks that the verb is for.
	All bool
	// Reason is recorded in the events of each task. Stop and Delete need one.
	Reason string
	// Actor is the person on whose behalf the requests are made, and the owner of the bulk operation. The zero UUID is the application itself.
	Actor uuid.UUID
	// Max is how many tasks there may be; more are a *[TooManyError]. Defaults to 1,000,000, which is also the most.
	Max int64

	searched int64 // in place of the constant
}

// most is the greatest Request.Max: the tasks come newest first, and a set that does not ascend may have no more targets.
const most = 1_000_000

// searched is how many tasks [Submit] reads to find the tasks of a filter that no index serves, and counted how many [Count] reads of any, if
// its limit is not higher.
const (
	searched = 100 * store.ListRead
	counted  = 2 * store.ListRead
)

// Check returns what is wrong with the request, as [Submit] does before it reads.
func (r *Request) Check() error {
	_, err := r.check()
	return err
}

// check returns what is wrong with the request, and how it is carried out.
func (r *Request) check() (rules, error) {
	if err := r.Verb.check(); err != nil {
		return rules{}, err
	}
	verb, _ := of(r.Verb)
	f := &r.Filter
	switch {
	case f.Before != taskkit.ID{} || f.Limit != 0:
		return verb, refuse("Filter", "Before and Limit select a page, and a bulk operation is for all that match: leave them out")
	case isEmpty(f) && !r.All:
		return verb, refuse("All", fmt.Sprintf("the filter is empty: to %s all tasks that can be, set All", r.Verb))
	case r.Max < 0 || r.Max > most:
		return verb, refuse("Max", fmt.Sprintf("%d is not between 1 and %d", r.Max, most))
	case slices.Contains(f.Kinds, Kind.Name()):
		return verb, refuse("Filter.Kinds", fmt.Sprintf("bulk operations of kind %s are no targets of another: make the request of each", Kind.Name()))
	case verb.reason && strings.TrimSpace(r.Reason) == "":
		return verb, refuse("Reason", fmt.Sprintf("%s needs one", r.Verb))
	}
	for _, s := range f.Statuses {
		if !slices.Contains(verb.statuses, s) {
			return verb, refuse("Filter.Statuses", fmt.Sprintf("%.30q tasks cannot be %s: use %s", string(s), verb.past, joined(verb.statuses)))
		}
	}
	_, err := access.FilterOf(*f)
	return verb, err
}

// isEmpty reports whether a filter selects all tasks without a parent, or all.
func isEmpty(f *taskkit.Filter) bool {
	return len(f.IDs) == 0 && len(f.Kinds) == 0 && len(f.Statuses) == 0 && f.Owner == uuid.Nil && f.Queue == "" && f.Reference == "" && f.UniqueKey == "" &&
		f.Code == "" && f.Parent == taskkit.ID{} && f.Follows == taskkit.ID{} && !f.Running && !f.Previews && !f.Paused && !f.Approval && f.EndedFor == 0
}

// filter returns the filter with the statuses of the verb.
func (r *Request) filter(verb *rules) taskkit.Filter {
	f := r.Filter
	if len(f.Statuses) == 0 && len(verb.statuses) < len(allStatuses) {
		f.Statuses = verb.statuses
	}
	return f
}

var allStatuses = []taskkit.Status{
	taskkit.StatusQueued, taskkit.StatusScheduling, taskkit.StatusExecuting, taskkit.StatusCompleted, taskkit.StatusError, taskkit.StatusFailure,
}

// errMore ends the tasks that match where a bounded part of all tasks was read.
var errMore = errors.New("there may be more tasks that match")

// matches are the tasks that a request is for, newest first. Each page is one statement, which reads a bounded part of the tasks. After so many tasks,
// 0 for any number, errMore comes.
func (r *Request) matches(ctx context.Context, c *taskkit.Client, verb *rules, bound int64) iter.Seq2[store.TaskRef, error] {
	return func(yield func(store.TaskRef, error) bool) {
		lent := access.ClientOf(c)
		f, err := access.FilterOf(r.filter(verb))
		if err != nil {
			yield(store.TaskRef{}, err)
			return
		}
		op, err := lent.Store(ctx)
		if err != nil {
			yield(store.TaskRef{}, err)
			return
		}
		f.Limit, f.Paused = store.ListRead, f.Paused || verb.paused
		for read := int64(0); ; {
			switch {
			case bound > 0 && read >= bound:
				yield(store.TaskRef{}, errMore)
				return
			case read >= cmp.Or(r.searched, searched) && !f.Indexed():
				yield(store.TaskRef{}, &FilterError{Filter: describe(r.filter(verb))})
				return
			}
			page, next, err := op.TaskRefs(ctx, f)
			if err != nil {
				yield(store.TaskRef{}, lent.Public(ctx, err))
				return
			}
			if f.Only(lifecycle.Status.Dead) { // a page has fewer of them
				read += max(int64(len(page)), store.DeadSearch)
			} else {
				read += store.ListRead
			}
			for _, t := range page {
				if t.Kind != Kind.Name() && verb.selects(t.Control) && !yield(t, nil) {
					return
				}
			}
			if next == uuid.Nil {
				return
			}
			f.Before = next
		}
	}
}

// describe says in words what a filter selects.
func describe(f taskkit.Filter) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	list := func(values []string) string {
		if len(values) > described {
			return strings.Join(values[:described], ", ") + fmt.Sprintf(" and %d more", len(values)-described)
		}
		return strings.Join(values, ", ")
	}
	id := func(id uuid.UUID) string {
		if id == uuid.Nil {
			return ""
		}
		return id.String()
	}
	statuses := make([]string, len(f.Statuses))
	for i, s := range f.Statuses {
		statuses[i] = string(s)
	}
	if n := len(f.IDs); n > 0 {
		add("ids", fmt.Sprintf("(%d)", n))
	}
	add("kind", list(f.Kinds))
	add("status", list(statuses))
	add("owner", id(f.Owner))
	add("queue", f.Queue)
	add("code", f.Code)
	add("reference", f.Reference)
	add("unique key", f.UniqueKey)
	add("parent", id(f.Parent))
	add("follows", id(f.Follows))
	if f.EndedFor > 0 {
		add("ended", "more than "+f.EndedFor.Round(time.Second).String()+" ago")
	}
	for _, flag := range []struct {
		is   bool
		text string
	}{{f.Running, "running"}, {f.Previews, "previews"}, {f.Paused, "paused"}, {f.Approval, "waiting for approval"}, {f.Children, "with children"}} {
		if flag.is {
			parts = append(parts, flag.text)
		}
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, "; ")
}

// described is how many values of a list are in words.
const described = 5
