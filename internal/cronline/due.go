package cronline

import "time"

// Fire is a wall time at which a schedule fires, and the instant for which it stands.
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

// Misfire says what becomes of fires that are late: nobody was there to make them, or the
// schedule was paused.
type Misfire string

// The policies.
const (
	RunOnce Misfire = "once"   // the latest of them is made, unless one that is not late stands for it
	RunAll  Misfire = "all"    // each is made
	Forget  Misfire = "forget" // none is made
)

// Valid reports whether there is such a policy.
func (m Misfire) Valid() bool { return m == RunOnce || m == RunAll || m == Forget }

// Grace is how late a fire may be before it is one that was missed.
const Grace = time.Minute

// Due is what is to be done about a schedule that is due.
type Due struct {
	Fires []Fire // to be made, in their order
	// Missed are the first and the last fire that were late; nil: none was.
	Missed *[2]Fire
	Next   Fire
	Ended  bool // there is no next fire
}

// Due returns what is to be done at an instant about a schedule whose next wall time was
// this one. At most limit fires are to be made at once; what is left is due then.
func (c Clock) Due(next, now time.Time, m Misfire, limit int) (d Due) {
	at, _ := Instant(next, c.Zone)
	f, ok := Fire{next, at}, true
	late := func(f Fire) bool { return now.Sub(f.At) > Grace }
	if late(f) && !f.At.After(now) {
		missed := [2]Fire{f, f}
		if m == RunAll {
			for n := 0; ok && late(f) && n < limit; n++ {
				d.Fires = append(d.Fires, f)
				missed[1] = f
				f, ok = c.After(f.Wall)
			}
		} else {
			missed[1] = c.latest(f, now.Add(-Grace-1))
			f, ok = c.After(missed[1].Wall)
		}
		d.Missed = &missed
	}
	for ok && !f.At.After(now) && len(d.Fires) < limit && !late(f) {
		d.Fires = append(d.Fires, f)
		f, ok = c.After(f.Wall)
	}
	if m == RunOnce && len(d.Fires) == 0 && d.Missed != nil {
		d.Fires = []Fire{d.Missed[1]}
	}
	d.Next, d.Ended = f, !ok
	return d
}

// latest returns the last fire, from this one on, that is not after an instant. It begins to
// look shortly before that, and not at a fire that was years ago.
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

// lastFrom returns the last fire, from this one on, that is not after an instant.
func (c Clock) lastFrom(f Fire, until time.Time) Fire {
	for {
		next, ok := c.After(f.Wall)
		if !ok || next.At.After(until) {
			return f
		}
		f = next
	}
}
