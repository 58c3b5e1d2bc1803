package schedules_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/internal/store"
)

// format is how a wall time is written.
const format = "2006-01-02 15:04"

// minute is one that a zone's clock shows for the first time, or one that it skips.
type minute struct {
	at      time.Time // the instant for which it stands
	wall    time.Time // as UTC
	skipped bool
	minute, hour, day, month,
	weekday int
}

// minutesOf returns all minutes of a period as a zone's clock shows them.
func minutesOf(zone *time.Location, begin, end time.Time) (all []minute) {
	show := func(at time.Time) time.Time {
		t := at.In(zone)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	add := func(at, wall time.Time, skipped bool) {
		all = append(all, minute{at, wall, skipped, wall.Minute(), wall.Hour(), wall.Day(), int(wall.Month()), int(wall.Weekday())})
	}
	latest := show(begin.Add(-time.Minute))
	for at := begin; at.Before(end); at = at.Add(time.Minute) {
		wall := show(at)
		if !wall.After(latest) {
			continue // shown before: clocks were set back
		}
		for w := latest.Add(time.Minute); w.Before(wall); w = w.Add(time.Minute) {
			add(at, w, true) // clocks were set forward
		}
		add(at, wall, false)
		latest = wall
	}
	return all
}

// plan is a schedule as sets of values. Its expression is written from them.
type plan struct {
	name, zone, expr, misfire string
	minutes, hours            []int
	days, months, weekdays    []int // empty: any
	everyHour                 bool
}

// key returns the idempotency key of the task of a plan at a minute.
func (p *plan) key(m *minute) string { return store.ScheduleKey(p.name, m.wall.Format(format), p.zone) }

// random returns a plan. Most fire in the hours in which clocks are changed.
func random(rng *rand.Rand, name, zone, misfire string) plan {
	p := plan{name: name, zone: zone, misfire: misfire, minutes: []int{30 * rng.IntN(2)}, hours: []int{rng.IntN(5)}}
	switch n := rng.IntN(100); {
	case n < 15:
		p.weekdays = []int{rng.IntN(7)}
	case n < 35:
		p.days = []int{1 + rng.IntN(31)}
	case n < 45:
		p.days, p.weekdays = []int{1 + rng.IntN(31)}, []int{rng.IntN(7)}
	case n < 55:
		p.months = []int{1 + rng.IntN(12), 3, 10}
	case n < 60:
		p.hours = []int{1, 2, 3}
	case n < 64:
		p.minutes, p.hours = []int{0, 30}, []int{2, 3}
	case n < 65:
		p.hours, p.everyHour = nil, true
		for h := range 24 {
			p.hours = append(p.hours, h)
		}
	}
	list := func(values []int) string {
		if len(values) == 0 {
			return "*"
		}
		var parts []string
		for _, v := range values {
			parts = append(parts, strconv.Itoa(v))
		}
		return strings.Join(parts, ",")
	}
	hours := list(p.hours)
	if p.everyHour {
		hours = "*"
	}
	p.expr = fmt.Sprintf("%s %s %s %s %s", list(p.minutes), hours, list(p.days), list(p.months), list(p.weekdays))
	return p
}

// fires returns the minutes at which a plan fires.
func (p *plan) fires(minutes []minute) (all []minute) {
	set := func(values []int, n int) []bool {
		s := make([]bool, n)
		for i := range s {
			s[i] = len(values) == 0
		}
		for _, v := range values {
			s[v] = true
		}
		return s
	}
	inMinutes, inHours, inDays, inMonths, inWeek := set(p.minutes, 60), set(p.hours, 24), set(p.days, 32), set(p.months, 13), set(p.weekdays, 7)
	either := len(p.days) > 0 && len(p.weekdays) > 0
	for i := range minutes {
		m := &minutes[i]
		if !inMinutes[m.minute] || !inHours[m.hour] || !inMonths[m.month] || m.skipped && p.everyHour {
			continue
		}
		if d, w := inDays[m.day], inWeek[m.weekday]; either && (d || w) || d && w {
			all = append(all, *m)
		}
	}
	return all
}

// due returns what of the fires up to now has a task, by a policy, and the rest of them.
func (p *plan) due(left []minute, now time.Time) (tasks, rest []minute) {
	var late, onTime []minute
	for len(left) > 0 && !left[0].at.After(now) {
		if now.Sub(left[0].at) > time.Minute {
			late = append(late, left[0])
		} else {
			onTime = append(onTime, left[0])
		}
		left = left[1:]
	}
	switch {
	case p.misfire == "all":
		onTime = append(late, onTime...)
	case p.misfire == "once" && len(onTime) == 0 && len(late) > 0:
		onTime = late[len(late)-1:]
	}
	return onTime, left
}
