package engine

import "time"

// waitingBytes caps the memory of specs held by sessions that wait for permits beside the slots. A session beyond it waits in
// its slot.
const waitingBytes = 16 << 20

// waitForPermits lets a session get its permits on a goroutine of its own, and then wait for a slot, as long as a claimed task
// may wait in the buffer.
func (p *pool) waitForPermits(s *session) {
	size := s.permits.specSize
	p.waiting.Add(1)
	p.specs.Add(size)
	p.addToBuffer(s.task.ID, s.task.Owner)
	p.sessions.Go(func() {
		defer func() {
			p.removeFromBuffer(s.task.ID)
			p.specs.Add(-size)
			p.waiting.Add(-1)
			p.wakeups.slotFreed()
		}()
		if !s.enter() {
			return
		}
		p.permitted.Add(1)
		defer p.permitted.Add(-1)
		wait := time.NewTimer(bufferedMax)
		defer wait.Stop()
		select {
		case p.ready <- s:
		case <-p.draining:
			s.release(reasonShutdown)
		case <-wait.C:
			s.write(s.requeueIn(-1, reasonNoSlot)) // where it was in the queue
		case <-p.ctx.Done():
		}
	})
}
