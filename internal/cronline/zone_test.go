package cronline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/cronline"
)

// clock returns an expression in a zone.
func clock(t *testing.T, expr, zone string) cronline.Clock {
	t.Helper()
	l, err := cronline.Parse(expr, "n")
	if err != nil {
		t.Fatal(err)
	}
	z, err := cronline.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return cronline.Clock{Line: l, Zone: z}
}

func wall(t *testing.T, text string) time.Time {
	t.Helper()
	w, err := time.Parse(cronline.Format, text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Each wall time fires once on days of clock changes: one that does not occur at the first
// instant after the gap, one that occurs twice the first time.
func TestClockChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone, expr, after string
		want              []string // wall time and instant
	}{
		"Oslo, spring":          {"Europe/Oslo", "30 2 * * *", "2026-03-28 12:00", []string{"2026-03-29 02:30 = 01:00Z", "2026-03-30 02:30 = 00:30Z"}},
		"Oslo, spring, two":     {"Europe/Oslo", "0 2,3 * * *", "2026-03-28 12:00", []string{"2026-03-29 02:00 = 01:00Z", "2026-03-29 03:00 = 01:00Z", "2026-03-30 02:00 = 00:00Z"}},
		"Oslo, spring, hourly":  {"Europe/Oslo", "*/30 * * * *", "2026-03-29 01:10", []string{"2026-03-29 01:30 = 00:30Z", "2026-03-29 03:00 = 01:00Z", "2026-03-29 03:30 = 01:30Z"}},
		"Oslo, autumn":          {"Europe/Oslo", "30 2 * * *", "2026-10-24 12:00", []string{"2026-10-25 02:30 = 00:30Z", "2026-10-26 02:30 = 01:30Z"}},
		"Oslo, autumn, hourly":  {"Europe/Oslo", "*/30 * * * *", "2026-10-25 02:10", []string{"2026-10-25 02:30 = 00:30Z", "2026-10-25 03:00 = 02:00Z"}},
		"New York, spring":      {"America/New_York", "15 2 * * *", "2026-03-07 12:00", []string{"2026-03-08 02:15 = 07:00Z", "2026-03-09 02:15 = 06:15Z"}},
		"New York, autumn":      {"America/New_York", "30 1 * * *", "2026-10-31 12:00", []string{"2026-11-01 01:30 = 05:30Z", "2026-11-02 01:30 = 06:30Z"}},
		"Lord Howe, 30 minutes": {"Australia/Lord_Howe", "0,15,30 2 * * *", "2026-10-03 12:00", []string{"2026-10-04 02:00 = 15:30Z", "2026-10-04 02:15 = 15:30Z", "2026-10-04 02:30 = 15:30Z", "2026-10-05 02:00 = 15:00Z"}},
		"Lord Howe, autumn":     {"Australia/Lord_Howe", "45 1 * * *", "2026-04-04 12:00", []string{"2026-04-05 01:45 = 14:45Z", "2026-04-06 01:45 = 15:15Z"}},
		"Kathmandu":             {"Asia/Kathmandu", "0 0 * * *", "2026-03-28 12:00", []string{"2026-03-29 00:00 = 18:15Z"}},
		"Beirut, midnight":      {"Asia/Beirut", "0 0 * * *", "2026-03-28 12:00", []string{"2026-03-29 00:00 = 22:00Z", "2026-03-30 00:00 = 21:00Z"}},
		"São Paulo, midnight":   {"America/Sao_Paulo", "30 0 * * *", "2018-11-03 12:00", []string{"2018-11-04 00:30 = 03:00Z", "2018-11-05 00:30 = 02:30Z"}},
		"Apia, a day":           {"Pacific/Apia", "0 12 * * *", "2011-12-29 11:00", []string{"2011-12-29 12:00 = 22:00Z", "2011-12-30 12:00 = 10:00Z", "2011-12-31 12:00 = 22:00Z"}},
		"every, autumn":         {"", "@every 30m", "2026-10-25 00:10", []string{"2026-10-25 00:30 = 00:30Z", "2026-10-25 01:00 = 01:00Z"}},
	} {
		cl := clock(t, c.expr, c.zone)
		var got []string
		at := wall(t, c.after)
		for range c.want {
			f, ok := cl.After(at)
			if !ok {
				break
			}
			got = append(got, f.Wall.Format(cronline.Format)+" = "+f.At.Format("15:04Z"))
			at = f.Wall
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// step is how far a test goes from one time to the next: a minute within so far of a change of a zone's clocks,
// and a quarter of an hour, which offsets are made of, where nothing changes.
func step(at time.Time, zone *time.Location, near time.Duration) time.Duration {
	begin, end := at.In(zone).ZoneBounds()
	if !begin.IsZero() && at.Sub(begin) < near || !end.IsZero() && end.Sub(at) <= near {
		return time.Minute
	}
	return 15 * time.Minute
}

// Every minute around the changes of some years, and every quarter of an hour between them, is compared with
// what the zone's own clock shows.
func TestInstant(t *testing.T) {
	t.Parallel()
	for zone, years := range map[string][2]int{
		"Europe/Oslo": {2026, 2027}, "America/New_York": {2026, 2027}, "Australia/Lord_Howe": {2026, 2027}, "Asia/Kathmandu": {2026, 2027},
		"America/Sao_Paulo": {2018, 2019}, "Asia/Beirut": {2026, 2027}, "Pacific/Apia": {2011, 2012}, "Africa/Casablanca": {2026, 2027}, "America/Caracas": {2016, 2017},
	} {
		z, err := cronline.LoadZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := time.Date(years[0], 1, 1, 0, 0, 0, 0, time.UTC), time.Date(years[1], 1, 1, 0, 0, 0, 0, time.UTC)
		const margin = 96 * time.Hour // of wall times; no zone is so far from UTC that it needs half of it
		minute := func(wall time.Time) int { return int((wall.Sub(begin) + margin) / time.Minute) }
		shown := make([]time.Time, minute(end.Add(margin))) // by wall time, the first instant
		for at := begin.Add(-48 * time.Hour); at.Before(end.Add(48 * time.Hour)); at = at.Add(step(at, z, 72*time.Hour)) {
			if first := &shown[minute(cronline.WallTime(at, z))]; first.IsZero() {
				*first = at
			}
		}
		var last time.Time
		for w := begin; w.Before(end); w = w.Add(step(w, z, 48*time.Hour)) {
			want := shown[minute(w)]
			exists := !want.IsZero()
			for after := minute(w); want.IsZero(); after++ {
				want = shown[after] // the first that the clock shows after the gap
			}
			at, found := cronline.Instant(w, z)
			if !at.Equal(want) || found != exists || at.Before(last) {
				t.Fatalf("%s, %s: got %v, %t, want %v, %t", zone, w.Format(cronline.Format), at, found, want, exists)
			}
			last = at
		}
	}
}

func TestLoadZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Local", "localtime", "posixrules", "Europe/Olso", "TZ=UTC", "../etc/passwd", "Europe/Oslo\x00", strings.Repeat("x", 1000), "UTC+1", "\u00e9"} {
		if _, err := cronline.LoadZone(name); err == nil {
			t.Errorf("the zone %q was accepted", name)
		}
	}
	if z, err := cronline.LoadZone(""); err != nil || z != time.UTC {
		t.Errorf("no zone: %v, %v", z, err)
	}
}

// What is late is made once, each, or not at all.
func TestDue(t *testing.T) {
	t.Parallel()
	const first = "2026-03-27 02:30"
	for name, c := range map[string]struct {
		expr   string
		policy cronline.Misfire
		now    string // UTC
		limit  int
		fires  []string
		missed string
		next   string
	}{
		"not yet":                    {"30 2 * * *", cronline.RunOnce, "2026-03-27 01:29", 9, nil, "", "2026-03-27 02:30"},
		"on time":                    {"30 2 * * *", cronline.Forget, "2026-03-27 01:31", 9, []string{"2026-03-27 02:30"}, "", "2026-03-28 02:30"},
		"late, once":                 {"30 2 * * *", cronline.RunOnce, "2026-03-27 01:32", 9, []string{"2026-03-27 02:30"}, "2026-03-27 02:30 2026-03-27 02:30", "2026-03-28 02:30"},
		"late, forget":               {"30 2 * * *", cronline.Forget, "2026-03-27 01:32", 9, nil, "2026-03-27 02:30 2026-03-27 02:30", "2026-03-28 02:30"},
		"four late, once":            {"30 2 * * *", cronline.RunOnce, "2026-03-30 12:00", 9, []string{"2026-03-30 02:30"}, "2026-03-27 02:30 2026-03-30 02:30", "2026-03-31 02:30"},
		"two late, one on time":      {"30 2 * * *", cronline.RunOnce, "2026-03-29 01:01", 9, []string{"2026-03-29 02:30"}, "2026-03-27 02:30 2026-03-28 02:30", "2026-03-30 02:30"},
		"all":                        {"30 2 * * *", cronline.RunAll, "2026-03-29 01:01", 9, []string{"2026-03-27 02:30", "2026-03-28 02:30", "2026-03-29 02:30"}, "2026-03-27 02:30 2026-03-28 02:30", "2026-03-30 02:30"},
		"all, in parts":              {"30 2 * * *", cronline.RunAll, "2026-03-29 01:01", 2, []string{"2026-03-27 02:30", "2026-03-28 02:30"}, "2026-03-27 02:30 2026-03-28 02:30", "2026-03-29 02:30"},
		"years, once":                {"* * * * *", cronline.RunOnce, "2046-03-29 12:00", 9, []string{"2046-03-29 13:59", "2046-03-29 14:00"}, "2026-03-27 02:30 2046-03-29 13:58", "2046-03-29 14:01"},
		"years, forget":              {"30 2 29 2 *", cronline.Forget, "2046-03-29 12:00", 9, nil, "2026-03-27 02:30 2044-02-29 02:30", "2048-02-29 02:30"},
		"the second of two hours":    {"30 2 25 10 *", cronline.RunOnce, "2026-10-25 01:30", 9, []string{"2026-10-25 02:30"}, "2026-03-27 02:30 2026-10-25 02:30", "2027-10-25 02:30"},
		"several at the same moment": {"0,30 2 * * *", cronline.RunOnce, "2026-03-29 01:00", 9, []string{"2026-03-29 02:00", "2026-03-29 02:30"}, "2026-03-27 02:30 2026-03-28 02:30", "2026-03-30 02:00"},
	} {
		d := clock(t, c.expr, "Europe/Oslo").Due(wall(t, first), wall(t, c.now), c.policy, c.limit)
		var fires []string
		for _, f := range d.Fires {
			fires = append(fires, f.Wall.Format(cronline.Format))
		}
		missed := ""
		if d.Missed != nil {
			missed = d.Missed[0].Wall.Format(cronline.Format) + " " + d.Missed[1].Wall.Format(cronline.Format)
		}
		if !slices.Equal(fires, c.fires) || missed != c.missed || d.Next.Wall.Format(cronline.Format) != c.next || d.Ended {
			t.Errorf("%s: got %v, missed %q, next %v", name, fires, missed, d.Next.Wall)
		}
	}
	if d := clock(t, "0 0 1 1 *", "").Due(wall(t, "9999-01-01 00:00"), wall(t, "9999-01-01 00:00"), cronline.RunOnce, 9); !d.Ended || len(d.Fires) != 1 {
		t.Errorf("the last fire of all: %+v", d)
	}
}
