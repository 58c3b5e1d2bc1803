package engine

import (
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
)

// A COMMIT takes a round trip, and the time that the server waits for its disk. The last COMMIT of a session is made beside its slot,
// which takes the next task meanwhile: so a short task keeps a slot for one round trip and not for two. What was
// executed in the slot has ended by then, so no more executors run than there are slots. An exception is a session
// whose last COMMIT has not happened: it goes on beside its slot.

// lastCommits is how many sessions may make their last COMMIT beside the slots. A worker with one slot makes none there: its
// executors may count on what the one before them has committed. Neither does one on SQLite, which has one writer: the next
// transaction would wait for this one.
func lastCommits(d dialect.Name, slots int) int {
	if d != dialect.Postgres {
		return 0
	}
	return max(slots-1, 0)
}

// commitBatch commits a batch, or lets [session.commitLast] do it when the session ends with it.
func (s *session) commitBatch(tx *LazyTx, w *store.Write, then flow) flow {
	if then == endSession && s.mayLeave(tx) {
		s.last = func() {
			s.beside = true
			if s.orFailed(s.commit(tx, w, then)) == continueSession {
				s.loop()
			}
		}
		return endSession
	}
	return s.orFailed(s.commit(tx, w, then))
}

// mayLeave reports whether the session may make its last COMMIT beside its slot. If it may, it has a place there. A suspected
// poison task keeps the others waiting until it has ended.
func (s *session) mayLeave(tx *LazyTx) bool {
	open, _ := tx.close()
	return open != nil && !tx.isPreview() && !s.beside && !s.quarantined && s.pool.reserveBeside()
}

// commitLast makes the last COMMIT beside the slot, if it is left to that. The caller does nothing more with the session.
func (s *session) commitLast() {
	if s.last != nil {
		s.pool.runBeside(s.last)
	}
}

// reserveBeside implements [scheduler].
func (p *pool) reserveBeside() bool {
	select {
	case p.leaving <- struct{}{}:
		return true
	default:
		return false
	}
}

// runBeside implements [scheduler].
func (p *pool) runBeside(f func()) {
	p.sessions.Go(func() {
		defer func() { <-p.leaving }()
		f()
	})
}
