package engine

import (
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/txguard"
)

const (
	// usedAtOnce is within which time of a batch its executor must first use the transaction for that
	// of the next batch to begin with the commit, and after which one that has begun so and is not used is rolled back. An executor
	// that calls another system before its first statement takes longer: its transactions begin with that statement, so
	// that none is open meanwhile.
	usedAtOnce = 5 * time.Millisecond
	// aloneAfter is how many transactions of a session begin alone after one that was not used in time.
	aloneAfter = 100
)

// beginNext makes the commit of a batch begin the transaction of the next one, when that is expected to be
// used at once: this saves a round trip.
func (s *session) beginNext(tx *LazyTx, w *store.Write) {
	if tx.hasExpired() {
		s.alone = aloneAfter
	}
	if s.alone > 0 {
		s.alone--
		return
	}
	if w.Checkpoint && w.To == lifecycle.Executing && tx.usedAtOnce() && s.goesOn(w.Progress) {
		limits := s.config.limits()
		w.Next = &limits
	}
}

// goesOn reports whether, as far as is known, the next batch follows without any wait, and without anything being read or
// written before it. While the transaction has begun, the session must not do anything else with the
// store: it might wait for a connection of a pool that it takes one of itself, or for the lock on the task's row.
func (s *session) goesOn(p lifecycle.Progress) bool {
	switch {
	case s.ctx.Err() != nil, s.control != lifecycle.None, s.conditions().AwaitsApproval(p), s.pool.isDraining(), s.pool.mayRead(s.began):
		return false
	case s.preview != nil, s.search != nil, s.frozen != nil, s.hasChildren(), lifecycle.PassesOf(p.Taken).Pass > 0:
		return false
	}
	return s.rate == nil && !s.throttle.mayRead(s.kind)
}

// batchTx returns the transaction of a batch, which may have begun.
func (s *session) batchTx() *LazyTx {
	tx := s.newTx()
	if s.nextTx != nil {
		tx.setBegun(s.nextTx)
		s.nextTx = nil
	}
	return tx
}

// rollBackNext rolls the transaction of the next batch back, if it has begun.
func (s *session) rollBackNext() {
	if s.nextTx != nil {
		s.nextTx.Rollback()
		s.nextTx = nil
	}
}

// setBegun gives the transaction one that has begun already. It is called before it is used. One that is not used at
// once is rolled back, and the transaction begins with its first statement: the executor may wait for
// a connection, of a pool or a pooler whose connections all have such a transaction.
func (t *LazyTx) setBegun(begun store.Tx) {
	t.tx = txguard.New(begun, t.store.Dialect())
	time.AfterFunc(usedAtOnce, t.expire)
}

// expire rolls back a transaction that has begun, but was not used.
func (t *LazyTx) expire() {
	t.mu.Lock()
	if t.used || t.closed {
		t.mu.Unlock()
		return
	}
	tx := t.tx
	t.tx, t.expired = nil, true
	t.mu.Unlock()
	tx.Rollback()
}

// hasExpired reports whether the transaction had begun and was not used in time.
func (t *LazyTx) hasExpired() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expired
}

// usedAtOnce reports whether the first statement came soon after the transaction had been made.
func (t *LazyTx) usedAtOnce() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.atOnce
}
