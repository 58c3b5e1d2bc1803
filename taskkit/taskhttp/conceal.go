package taskhttp

import (
	"net/http"
	"time"
)

// concealFor is how long an answer takes at least that says nothing of a job. To read the row of another person's
// job takes a few hundredths of a millisecond longer than to find none, which a client that requests often enough
// could measure.
const concealFor = 5 * time.Millisecond

// coarse is how much later than due a timer may be. When the process is idle, the runtime waits for whole
// milliseconds, so that a timer alone would end later the later it was set, and tell what it is to conceal.
const coarse = 2 * time.Millisecond

// exactSleepers bounds the requests that sleep exactly at once, since each takes a thread.
var exactSleepers = make(chan struct{}, 16)

// conceal waits until a request that began some time ago may be answered that there is no such job.
func conceal(r *http.Request, began time.Time) {
	due := began.Add(concealFor)
	if !waitUntil(r, due.Add(-coarse)) {
		return
	}
	select {
	case exactSleepers <- struct{}{}:
		defer func() { <-exactSleepers }()
		sleepExactly(time.Until(due))
	default:
		waitUntil(r, due)
	}
}

// waitUntil waits until a time by a timer, and reports whether the client has waited too.
func waitUntil(r *http.Request, due time.Time) bool {
	left := time.Until(due)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
