package backoff_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/backoff"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	p := backoff.Policy{Base: 5 * time.Second, Cap: time.Hour}
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
