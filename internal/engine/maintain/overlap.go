package maintain

import (
	"cmp"
	"strings"

	"taskkit.dev/internal/cronline"
	"taskkit.dev/internal/store"
)

// The policies for a fire while the last task of the schedule has not ended. Any other is to allow it.
const (
	overlapSkip   = "skip"
	overlapBuffer = "buffer"
)

// wallTime is a wall time of a zone for which a task is submitted.
type wallTime struct{ wall, zone string }

func (w wallTime) String() string { return w.wall + " " + cmp.Or(w.zone, "UTC") }

// made is what becomes of the fires that are due.
type made struct {
	fires     []wallTime // a task is submitted for each
	triggered bool       // and one because a person said so
	skipped   []wallTime
}

// none reports whether nothing is done.
func (m made) none() bool { return len(m.fires) == 0 && !m.triggered && len(m.skipped) == 0 }

// overlap applies the policy of a schedule to what is due, and sets which wall time is buffered. A trigger waits as a
// buffered fire does.
func overlap(f *store.ScheduleFire, due cronline.Due, zone string) (m made) {
	var all []wallTime
	if f.Buffered != "" && !f.Paused {
		n := strings.LastIndex(f.Buffered, " ")
		all = append(all, wallTime{f.Buffered[:n], f.Buffered[n+1:]})
		f.Buffered = ""
	}
	for _, d := range due.Fires {
		all = append(all, wallTime{d.Wall.Format(cronline.Format), zone})
	}
	if f.Overlap != overlapSkip && f.Overlap != overlapBuffer {
		return made{fires: all, triggered: f.Triggered}
	}
	if len(all) > 0 && !f.LastOpen {
		m.fires, all = all[:1], all[1:]
	}
	if len(all) > 0 && f.Overlap == overlapBuffer {
		f.Buffered, all = all[0].String(), all[1:]
	}
	m.skipped = all
	m.triggered = f.Triggered && !f.LastOpen && len(m.fires) == 0
	return m
}
