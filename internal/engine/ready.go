package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// lastPass is when the claimer last had an answer to a claim, or no room for one. It is safe for concurrent use.
type lastPass struct {
	began time.Time
	after atomic.Int64 // nanoseconds since began; 0: it has not yet
}

// mark records a pass.
func (p *lastPass) mark() { p.after.Store(max(int64(time.Since(p.began)), 1)) }

// age returns how long ago the last pass was, and false if there was none.
func (p *lastPass) age() (time.Duration, bool) {
	after := p.after.Load()
	return time.Since(p.began) - time.Duration(after), after > 0
}

// passSlack is how much longer than its interval a poll may take, besides its call.
const passSlack = 10 * time.Second

// Ready returns nil while the worker would claim a task: it is registered, its heartbeat is renewed, and it listens or
// polls. A worker in safe mode need not do the last. A full pool, an outage of the database that is shorter than the deadline of the
// heartbeat, and a backlog are no reasons. It reads memory only.
func (w *Worker) Ready() error {
	r := w.current.Load()
	if r == nil {
		return errors.New("it is not registered")
	}
	if r.pool.IsDraining() {
		return errors.New("it is shutting down")
	}
	if left := r.heartbeat.deadline.left(); left <= 0 {
		return fmt.Errorf("its heartbeat has not been renewed for %v", r.heartbeat.deadline.Age().Round(time.Second))
	}
	if w.config.SafeMode {
		return nil
	}
	most := w.config.Poll
	if r.claimer.wakeups.listening.Load() {
		most = w.config.PollListening
	}
	switch age, passed := r.claimer.passed.age(); {
	case !passed:
		return errors.New("it has not looked for tasks yet")
	case age > 2*most+w.config.Call+passSlack:
		return fmt.Errorf("it has not looked for tasks for %v", age.Round(time.Second))
	}
	return nil
}
