package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// presence notices that other workers are gone before they have been silent for long, see
// [store.PresenceReading]. The workers take turns: every 1.25 seconds one of them reads. It runs
// on one goroutine.
type presence struct {
	store   store.Runtime
	process string
	call    time.Duration // timeout of one call
	joined  chan struct{} // another worker may be present
	reaper  *reaper
	events  *observe.Observer
	told    bool // it was reported that presence cannot be read
}

const (
	// readAlone is how often a worker reads that sees no other worker with presence. A worker that gets presence
	// notifies it.
	readAlone = 15 * time.Second
	// turn is how long it is one worker's turn to read.
	turn = 1250 * time.Millisecond
	// intoTurn is when in its turn a worker reads: timers are not exact.
	intoTurn = turn / 20
	// afterAbsent is how long after store.AbsentFor the locks are read again that were
	// seen to be free first.
	afterAbsent = 20 * time.Millisecond
	// presenceRetry is when a worker that cannot read who is present tries again.
	presenceRetry = 5 * time.Minute
)

// run reads, for the first time after this pause, until ctx ends.
func (p *presence) run(ctx context.Context, pause time.Duration) {
	next := time.NewTimer(pause)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.joined:
			// Several workers take turns without being told. An only one reads, but
			// not more often than they do.
			if pause == readAlone {
				pause = turn
				next.Reset(turn)
			}
			continue
		case <-next.C:
		}
		pause = p.read(ctx)
		next.Reset(pause)
	}
}

// read reads the presence of the other workers once, has those reaped that are gone, and
// returns when to do so again.
func (p *presence) read(ctx context.Context) time.Duration {
	cctx, cancel := context.WithTimeout(ctx, p.call)
	r, err := p.store.ReadPresence(cctx, p.process)
	cancel()
	switch {
	case errors.Is(err, store.ErrNoPresence):
		if !p.told {
			p.events.Report(taskevent.PresenceUnknown{Worker: p.process, Err: err})
		}
		p.told = true
		return presenceRetry
	case err != nil && ctx.Err() == nil:
		p.events.Report(taskevent.CallFailed{Worker: p.process, Call: taskevent.CallPresence, Try: 1, Err: err})
	}
	if len(r.Absent) > 0 {
		p.reaper.pass(ctx, r.Absent)
	}
	switch {
	case r.Missing:
		return store.AbsentFor + afterAbsent
	case !r.Present:
		return readAlone
	}
	return untilTurn(r.At, r.Others, p.process)
}

// untilTurn returns the time until it is the turn of a process, which comes after the turns of
// all others. The turns go by the ids of the processes and the database's clock.
func untilTurn(now time.Time, others []string, process string) time.Duration {
	mine, _ := slices.BinarySearch(others, process)
	all := int64(len(others) + 1)
	present := now.UnixMilli() / turn.Milliseconds()
	next := present + 1 + (int64(mine)-present-1)%all
	if next <= present {
		next += all
	}
	return time.UnixMilli(next*turn.Milliseconds()).Sub(now) + intoTurn
}
