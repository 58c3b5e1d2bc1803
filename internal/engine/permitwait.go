package engine

import (
	"time"

	"taskkit.dev/internal/engine/session"
)

// waitingBytes caps the memory of specs held by sessions that wait for permits beside the slots. A session beyond it waits in
// its slot.
const waitingBytes = 16 << 20

// waitForPermits lets a session get its permits on a goroutine of its own, and then wait for a slot, as long as a claimed task
// may wait in the buffer.
func (p *pool) waitForPermits(s *session.Session) {
	size, id, lease := s.LeaveSlot(), s.Task().ID, s.Lease() // read here: a slot may run the session before the deferred calls
	inSlot := false
	p.waiting.Add(1)
	p.specs.Add(size)
	p.addToBuffer(id, s.Task().Owner)
	p.sessions.Go(func() {
		defer func() {
			p.removeFromBuffer(id)
			p.specs.Add(-size)
			p.waiting.Add(-1)
			if !inSlot {
				p.queues.exit(lease)
			}
			p.wakeups.slotFreed()
		}()
		if !s.Enter() {
			return
		}
		p.permitted.Add(1)
		defer p.permitted.Add(-1)
		wait := time.NewTimer(bufferedMax)
		defer wait.Stop()
		select {
		case p.ready <- s:
			inSlot = true
		case <-p.draining:
			s.Release(session.ReasonShutdown)
		case <-wait.C:
			s.ReleaseInPlace(session.ReasonNoSlot) // where it was in the queue
		case <-p.ctx.Done():
		}
	})
}
