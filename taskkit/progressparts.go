package taskkit

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

// ProgressParts are the children of a task that has some.
type ProgressParts struct {
	Name  string `json:"name"`  // what they are: stages, buckets, ranges or children
	Ended int64  `json:"ended"` // however they did
	Total int64  `json:"total"` // -1: unknown, since more may come
	// Running counts the parts that a worker has, and of parts with children these, at most 100.
	Running int64 `json:"running"`
	// Reduced counts the Running parts whose worker is lost, or that are halted as a task can be.
	Reduced int64 `json:"reduced"`
}

// partsRead is how many running parts are read for the rate of a task.
const partsRead = 100

// State returns the state in a word or two, for people: the status in lower case, but "running" for a task that a worker has, or one of its
// children, "running (reduced)" while some of its running parts do not work, see ProgressParts.Reduced, and "halted" while it, or all of
// them, do not.
func (p *TaskProgress) State() string {
	running := p.Status == StatusScheduling || p.Status == StatusExecuting || p.Parts != nil && p.Parts.Running > 0
	switch {
	case p.Halted != nil:
		return "halted"
	case running && p.Parts != nil && p.Parts.Reduced > 0:
		return "running (reduced)"
	case running:
		return "running"
	}
	return strings.ToLower(string(p.Status))
}

// Text returns how far the task is, for people: for example "2 of 3 stages, 4,100 of 10,000, about 3 min". What is not known is left out.
func (p *TaskProgress) Text() string {
	var parts []string
	if of := p.Parts; of != nil {
		parts = append(parts, ofTotal(of.Ended, of.Total)+" "+of.Name)
	}
	parts = append(parts, ofTotal(p.Progress.Processed(), p.Progress.Total))
	if left := p.TimeLeft; left != nil {
		parts = append(parts, "about "+roughly(left.Low/2+left.High/2))
	}
	return strings.Join(parts, ", ")
}

// ofTotal writes a count and, if it is known, the total.
func ofTotal(n, total int64) string {
	if total < 0 {
		return thousands(n)
	}
	return thousands(n) + " of " + thousands(total)
}

// thousands writes a number that is not negative with a comma between each three digits.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// roughly writes a duration in one unit.
func roughly(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int64(max(d.Round(time.Second), time.Second)/time.Second))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int64(d.Round(time.Minute)/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int64(d.Round(time.Hour)/time.Hour))
	}
	const day = 24 * time.Hour
	return fmt.Sprintf("%d days", int64(d.Round(day)/day))
}

// addParts adds what the children of a task say: of how many there are, how many have ended, and of those that run, how fast they are
// together. The parts that run share what remains.
func (c *Client) addParts(ctx context.Context, op store.Client, t *Task, p *TaskProgress) error {
	var err error
	if p.Parts, err = partsOf(ctx, op, t); err != nil || t.Ended() {
		return err
	}
	var running []store.Task
	if err := runningParts(ctx, op, t.ID, &running); err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(running))
	for i := range running {
		ids[i] = running[i].ID
	}
	subjects, err := op.Subjects(ctx, ids)
	if err != nil {
		return err
	}
	var (
		samples []workrate.Sample
		working int64 // of the running ones
		seen    *time.Time
	)
	for i := range running {
		s := subjects[running[i].ID]
		if s == nil || !s.Status.InFlight() {
			continue // it has ended since it was listed
		}
		rate, err := op.Rate(ctx, running[i].ID)
		if err != nil {
			return err
		}
		p.Parts.Running++
		stuck := halted(fromStore(running[i]), rate)
		if stuck != nil && (seen == nil || stuck.After(*seen)) {
			seen = stuck
		}
		if stuck != nil || !s.WorkerAlive {
			p.Parts.Reduced++
			continue
		}
		working++
		p.Rate += rate.PerSecond()
		samples = append(samples, rate.Samples...)
	}
	switch {
	case working == 0 && seen != nil:
		p.Halted, p.TimeLeft, p.FromEarlier = seen, nil, false
	case working > 0 && p.Remaining > 0:
		p.Waiting = ""
		if low, high, known := workrate.Left(p.Remaining, samples); known {
			p.TimeLeft, p.FromEarlier = &TimeRange{low / time.Duration(working), high / time.Duration(working)}, false
		}
	case working > 0:
		p.Waiting = ""
	}
	return nil
}

// runningParts appends the parts of a task that a worker has, to any depth.
func runningParts(ctx context.Context, op store.Client, id ID, to *[]store.Task) error {
	children, _, err := op.Tasks(ctx, store.Filter{Parent: id, Running: true, Limit: partsRead})
	if err != nil {
		return err
	}
	for i := range children {
		switch {
		case len(*to) == partsRead:
			return nil
		case children[i].Status.InFlight():
			*to = append(*to, children[i])
		default:
			if err := runningParts(ctx, op, children[i].ID, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// partsOf counts the parts of a task, and says what they are.
func partsOf(ctx context.Context, op store.Client, t *Task) (*ProgressParts, error) {
	of := t.Children
	p := &ProgressParts{Name: "children", Ended: of.Completed + of.Stopped + of.Failed, Total: of.Open + of.Completed + of.Stopped + of.Failed}
	plan, err := op.Plan(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	family, err := op.Family(ctx, store.Lease{ID: t.ID})
	if err != nil {
		return nil, err
	}
	var memo stageMemo
	if family.Memo != nil {
		if err := json.Unmarshal(family.Memo, &memo); err != nil {
			memo = stageMemo{}
		}
	}
	switch {
	case len(memo.Stages) > 0:
		p.Name, p.Total, p.Ended = "stages", int64(len(memo.Stages)), 0
		stages, err := op.Children(ctx, t.ID, uuid.Nil, itemsPage, false)
		if err != nil {
			return nil, err
		}
		for i := range stages {
			if stages[i].Stage != "" && stages[i].Status.Terminal() {
				p.Ended++
			}
		}
	case plan.Frozen.AreParts():
		p.Name, p.Total = "buckets", plan.Frozen.Total
	case isDivided(&plan):
		p.Name = "ranges"
		if !t.Ended() {
			p.Total = -1
		}
	case !t.Ended():
		p.Total = -1
	}
	if p.Total >= 0 {
		p.Ended = min(p.Ended, p.Total) // buckets may have children, which are counted instead
	}
	return p, nil
}
