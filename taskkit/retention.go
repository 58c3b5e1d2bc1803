package taskkit

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"taskkit.dev/internal/store"
)

// Never is the period of what is kept for ever.
const Never time.Duration = math.MaxInt64

// Retention is how long what tasks leave is kept. Workers remove the rest, in small
// pages and at a tenth of their time, by the clock of the database. Which period holds for
// a result is decided when it is stored, by the configuration of the worker that stores it.
// The other periods are those of whichever worker removes, so all workers should have the same.
type Retention struct {
	// Fetched is how long a result is kept after it was first fetched, see [Fetch].
	// Within that time it can be fetched again. Defaults to 5 min.
	Fetched time.Duration

	// Unfetched is how long a result is kept that nobody fetches. Defaults to 7 days.
	Unfetched time.Duration

	// Ended is how long a task is kept after it has ended, with its items, its attempts,
	// its result and its keys: after that, its idempotency key starts a new
	// task. Defaults to 30 days.
	Ended time.Duration

	// Idle is how long a task may wait, due or paused, without any change before it is
	// removed, as if it were deleted. No worker knows its kind, say, or nobody has approved it.
	// Its events say that it was. Defaults to [Never].
	Idle time.Duration

	// Events is how long events are kept, also of tasks that are gone, see
	// [Client.Events]. It is not for a kind. Defaults to 90 days.
	Events time.Duration
}

// WithRetention keeps the task for this time after its end, or for ever with [Never], in place of the Ended period
// in the [Retention] of its kind. A task that is made from it, such as by [Client.Continue], is kept as long, and
// so are its buckets. It is an *[OptionError] unless it is positive, and with [WithCoalescing].
func WithRetention(ended time.Duration) SubmitOption {
	return submitOption(func(s *submission) {
		if ended <= 0 {
			s.fail("WithRetention", fmt.Sprintf("%s is not positive: give a period, or Never", ended))
		}
		s.Options.Keep = ended
	})
}

// defaultRetention is what the zero fields of [Retention] stand for.
var defaultRetention = Retention{
	Fetched: 5 * time.Minute, Unfetched: 7 * 24 * time.Hour, Ended: 30 * 24 * time.Hour, Idle: Never, Events: 90 * 24 * time.Hour,
}

// or returns r with the zero fields from other.
func (r Retention) or(other Retention) Retention {
	return Retention{
		Fetched: cmp.Or(r.Fetched, other.Fetched), Unfetched: cmp.Or(r.Unfetched, other.Unfetched),
		Ended: cmp.Or(r.Ended, other.Ended), Idle: cmp.Or(r.Idle, other.Idle), Events: cmp.Or(r.Events, other.Events),
	}
}

// kept is a period as the store has it: zero is for ever.
func kept(d time.Duration) time.Duration {
	if d == Never {
		return 0
	}
	return d
}

// stored returns r as the store has it.
func (r Retention) stored() store.Retention {
	return store.Retention{Unfetched: kept(r.Unfetched), Fetched: kept(r.Fetched), Ended: kept(r.Ended), Idle: kept(r.Idle)}
}

// retention returns how long what tasks of a kind leave is kept, and the shortest period
// for idle tasks of any kind, zero where all are kept for ever. A kind is looked up
// by its name, which names may tell of an alias.
func (c Config) retention(names map[string]string) (of func(kind string) store.Retention, idle time.Duration) {
	general := c.Retention.or(defaultRetention)
	kinds := make(map[string]store.Retention, len(c.KindRetention))
	idle = general.Idle
	for kind, r := range c.KindRetention {
		r = r.or(general)
		kinds[kind] = r.stored()
		idle = min(idle, r.Idle)
	}
	all := general.stored()
	of = func(kind string) store.Retention {
		if r, ok := kinds[cmp.Or(names[kind], kind)]; ok {
			return r
		}
		return all
	}
	return of, kept(idle)
}

// problems returns what is wrong with periods, by field.
func (r Retention) problems(ofKind bool) (fields, problems []string) {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"Fetched", r.Fetched}, {"Unfetched", r.Unfetched}, {"Ended", r.Ended}, {"Idle", r.Idle}, {"Events", r.Events}} {
		switch {
		case f.value < 0:
			fields, problems = append(fields, f.name), append(problems, f.value.String()+" is negative: give a period, or taskkit.Never")
		case f.name == "Events" && ofKind && f.value != 0:
			fields, problems = append(fields, f.name), append(problems, "events have no period for a kind: set Config.Retention.Events")
		}
	}
	return fields, problems
}
