package engine

import (
	"testing"
	"time"
)

func TestBite(t *testing.T) {
	t.Parallel()
	b := newBite(1000)
	for _, s := range []struct {
		n    int
		took time.Duration
		want int
	}{
		{100, time.Millisecond, 200},       // fast and full: more
		{50, time.Millisecond, 200},        // fast because there was little
		{200, 70 * time.Millisecond, 200},  // about right
		{200, time.Second, 10},             // slow: what fits
		{1, 10 * time.Second, 1},           // never nothing
		{1, time.Millisecond, 2},           // and back
		{0, time.Hour, 2},                  // nothing was learnt
		{2, 0, 4}, {4, 0, 8}, {500, 0, 16}, // doubling, not jumping
	} {
		if b.saw(s.n, s.took); b.now != s.want {
			t.Errorf("after %d in %v: %d, want %d", s.n, s.took, b.now, s.want)
		}
	}
	if got := b.size(5); got != 5 {
		t.Errorf("size(5) = %d", got)
	}
	if got := b.size(99); got != 16 {
		t.Errorf("size(99) = %d", got)
	}
}
