package engine

import (
	"fmt"
	"math"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// times are when the task of a session may execute, by the database's clock.
type times struct {
	lifecycle.Times
	window  lifecycle.Window
	started time.Time // the first start of the task
	first   bool      // it is that of this session
	// clock is the database's clock at the time read on this machine's.
	clock, read time.Time
}

// newTimes returns the times of a task from its plan; nil: it has none.
func newTimes(p *store.Plan) (*times, error) {
	if p.Options.Times == (lifecycle.Times{}) {
		return nil, nil //nolint:nilnil // see above
	}
	t := &times{Times: p.Options.Times, started: p.FirstStarted, clock: p.Now, read: time.Now()}
	if t.started.IsZero() {
		t.started, t.first = p.Now, true
	}
	if t.Window == "" {
		return t, nil
	}
	var err error
	// What a submission has checked of the years to come is not checked again.
	t.window, err = lifecycle.ParseWindow(t.Window, time.Time{})
	return t, err
}

// ofBuckets returns the deadline of the buckets of the task: it waits for them, so they must not go on when its time
// limit is over.
func (t *times) ofBuckets() time.Time {
	over := t.started.Add(t.TimeLimit)
	if t.TimeLimit <= 0 || !t.Deadline.IsZero() && t.Deadline.Before(over) {
		return t.Deadline
	}
	return over.UTC()
}

// now returns the time by the database's clock.
func (t *times) now() time.Time { return t.clock.Add(time.Since(t.read)) }

// mustWait acts on what keeps the task from executing now: its times, an indicator, and its rate. It reports
// whether something does. The session then ends, or continues and asks again.
func (s *session) mustWait() (waits bool, after flow) {
	if s.times != nil {
		now := s.times.now()
		if why, detail := s.times.Expired(now, s.times.started, s.lease.Seq > 0); why != lifecycle.NotExpired {
			return true, s.end(ending{status: lifecycle.Failure, how: EndFailed, class: classify.Classification{
				Class: lifecycle.Permanent, Code: string(why), Detail: detail,
			}})
		}
		if opens := s.times.window.Opens(now); opens.After(now) {
			return true, s.write(&store.Write{
				Lease: s.lease, To: lifecycle.Queued, Attempts: lifecycle.Unspent(s.stored), At: s.orExpires(opens),
				Reason: fmt.Sprintf("its window %s is closed", s.times.Window),
			})
		}
	}
	if reason, wait := s.throttled(); reason != "" {
		return true, s.releaseFor(reason, wait)
	}
	wait := s.rate.wait(s.progress)
	switch {
	case wait <= 0:
		return false, continueSession
	case wait <= inSlot:
		sleep(s.ctx, wait)
		return true, continueSession
	}
	return true, s.releaseFor(fmt.Sprintf(lifecycle.ReasonRate+"%g items a second at most", s.rate.perSecond), wait)
}

// orExpires returns a time until which the task waits, or that at which it fails if that comes before.
func (s *session) orExpires(at time.Time) time.Time {
	if s.times == nil {
		return at
	}
	started := s.times.started
	if s.times.first && !s.executed {
		started = time.Time{} // the next session counts anew
	}
	if e := s.times.Expires(started, s.lease.Seq > 0); !e.IsZero() && e.Before(at) {
		return e.Add(time.Millisecond) // it is over after this time
	}
	return at
}

const (
	// inSlot is how long a session waits for the next batch with its slot. Before a longer wait
	// it gives the task back.
	inSlot = time.Second
	// ratedBatch is how much work, by the rate, a batch has at most.
	ratedBatch = 500 * time.Millisecond
	// rateDebt is how much a task that was slower than its rate may be faster afterwards.
	rateDebt = time.Second
)

// rateLimit keeps the rate of a task; nil: it has none.
type rateLimit struct {
	perSecond float64 // items a second
	since     time.Time
	from      int64 // items that were processed by then
	deferred  int64 // items that were processed since, but are not counted as such before a later pass
}

// setRate sets the rate of the task from now on; 0: any.
func (s *session) setRate(rate float64) {
	switch {
	case rate <= 0:
		s.rate = nil
	case s.rate == nil || s.rate.perSecond != rate:
		s.rate = &rateLimit{perSecond: rate, since: time.Now(), from: s.progress.Processed()}
	}
}

// add counts items that were deferred.
func (p *rateLimit) add(deferred int64) {
	if p != nil {
		p.deferred += deferred
	}
}

// wait returns how long it is until a task that is there may execute its next batch.
func (p *rateLimit) wait(at lifecycle.Progress) time.Duration {
	if p == nil {
		return 0
	}
	items := at.Processed() - p.from + p.deferred
	wait := time.Duration(min(float64(items)/p.perSecond, math.MaxInt32)*float64(time.Second)) - time.Since(p.since)
	if wait < -rateDebt {
		*p = rateLimit{perSecond: p.perSecond, since: time.Now().Add(-rateDebt), from: at.Processed()}
	}
	return wait
}

// limit returns how many items the next batch may take, of the number that it would.
func (p *rateLimit) limit(n int) int {
	if p == nil {
		return n
	}
	return max(min(n, int(min(p.perSecond*ratedBatch.Seconds(), math.MaxInt32))), 1)
}
