// Package backoff says how long to wait before the n-th retry.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Policy is exponential with a cap. Jitter only adds, so that nobody is tried
// earlier than was said, and a fleet that failed at once does not return at
// once.
type Policy struct {
	Base time.Duration // the first delay
	Cap  time.Duration // the longest delay before jitter
}

// Delay returns the delay before the retry that follows the n-th failure, from
// 1: Base x 2^(n-1), at most Cap, plus up to a quarter.
func (p Policy) Delay(n int) time.Duration {
	d := p.Bare(n)
	if q := int64(d / 4); q > 0 {
		d += time.Duration(rand.Int64N(q))
	}
	return d
}

// Bare returns Delay without jitter.
func (p Policy) Bare(n int) time.Duration {
	d := p.Base
	for range n - 1 {
		if d >= p.Cap/2 {
			return p.Cap
		}
		d *= 2
	}
	return min(d, p.Cap)
}
