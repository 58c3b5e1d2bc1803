package taskkit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/segment"
)

// defaultBuckets is how many buckets of a task are open at once unless [WithMaxParallel] says
// otherwise. More are submitted when half of them have ended.
const defaultBuckets = 64

// codeSegments is the code of a plan of segments that cannot be used.
const codeSegments = "segments"

// mergePage is how many states of buckets one batch merges.
const mergePage = 100

// findSegments calls the method Segments, proves its plan and returns the segments as JSON.
// They are stored as the targets of the task.
func (c *call[Spec, State, Result]) findSegments(ctx context.Context, s *session.Step, state json.RawMessage) (keys [][]byte, next session.Next, out json.RawMessage, err error) {
	b, err := c.batch(s, state)
	if err != nil {
		return nil, session.Next{}, nil, err
	}
	b.Segment = segment.Segment{}
	plan, err := c.segmenter.Segments(ctx, b)
	if err == nil && plan == nil {
		err = Permanent(codeSegments, errors.New("the method Segments returned nil: return the Plan of a division"))
	}
	if err == nil {
		err = plan.Verify(s.Tx.Dialect())
	}
	if err != nil {
		return nil, session.Next{}, nil, segmentsError(err)
	}
	keys = make([][]byte, 0, plan.Len())
	for _, part := range plan.All() {
		key, err := json.Marshal(part)
		if err != nil {
			return nil, session.Next{}, nil, segmentsError(err)
		}
		keys = append(keys, key)
	}
	out, err = c.encodeState(b)
	return keys, session.Next{Done: true}, out, err
}

// segmentsError gives the errors of package segment their code. Others stay as they are.
func segmentsError(err error) error {
	var (
		parameter   *segment.ParameterError
		coverage    *segment.CoverageError
		unsupported *segment.UnsupportedError
	)
	if errors.As(err, &parameter) || errors.As(err, &coverage) || errors.As(err, &unsupported) {
		return Permanent(codeSegments, err)
	}
	return err
}

// bucketMemo is what a task with buckets remembers of them.
type bucketMemo struct {
	Merged uuid.UUID `json:"merged"` // the last bucket whose state is in the total
	// Before is the total without any, and Fences is the sum of the buckets' fences when the
	// merge began. A bucket that is retried after that has another state.
	Before json.RawMessage `json:"before"`
	Fences int64           `json:"fences"`
}

// runBuckets is the batch of a task whose work is done by buckets: it submits more of them,
// waits, and merges their states when all have ended.
func (c *call[Spec, State, Result]) runBuckets(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	t := s.Targets
	switch {
	case c.segmenter == nil:
		return session.Next{}, nil, Permanent(codeSegments, errors.New("the task has buckets, and this worker's executor has no method Segments: put it back, and retry the task"))
	case t.Err != nil:
		return session.Next{}, nil, t.Err
	}
	window, refill := defaultBuckets, defaultBuckets/2
	if n := s.Options.MaxParallel; n > 0 {
		window, refill = n, n-1
	}
	parts := segmentsOf(t)
	from := s.Position(t.Total)
	tasks, to, skipped, err := c.nextBuckets(ctx, s, state, parts, max(window-int(s.Family.Open), 0))
	if err != nil {
		return session.Next{}, nil, err
	}
	takeBuckets(s, parts, from, to, skipped)
	if len(tasks) > 0 {
		if err := s.Tx.Insert(ctx, tasks); err != nil {
			return session.Next{}, nil, fmt.Errorf("submit the buckets %d to %d: %w", from+1, to, err)
		}
	}
	open := int(s.Family.Open) + len(tasks)
	next := c.awaitParts(s)
	switch {
	case to < t.Total && open < window:
		return session.Next{}, state, nil // the next page of segments
	case to < t.Total:
		next.OpenAtMost, next.MoreParts = int64(refill), true
		return next, state, nil
	case open > 0:
		return next, state, nil
	}
	return c.mergeBuckets(ctx, s, state)
}

