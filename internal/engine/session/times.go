package session

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// times is the [feature] of a task that may not execute at any time, by the clock of the database.
type times struct {
	noFeature
	lifecycle.Times
	c       *current
	window  lifecycle.Window
	started time.Time // the first start of the task
	first   bool      // this session makes the first start
	// clock is the time of the database at the local time read.
	clock, read time.Time
}

// newTimes returns nil for a task without times.
func newTimes(c *current, p *store.Plan) (*times, error) {
	if p.Options.Times == (lifecycle.Times{}) {
		return nil, nil //nolint:nilnil // see above
	}
	t := &times{Times: p.Options.Times, c: c, started: p.FirstStarted, clock: p.Now, read: time.Now()}
	if t.started.IsZero() {
		t.started, t.first = p.Now, true
	}
	if t.Window != "" {
		var err error
		// The submission has checked the years to come.
		if t.window, err = lifecycle.ParseWindow(t.Window, time.Time{}); err != nil {
			return nil, err
		}
	}
	c.options.Deadline, c.times = t.ofBuckets(), t
	return t, nil
}

// ofBuckets returns the deadline of the buckets of the task: the end of its time limit is one too, since the task waits for
// its buckets.
func (t *times) ofBuckets() time.Time {
	over := t.started.Add(t.TimeLimit)
	if t.TimeLimit <= 0 || !t.Deadline.IsZero() && t.Deadline.Before(over) {
		return t.Deadline
	}
	return over.UTC()
}

// now returns the time by the database's clock.
func (t *times) now() time.Time { return t.clock.Add(time.Since(t.read)) }

// between implements [feature].
func (t *times) between(context.Context) (decision, error) {
	now := t.now()
	if why, detail := t.Expired(now, t.started, t.c.lease.Seq > 0); why != lifecycle.NotExpired {
		return decision{end: &ending{status: lifecycle.Failure, how: EndFailed, class: classify.Classification{
			Class: lifecycle.Permanent, Code: string(why), Detail: detail,
		}}}, nil
	}
	opens := t.window.Opens(now)
	if !opens.After(now) {
		return decision{}, nil
	}
	w := t.c.requeue(fmt.Sprintf(lifecycle.ReasonWindow+"%s is closed", t.Window))
	w.At = t.earlier(opens)
	return decision{write: w}, nil
}

// over is the classification of the end of the task at the time at which its buckets had to end.
func (t *times) over() classify.Classification {
	why, detail := t.Expired(t.ofBuckets().Add(1), t.started, true)
	return classify.Classification{Class: lifecycle.Permanent, Code: string(why), Detail: detail}
}

// earlier returns a time until which the task waits, or the time at which it fails if that is before.
func (t *times) earlier(at time.Time) time.Time {
	if t == nil {
		return at
	}
	started := t.started
	if t.first && !t.c.executed {
		started = time.Time{} // the next session makes the first start
	}
	if e := t.Expires(started, t.c.lease.Seq > 0); !e.IsZero() && e.Before(at) {
		return e.Add(time.Millisecond) // it is over after this time
	}
	return at
}
