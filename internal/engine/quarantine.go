package engine

import "sync"

// enterQuarantine waits until no other suspected poison task runs here, and
// returns what to call when this one is no longer suspected: when it has passed the
// items that were tried one at a time, or its session has ended. Running suspects one
// at a time keeps a poison task from exhausting the attempts of tasks that merely
// shared its worker.
func (p *pool) enterQuarantine() (exit func()) {
	select {
	case p.quarantine <- struct{}{}:
		return sync.OnceFunc(func() { <-p.quarantine })
	case <-p.draining:
	case <-p.ctx.Done():
	}
	return func() {}
}
