package cronline_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	_ "time/tzdata"

	"taskkit.dev/internal/cronline"
)

// next returns the first n wall times of an expression after the last minute of 2025.
func next(t *testing.T, expr string, n int) (walls []string) {
	t.Helper()
	l, err := cronline.Parse(expr, "nightly")
	if err != nil {
		t.Fatal(err)
	}
	wall := time.Date(2025, 12, 31, 23, 59, 0, 0, time.UTC)
	for range n {
		var ok bool
		if wall, ok = l.Next(wall); !ok {
			break
		}
		walls = append(walls, wall.Format(cronline.Format))
	}
	return walls
}

func TestNext(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		"* * * * *":            {"2026-01-01 00:00", "2026-01-01 00:01"},
		"*/25 * * * *":         {"2026-01-01 00:00", "2026-01-01 00:25", "2026-01-01 00:50", "2026-01-01 01:00"},
		"5/25 3 * * *":         {"2026-01-01 03:05", "2026-01-01 03:30", "2026-01-01 03:55", "2026-01-02 03:05"},
		"30 22-23,0-1 * * *":   {"2026-01-01 00:30", "2026-01-01 01:30", "2026-01-01 22:30"},
		" 0\t2  * * * ":        {"2026-01-01 02:00", "2026-01-02 02:00"},
		"0 0 29 2 *":           {"2028-02-29 00:00", "2032-02-29 00:00"},
		"0 0 31 * *":           {"2026-01-31 00:00", "2026-03-31 00:00"},
		"0 0 * * 7":            {"2026-01-04 00:00", "2026-01-11 00:00"},
		"0 0 * * 5-7":          {"2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00", "2026-01-09 00:00"},
		"0 0 * feb Mon":        {"2026-02-02 00:00", "2026-02-09 00:00"},
		"0 0 13 * fri":         {"2026-01-02 00:00", "2026-01-09 00:00", "2026-01-13 00:00"}, // either day
		"0 0 */10 * mon":       {"2026-05-11 00:00", "2026-06-01 00:00"},                     // both, as in Vixie's cron
		"0 0 ? * 1":            {"2026-01-05 00:00", "2026-01-12 00:00"},
		"0 0 1,*/14 jan-feb *": {"2026-01-01 00:00", "2026-01-15 00:00", "2026-01-29 00:00", "2026-02-01 00:00"},
		"0 0 29 2 */7":         {"2032-02-29 00:00", "2060-02-29 00:00", "2088-02-29 00:00", "2128-02-29 00:00"}, // a Sunday
		"0 0 */31 1 fri":       {"2027-01-01 00:00", "2038-01-01 00:00", "2044-01-01 00:00"},
		"0 0 * * 7/2":          {"2026-01-04 00:00", "2026-01-11 00:00"},
		"0 0 15 1 7/2":         {"2026-01-04 00:00", "2026-01-11 00:00", "2026-01-15 00:00", "2026-01-18 00:00"},
		"@yearly":              {"2026-01-01 00:00", "2027-01-01 00:00"},
		"@weekly":              {"2026-01-04 00:00"},
		"@hourly":              {"2026-01-01 00:00", "2026-01-01 01:00"},
		"@every 90m":           {"2026-01-01 00:00", "2026-01-01 01:30"},
		"0 0 30 2 *":           nil,
		"0 0 31 2,4,6,9,11 *":  nil,
	} {
		if got := next(t, expr, max(len(want), 1)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", expr, got, want)
		}
	}
	l, err := cronline.Parse("0 0 29 2 *", "")
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := l.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)); !ok || at.Year() != 2104 {
		t.Errorf("29 February after 2096: %v, %t", at, ok)
	}
	if at, ok := l.Next(time.Date(9999, 3, 1, 0, 0, 0, 0, time.UTC)); ok {
		t.Errorf("after the last year: %v", at)
	}
}

