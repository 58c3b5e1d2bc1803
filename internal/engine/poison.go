package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// isPoison reports whether the task ends in ERROR instead of being executed. When
// its poison item can be skipped, it has one more try for that: an executor that
// does not keep its position by Take runs the item once more.
func (s *session) isPoison() bool {
	most := s.config.MaxAttempts
	if s.skip {
		most++
	}
	return lifecycle.Poisoned(s.tries, most)
}

// endPoison ends a poison task.
func (s *session) endPoison() {
	s.end(ending{status: lifecycle.Error, how: EndFailed, class: s.crashLoop()})
}

// atPoisonItem reports whether the item that a claimed task is at seems to kill its
// workers, and its kind allows to skip it. Attempts that failed with an error do
// not count: their worker survived. What a task with buckets is at is a segment, which has no
// item to skip.
func (s *session) atPoisonItem(c store.ClaimedTask) bool {
	last := firstBatch(s.kind, c.Attempts-1, s.config)
	if !s.kind.SkipPoison || s.kind.TargetsAreParts && s.hasChildren() || !lifecycle.PoisonItem(c.Stalled, c.Attempts, last) {
		return false
	}
	failed, err := s.failedAttempts()
	return err == nil && // otherwise the item is tried once more
		lifecycle.PoisonItem(c.Stalled, c.Attempts-failed, last)
}

// maxEvents is how many requests are searched for an operator's retry. Before more
// than that, errors before the retry count as if they had followed it: an item is
// then tried more often before it is skipped.
const maxEvents = 100

// failedAttempts counts the attempts since the last checkpoint, and since an
// operator's retry, that failed with an error. The task's worker was lost in the
// others.
func (s *session) failedAttempts() (n int, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
	defer cancel()
	recorded, err := s.store.Attempts(ctx, s.lease.ID, s.tries)
	if err != nil || len(recorded) == 0 {
		return 0, err
	}
	events, err := s.store.Events(ctx, s.lease.ID, maxEvents)
	if err != nil {
		return 0, err
	}
	retry := slices.IndexFunc(events, func(e store.Event) bool { return e.Action == string(lifecycle.ActRetry) })
	slices.SortFunc(recorded, func(a, b store.Attempt) int { return cmp.Compare(b.Fence, a.Fence) })
	before := s.tries
	for _, a := range recorded {
		retried := retry >= 0 && a.Created.Before(events[retry].Created)
		if a.Seq != s.lease.Seq || a.Attempt >= before || retried {
			break // before the checkpoint, or before an operator's retry
		}
		before = a.Attempt
		n++
	}
	return n, nil
}

// crashLoop is the error of a poison task. It says where the task was.
func (s *session) crashLoop() classify.Classification {
	where := "in its first batch"
	switch p := s.progress; {
	case s.search != nil:
		where = fmt.Sprintf("while it found its targets, %d so far", s.frozen.Total)
	case p.Round > 0:
		where = fmt.Sprintf("in round %d over its deferred items, after position %d of %d", p.Round, p.Position, p.Total)
	case p.Position > 0 && p.Position < p.Total:
		where = fmt.Sprintf("at position %d of %d", p.Position+1, p.Total)
		if last := min(p.Position+int64(firstBatch(s.kind, s.tries-1, s.config)), p.Total); last > p.Position+1 {
			where = fmt.Sprintf("at one of the positions %d to %d of %d", p.Position+1, last, p.Total)
		}
	case p.Done+p.Failed+p.Skipped > 0:
		where = fmt.Sprintf("after %d items", p.Done+p.Failed+p.Skipped)
	case s.lease.Seq > 0:
		where = fmt.Sprintf("after checkpoint %d", s.lease.Seq)
	}
	tried := fmt.Sprintf("tried %d times without a checkpoint", s.tries-1)
	if failed, err := s.failedAttempts(); err == nil {
		tried += fmt.Sprintf(" (errors: %d, lost workers: %d)", failed, s.tries-1-failed)
	}
	return classify.Classification{
		Class: lifecycle.Permanent, Code: classify.CodeCrashLoop,
		Detail: tried + ": it seems to kill its worker, " + where,
	}
}

// commitSkip records the element that Take has skipped as a failed item, and
// continues the task after it. What the executor did before it called Take is not
// kept.
func (s *session) commitSkip(step *Step) flow {
	w := store.Write{
		Lease: s.lease, To: lifecycle.Executing, Begun: s.begun, Checkpoint: true,
		Revision: s.task.Revision, State: s.state,
	}
	w.Progress, w.Items, _ = step.finish() // what else it did is not kept
	s.retryDeferred(&w, step, false)
	s.check(&w)
	s.limit.alone = 0 // the item that killed its workers is found
	a, err := s.flusher.apply(&w)
	if err == nil && a.OK {
		s.events.report(taskevent.ItemSkipped{TaskRef: s.ref(), Item: itemkey.Text(w.Items[0].Key), Position: w.Progress.Position})
	}
	return s.orFailed(s.handleWriteResult(&w, a, err, continueSession))
}

// hasSkipped reports whether Take has skipped an element.
func (s *Step) hasSkipped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.didSkip
}