// nextBuckets returns the tasks of the next buckets, at most room, of those that were read, and the position after them. skipped
// has the codes of those that are left out, by their position.
func (c *call[Spec, State, Result]) nextBuckets(ctx context.Context, s *session.Step, state json.RawMessage, parts []json.RawMessage, room int) (tasks []store.NewTask, to int, skipped map[int]string, err error) {
	from, most := s.Position(s.Targets.Total), min(room, s.Targets.Most)
	var b *Batch[Spec, State]
	if c.bucketChecker != nil && room > 0 {
		most = min(defaultBuckets, s.Targets.Most) // some are left out
		if b, err = c.batch(s, state); err != nil {
			return nil, from, nil, err
		}
	}
	for to = from; to < min(from+most, s.Targets.Total) && len(tasks) < room; to++ {
		part, p := parts[to-s.Targets.From], Process
		if b != nil {
			if err := json.Unmarshal(part, &b.Segment); err != nil {
				return nil, from, nil, Permanent("undecodable_segment", err)
			}
			if p, err = c.bucketChecker.CheckBucket(ctx, b); err != nil {
				return nil, from, nil, segmentsError(err)
			}
		}
		switch {
		case p.code != "":
			if skipped == nil {
				skipped = make(map[int]string)
			}
			skipped[to] = p.code
		case !p.countOnly:
			tasks = append(tasks, c.part(s, store.Child{Segment: part, Number: int64(to) + 1}, -1))
		}
	}
	return tasks, to, skipped, nil
}

// takeBuckets moves the position of the task behind buckets, and records those that are left out.
func takeBuckets(s *session.Step, parts []json.RawMessage, from, to int, skipped map[int]string) {
	if to == from {
		return
	}
	key := func(i int) string { return itemkey.OfJSON(parts[i-s.Targets.From]) }
	s.Pass(s.Targets.Total, to-from, key)
	for i, code := range skipped {
		s.SkipPart(key(i), int64(i)+1, code)
	}
}

// segmentsOf are the segments that were read for a batch.
func segmentsOf(t *session.Targets) []json.RawMessage {
	var parts []json.RawMessage
	for _, l := range t.Lists {
		page, _ := l.([]json.RawMessage)
		parts = append(parts, page...)
	}
	return parts
}

// awaitParts waits until no part of the task is open.
func (c *call[Spec, State, Result]) awaitParts(s *session.Step) session.Next {
	return session.Next{AwaitChildren: true, OnFailure: cmp.Or(s.Options.OnFailure, store.FailureFails), Divided: true}
}

// part returns the task of a segment or a range, with so many items; -1: unknown.
func (c *call[Spec, State, Result]) part(s *session.Step, of store.Child, total int64) store.NewTask {
	t := s.Task
	of.Parent = t.ID
	var finding *store.NewTargets
	if c.targets != nil && of.Segment != nil {
		finding = &store.NewTargets{Field: c.kind.def.Targets.Field, Finding: true}
	}
	return store.NewTask{
		Submitted: store.Submitted{Kind: c.kind.def.Name, Owner: t.Owner, RunAs: t.RunAs, Queue: t.Queue, Parent: t.ID, TargetsField: c.kind.def.Targets.Field},
		ID:        store.NewID(), Revision: c.kind.def.Revision, Secrets: c.kind.hidden(), Ledger: c.kind.def.Ledger,
		Start:    store.Start{SpecRevision: t.SpecRevision},
		Options:  s.Options.OfBucket(of),
		Priority: min(t.Priority+1, int(PriorityIdle)), Total: total, Targets: finding,
	}
}

// mergeBuckets adds the states of the next buckets to the total, if there is a [Merger]. With
// the last of them the task is done.
func (c *call[Spec, State, Result]) mergeBuckets(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	var (
		m   *merge[Spec, State, Result]
		err error
	)
	if c.merger != nil {
		if m, err = c.newMerge(ctx, s, state); err != nil {
			return session.Next{}, nil, err
		}
		more, err := m.page(ctx, s)
		if err == nil {
			state, err = c.encodeState(m.total)
		}
		if err != nil || more {
			return session.Next{}, state, errors.Join(err, m.remember(s))
		}
	}
	counts, err := s.CountChildren(ctx)
	if err == nil && m != nil && counts.Fences != m.memo.Fences {
		// A bucket was retried meanwhile, and its state may be another: the merge begins anew.
		state, m.memo = m.memo.Before, bucketMemo{}
		return session.Next{}, state, m.remember(s)
	}
	next := session.Next{Done: true}
	switch {
	case isDryRun(s):
		next.LeftOut = dryRun
	case err == nil:
		// Parts that have failed have left items too, if the task is to go on without them.
		next.LeftOut, err = leftOut(ctx, s, counts.Stopped+counts.Statuses[lifecycle.Failure]+counts.Statuses[lifecycle.Error])
	}
	counts.Total = max(counts.Total, 0) // no part is to come
	s.SetSum(counts.Progress())
	return next, state, err
}

