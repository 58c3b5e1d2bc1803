package taskui

import (
	"context"
	"fmt"
	"time"
)

const (
	hoursOfHome    = 24
	keepThroughput = time.Minute
	// unsettled is how many of the last hours with ended tasks are counted again, and all after them: a transaction ends a task somewhat before its
	// commit, and the clock of the database, which a later ended task shows, may be behind by hours.
	unsettled = 2
)

// endedHours counts the tasks that ended in each of the last hours. An hour is counted once when tasks have ended well after it. It is not safe for concurrent use.
type endedHours struct {
	counted map[time.Time]endedHour
}

// endedHour is how many tasks ended in an hour.
type endedHour struct {
	From  time.Time
	Tasks int64
	Exact bool // there are no more
}

// read returns the hours up to now, the oldest first. What it has counted before an error need not be counted again.
func (e *endedHours) read(ctx context.Context, now time.Time, count func(ctx context.Context, from, until time.Time) (int64, bool, error)) ([]endedHour, error) {
	hours := make([]endedHour, 0, hoursOfHome)
	counted := make(map[time.Time]endedHour, hoursOfHome)
	defer func() {
		settled := time.Time{}
		for _, h := range hours {
			if h.Tasks > 0 {
				settled = h.From.Add(-unsettled * time.Hour)
			}
		}
		for _, h := range hours {
			if !h.From.After(settled) {
				counted[h.From] = h
			}
		}
		e.counted = counted
	}()
	last := now.UTC().Truncate(time.Hour)
	for n := hoursOfHome - 1; n >= 0; n-- {
		from := last.Add(-time.Duration(n) * time.Hour)
		h, known := e.counted[from]
		if !known {
			tasks, exact, err := count(ctx, from, from.Add(time.Hour))
			if err != nil {
				return nil, err
			}
			h = endedHour{from, tasks, exact}
		}
		hours = append(hours, h)
	}
	return hours, nil
}

// throughput is a picture of how many tasks ended in each hour.
type throughput struct {
	Hours []hourBar
	Text  string // the same for people who do not see the picture
}

// hourBar is a rectangle of the picture, and a row of the table.
type hourBar struct {
	From       time.Time
	Tasks      string
	X, Y, Tall int
}

// The viewBox in home.html is 24 hours wide.
const hourWide, hourTall = 10, 48

// newThroughput returns the picture of hours; one without bars when no task ended.
func newThroughput(hours []endedHour) *throughput {
	var sum, most int64
	var busiest time.Time
	exact := true
	for _, h := range hours {
		if sum, exact = sum+h.Tasks, exact && h.Exact; h.Tasks > most {
			most, busiest = h.Tasks, h.From
		}
	}
	if most == 0 {
		return &throughput{Text: "No task ended in the last 24 hours."}
	}
	t := &throughput{Text: fmt.Sprintf("%s tasks ended in the last 24 hours, the most between %s and %s UTC.", atLeast(sum, exact),
		busiest.Format("15:04"), busiest.Add(time.Hour).Format("15:04"))}
	if sum == 1 {
		t.Text = "1 task ended in the last 24 hours."
	}
	for n, h := range hours {
		tall := int(h.Tasks * hourTall / most)
		if h.Tasks > 0 {
			tall = max(tall, 1)
		}
		t.Hours = append(t.Hours, hourBar{h.From, atLeast(h.Tasks, h.Exact), n * hourWide, hourTall - tall, tall})
	}
	return t
}

// throughput adds how many tasks ended in each of the last hours, once they have been counted. [kept] counts for one page at a time.
func (r *request) throughput(ctx context.Context, v *homeView) {
	hours, ok := r.d.ended.ready(ctx, func(ctx context.Context) ([]endedHour, error) {
		hours, err := r.d.endedHours.read(ctx, time.Now(), r.d.ops.Ended)
		if err != nil {
			r.d.config.Logger.WarnContext(ctx, "the throughput is not known", "error", err)
		}
		return hours, err
	})
	if ok {
		v.Throughput = newThroughput(hours)
	}
}
