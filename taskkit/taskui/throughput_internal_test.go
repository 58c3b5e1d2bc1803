package taskui

import (
	"context"
	"errors"
	"testing"
	"time"
)

// An hour is counted once when tasks have ended well after it, also when a later one cannot be counted. The last two are counted each time.
func TestEndedHours(t *testing.T) {
	t.Parallel()
	var e endedHours
	now := time.Date(2026, 12, 1, 10, 30, 0, 0, time.UTC)
	calls := 0
	fail := time.Time{}
	read := func(at time.Time) ([]endedHour, error) {
		calls = 0
		return e.read(t.Context(), at, func(_ context.Context, from, until time.Time) (int64, bool, error) {
			if from.Equal(fail) {
				return 0, false, errors.New("no answer")
			}
			calls++
			return int64(from.Hour()), until.Sub(from) == time.Hour, nil
		})
	}
	fail = now.Truncate(time.Hour).Add(-3 * time.Hour)
	if _, err := read(now); err == nil || calls != 20 {
		t.Fatalf("%d hours are counted, and then %v", calls, err)
	}
	fail = time.Time{}
	for _, c := range []struct {
		what  string
		at    time.Time
		calls int
	}{{"after an error", now, 6}, {"again", now, 2}, {"an hour later", now.Add(time.Hour), 3}, {"a day later", now.Add(25 * time.Hour), 24}} {
		hours, err := read(c.at)
		if err != nil || calls != c.calls || len(hours) != 24 {
			t.Fatalf("%s: %d hours are counted, %d returned: %v", c.what, calls, len(hours), err)
		}
		for n, h := range hours {
			if want := c.at.Truncate(time.Hour).Add(time.Duration(n-23) * time.Hour); !h.From.Equal(want) || h.Tasks != int64(want.Hour()) || !h.Exact {
				t.Errorf("%s: hour %d is %+v, want that from %v", c.what, n, h, want)
			}
		}
	}
}

// With a clock ahead of the database's, an hour that is still to come or goes on there is counted again.
func TestEndedHoursOfAClockAhead(t *testing.T) {
	t.Parallel()
	var e endedHours
	begin := time.Date(2026, 12, 1, 10, 30, 0, 0, time.UTC)
	for db := begin; db.Sub(begin) < 30*time.Hour; db = db.Add(10 * time.Minute) {
		count := func(_ context.Context, from, until time.Time) (int64, bool, error) {
			return max(0, int64(min(db.Sub(from), until.Sub(from))/time.Minute)), true, nil
		}
		hours, err := e.read(t.Context(), db.Add(5*time.Hour), count)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hours {
			if want, _, _ := count(t.Context(), h.From, h.From.Add(time.Hour)); h.Tasks != want {
				t.Fatalf("at %v: %d tasks in the hour from %v, want %d", db, h.Tasks, h.From, want)
			}
		}
	}
}

func TestThroughputText(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		hours []endedHour
		bars  int
		text  string
	}{
		{nil, 0, "No task ended in the last 24 hours."},
		{[]endedHour{{at, 0, true}}, 0, "No task ended in the last 24 hours."},
		{[]endedHour{{at, 1, true}}, 1, "1 task ended in the last 24 hours."},
		{[]endedHour{{at, 1, true}, {at.Add(time.Hour), 2000, true}}, 2, "2,001 tasks ended in the last 24 hours, the most between 10:00 and 11:00 UTC."},
		{[]endedHour{{at, 100_000, false}, {at.Add(time.Hour), 5, true}}, 2, "100,005+ tasks ended in the last 24 hours, the most between 09:00 and 10:00 UTC."},
	} {
		p := newThroughput(c.hours)
		if p.Text != c.text || len(p.Hours) != c.bars {
			t.Errorf("%+v: %q and %d bars, want %q and %d", c.hours, p.Text, len(p.Hours), c.text, c.bars)
		}
		for _, h := range p.Hours {
			if h.Tall < 1 || h.Y+h.Tall != hourTall {
				t.Errorf("%+v: a bar from %d, %d tall", c.hours, h.Y, h.Tall)
			}
		}
	}
}
