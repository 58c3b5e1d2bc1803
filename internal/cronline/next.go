package cronline

import "time"

// searchYears is how far the next wall time is searched. The rarest one is 29 February on
// one day of the week, as in "0 0 29 2 */7", which can be 40 years apart around a year such
// as 2100. A line without a wall time in 40 years has none.
const searchYears = 40

// lastYear is the last year in which something fires: both databases store it.
const lastYear = 9999

// Next returns the first wall time after another; false: there is none.
func (l Line) Next(wall time.Time) (time.Time, bool) {
	if l.every > 0 {
		next := wall.Truncate(time.Minute)
		rest := time.Duration(next.Unix()%int64(l.every/time.Second)) * time.Second
		next = next.Add(l.every - rest)
		return next, next.Year() <= lastYear
	}
	t := wall.Truncate(time.Minute).Add(time.Minute)
	end := t.Year() + searchYears
	// On the first day the time counts, on a later one any will do.
	if l.matchesDay(t) {
		if at, ok := l.onDay(t, t.Hour(), t.Minute()); ok {
			return at, at.Year() <= lastYear
		}
	}
	for day := midnight(t).AddDate(0, 0, 1); day.Year() <= min(end, lastYear); {
		if first(l.month, int(day.Month())) != int(day.Month()) {
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if l.matchesDay(day) {
			return l.onDay(day, 0, 0)
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// matchesDay reports whether the line fires on the day of a wall time.
func (l Line) matchesDay(t time.Time) bool {
	if l.month>>int(t.Month())&1 == 0 {
		return false
	}
	dom, dow := l.dom>>t.Day()&1 == 1, l.dow>>int(t.Weekday())&1 == 1
	if l.anyDom || l.anyDow {
		return dom && dow
	}
	return dom || dow
}

// onDay returns the first wall time on a day that is not before this time of the day.
func (l Line) onDay(day time.Time, hour, minute int) (time.Time, bool) {
	h := first(l.hour, hour)
	if h < 0 {
		return time.Time{}, false
	}
	if h > hour {
		minute = 0
	}
	m := first(l.minute, minute)
	if m < 0 {
		if h = first(l.hour, h+1); h < 0 {
			return time.Time{}, false
		}
		if m = first(l.minute, 0); m < 0 {
			return time.Time{}, false
		}
	}
	return midnight(day).Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute), true
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}
