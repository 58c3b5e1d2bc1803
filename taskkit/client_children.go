package taskkit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/segment"
)

// Child is a child of a task: a bucket, a range of its targets, a stage, or what a batch has submitted with [WithParent].
// As with a [Task], its JSON, its line in a log and its String leave StatusDetail out.
type Child struct {
	ID      ID              `json:"id"`
	Kind    string          `json:"kind"`
	Stage   string          `json:"stage,omitempty"`  // its name; "": it is none
	Bucket  int             `json:"bucket,omitempty"` // its number, from 1; 0: it is none
	Segment segment.Segment `json:"segment,omitzero"` // of a bucket
	// First and Last are the positions of its items in the list or the set of the task, from 1, of a range; 0: it is none.
	First        int64      `json:"first,omitempty"`
	Last         int64      `json:"last,omitempty"`
	Status       Status     `json:"status"`
	Partial      bool       `json:"partial"` // it was stopped before it was done
	StatusDetail string     `json:"-"`
	Progress     Progress   `json:"progress"`          // of its children, if it has any
	Started      *time.Time `json:"started,omitempty"` // for the first time
	Ended        *time.Time `json:"ended,omitempty"`
}

// LogValue returns what identifies the child and how far it is.
func (c Child) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", c.ID.String()), slog.String("kind", c.Kind), slog.String("status", string(c.Status)),
		slog.Int64("processed", c.Progress.Processed()), slog.Int64("total", c.Progress.Total))
}

// String names the child and its status.
func (c Child) String() string { return fmt.Sprintf("task %s of kind %s, %s", c.ID, c.Kind, c.Status) }

// ChildCounts are the children of a task by what has become of them. The sum of the
// counts is their number.
type ChildCounts struct {
	Open      int64 `json:"open"` // not ended
	Completed int64 `json:"completed"`
	Stopped   int64 `json:"stopped"` // COMPLETED, and partial
	Failed    int64 `json:"failed"`  // in FAILURE or ERROR
	// Running are the open ones that a worker has, or that have a running child themselves.
	Running int64 `json:"running"`
	// Progress is the sum of theirs. The total is that of the children which exist, and -1 while
	// one of them does not know its own.
	Progress Progress `json:"progress"`
}

// Children lists the children of a task after one of them, in the order of their ids, which is
// mostly that in which they were submitted. The zero ID begins with the first, and a limit of
// less than 1 is 100; at most 1,000 are returned. A task that does not exist has none.
func (c *Client) Children(ctx context.Context, parent, after ID, limit int) ([]*Child, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	if limit < 1 {
		limit = 100
	}
	found, err := op.Children(ctx, parent, after, min(limit, 1000), false)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	children := make([]*Child, len(found))
	var parents []uuid.UUID
	for i := range found {
		f := &found[i]
		if f.HasChildren {
			parents = append(parents, f.ID)
		}
		children[i] = &Child{
			ID: f.ID, Kind: f.Kind, Stage: f.Stage, Bucket: int(f.Number), Status: Status(f.Status), Partial: f.Partial,
			StatusDetail: f.StatusDetail, Progress: progress(f.Progress), Started: f.Started, Ended: f.Stopped,
		}
		if r := f.Range; r != nil {
			children[i].First, children[i].Last = r.From+1, r.To
		}
		if f.Segment != nil {
			if err := json.Unmarshal(f.Segment, &children[i].Segment); err != nil {
				return nil, fmt.Errorf("taskkit: the segment of task %s: %w", f.ID, err)
			}
		}
	}
	below, err := op.CountChildren(ctx, parents)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	for _, child := range children {
		if counts, ok := below[child.ID]; ok {
			child.Progress = progress(counts.Progress())
		}
	}
	return children, nil
}

// CountChildren counts the children of a task, and adds up their progress. A task that does
// not exist has none.
func (c *Client) CountChildren(ctx context.Context, parent ID) (*ChildCounts, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := op.CountChildren(ctx, []uuid.UUID{parent})
	if err != nil {
		return nil, c.public(ctx, err)
	}
	return childCounts(counts[parent]), nil
}

// childCounts converts counts.
func childCounts(counts store.ChildCounts) *ChildCounts {
	made := &ChildCounts{Stopped: counts.Stopped, Running: counts.Running, Progress: progress(counts.Progress())}
	for status, n := range counts.Statuses {
		switch {
		case status.Live():
			made.Open += n
		case status == lifecycle.Completed:
			made.Completed += n - counts.Stopped
		default:
			made.Failed += n
		}
	}
	return made
}

// isSplit reports whether a task is split into buckets or ranges, be it before they are submitted.
func isSplit(ctx context.Context, op store.Client, id ID) (buckets, ranges bool, err error) {
	plan, err := op.Plan(ctx, id)
	if err != nil {
		return false, false, err
	}
	return plan.Frozen.AreParts(), isDivided(&plan), nil
}

// isDivided reports whether the targets of a task are divided into ranges.
func isDivided(p *store.Plan) bool {
	return p.Options.MaxParallel > 0 && !p.Frozen.AreParts()
}

// passOnPage is how many children one statement changes.
const passOnPage = 1000

// passOn passes a request on to the open children of a task, to any depth, and wakes parents
// whose wait has ended with that. What it does not reach, the workers do: see docs/fan-out.md. So
// no error of it is one of the request, which has been made.
func passOn(ctx context.Context, op store.Client, parents []uuid.UUID) {
	for len(parents) > 0 {
		var next []uuid.UUID
		for idle := 0; idle < 5; {
			changed, more, err := op.PassOn(ctx, parents, passOnPage)
			if err != nil {
				return
			}
			if next = append(next, changed...); !more {
				break
			}
			if len(changed) == 0 { // their rows are locked for a moment
				idle++
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Duration(idle) * 10 * time.Millisecond):
				}
			}
		}
		if _, err := op.WakeParents(ctx, parents); err != nil {
			return
		}
		parents = next
	}
}
