package lifecycle

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Window is a part of the day, in a time zone, in which a task may execute. Open says what that
// means. The zero value is always open.
type Window struct {
	from, to int // minutes since midnight; from > to: until the next day
	days     [7]bool
	zone     *time.Location
	text     string
}

// WindowRule says what [ParseWindow] reads, as the end of a sentence that begins with "use".
const WindowRule = `days if not all, two times and a time zone, such as "22:00-06:00 Europe/Oslo" or "Mon-Fri,Sun 20:00-24:00 UTC"`

var windowText = regexp.MustCompile(`^(?:([A-Za-z,-]+) )?(\d\d:\d\d)-(\d\d:\d\d) (\S+)$`)

const (
	dayMinutes = 24 * 60
	// gapYears is for how many years a window must not be empty on a day of a clock change.
	gapYears = 10
)

// ParseWindow reads a window, such as "Mon-Fri 22:00-06:00 Europe/Oslo". A window that begins
// on one day and ends on the next belongs to the day on which it begins. From is a time by the database's clock: a
// window that is empty on a day of a clock change in the ten years after it is refused. The zero time stands for
// no such check.
func ParseWindow(text string, from time.Time) (Window, error) {
	refused := func(problem string) (Window, error) {
		return Window{}, fmt.Errorf("%.80q is not a window: %s: use %s", text, problem, WindowRule)
	}
	parts := windowText.FindStringSubmatch(text)
	if parts == nil {
		return refused("it has another form")
	}
	w := Window{text: text}
	var err error
	if w.days, err = parseDays(parts[1]); err != nil {
		return refused(err.Error())
	}
	if w.from, err = parseMinutes(parts[2], dayMinutes-1); err != nil {
		return refused(err.Error())
	}
	if w.to, err = parseMinutes(parts[3], dayMinutes); err != nil {
		return refused(err.Error())
	}
	if w.from == w.to {
		return refused("it is empty")
	}
	if w.zone, err = LoadZone(parts[4]); err != nil {
		return refused(err.Error())
	}
	if from.IsZero() {
		return w, nil
	}
	if day, empty := w.emptyDay(from); empty {
		return refused(fmt.Sprintf("it is empty on %s, when the clocks go forward past it", day.Format(time.DateOnly)))
	}
	return w, nil
}

// LoadZone returns a time zone of the IANA database by its name.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is not the name of a time zone: write one such as Europe/Oslo or UTC", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q (a program on a machine without a time zone database imports time/tzdata)", name)
	}
	return zone, nil
}

var dayNames = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// parseDays reads names of days and ranges of them; "" is every day.
func parseDays(text string) (days [7]bool, err error) {
	if text == "" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, b := dayNumber(first), dayNumber(last)
		if a < 0 || b < 0 {
			return days, fmt.Errorf("%q is not a day or a range of days (%s)", part, strings.Join(dayNames, ", "))
		}
		for d := a; ; d = (d + 1) % 7 {
			days[d] = true
			if d == b {
				break
			}
		}
	}
	return days, nil
}

func dayNumber(name string) int {
	for i, n := range dayNames {
		if strings.EqualFold(n, name) {
			return i
		}
	}
	return -1
}

// parseMinutes reads a time of the day, at most so many minutes after midnight.
func parseMinutes(text string, most int) (int, error) {
	hour, err := strconv.Atoi(text[:2])
	minute, err2 := strconv.Atoi(text[3:])
	if n := hour*60 + minute; errors.Join(err, err2) == nil && minute < 60 && n <= most {
		return n, nil
	}
	return 0, fmt.Errorf("%q is not a time of the day", text)
}

// IsZero reports whether the window is always open.
func (w Window) IsZero() bool { return w.zone == nil }

// String returns the text that [ParseWindow] reads.
func (w Window) String() string { return w.text }

// Open reports whether the window is open at a time: whether the clocks of its zone show a time
// in it. So an hour that the clocks repeat counts twice, and one that they pass over never.
func (w Window) Open(at time.Time) bool {
	if w.IsZero() {
		return true
	}
	local := at.In(w.zone)
	minute, day := local.Hour()*60+local.Minute(), int(local.Weekday())
	if w.from < w.to {
		return w.days[day] && minute >= w.from && minute < w.to
	}
	return w.days[day] && minute >= w.from || w.days[(day+6)%7] && minute < w.to
}

// Opens returns the first time at or after another one at which the window is open.
func (w Window) Opens(at time.Time) time.Time {
	if w.Open(at) {
		return at
	}
	// It opens when the clocks show its beginning, or jump into it.
	local := at.In(w.zone)
	var first time.Time
	earliest := func(t time.Time) {
		if t.After(at) && w.Open(t) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for d := -1; d <= 15; d++ {
		begins := time.Date(local.Year(), local.Month(), local.Day()+d, 0, w.from, 0, 0, w.zone)
		earliest(begins)
		// Where the clocks show that time twice, this is one of both.
		start, end := begins.ZoneBounds()
		for _, change := range []time.Time{start, end} {
			if change.IsZero() {
				continue
			}
			earliest(change)
			_, before := change.Add(-time.Second).Zone()
			_, after := change.Zone()
			earliest(begins.Add(time.Duration(after-before) * time.Second))
			earliest(begins.Add(time.Duration(before-after) * time.Second))
		}
	}
	return first
}

// emptyDay returns a day of the years after a time on which the window is passed over by
// clocks that go forward.
func (w Window) emptyDay(from time.Time) (time.Time, bool) {
	length := (w.to - w.from + dayMinutes) % dayMinutes
	if length == 0 {
		return time.Time{}, false // the whole day
	}
	until := from.AddDate(gapYears, 0, 0)
	for at := from.In(w.zone); at.Before(until); {
		_, change := at.ZoneBounds()
		if change.IsZero() {
			return time.Time{}, false
		}
		before := change.Add(-time.Second).In(w.zone)
		_, was := before.Zone()
		_, is := change.Zone()
		if gap := is - was; gap >= length*60 {
			// The clocks go from the minute after before to the minute of change.
			begin := before.Hour()*60 + before.Minute() + 1
			if offset := (w.from - begin + dayMinutes) % dayMinutes; (offset+length)*60 <= gap && w.days[weekday(before, offset, begin)] {
				return change.In(w.zone), true
			}
		}
		at = change
	}
	return time.Time{}, false
}

// weekday returns the weekday of a time so many minutes after the first minute of a gap, which begins at
// such a minute of the day of before, or of the next day.
func weekday(before time.Time, offset, begin int) int {
	return (int(before.Weekday()) + (begin+offset)/dayMinutes) % 7
}
