package engine

import (
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	c := Config{BatchTarget: time.Second}
	l := newLimit(100, 1, c)
	for _, s := range []struct {
		dealt int64
		took  time.Duration
		want  int
	}{
		{100, 100 * time.Millisecond, 200}, // fast and full: more
		{150, 100 * time.Millisecond, 200}, // fast and not full: it was the end of a page
		{200, 700 * time.Millisecond, 200}, // near the target
		{200, 3 * time.Second, 100},        // slow: fewer
		{100, 0, 200}, {200, 0, 400}, {400, 0, 800}, {800, 0, 1000}, {1000, 0, 1000},
	} {
		if l.saw(s.dealt, s.took); l.now != s.want {
			t.Errorf("after %d items in %v: %d, want %d", s.dealt, s.took, l.now, s.want)
		}
	}
	for attempts, want := range map[int]int{0: 100, 1: 100, 2: 50, 3: 25, 8: 1, 99: 1} {
		if l := newLimit(100, attempts, c); l.now != want {
			t.Errorf("on attempt %d: %d, want %d", attempts, l.now, want)
		}
	}
	c.FixedLimit = true
	if l := newLimit(100, 5, c); l.now != 100 {
		t.Errorf("a fixed limit changed to %d", l.now)
	}
}