// namedParts is how many parts that were left out the detail of a task names.
const namedParts = 10

// leftOut names the parts of a task that were left out, see [WithSkip], or have failed; "": there are none.
func leftOut(ctx context.Context, s *session.Step, all int64) (string, error) {
	if all == 0 {
		return "", nil
	}
	var names []string
	for after := uuid.Nil; len(names) < namedParts && int64(len(names)) < all; {
		page, err := s.Children(ctx, after, mergePage, false)
		if err != nil {
			return "", err
		}
		for i := range page {
			p := &page[i]
			failed := p.Status == lifecycle.Failure || p.Status == lifecycle.Error
			if after = p.ID; !p.Partial && !failed || len(names) == namedParts {
				continue
			}
			name := "stage " + p.Stage
			switch r := p.Range; {
			case r != nil:
				name = fmt.Sprintf("items %d to %d", r.From+1, r.To)
			case p.Segment != nil:
				name = fmt.Sprintf("bucket %d", p.Number)
			}
			how := ""
			if failed {
				how = ", in " + string(p.Status)
			}
			names = append(names, fmt.Sprintf("%s (task %s%s)", name, p.ID, how))
		}
		if len(page) < mergePage {
			break
		}
	}
	text := lifecycle.CodeLeftOut + ": the rest of " + list(names, "and")
	if more := all - int64(len(names)); more > 0 {
		text += fmt.Sprintf(" and of %d more", more)
	}
	return text, nil
}

// mergeStopped returns the state of a task that was stopped with those of its buckets.
func (c *call[Spec, State, Result]) mergeStopped(ctx context.Context, s *session.Step, state json.RawMessage) (json.RawMessage, error) {
	m, err := c.newMerge(ctx, s, state)
	if err == nil && m.memo.Merged != uuid.Nil {
		m.memo.Merged = uuid.Nil
		m.total, err = c.batch(s, m.memo.Before)
	}
	for more := true; more && err == nil; {
		more, err = m.page(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	return c.encodeState(m.total)
}

// merge is the merge of the states of buckets into that of their task.
type merge[Spec, State, Result any] struct {
	call  *call[Spec, State, Result]
	total *Batch[Spec, State]
	memo  bucketMemo
}

// newMerge goes on with the merge of a task, or begins it.
func (c *call[Spec, State, Result]) newMerge(ctx context.Context, s *session.Step, state json.RawMessage) (*merge[Spec, State, Result], error) {
	m := &merge[Spec, State, Result]{call: c}
	if s.Family.Memo != nil {
		if err := json.Unmarshal(s.Family.Memo, &m.memo); err != nil {
			return nil, Permanent("undecodable_state", fmt.Errorf("what the task remembers of its buckets: %w", err))
		}
	}
	if m.memo.Merged == uuid.Nil {
		counts, err := s.CountChildren(ctx)
		if err != nil {
			return nil, err
		}
		m.memo.Before, m.memo.Fences = state, counts.Fences
	}
	var err error
	m.total, err = c.batch(s, state)
	return m, err
}

// remember stores how far the merge is.
func (m *merge[Spec, State, Result]) remember(s *session.Step) error {
	text, err := json.Marshal(m.memo)
	s.Remember(text)
	return err
}

// page merges the next states, and reports whether there may be more.
func (m *merge[Spec, State, Result]) page(ctx context.Context, s *session.Step) (more bool, err error) {
	buckets, err := s.Children(ctx, m.memo.Merged, mergePage, true)
	if err != nil {
		return false, err
	}
	for _, bucket := range buckets {
		var part State
		if err := m.call.kind.readState(bucket.Revision, bucket.State, &part); err != nil {
			return false, Permanent("undecodable_state", fmt.Errorf("the state of bucket %s: %w", bucket.ID, err))
		}
		if err := m.call.merger.Merge(&m.total.State, part); err != nil {
			return false, err
		}
		m.memo.Merged = bucket.ID
	}
	return len(buckets) == mergePage, nil
}
