package taskhttp

import (
	"net/http"
	"testing"
	"time"
)

// The period of progress is 1 s unless the request has another, and is kept between 250 ms and 50 s. A request that does
// not say for how long it waits does not wait.
func TestPTV28Periods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": time.Second, "0s": 250 * time.Millisecond, "0": 250 * time.Millisecond, "1ms": 250 * time.Millisecond, "249ms": 250 * time.Millisecond,
		"250ms": 250 * time.Millisecond, "251ms": 251 * time.Millisecond, "49s": 49 * time.Second, "50s": 50 * time.Second,
		"50001ms": 50 * time.Second, "1h": 50 * time.Second,
	} {
		if d, err := (parameters{"progressPeriod": text}).progress(); d != want || err != nil {
			t.Errorf("progressPeriod=%s: %v, %v, want %v", text, d, err, want)
		}
	}
	if d, err := (parameters{}).progress(); d != 0 || err != nil {
		t.Errorf("without a period: %v, %v, want no progress", d, err)
	}
	for _, p := range []parameters{{}, {"maximumPollingPeriod": "0s"}, {"progressPeriod": "1s"}} {
		if d, preferred, err := p.wait(&http.Request{}); d != 0 || preferred || err != nil {
			t.Errorf("%v: waits %v, preferred %t, %v", p, d, preferred, err)
		}
	}
}
