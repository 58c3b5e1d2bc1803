package classify

import (
	"math/rand/v2"
	"time"
)

// Backoff is exponential with a cap. Jitter only adds, so that no retry comes
// earlier than announced, and tasks that failed together do not return together.
type Backoff struct {
	Base time.Duration // the first delay
	Cap  time.Duration // the longest delay before jitter
}

// Delay returns the delay before the retry that follows the n-th failure, from
// 1: Base x 2^(n-1), at most Cap, plus up to a quarter.
func (b Backoff) Delay(n int) time.Duration {
	d := b.Bare(n)
	if q := int64(d / 4); q > 0 {
		d += time.Duration(rand.Int64N(q))
	}
	return d
}

// Bare returns Delay without jitter.
func (b Backoff) Bare(n int) time.Duration {
	d := b.Base
	for range n - 1 {
		if d >= b.Cap/2 {
			return b.Cap
		}
		d *= 2
	}
	return min(d, b.Cap)
}
