package cronline

import "time"

// Fire is a wall time at which a schedule fires, and its instant.
type Fire struct{ Wall, At time.Time }

// Clock is a line in a zone. A line with an interval is in UTC.
type Clock struct {
	Line Line
	Zone *time.Location
}

// After returns the first fire whose wall time is after another; false: there is none.
func (c Clock) After(wall time.Time) (Fire, bool) {
	for {
		next, ok := c.Line.Next(wall)
		if !ok {
			return Fire{}, false
		}
		at, exists := Instant(next, c.Zone)
		if exists || !c.Line.EveryHour() {
			return Fire{next, at}, true
		}
		wall = next
	}
}

// First returns the first fire after an instant; false: there is none.
func (c Clock) First(after time.Time) (Fire, bool) {
	return c.firstFrom(WallTime(after, c.Zone), after)
}

// firstFrom returns the first fire after an instant whose wall time is also after another.
func (c Clock) firstFrom(wall, after time.Time) (f Fire, ok bool) {
	for f, ok = c.After(wall); ok && !f.At.After(after); {
		f, ok = c.After(f.Wall)
	}
	return f, ok
}

// Misfire is the policy for late fires, after a time without workers or in which the
// schedule was paused.
type Misfire string

// The policies.
const (
	RunOnce Misfire = "once"   // only the latest is made, and none if another one is on time
	RunAll  Misfire = "all"    // each is made
	Forget  Misfire = "forget" // none is made
)

// Valid reports whether there is such a policy.
func (m Misfire) Valid() bool { return m == RunOnce || m == RunAll || m == Forget }

// Grace is how late a fire may be before it counts as missed.
const Grace = time.Minute

// Due has the fires of a schedule that is due.
type Due struct {
	Fires []Fire // to be made, in their order
	// Missed are the first and the last late fire; nil without one.
	Missed *[2]Fire
	Next   Fire
	Ended  bool // there is no next fire
}

// Due returns the fires that are due at now for a schedule whose next wall time is next.
// It has at most limit fires; the others remain due.
func (c Clock) Due(next, now time.Time, m Misfire, limit int) Due {
	return c.DueUntil(next, now, now, m, limit)
}

// DueUntil is Due without the fires after a time, which is not after now.
func (c Clock) DueUntil(next, until, now time.Time, m Misfire, limit int) (d Due) {
	at, _ := Instant(next, c.Zone)
	f, ok := Fire{next, at}, true
	late := func(f Fire) bool { return now.Sub(f.At) > Grace }
	if late(f) && !f.At.After(until) {
		missed := [2]Fire{f, f}
		if m == RunAll {
			for n := 0; ok && late(f) && !f.At.After(until) && n < limit; n++ {
				d.Fires = append(d.Fires, f)
				missed[1] = f
				f, ok = c.After(f.Wall)
			}
		} else {
			missed[1] = c.latest(f, earlier(until, now.Add(-Grace-1)))
			f, ok = c.After(missed[1].Wall)
		}
		d.Missed = &missed
	}
	for ok && !f.At.After(until) && len(d.Fires) < limit && !late(f) {
		d.Fires = append(d.Fires, f)
		f, ok = c.After(f.Wall)
	}
	if m == RunOnce && len(d.Fires) == 0 && d.Missed != nil {
		d.Fires = []Fire{d.Missed[1]}
	}
	d.Next, d.Ended = f, !ok
	return d
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// latest returns the last fire at or after from that is not after until. It searches from
// shortly before until, since from may be years ago.
func (c Clock) latest(from Fire, until time.Time) Fire {
	for back := time.Hour; ; back *= 8 {
		wall := WallTime(until, c.Zone).Add(-back)
		if !wall.After(from.Wall) {
			return c.lastFrom(from, until)
		}
		if f, ok := c.After(wall); ok && !f.At.After(until) {
			return c.lastFrom(f, until)
		}
	}
}

// lastFrom returns the last fire at or after f that is not after until.
func (c Clock) lastFrom(f Fire, until time.Time) Fire {
	for {
		next, ok := c.After(f.Wall)
		if !ok || next.At.After(until) {
			return f
		}
		f = next
	}
}
