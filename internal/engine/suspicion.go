package engine

import (
	"context"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/taskkit/taskevent"
)

// delayedLine is the line in the log of an event that may be an effect of an outage which is not known yet.
type delayedLine struct {
	by *observe.Observer
	e  taskevent.Event
	at time.Time
}

// delayedFor is how long a line is delayed. Within it, the heartbeat or a claim meets what a probe does not see.
const delayedFor = 5 * time.Second

// covers reports whether the log needs no line for an event now, because it is an effect of an outage, or may be one. What a worker
// does for its tasks begins an outage. What else it does may fail without any effect on them, unless the connection is lost:
// then a probe decides, and the line is written later if there is no outage.
func (o *outage) covers(by *observe.Observer, e taskevent.Event) bool {
	switch e := e.(type) {
	case taskevent.ClaimFailed:
		return o.failed(e.Err)
	case taskevent.GroupCommitFailed:
		return o.failed(e.Err)
	case taskevent.HeartbeatFailed:
		return o.failed(e.Err)
	case taskevent.ReadBackFailed:
		return o.failed(e.Err)
	case taskevent.CallFailed:
		if classify.LostConnection(e.Err) {
			return o.failed(e.Err)
		}
		return o.delay(by, e, e.Err)
	case taskevent.EndingFailed:
		return o.delay(by, e, e.Err)
	case taskevent.WorkerPolling:
		return o.delay(by, e, e.Err)
	case taskevent.PresenceMissing:
		return o.delay(by, e, e.Err)
	case taskevent.PresenceUnknown:
		return o.delay(by, e, e.Err)
	case taskevent.CommitReadBack:
		return o.since(time.Now().Add(-probeLast))
	}
	return false
}

// failed reports whether an error is an effect of an outage, which it may begin.
func (o *outage) failed(err error) bool {
	if classify.OutageOf(classify.OfRuntime(err)) != classify.NoOutage {
		o.begin(err, classify.LostConnection(err))
	}
	return o.state.Load() != noOutage
}

// delay reports whether an event is an effect of the outage, or its line is delayed because it may be one.
func (o *outage) delay(by *observe.Observer, e taskevent.Event, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state.Load() != noOutage {
		return true
	}
	if o.ignorant || classify.OutageOf(classify.OfRuntime(err)) == classify.NoOutage {
		return false
	}
	o.delayed = append(o.delayed, delayedLine{by, e, time.Now()})
	wake(o.changed)
	return true
}

// suspected reports whether lines are delayed.
func (o *outage) suspected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.delayed) > 0
}

// examine finds out whether the delayed events are effects of an outage.
func (o *outage) examine(ctx context.Context) {
	if !o.found(ctx) {
		o.mu.Lock()
		until := time.NewTimer(time.Until(o.delayed[0].at.Add(delayedFor)))
		o.mu.Unlock()
		defer until.Stop()
		for wait := true; wait && o.state.Load() == noOutage; {
			select {
			case <-ctx.Done():
				return
			case <-until.C:
				wait = false
			case <-o.changed: // an outage has begun, or there is another event
			}
		}
	}
	o.writeDelayed(time.Now().Add(-delayedFor))
}

// endSuspicion writes all delayed lines, and delays no more.
func (o *outage) endSuspicion() {
	o.mu.Lock()
	o.ignorant = true
	o.mu.Unlock()
	o.writeDelayed(time.Now())
}

// writeDelayed writes the lines of the events until then that are no effects of an outage.
func (o *outage) writeDelayed(then time.Time) {
	o.mu.Lock()
	var write, wait []delayedLine
	for _, h := range o.delayed {
		switch {
		case o.state.Load() != noOutage || o.ended.After(h.at):
		case h.at.After(then):
			wait = append(wait, h)
		default:
			write = append(write, h)
		}
	}
	o.delayed = wait
	o.mu.Unlock()
	for _, h := range write {
		h.by.Write(h.e)
	}
}
