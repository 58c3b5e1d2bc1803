package classify_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/classify"
)

// Tasks that failed together do not return together.
func TestDelaysAreSpread(t *testing.T) {
	t.Parallel()
	p := classify.Backoff{Base: 5 * time.Second, Cap: time.Hour}
	for _, n := range []int{1, 5, 100} {
		var quarters [4]int
		for range 1000 {
			extra := p.Delay(n) - p.Bare(n)
			quarters[min(extra*16/p.Bare(n), 3)]++
		}
		for i, got := range quarters {
			if got < 150 {
				t.Errorf("retry %d: %d of 1,000 delays in quarter %d of the spread, want about 250 in each: %v", n, got, i+1, quarters)
			}
		}
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	p := classify.Backoff{Base: 5 * time.Second, Cap: time.Hour}
	for n, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 10 * time.Second, 3: 20 * time.Second, 10: 2560 * time.Second,
		11: time.Hour, 12: time.Hour, 100: time.Hour, 1 << 20: time.Hour,
	} {
		if got := p.Bare(n); got != want {
			t.Errorf("retry %d waits %v, want %v", n, got, want)
		}
		for range 100 {
			if got := p.Delay(n); got < want || got >= want+want/4 {
				t.Errorf("retry %d with jitter waits %v, want %v to %v", n, got, want, want+want/4)
			}
		}
	}
}
