package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// strategy returns what becomes of errors of the task; nil: what becomes of them without a strategy.
func (c *current) strategy() taskpolicy.Strategy {
	if c.options != nil && c.options.Strategy != nil {
		return c.options.Strategy
	}
	return c.kind.Strategy
}

// deferDelays is how long the task waits before each round over its deferred items.
func (c *current) deferDelays() []time.Duration {
	if delays := c.strategy().Delays(); delays != nil {
		if c.Config.FixedLimit {
			return slices.Repeat([]time.Duration{time.Millisecond}, len(delays))
		}
		return delays
	}
	return c.kind.DeferDelays
}

// reaction is what an entry of the strategy does about the batch because of an item.
type reaction struct {
	do     taskpolicy.Reaction // not of the item alone
	code   string
	err    error  // of the item
	reason string // of a pause or a stop
}

// toMatch returns what a strategy matches of a classified error; false: it matches nothing.
func toMatch(of taskpolicy.Of, c classify.Classification, taken bool, codes ...string) (taskpolicy.Error, bool) {
	e := taskpolicy.Error{Of: of, Class: taskpolicy.Transient, Codes: append(codes, c.Code), Taken: taken}
	if c.SQLState != "" {
		e.Codes = append(e.Codes, c.SQLState)
	}
	if c.Class == lifecycle.Permanent {
		e.Class = taskpolicy.Permanent
	}
	return e, c.Code != classify.CodeMisuse && c.Outage == classify.NoOutage && c.Class != lifecycle.LeaseLost && c.Class != lifecycle.Interrupted
}

