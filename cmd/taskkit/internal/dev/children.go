package dev

import (
	"context"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// childPage is how many tasks are read at once.
const childPage = 1000

// children returns all children of a task.
func (r *run) children(ctx context.Context, id taskkit.ID) ([]*taskkit.Child, error) {
	var all []*taskkit.Child
	var after taskkit.ID
	for {
		page, err := r.client.Children(ctx, id, after, childPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < childPage {
			return all, nil
		}
		after = page[len(page)-1].ID
	}
}

// descendants returns a task and all tasks below it.
func (r *run) descendants(ctx context.Context, id taskkit.ID) ([]taskkit.ID, error) {
	all := []taskkit.ID{id}
	children, err := r.children(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		below, err := r.descendants(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// attempts counts the failed attempts of a task and of those below it.
func (r *run) attempts(ctx context.Context, id taskkit.ID) (int, error) {
	tasks, err := r.descendants(ctx, id)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, id := range tasks {
		attempts, err := r.client.Attempts(ctx, id, 1000)
		if err != nil {
			return 0, err
		}
		n += len(attempts)
	}
	return n, nil
}

// liveStatuses returns the statuses of tasks that have not ended.
func liveStatuses() []taskkit.Status {
	return []taskkit.Status{taskkit.StatusQueued, taskkit.StatusScheduling, taskkit.StatusExecuting}
}

// live returns all tasks of the run that have not ended.
func (r *run) live(ctx context.Context) (all []*taskkit.Task, err error) {
	f := taskkit.Filter{Queue: r.workspace.queue, Statuses: liveStatuses(), Children: true, Limit: childPage}
	for {
		page, next, err := r.client.Tasks(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == (taskkit.ID{}) {
			return all, nil
		}
		f.Before = next
	}
}

// runningOf returns those tasks of an action, and below it, that a worker has claimed.
func (r *run) runningOf(ctx context.Context, a *action, worker string) ([]*taskkit.Task, error) {
	t, err := r.client.Task(ctx, a.id)
	if err != nil {
		return nil, err
	}
	return r.runningBelow(ctx, []*taskkit.Task{t}, worker)
}

func (r *run) runningBelow(ctx context.Context, tasks []*taskkit.Task, worker string) (running []*taskkit.Task, err error) {
	for _, t := range tasks {
		if t.Ended() {
			continue
		}
		if strings.HasPrefix(t.Worker, worker+"-") {
			running = append(running, t)
		}
		below, _, err := r.client.Tasks(ctx, taskkit.Filter{Parent: t.ID, Statuses: liveStatuses(), Limit: childPage})
		if err != nil {
			return nil, err
		}
		found, err := r.runningBelow(ctx, below, worker)
		if err != nil {
			return nil, err
		}
		running = append(running, found...)
	}
	return running, nil
}

// allKills is how many workers are killed in the whole run.
func (r *run) allKills() int {
	if r.Kills == 0 {
		return 0
	}
	return r.Kills + 1
}

// checkBuckets checks the buckets of the actions that have some.
func (r *run) checkBuckets(ctx context.Context, c *checks) error {
	var wrong []string
	buckets := 0
	for _, a := range r.actions {
		if !a.buckets {
			continue
		}
		children, err := r.children(ctx, a.id)
		if err != nil {
			return err
		}
		buckets += len(children)
		problem, err := r.coverage(ctx, children, func(ctx context.Context, s segment.Segment) (int, error) {
			n, _, err := caseload.Count(ctx, r.people.domain, caseload.Query{}, s.Where(person.FieldID))
			return n, err
		})
		if err != nil {
			return err
		}
		if problem != "" {
			wrong = append(wrong, a.name+": "+problem)
		}
	}
	c.that(len(wrong) == 0, "buckets: %s, complete and without an overlap, each done once with as many people as its segment has%s",
		humanize.Comma(int64(buckets)), list(wrong))
	return nil
}

// coverage says what is wrong with the buckets of a task: with their segments, with their ends,
// or with their numbers of items, of which size returns what a segment has. It is empty if
// nothing is.
func (r *run) coverage(ctx context.Context, children []*taskkit.Child, size func(context.Context, segment.Segment) (int, error)) (string, error) {
	var segments []segment.Segment
	for i, c := range children {
		if c.Bucket != i+1 || c.Status != taskkit.StatusCompleted || c.Partial {
			return fmt.Sprintf("number %d is bucket %d in %s", i+1, c.Bucket, c.Status), nil
		}
		n, err := size(ctx, c.Segment)
		if err != nil {
			return "", err
		}
		if int64(n) != c.Progress.Processed() {
			return fmt.Sprintf("bucket %d, %s, has processed %d of %d", c.Bucket, c.Segment, c.Progress.Processed(), n), nil
		}
		segments = append(segments, c.Segment)
	}
	plan, err := segment.Explicit{Segments: segments}.Plan()
	if err == nil {
		err = plan.Verify(string(r.workspace.Dialect))
	}
	if err != nil {
		return err.Error(), nil //nolint:nilerr // the caller reports it as a failed check
	}
	return "", nil
}
