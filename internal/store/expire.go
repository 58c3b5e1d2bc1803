package store

import (
	"math"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// KeepForever is the [Options.Keep] of a task that is never removed.
const KeepForever time.Duration = math.MaxInt64

// How long the cleaner leaves a task alone that it can neither end nor remove yet.
const (
	ExpireAgain = 5 * time.Minute // its time is over: a worker has it, a request stands on it, or its parent is open
	keepAgain   = time.Second     // at least, of a task that has not ended
)

// ExpiringTask is a task whose options may end or remove it by now.
type ExpiringTask struct {
	ID      uuid.UUID
	Options Options
	Status  lifecycle.Status
	Begun   bool      // it has a checkpoint
	Stopped time.Time // when it ended; zero: it has not
	Items   int64     // that are recorded of it
}

// Expired is what became of a page of such tasks.
type Expired struct {
	Failed, Removed []uuid.UUID
	More            bool // there may be another page
}

// Expiry returns when the options may end or remove a task next; the zero time stands for never.
func (o *Options) Expiry(now time.Time, begun bool) (at time.Time) {
	at = o.Times.Expires(time.Time{}, begun)
	if o.Keep <= 0 || o.Keep == KeepForever {
		return at
	}
	if gone := now.Add(max(o.Keep, keepAgain)); at.IsZero() || gone.Before(at) {
		return gone
	}
	return at
}

// Overdue reports whether the time of the task is over and it has not ended.
func (t *ExpiringTask) Overdue(now time.Time) bool {
	why, _ := t.Options.Expired(now, time.Time{}, t.Begun)
	return t.Stopped.IsZero() && why != lifecycle.NotExpired
}

// Decide returns what is to be done with the task at a time: fail it with this status text, remove it, or neither, and
// when it is read again if that succeeds; the zero time stands for never.
func (t *ExpiringTask) Decide(now time.Time) (fail string, remove bool, next time.Time) {
	keeps := t.Options.Keep > 0 && t.Options.Keep != KeepForever
	if !t.Stopped.IsZero() {
		if !keeps {
			return "", false, time.Time{}
		}
		next = t.Stopped.Add(t.Options.Keep)
		return "", now.After(next), next
	}
	if why, detail := t.Options.Expired(now, time.Time{}, t.Begun); why != lifecycle.NotExpired {
		if keeps {
			next = now.Add(t.Options.Keep)
		}
		if t.Status == lifecycle.Queued {
			return string(why) + ": " + detail, false, next
		}
		return "", false, now.Add(ExpireAgain)
	}
	return "", false, t.Options.Expiry(now, t.Begun)
}
