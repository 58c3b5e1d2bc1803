package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/lifecycle"
)

var winter = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func TestParseWindow(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"22:00-06:00 Europe/Oslo", "00:00-24:00 UTC", "Mon-Fri 20:00-24:00 America/New_York", "Sat,Sun 00:00-24:00 Asia/Kathmandu",
		"Fri-Mon 10:00-10:01 UTC", "mon,WED-thu 01:00-04:00 Europe/Oslo", "02:00-03:01 Europe/Oslo", "Mon-Sat 02:00-03:00 Europe/Oslo",
		"02:15-02:46 Australia/Lord_Howe",
	} {
		w, err := lifecycle.ParseWindow(text, winter)
		if err != nil || w.String() != text || w.IsZero() {
			t.Errorf("%q: got %q, %v", text, w, err)
		}
	}
	for text, problem := range map[string]string{
		"":                                "another form",
		"22:00-06:00":                     "another form",
		"22-06 UTC":                       "another form",
		"Mon 22:00-06:00 UTC x":           "another form",
		"24:00-06:00 UTC":                 "24:00",
		"22:00-24:01 UTC":                 "24:01",
		"22:60-23:00 UTC":                 "22:60",
		"22:00-22:00 UTC":                 "empty",
		"00:00-00:00 UTC":                 "empty",
		"Moon 22:00-23:00 UTC":            `"Moon"`,
		"Mon- 22:00-23:00 UTC":            `"Mon-"`,
		", 22:00-23:00 UTC":               "day",
		"22:00-23:00 Local":               "time zone",
		"22:00-23:00 Europe/Atlantis":     "unknown time zone",
		"22:00-23:00 ../../etc/passwd":    "unknown time zone",
		"02:00-03:00 Europe/Oslo":         "empty on 2026-03-29",
		"02:30-02:45 America/New_York":    "empty on 2026-03-08",
		"Sun 02:10-02:20 Europe/Oslo":     "empty on 2026-03-29",
		"02:00-02:30 Australia/Lord_Howe": "empty on 2026-10-04",
		"00:00-01:00 Asia/Beirut":         "empty on 2026-03-29",
		strings.Repeat("x", 1000):         "another form",
	} {
		w, err := lifecycle.ParseWindow(text, winter)
		if err == nil || !strings.Contains(err.Error(), problem) || !strings.Contains(err.Error(), lifecycle.WindowRule) || !w.IsZero() {
			t.Errorf("%q: got %v, %v", text, w, err)
		}
	}
}

// TestWindowOpens compares with the clock of the zone, minute by minute, around clock changes.
func TestWindowOpens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, zone, day string
		from, to        int
	}{
		{"22:00-06:00 Europe/Oslo", "Europe/Oslo", "", 22 * 60, 6 * 60},
		{"02:30-03:30 Europe/Oslo", "Europe/Oslo", "", 150, 210},
		{"Sun 01:00-02:15 Europe/Oslo", "Europe/Oslo", "Sun", 60, 135},
		{"Sat 23:00-02:30 Europe/Oslo", "Europe/Oslo", "Sat", 23 * 60, 150},
		{"01:00-03:00 America/New_York", "America/New_York", "", 60, 180},
		{"01:45-02:15 Australia/Lord_Howe", "Australia/Lord_Howe", "", 105, 135},
		{"00:00-24:00 Asia/Beirut", "Asia/Beirut", "", 0, 24 * 60},
		{"00:30-01:30 Asia/Beirut", "Asia/Beirut", "", 30, 90},
	} {
		w, err := lifecycle.ParseWindow(c.text, winter)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		open := func(at time.Time) bool {
			l := at.In(zone)
			m, day, before := l.Hour()*60+l.Minute(), l.Format("Mon"), l.AddDate(0, 0, -1).Format("Mon")
			if c.from < c.to {
				return (c.day == "" || c.day == day) && m >= c.from && m < c.to
			}
			return (c.day == "" || c.day == day) && m >= c.from || (c.day == "" || c.day == before) && m < c.to
		}
		for _, start := range []time.Time{
			time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 27, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 3, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 30, 0, 0, 0, 0, time.UTC),
		} {
			const minutes = 12 * 24 * 60
			opens := time.Time{}
			for n := minutes; n >= 0; n-- {
				at := start.Add(time.Duration(n) * time.Minute)
				if want := open(at); w.Open(at) != want {
					t.Fatalf("%s: open at %s is %t", c.text, at.In(zone), w.Open(at))
				} else if want {
					opens = at
				}
				// What comes after the last minute of these is unknown.
				if !opens.IsZero() && n%7 == 0 {
					if got := w.Opens(at); !got.Equal(opens) {
						t.Fatalf("%s: after %s it opens at %s, want %s", c.text, at.In(zone), got.In(zone), opens.In(zone))
					}
				}
			}
		}
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	at := func(h int) time.Time { return winter.Add(time.Duration(h) * time.Hour) }
	all := lifecycle.Times{LatestStart: at(1), Deadline: at(10), TimeLimit: 5 * time.Hour}
	for _, c := range []struct {
		now, started time.Time
		begun        bool
		times        lifecycle.Times
		want         lifecycle.Expiry
	}{
		{at(99), at(0), true, lifecycle.Times{}, lifecycle.NotExpired},
		{at(1), time.Time{}, false, all, lifecycle.NotExpired},
		{at(2), time.Time{}, false, all, lifecycle.StartedTooLate},
		{at(2), at(1), true, all, lifecycle.NotExpired},
		{at(6), at(1), true, all, lifecycle.NotExpired},
		{at(7), at(1), true, all, lifecycle.TimeExceeded},
		{at(11), at(9), true, all, lifecycle.DeadlineExceeded},
	} {
		got, detail := c.times.Expired(c.now, c.started, c.begun)
		if got != c.want || (detail != "") != (c.want != "") {
			t.Errorf("%+v: got %s, %s", c, got, detail)
		}
	}
}
