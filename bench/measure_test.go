package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// fixed is a side that measures the figures of a list, one a round.
func fixed(name, metric string, order *[]string, figures ...float64) side {
	i := 0
	return side{name, func(context.Context) (sample, error) {
		*order = append(*order, name)
		i++
		return sample{metric: figures[i-1]}, nil
	}}
}

// Sides are interleaved, and medians, spreads and ratios are computed over all rounds,
// whichever direction is better.
func TestContest(t *testing.T) {
	t.Parallel()
	var order []string
	c := contest{
		title:   "test",
		metrics: []metric{{name: "rate"}},
		sides:   []side{fixed(us, "rate", &order, 10, 30, 20), fixed("peer", "rate", &order, 4, 5, 6)},
		goals:   []goal{{"peer", "rate", 4}, {"peer", "rate", 4.1}, {"", "rate", 20}},
		goalsOf: []sideGoal{{"peer", goal{us, "rate", 0.2}}},
	}
	out, err := c.run(t.Context(), 3, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, " "), "taskkit peer peer taskkit taskkit peer"; got != want {
		t.Errorf("measured in the order %q, want %q", got, want)
	}
	if median, least, most := out.spread(us, "rate"); median != 20 || least != 10 || most != 30 {
		t.Errorf("spread %v [%v–%v], want 20 [10–30]", median, least, most)
	}
	if got := out.times("peer", metric{name: "rate"}); got != 4 {
		t.Errorf("times %v, want 4", got)
	}
	if got := out.times("peer", metric{name: "rate", less: true}); got != 0.25 {
		t.Errorf("times %v where less is better, want 0.25", got)
	}
	text := out.table()
	for _, want := range []string{
		"| taskkit | 20.0 [10.0–30.0] |  |", "| peer | 5.00 [4.00–6.00] | 4.00 |",
		"| rate against peer at least 4.00 | 4.00 | reached |", "| rate against peer at least 4.10 | 4.00 | **not reached** |",
		"| rate at least 20.0 | 20.0 | reached |", "| peer: rate against taskkit at least 0.20 | 0.25 | reached |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

// A side that fails ends the contest with the names of both.
func TestContestFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c := contest{title: "test", sides: []side{{"peer", func(context.Context) (sample, error) { return nil, broken }}}}
	_, err := c.run(t.Context(), 1, io.Discard)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "test: peer: ") {
		t.Errorf("got %v", err)
	}
}

func TestFigure(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0.00", 0.054: "0.05", 9.99: "9.99", 12.34: "12.3", 999.4: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234",
	} {
		if got := figure(v); got != want {
			t.Errorf("figure(%v) is %q, want %q", v, got, want)
		}
	}
}

// pg_waldump's statistics name a record on each line; INIT ones are of new pages.
func TestCountRecords(t *testing.T) {
	t.Parallel()
	entries, versions := countRecords([]byte(`
Type                   N      (%)          Record size
----                   -      ---          -----------
Heap/INSERT           10 ( 10.00)   590 (  9.0)
Heap/INSERT+INIT       1 (  1.00)    59 (  1.0)
Heap/HOT_UPDATE        5 (  5.00)   300 (  4.0)
Heap/LOCK              7 (  7.00)   300 (  4.0)
Btree/INSERT_LEAF     20 ( 20.00)  1280 ( 20.0)
Btree/INSERT_UPPER     1 (  1.00)    64 (  1.0)
Gin/UPDATE_META_PAGE   3 (  3.00)   200 (  3.0)
`))
	if entries != 23 || versions != 16 {
		t.Errorf("%v index entries and %v row versions, want 23 and 16", entries, versions)
	}
}