// The values of H never change, so these are exact.
func TestHash(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		"H 2 * * *":            {"2026-01-01 02:58"},
		"H/15 * * * *":         {"2026-01-01 00:13", "2026-01-01 00:28", "2026-01-01 00:43", "2026-01-01 00:58", "2026-01-01 01:13"},
		"H(0-29) H(1-5) * * *": {"2026-01-01 05:28"},
		"H(30-40)/4 0 * * *":   {"2026-01-01 00:32", "2026-01-01 00:36", "2026-01-01 00:40", "2026-01-02 00:32"},
		"H/1 0 * * *":          {"2026-01-01 00:00", "2026-01-01 00:01"},
		"0 0 H * *":            {"2026-01-12 00:00", "2026-02-12 00:00"},
	} {
		if got := next(t, expr, len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", expr, got, want)
		}
	}
	counts := make(map[int]int)
	for i := range 6000 {
		l, err := cronline.Parse("H H * * *", "schedule "+strings.Repeat("x", i%7)+string(rune('a'+i%26))+time.Duration(i).String())
		if err != nil {
			t.Fatal(err)
		}
		at, _ := l.Next(time.Time{})
		counts[at.Minute()]++
	}
	for m := range 60 {
		if n := counts[m]; n < 60 || n > 150 {
			t.Errorf("%d of 6,000 names have the minute %d, want about 100", n, m)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"": "empty", " \t ": "empty", "* * * *": "has 4 fields", "0 * * * * *": "has 6 fields",
		"TZ=": "names a time zone", "TZ=UTC 0 2 * * *": "names a time zone", "CRON_TZ=Europe/Oslo 0 2 * * *": "names a time zone", "tz=x": "names a time zone",
		"0 0 1--100000000 * *": "not a number", "0 0 1-0 * *": "0 is not between", "0 0 5-4 * *": "ends before it begins",
		"60 * * * *": "60 is not between 0 and 59", "* 24 * * *": "between", "* * 0 * *": "between", "* * * 13 *": "between", "* * * * 8": "between",
		"*-5 * * * *": "not a number", "+1 * * * *": "not a number", "-1 * * * *": "not a number", "1,,2 * * * *": "not a number", ", * * * *": "not a number",
		"*/0 * * * *": "step 0", "*/ * * * *": "the step", "*/61 * * * *": "step 61", "1/2/3 * * * *": "the step", "001 * * * *": "not a number",
		"? * * * *": "not a number", "0 0 L * *": "not a number", "0 0 * * 1#2": "not a number", "0 0 15W * *": "not a number",
		"H( * * * *": "after H", "H() * * * *": "not a number", "H(5-1) * * * *": "ends before", "H(0-60) * * * *": "between", "Hx * * * *": "after H", "h * * * *": "not a number",
		"@reboot": "no such name", "@daily x": "no such name", "@every": "one duration", "@every 1s": "not a number of whole minutes", "@every -5m": "whole minutes",
		"@every 90s": "whole minutes", "@every 9000h": "whole minutes", "@every x": "not a duration", "@every 9999999999999h": "not a duration",
		"0 0 * * \u00e9": "printable", "0 0 * * *\x00": "printable", "0 0 * * *\n0 1 * * *": "printable", strings.Repeat("1,", 200) + "1 * * * *": "more than 200",
	} {
		_, err := cronline.Parse(expr, "n")
		if se, ok := errors.AsType[*cronline.SyntaxError](err); !ok || !strings.Contains(se.Problem, want) {
			t.Errorf("%q: got %v, want an error with %q", expr, err, want)
		}
	}
}

// FuzzParse shows that no text keeps the parser or the search busy, and that a wall time that
// comes next is later.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"0 2 * * *", "*/5 1-3 1,15 jan mon", "H/15 H(1-5) * * *", "@every 5m", "@daily", "0 0 1--100000000 * *", "TZ=", "0 0 30 2 *", "0 0 29 2 1", "CRON_TZ=UTC * * * * *",
	} {
		f.Add(s, "name", int64(1_800_000_000))
	}
	oslo, err := cronline.LoadZone("Europe/Oslo")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expr, key string, at int64) {
		began := time.Now()
		l, err := cronline.Parse(expr, key)
		if err != nil {
			if _, ok := errors.AsType[*cronline.SyntaxError](err); !ok {
				t.Fatalf("%q: %T is no *SyntaxError", expr, err)
			}
			return
		}
		c := cronline.Clock{Line: l, Zone: oslo}
		if l.Interval() > 0 {
			c.Zone = time.UTC
		}
		now := time.Unix(at%100_000_000_000, 0).UTC()
		if f, ok := c.First(now); ok {
			if !f.At.After(now) {
				t.Fatalf("%q: the first fire after %v is at %v", expr, now, f.At)
			}
			if g, ok := c.After(f.Wall); ok && (!g.Wall.After(f.Wall) || g.At.Before(f.At)) {
				t.Fatalf("%q: %v comes after %v", expr, g, f)
			}
			for _, m := range []cronline.Misfire{cronline.RunOnce, cronline.RunAll, cronline.Forget} {
				if d := c.Due(f.Wall, f.At.Add(time.Duration(at%1_000_000)*time.Minute), m, 100); len(d.Fires) > 100 {
					t.Fatalf("%q: %d fires at once", expr, len(d.Fires))
				}
			}
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Fatalf("%q took %v", expr, d)
		}
	})
}
