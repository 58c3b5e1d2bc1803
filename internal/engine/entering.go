package engine

import "time"

// enteringBytes is how many bytes the specs may have, about, of the sessions that enter beside the slots: one that would be
// too much enters in its slot.
const enteringBytes = 16 << 20

// enterBeside lets a session enter on a goroutine of its own, and wait for a slot after that: as long as a
// claimed task may wait in the buffer.
func (p *pool) enterBeside(s *session) {
	p.entering.Add(1)
	p.specs.Add(s.entry.specSize)
	p.addToBuffer(s.task.ID, s.task.Owner)
	p.sessions.Go(func() {
		defer func() {
			p.removeFromBuffer(s.task.ID)
			p.specs.Add(-s.entry.specSize)
			p.entering.Add(-1)
			p.wakeups.slotFreed()
		}()
		if !s.enter() {
			return
		}
		p.entered.Add(1)
		defer p.entered.Add(-1)
		wait := time.NewTimer(bufferedMax)
		defer wait.Stop()
		select {
		case p.ready <- s:
		case <-p.draining:
			s.release(reasonShutdown)
		case <-wait.C:
			s.releaseFor(reasonNoSlot, -1) // where it was in the queue
		case <-p.ctx.Done():
		}
	})
}
