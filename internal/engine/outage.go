package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

const (
	// probeFirst and probeLast are the first and the last interval between the probes of an outage.
	probeFirst = 100 * time.Millisecond
	probeLast  = 5 * time.Second
	// outagesApart: the probes of an outage that follows another one sooner go on with its interval.
	outagesApart = time.Minute
)

// outage is a fault of the database as a whole, or of the access to it: a right is missing, it is read-only, its disk is full, it is
// down. No task has caused it. While it lasts the worker claims nothing, what a session cannot write costs no attempt, and a
// probe finds out when it is over. Where the probe never sees the fault, one task is claimed for a trial after each probe, and the outage is over
// when one has a checkpoint or an end.
//
// It outlives the registrations of its worker, and is safe for concurrent use.
type outage struct {
	store store.Runtime
	call  time.Duration // timeout of a probe

	state   atomic.Int32 // an outageState
	trial   atomic.Bool  // a task may be claimed for a trial
	changed chan struct{}

	mu       sync.Mutex
	events   *observe.Observer // of the present registration
	over     func()            // wakes its claimer
	visible  bool              // the probe sees the fault
	began    time.Time
	ended    time.Time // of the last one
	interval time.Duration
	delayed  []delayedLine
	ignorant bool // the worker ends, and no line is delayed any more
}

type outageState = int32

const (
	noOutage outageState = iota
	outageLasts
	outageTrial // the probe succeeds, but has not seen the fault either
)

func newOutage(s store.Runtime, call time.Duration) *outage {
	return &outage{store: s, call: call, changed: make(chan struct{}, 1)}
}

// register sets the registration of the worker.
func (o *outage) register(events *observe.Observer, over func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events, o.over = events, over
}

// lasts reports whether nothing may be claimed.
func (o *outage) lasts() bool { return o.state.Load() == outageLasts }

// room returns how many tasks may be claimed of those for which there is room.
func (o *outage) room(n int) int {
	switch o.state.Load() {
	case outageLasts:
		return 0
	case outageTrial:
		if n <= 0 || !o.trial.Swap(false) {
			return 0
		}
		return 1
	}
	return n
}

// claimed notes how many tasks were claimed.
func (o *outage) claimed(n int) {
	if n == 0 {
		o.trial.Store(true)
	}
}

// since reports whether an outage has lasted at some time since then.
func (o *outage) since(then time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state.Load() != noOutage || o.ended.After(then)
}

// begin begins an outage, or ends its trial. visible: the probe sees the fault.
func (o *outage) begin(err error, visible bool) {
	o.mu.Lock()
	was := o.state.Swap(outageLasts)
	if was == noOutage {
		if o.began = time.Now(); o.began.Sub(o.ended) > outagesApart {
			o.interval = 0
		}
		o.visible = false
	}
	o.visible = o.visible || visible
	events := o.events
	o.mu.Unlock()
	if was == noOutage {
		events.Report(taskevent.OutageBegan{Worker: events.Worker, Err: err})
	}
	wake(o.changed)
}

// end ends the outage if it is in this state.
func (o *outage) end(state outageState) {
	o.mu.Lock()
	ended := o.state.CompareAndSwap(state, noOutage)
	if ended {
		o.ended = time.Now()
	}
	events, over, took := o.events, o.over, o.ended.Sub(o.began)
	o.mu.Unlock()
	if ended {
		events.Report(taskevent.OutageEnded{Worker: events.Worker, Duration: took})
		wake(o.changed)
		over()
	}
}

// Served implements [session.Outage].
func (o *outage) Served() {
	if o.state.Load() == outageTrial {
		o.end(outageTrial)
	}
}

// Causes implements [session.Outage]. An error that is reported late, when an outage has come and gone, begins no other one. A suspected
// outage is one if the probe fails too, or if one has lasted meanwhile, which may be while this probe waited for its turn.
func (o *outage) Causes(ctx context.Context, c classify.Classification, since time.Time) bool {
	switch lasted := o.since(since); {
	case c.Outage == classify.NoOutage:
		return false
	case lasted && o.state.Load() == noOutage:
		return true // it met the outage that is over
	case c.Outage == classify.CertainOutage:
		o.begin(errors.New(c.Detail), false)
		return true
	case lasted:
		return true
	}
	return o.found(ctx) || o.since(since)
}

// found probes, and reports whether that has found an outage.
func (o *outage) found(ctx context.Context) bool {
	err := o.probe(ctx)
	_, refused := errors.AsType[*store.RefusedError](err)
	if !refused && classify.OutageOf(classify.OfRuntime(err)) == classify.NoOutage {
		return false
	}
	o.begin(err, true)
	return true
}

// probe returns why the database does not serve the worker, or nil.
func (o *outage) probe(ctx context.Context) error {
	cctx, cancel := context.WithTimeout(ctx, o.call)
	defer cancel()
	return o.store.Probe(cctx, true)
}

// run probes while an outage lasts or is suspected, until ctx ends.
func (o *outage) run(ctx context.Context) {
	defer o.endSuspicion()
	for ctx.Err() == nil {
		switch {
		case o.state.Load() == outageTrial:
			o.awaitTrial(ctx)
		case o.state.Load() == outageLasts:
			pause := o.nextPause()
			sleep(ctx, pause+rand.N(pause/4+1))
			o.probed(o.probe(ctx))
		case o.suspected():
			o.examine(ctx)
		default:
			select {
			case <-ctx.Done():
			case <-o.changed:
			}
		}
	}
}

// nextPause returns how long to wait before the next probe.
func (o *outage) nextPause() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	pause := o.interval
	o.interval = min(max(2*pause, probeFirst), probeLast)
	return pause
}

// awaitTrial waits for the result of a trial. When there is none for long, as the task takes long, another task is tried.
func (o *outage) awaitTrial(ctx context.Context) {
	next := time.NewTimer(probeLast)
	defer next.Stop()
	select {
	case <-ctx.Done():
	case <-o.changed:
	case <-next.C:
		o.tryOne()
	}
}

// tryOne lets the claimer claim a task for a trial.
func (o *outage) tryOne() {
	o.trial.Store(true)
	o.mu.Lock()
	over := o.over
	o.mu.Unlock()
	over()
}

// probed continues after a probe.
func (o *outage) probed(err error) {
	o.mu.Lock()
	o.visible = o.visible || err != nil
	visible := o.visible
	o.mu.Unlock()
	switch {
	case err != nil:
	case visible:
		o.end(outageLasts)
	case o.state.CompareAndSwap(outageLasts, outageTrial):
		o.tryOne()
	}
}
