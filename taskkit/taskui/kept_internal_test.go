package taskui

import (
	"testing"

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
