package taskui

import (
	"context"
	"errors"
	"testing"
	"time"

	"taskkit.dev/taskkit"
)

// A count is exact, or what the database expects, but never less than was counted, or a bound; a bound of none is nothing.
func TestTextOfCounts(t *testing.T) {
	t.Parallel()
	of := func(n int64) map[taskkit.Status]int64 {
		return map[taskkit.Status]int64{taskkit.StatusFailure: n / 2, taskkit.StatusError: n - n/2}
	}
	for _, c := range []struct {
		counts countsOfTasks
		want   string
	}{
		{countsOfTasks{}, ""},
		{countsOfTasks{byStatus: of(0), exact: true}, "0"},
		{countsOfTasks{byStatus: of(12_345), exact: true}, "12,345"},
		{countsOfTasks{byStatus: of(100_000)}, "100,000+"},
		{countsOfTasks{byStatus: of(100_000), expected: of(99_000)}, "100,000+"},
		{countsOfTasks{byStatus: of(7), expected: of(8_765)}, "about 8,765"},
		{countsOfTasks{expected: of(123_456)}, "about 123,000"},
		{countsOfTasks{byStatus: of(100_000), expected: of(9_617_000)}, "about 9.62 M"},
		{countsOfTasks{expected: of(123_400_000)}, "about 123 M"},
		{countsOfTasks{expected: of(2_000_000_000)}, "about 2 G"},
	} {
		if got := c.counts.text(taskkit.StatusError, taskkit.StatusFailure); got != c.want {
			t.Errorf("%+v: %q, want %q", c.counts, got, c.want)
		}
	}
}

// A page does not wait for a value that ready returns: one reads it for later pages, again after an error, and again when it is too old.
func TestKeptReady(t *testing.T) {
	t.Parallel()
	k := newKept[int](time.Hour)
	reads, results := make(chan struct{}, 10), make(chan error)
	n := 0
	ready := func(want int) {
		t.Helper()
		v, ok := k.ready(t.Context(), func(context.Context) (int, error) {
			reads <- struct{}{}
			err := <-results
			n++
			return n, err
		})
		if v != want || ok != (want > 0) {
			t.Errorf("ready: %d, %t; want %d", v, ok, want)
		}
	}
	ended := func(err error) {
		t.Helper()
		<-reads
		results <- err
		for soon := true; soon; { // the goroutine takes the lock
			k.lock <- struct{}{}
			soon = k.soon
			<-k.lock
		}
	}
	ready(0)
	ready(0) // it is read once
	ended(errors.New("no answer"))
	ready(0)
	ended(nil)
	ready(2)
	k.at = k.at.Add(-2 * time.Hour)
	ready(2)
	ready(2)
	ended(nil)
	ready(3)
	k.at = k.at.Add(-keepStale * time.Hour)
	ready(0)
	ended(nil)
	ready(4)
	if len(reads) != 0 {
		t.Errorf("%d reads too many", len(reads))
	}
}
