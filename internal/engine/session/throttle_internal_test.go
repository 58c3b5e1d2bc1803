package session

import (
	"testing"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/notice"
)

// A task that waits because of an indicator that has not been well for an hour notifies those who subscribe to that.
func TestThrottledNotifies(t *testing.T) {
	t.Parallel()
	subscribed := &store.Options{Notify: []notice.Subscription{{Target: "ops", Events: []notice.Event{notice.Throttled}}}}
	for _, c := range []struct {
		since   time.Duration
		options *store.Options
		want    notice.Event
	}{
		{59 * time.Minute, subscribed, ""},
		{61 * time.Minute, subscribed, notice.Throttled},
		{61 * time.Minute, nil, ""},
		{61 * time.Minute, &store.Options{Notify: []notice.Subscription{{Target: "ops"}}}, ""},
	} {
		throttle := &Throttle{config: ThrottleConfig{Interval: time.Hour}}
		throttle.last.Store(&health{read: time.Now(), findings: []finding{{indicator: "outbox", reason: "full", own: true, since: time.Now().Add(-c.since)}}})
		f := &throttled{c: &current{Deps: &Deps{Throttle: throttle}, kind: &Kind{Name: "demo"}, options: c.options}}
		d, err := f.between(t.Context())
		if err != nil || d.write == nil || d.write.To != lifecycle.Queued || d.write.Notify != c.want {
			t.Errorf("not well for %v: %+v, %v, want event %q", c.since, d.write, err, c.want)
		}
	}
}

// The time since when an indicator is not well is of its first finding.
func TestThrottleSince(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-2 * time.Hour)
	throttle := &Throttle{began: map[string]time.Time{"locks": began, "wal": began}}
	found := []finding{{indicator: "locks"}, {indicator: "locks"}, {indicator: "wal"}}
	throttle.report(found)
	for _, f := range found {
		if !f.since.Equal(began) {
			t.Errorf("%s is not well since %v, want %v", f.indicator, f.since, began)
		}
	}
	if !isLong(found, time.Now()) || isLong(nil, time.Now()) {
		t.Error("two hours are not long, or nothing is")
	}
}
