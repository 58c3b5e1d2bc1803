package session

import (
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// poison is the [feature] of a task whose workers were lost. Its first batches have one item each, and it runs alone.
type poison struct {
	noFeature
	c    *current
	skip bool   // the item that the task is at is poison, and its kind allows to skip it
	exit func() // leaves the quarantine of the pool
}

// begin implements [feature].
func (f *poison) begin(step *Step) error {
	step.skip = f.skip && step.Ending == NotEnding
	return nil
}

// committed follows a checkpoint. The task has passed the item that it was at, and leaves the quarantine if that was the
// last suspected item.
func (f *poison) committed(w *store.Write, _ store.Applied) {
	if w.Checkpoint {
		f.readBack(true)
	}
}

// readBack implements [feature].
func (f *poison) readBack(advanced bool) {
	if !advanced {
		return
	}
	f.skip = false
	if f.c.limit.alone == 0 {
		f.exit()
	}
}

// isPoison reports whether the task ends in ERROR instead of being executed. When
// its poison item can be skipped, it has one more try for that: an executor that
// does not keep its position by Take runs the item once more.
func (c *current) isPoison(skip bool) bool {
	most := c.Config.MaxAttempts
	if skip {
		most++
	}
	return lifecycle.Poisoned(c.tries, most)
}

// atPoisonItem reports whether the item that a claimed task is at seems to kill its
// workers, and its kind allows to skip it. Attempts that failed with an error do
// not count: their worker survived. What a task with buckets is at is a segment, which has no
// item to skip.
func (c *current) atPoisonItem(t store.ClaimedTask) bool {
	last := firstBatch(c.kind, t.Attempts-1, c.Config)
	if !c.kind.SkipPoison || !lifecycle.PoisonItem(t.Stalled, t.Attempts, last) {
		return false
	}
	failed, err := c.failedAttempts()
	return err == nil && // otherwise the item is tried once more
		lifecycle.PoisonItem(t.Stalled, t.Attempts-failed, last)
}

// maxEvents is how many requests are searched for an operator's retry. Before more
// than that, errors before the retry count as if they had followed it: an item is
// then tried more often before it is skipped.
const maxEvents = 100

// failedAttempts counts the attempts since the last checkpoint, and since an
// operator's retry, that failed with an error. The task's worker was lost in the
// others.
func (c *current) failedAttempts() (int, error) {
	ctx, cancel := c.short()
	defer cancel()
	recorded, err := c.Store.Attempts(ctx, c.lease.ID, c.tries)
	if err != nil || len(recorded) == 0 {
		return 0, err
	}
	events, err := c.Store.Events(ctx, c.lease.ID, maxEvents)
	if err != nil {
		return 0, err
	}
	var retried time.Time
	if i := slices.IndexFunc(events, func(e store.Event) bool { return e.Action == string(lifecycle.ActRetry) }); i >= 0 {
		retried = events[i].Created
	}
	return store.FailedAttempts(recorded, c.lease.Seq, c.tries, retried), nil
}

// crashLoop is the ending of a poison task. Its detail has the position of the task.
func (c *current) crashLoop(targets *frozenTargets) ending {
	where := "in its first batch"
	switch p := c.progress; {
	case targets.isFinding():
		where = fmt.Sprintf("while it found its targets, %d so far", targets.Total)
	case p.Round > 0:
		where = fmt.Sprintf("in round %d over its deferred items, after position %d of %d", p.Round, p.Position, p.Total)
	case p.Position > 0 && p.Position < p.Total:
		where = fmt.Sprintf("at position %d of %d", p.Position+1, p.Total)
		if last := min(p.Position+int64(firstBatch(c.kind, c.tries-1, c.Config)), p.Total); last > p.Position+1 {
			where = fmt.Sprintf("at one of the positions %d to %d of %d", p.Position+1, last, p.Total)
		}
	case p.Done+p.Failed+p.Skipped > 0:
		where = fmt.Sprintf("after %d items", p.Done+p.Failed+p.Skipped)
	case c.lease.Seq > 0:
		where = fmt.Sprintf("after checkpoint %d", c.lease.Seq)
	}
	tried := fmt.Sprintf("tried %d times without a checkpoint", c.tries-1)
	if failed, err := c.failedAttempts(); err == nil {
		tried += fmt.Sprintf(" (errors: %d, lost workers: %d)", failed, c.tries-1-failed)
	}
	return ending{status: lifecycle.Error, how: EndFailed, unspent: true, class: classify.Classification{
		Class: lifecycle.Permanent, Code: classify.CodeCrashLoop,
		Detail: tried + ": it seems to kill its worker, " + where,
	}}
}

// hasSkipped reports whether Take has skipped an element.
func (s *Step) hasSkipped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.didSkip
}