// failed records a failed item as the strategy says. An error without a class is permanent: the executor has said so by Fail. It
// runs on the executor's goroutine, without the lock of the step.
func (s *Step) failed(i store.Item, err error) {
	c := classify.Classification{Class: lifecycle.Permanent, Code: i.Code}
	if err != nil && !classify.Unclassified(context.Background(), err) {
		c = classify.Classify(context.Background(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to, ok := toMatch(taskpolicy.Item, c, s.position(i.Key) > 0, i.Code)
	on, found := s.Strategy.React(to)
	if !ok || !found || s.closed {
		s.record(i)
		return
	}
	switch on.Do {
	case taskpolicy.RetryBatch, taskpolicy.FailTask:
		if err == nil {
			err = errors.New("the executor has failed item " + itemkey.Text(i.Key))
		}
		s.decide(reaction{do: on.Do, code: i.Code, err: err})
		return
	case taskpolicy.PauseTask, taskpolicy.StopTask:
		s.decide(reaction{do: on.Do, reason: classify.Clean(fmt.Sprintf("%s%s: item %s has failed with %s: %s", lifecycle.ReasonStrategy, on.Do, itemkey.Text(i.Key), i.Code, i.Detail))})
	case taskpolicy.DeferItem, taskpolicy.SkipItem, taskpolicy.FailItem:
		i.Outcome = s.outcome(on)
	}
	s.record(i)
}

// decide keeps the first decision about the batch, but for one that keeps the batch from being committed.
func (s *Step) decide(d reaction) {
	if s.reaction == nil || s.reaction.err == nil && d.err != nil {
		s.reaction = &d
	}
}

// outcome returns what becomes of an item by a reaction. The caller has locked the step.
func (s *Step) outcome(on taskpolicy.OnError) store.Outcome {
	switch {
	case on.Do == taskpolicy.SkipItem:
		return store.ItemSkipped
	case on.Do == taskpolicy.DeferItem && !s.LastRound && s.before.Round+1 < on.LastTry():
		return store.ItemDeferred
	}
	return store.ItemFailed
}

// decision returns what the strategy has decided about the batch; nil: nothing.
func (s *Step) decision() *reaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reaction
}

// refused returns the error of an item because of which the strategy does not let the batch be committed.
func (s *Step) refused() error {
	d := s.decision()
	if d == nil || d.err == nil {
		return nil
	}
	class := lifecycle.Transient
	if d.do == taskpolicy.FailTask {
		class = lifecycle.Permanent
	}
	return &classify.MarkedError{Class: class, Code: d.code, Err: d.err}
}

// ofItem reports whether the strategy lets the error of an item that is no error of a value or a row belong to the item, as an
// error that is belongs to it.
func (s *Step) ofItem(c classify.Classification) bool {
	to, ok := toMatch(taskpolicy.Item, c, s.tookElements())
	if len(s.Strategy) == 0 || !ok {
		return false
	}
	on, found := s.Strategy.React(to)
	return found && on.Do != taskpolicy.RetryBatch
}

// takenItems returns how many items the batch has taken with Take; 0 for elements that are no items.
func (s *Step) takenItems() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.processed == 0 || s.reporting {
		return 0
	}
	return s.to - s.from
}

// giveUp closes a step that has taken one item, and makes it the step of a batch that has only recorded that item. It may call
// code of the user's.
func (s *Step) giveUp(on taskpolicy.OnError, c classify.Classification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := store.Item{Key: s.key(s.from), Outcome: s.outcome(on), Code: c.Code, Detail: c.Detail}
	s.outcomes, s.processed, s.memo, s.sum, s.closed = outcomes{}, 1, nil, nil, false
	s.record(i)
	s.closed = true
}

// reactBy does what the strategy says about the error of a batch. False: nothing, and class is the class that the error has by it.
func (s *Session) reactBy(step *Step, c *classify.Classification) (flow, bool) {
	strategy := s.strategy()
	if len(strategy) == 0 || c.TooLarge && step.Limit > 1 {
		return continueSession, false
	}
	var on taskpolicy.OnError
	if d := step.decision(); d != nil && d.err != nil && c.Code == d.code {
		on.Do = d.do
	} else {
		taken := step.takenItems()
		to, ok := toMatch(taskpolicy.Batch, *c, taken == 1 || taken > 1 && step.Limit > 1)
		var found bool
		if on, found = strategy.React(to); !ok || !found {
			return continueSession, false
		}
	}
	switch on.Do {
	case taskpolicy.RetryBatch:
		c.Class = lifecycle.Transient
	case taskpolicy.FailTask:
		c.Class = lifecycle.Permanent
	case taskpolicy.PauseTask:
		w, reason := s.requestBy(on.Do, *c)
		w.Pause = reason
		return s.write(w), true
	case taskpolicy.StopTask:
		if s.isBucket() {
			w, reason := s.requestBy(on.Do, *c)
			w.Stop = reason
			return s.write(w), true
		}
		return s.end(ending{status: lifecycle.Completed, how: EndStop, class: *c}), true
	case taskpolicy.DeferItem, taskpolicy.SkipItem, taskpolicy.FailItem:
		if n := step.takenItems(); n > 1 {
			s.limit.narrow(n)
			return continueSession, true
		}
		return s.commitGivenUp(step, on, *c)
	}
	return continueSession, false
}

// requestBy is the write that gives a task back because the strategy pauses or stops it, or the task that it is a part of, after the
// error of a batch, and why.
func (s *Session) requestBy(do taskpolicy.Reaction, c classify.Classification) (w *store.Write, reason string) {
	w = s.requeue("")
	w.Attempt, w.Whole = s.attempt(c), s.whole()
	s.watch(w)
	return w, classify.Clean(fmt.Sprintf("%s%s: a batch has failed with %s: %s", lifecycle.ReasonStrategy, do, c.Code, c.Detail))
}

// request makes the write of a batch pause or stop the task, as the strategy has decided, or the task that it is a part of, even with
// the end of the part. A task that is to be stopped waits for nothing: the session ends it.
func (s *Session) request(w *store.Write, d *reaction, then flow) flow {
	w.Whole = s.whole()
	if d.do == taskpolicy.PauseTask {
		w.Pause = d.reason
		return then
	}
	w.Stop = d.reason
	if w.To.Terminal() {
		return then
	}
	w.To, w.Delay, w.At, w.Reason, w.Wait, w.Attempts = lifecycle.Executing, 0, time.Time{}, "", nil, 0
	return continueSession
}

// commitGivenUp records the only item of a batch that has failed, as the strategy says, and continues the task after it.
func (s *Session) commitGivenUp(step *Step, on taskpolicy.OnError, c classify.Classification) (flow, bool) {
	if err := <-RunIsolated(s.ctx, func(context.Context) error { step.giveUp(on, c); return nil }); err != nil {
		return continueSession, false
	}
	w := s.checkpoint(s.state, nil)
	w.Revision, w.Secrets = s.task.Revision, ""
	w.Progress, w.Items, _ = step.finish()
	s.retryDeferred(&w, step, false)
	s.check(&w)
	s.limit.Record(1, 0)
	a, err := s.Writer.Apply(&w)
	return s.orFailed(s.handleWriteResult(&w, a, err, continueSession)), true
}
