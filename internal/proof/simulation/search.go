package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Targets implements [session.Targeter]. Each batch but the first begins with what the one
// before has found last.
func (c *call) Targets(ctx context.Context, s *session.Step, _ string, raw json.RawMessage) (keys [][]byte, next session.Next, out json.RawMessage, err error) {
	c.begins(ctx)
	defer func() { c.boundary = time.Now() }()
	var at state
	if err := json.Unmarshal(raw, &at); err != nil {
		return nil, next, nil, err
	}
	if err := c.mood(ctx); err != nil {
		return nil, next, nil, err
	}
	c.count("batch of a search")
	if s.Attempt > 1 {
		c.count("search tried again")
	}
	if s.Attempt > maxAttempts {
		c.know(func(f *facts) { f.tooOften[c.id] = s.Attempt })
	}
	if err := sleep(ctx, c.between(0, c.plan.ExecTime)); err != nil {
		return nil, next, nil, err
	}
	if c.chance(c.plan.Transient / 4) {
		c.forGood("permanent error of a search")
		return nil, next, nil, &classify.MarkedError{Class: lifecycle.Permanent, Code: "poison", Err: errors.New("simulated: a permanent error")}
	}
	if c.chance(0.5) { // some searches use a transaction
		if err := s.Try(ctx, func() error { return nil }); err != nil {
			return nil, next, nil, err
		}
	}
	all, from := c.task.finds(), at.Search
	at.Search = min(from+min(c.task.Search, s.Limit), len(all))
	for _, i := range all[max(from-1, 0):at.Search] {
		keys = append(keys, strconv.AppendInt(nil, int64(i), 10))
	}
	if c.chance(c.plan.Transient / 4) {
		return nil, next, nil, errFlaky
	}
	switch {
	case at.Search < len(all) && c.chance(c.plan.Later):
		c.count("search continued later")
		next.Wait = c.between(time.Millisecond, 2*time.Second)
	case at.Search == len(all) && (at.Search == from || !c.chance(0.2)):
		c.count("search done")
		next.Done = true
		if c.task.Items > store.TargetsPerPage {
			c.count("search that finds several pages")
		}
		if c.task.Items == 0 {
			c.count("search that finds nothing")
		}
	}
	out, err = json.Marshal(at)
	return keys, next, out, err
}

// finds are the items that a task finds, one after the other, with those that it finds again.
func (t *Task) finds() (all []int) {
	for at, i := range t.Values {
		all = append(all, i)
		if t.Repeats > 0 && at%t.Repeats == 0 {
			all = append(all, t.Values[at/2])
		}
	}
	return all
}

// found is how many different items a task has found, by how much it has found in all.
func (t *Task) found() []int64 {
	n, seen := []int64{0}, make(map[int]bool)
	for _, i := range t.finds() {
		seen[i] = true
		n = append(n, int64(len(seen)))
	}
	return n
}

// given notes how many targets an executor was given.
func (c *call) given(t *session.Targets) {
	if t == nil || t.Err != nil {
		return
	}
	c.know(func(f *facts) {
		if n := int64(t.Total); !slices.Contains(f.given[c.id], n) {
			f.given[c.id] = append(f.given[c.id], n)
		}
	})
}

// searching are those of these tasks that are searching for their items.
func (w *env) searching(of []uuid.UUID) (ids []uuid.UUID) {
	for _, id := range of {
		if plan := w.task(id); plan == nil || plan.Search == 0 {
			continue
		}
		if t, err := w.mem.Task(context.Background(), id); err == nil && t.Found != nil && t.Seq > 0 && !t.Status.Terminal() {
			ids = append(ids, id)
		}
	}
	return ids
}
