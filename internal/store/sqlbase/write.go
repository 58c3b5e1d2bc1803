package sqlbase

import (
	"math"
	"strconv"
	"time"

	"taskkit.dev/internal/store"
)

// DelayMillis returns [store.Write.Delay] as a parameter: milliseconds, and -1
// for a negative one.
func DelayMillis(w *store.Write) int64 {
	if w.Delay < 0 {
		return -1
	}
	return Millis(w.Delay)
}

// Millis returns a duration as a parameter: whole milliseconds, never negative.
func Millis(d time.Duration) int64 { return max(d.Milliseconds(), 0) }

// FromMillis returns the duration of whole milliseconds of a database, which may be
// longer than a [time.Duration] can be.
func FromMillis(ms int64) time.Duration {
	const longest = int64(math.MaxInt64 / time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}

// KindRevision returns a kind with a revision, "kind revision". A kind contains no space.
func KindRevision(kind string, revision int) string { return kind + " " + strconv.Itoa(revision) }

// KindRevisions returns the kinds of a claim with their revisions.
func KindRevisions(c store.Claim) []string {
	var rs []string
	for kind, revisions := range c.Kinds {
		for _, r := range revisions {
			rs = append(rs, KindRevision(kind, r))
		}
	}
	return rs
}
