package command

import "testing"

func TestLowerBoundHasPlus(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		n    int64
		more bool
	}{"0": {}, "10,000": {n: 10_000}, "10,000+": {10_000, true}} {
		if got := atLeast(c.n, c.more); got != want {
			t.Errorf("%d, more: %t: %q, want %q", c.n, c.more, got, want)
		}
	}
}
