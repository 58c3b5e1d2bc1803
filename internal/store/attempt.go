package store

import (
	"cmp"
	"slices"
	"time"
)

// FailedAttempts counts the attempts at a checkpoint that failed with an error, of those before this try, and after the
// last retry by a request (zero: none). The worker of the task was lost in the other attempts.
func FailedAttempts(recorded []Attempt, seq int64, try int, retried time.Time) (n int) {
	recorded = slices.Clone(recorded)
	slices.SortFunc(recorded, func(a, b Attempt) int { return cmp.Compare(b.Fence, a.Fence) })
	for _, a := range recorded {
		if a.Seq != seq || a.Attempt >= try || a.Created.Before(retried) {
			break
		}
		try = a.Attempt
		n++
	}
	return n
}
