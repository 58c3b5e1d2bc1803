package engine

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// strays finds tasks that the database gave to this worker in a claim whose
// answer was lost. Nobody works on them, and nobody would take them back while
// their worker lives.
//
// A stray is a task that is claimed and not begun, by the database's word, at two
// looks in a row under the same fence, and that does not wait here for a slot.
// To be mistaken does no harm: what a session writes after its task was given
// back is refused.
type strays struct {
	seldom, often time.Duration // between looks; often while there is doubt

	// Of the claim loop.
	next, until time.Time           // the next look; the end of the doubt
	seen        map[uuid.UUID]int64 // fences, of the last look

	mu      sync.Mutex
	waiting map[uuid.UUID]struct{} // for a slot
}

func newStrays(c Config) *strays {
	return &strays{
		seldom: c.DeadAfter, often: c.reapEvery(),
		next: time.Now().Add(c.DeadAfter), waiting: make(map[uuid.UUID]struct{}),
	}
}

// ours notes that a task waits for a slot, or does so no more.
func (s *strays) ours(id uuid.UUID, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits {
		s.waiting[id] = struct{}{}
	} else {
		delete(s.waiting, id)
	}
}

func (s *strays) isOurs(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.waiting[id]
	return ok
}

// doubt notes a claim without an answer. It may arrive at the database still.
func (s *strays) doubt() {
	s.until = time.Now().Add(s.seldom)
	s.next = time.Now()
}

// lookForStrays looks when it is time, and returns when it will be next. Only the
// claim loop calls it, so that no claim is under way.
func (i *incarnation) lookForStrays(ctx context.Context) time.Duration {
	s := i.strays
	if wait := time.Until(s.next); wait > 0 {
		return wait
	}
	cctx, cancel := context.WithTimeout(ctx, i.config.Call)
	defer cancel()
	found, err := i.store.Unstarted(cctx, i.process)
	if err != nil && ctx.Err() == nil {
		i.log.Warn("cannot read back what was claimed", "error", err)
	}
	seen := make(map[uuid.UUID]int64)
	for id, p := range found {
		switch fence, again := s.seen[id]; {
		case i.strays.isOurs(id):
		case again && fence == p.Fence:
			i.log.Warn("a claim was made and not answered: giving the task back", "task", id)
			i.release(p.Hold, p.Attempts, "claimed by a worker that did not hear of it")
		default:
			seen[id] = p.Fence
		}
	}
	s.seen = seen
	wait := s.seldom
	if err != nil || len(seen) > 0 || time.Now().Before(s.until) {
		wait = s.often
	}
	s.next = time.Now().Add(wait)
	return wait
}
