package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"taskkit.dev/internal/lifecycle"
)

// Window is a window of a plan, in UTC.
type Window struct {
	From, To int // minutes after midnight; from > to: until the next day
	Days     [7]bool
}

// Times are when a task of a plan may execute. Its times count from the beginning of the
// simulation, by the store's clock; 0: there is none.
type Times struct {
	Window                *Window
	LatestStart, Deadline time.Duration
	TimeLimit             time.Duration
}

// drawTimes gives times to tasks of some plans. It draws from a generator of its own, so that the
// other plans stay as they are. The store's clock is set so that a window opens or closes soon.
func (p *Plan) drawTimes(r *rand.Rand) {
	d := familyDrawer{r: r}
	if !d.maybe(0.25) {
		return
	}
	for range d.in(1, 2) {
		w := Window{From: d.in(0, dayMinutes-1)}
		w.To = (w.From + d.in(1, 3)) % dayMinutes
		if d.maybe(0.5) {
			w.From, w.To = w.To, w.From
		}
		first := d.in(0, 6)
		for day := range 7 {
			w.Days[day] = day == first || d.maybe(0.8)
		}
		p.Windows = append(p.Windows, w)
	}
	if d.maybe(0.5) {
		p.Boundaries = time.Duration(d.in(3000, 9000)) * time.Millisecond
	}
	p.Clock = p.Windows[0].next(midnight).Sub(midnight) - time.Duration(d.in(500, 10_000))*time.Millisecond + 7*24*time.Hour
	soon := func() time.Duration { return time.Duration(d.in(1, int(p.Chaos/time.Millisecond))) * time.Millisecond }
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Reference != "" {
			continue // such a task has no options
		}
		if d.maybe(0.5) {
			t.Times.Window = &p.Windows[d.in(0, len(p.Windows)-1)]
			t.After, t.Batch = t.After/3, 1 // so that it is under way when its window closes
		}
		if d.maybe(0.15) {
			t.Times.LatestStart = t.After + soon()/2
		}
		if d.maybe(0.2) {
			t.Times.Deadline = t.After + soon()
		}
		if d.maybe(0.2) {
			t.Times.TimeLimit = soon()/2 + time.Millisecond
		}
	}
}

const dayMinutes = 24 * 60

// midnight is when the clocks of a bubble begin.
var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// String is the window as taskkit reads it.
func (w *Window) String() string {
	var days []string
	for d, is := range w.Days {
		if is {
			days = append(days, time.Weekday(d).String()[:3])
		}
	}
	clock := func(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }
	return fmt.Sprintf("%s %s-%s UTC", strings.Join(days, ","), clock(w.From), clock(w.To))
}

// on returns when the window that begins on the day of a time, or so many days later, opens and closes. It may not
// open on that day.
func (w *Window) on(at time.Time, later int) (opens, closes time.Time, ok bool) {
	day := at.Truncate(24*time.Hour).AddDate(0, 0, later)
	opens, closes = day.Add(time.Duration(w.From)*time.Minute), day.Add(time.Duration(w.To)*time.Minute)
	if w.To <= w.From {
		closes = closes.AddDate(0, 0, 1)
	}
	return opens, closes, w.Days[day.Weekday()]
}

// open reports whether the window is open at a time.
func (w *Window) open(at time.Time) bool { return w.opens(at).Equal(at) }

// opens returns the first time from another one on at which the window is open.
func (w *Window) opens(at time.Time) time.Time {
	for later := -1; ; later++ {
		if opens, closes, ok := w.on(at, later); ok && at.Before(closes) {
			if opens.Before(at) {
				return at
			}
			return opens
		}
	}
}

// next returns when the window opens or closes next.
func (w *Window) next(at time.Time) time.Time {
	opens := w.opens(at)
	if opens.After(at) {
		return opens
	}
	// Where it opens as it closes, it does neither.
	for closes := at; ; {
		for later := -1; later <= 0; later++ {
			if from, to, ok := w.on(closes, later); ok && !closes.Before(from) && closes.Before(to) {
				closes = to
				break
			}
		}
		if !w.open(closes) {
			return closes
		}
	}
}

// given reports whether a task has times.
func (t *Times) given() bool { return t.Window != nil || t.ends() }

// ends reports whether a task fails because of its times some day.
func (t *Times) ends() bool { return t.LatestStart > 0 || t.Deadline > 0 || t.TimeLimit > 0 }

// stored are the times of a task as they are stored.
func (t *Times) stored(beginning time.Time) lifecycle.Times {
	s := lifecycle.Times{TimeLimit: t.TimeLimit}
	if t.Window != nil {
		s.Window = t.Window.String()
	}
	if t.LatestStart > 0 {
		s.LatestStart = beginning.Add(t.LatestStart)
	}
	if t.Deadline > 0 {
		s.Deadline = beginning.Add(t.Deadline)
	}
	return s
}
