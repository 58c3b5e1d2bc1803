package session

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/throttle"
)

// ThrottleConfig is when batches wait because the database, or what else an indicator of the
// user's is about, is not well.
type ThrottleConfig struct {
	Interval time.Duration // for which a reading holds; 0: nothing is read
	// The limits hold for kinds that touch tables, on PostgreSQL. There is none below 1.
	Vacuum         bool // wait for commands that work on the tables
	ReplicaLag     time.Duration
	ReplicaBytes   int64
	IgnoreReplicas []string // by application_name
	WALRate        int64    // bytes per second
	LockWait       time.Duration
	Indicators     []throttle.Indicator
}

// IndicatorHealth is the indicator of a database whose health cannot be read.
const IndicatorHealth = "health"

// Throttle makes batches wait while an indicator is not well. It reads when a session comes to a
// batch boundary and the last reading is older than the interval: once, however many sessions
// come. Nothing runs between. It is safe for concurrent use; a nil Throttle makes no batch wait.
type Throttle struct {
	store  store.Runtime
	config ThrottleConfig
	within time.Duration // timeout of a reading
	events *observe.Observer

	query  store.HealthQuery // without tables: nothing is read from the database
	last   atomic.Pointer[health]
	reader chan struct{} // full while a session reads; what follows belongs to it

	checks []*check
	wal    store.HealthReading  // the last with WAL
	began  map[string]time.Time // indicators that are not well
	told   map[string]bool      // what is unreadable or missing, and was reported
}

// health is what a reading has found.
type health struct {
	read     time.Time // see readAt
	findings []finding
}

// finding is an indicator that is not well.
type finding struct {
	indicator string
	reason    string
	table     string    // that must not be written; "": any
	kinds     []string  // of an indicator of the user's; nil: all
	own       bool      // it is one of the user's
	err       error     // it could not be read
	since     time.Time // since when the worker has found it
}

// NewThrottle returns nil if no kind needs one.
func NewThrottle(s store.Runtime, kinds map[string]*Kind, c Config, o *observe.Observer) *Throttle {
	config := c.Throttle
	if config.Interval <= 0 {
		return nil
	}
	t := &Throttle{
		store: s, config: config, within: min(c.Call, max(config.Interval, time.Second)), events: o,
		reader: make(chan struct{}, 1), began: make(map[string]time.Time), told: make(map[string]bool),
	}
	for _, i := range config.Indicators {
		t.checks = append(t.checks, &check{Indicator: i})
	}
	q := store.HealthQuery{
		Vacuum: config.Vacuum, Replicas: config.ReplicaLag > 0 || config.ReplicaBytes > 0,
		Locks: config.LockWait > 0, LockWait: config.LockWait, WAL: config.WALRate > 0,
	}
	if s.Dialect() == dialect.Postgres && (q.Vacuum || q.Replicas || q.Locks || q.WAL) {
		for _, k := range kinds {
			q.Tables = append(q.Tables, k.Touches...)
		}
		slices.Sort(q.Tables)
		q.Tables = slices.Compact(q.Tables)
		t.query = q
	}
	if len(t.query.Tables) == 0 && len(t.checks) == 0 {
		return nil
	}
	return t
}

// findings returns what makes tasks of a kind wait, and how long the reading still holds.
func (t *Throttle) findings(ctx context.Context, k *Kind) (found []finding, wait time.Duration) {
	h := t.reading(ctx)
	if h == nil {
		return nil, 0
	}
	for _, f := range h.findings {
		if f.concerns(k) {
			found = append(found, f)
		}
	}
	return found, max(t.config.Interval-time.Since(h.read), 0) + time.Millisecond // the next reading is made then
}

// concerns reports whether an indicator can make tasks of a kind wait.
func (t *Throttle) concerns(k *Kind) bool {
	return len(t.query.Tables) > 0 && len(k.Touches) > 0 ||
		slices.ContainsFunc(t.checks, func(c *check) bool { return c.Kinds == nil || slices.Contains(c.Kinds, k.Name) })
}

// concerns reports whether the finding makes tasks of a kind wait.
func (f finding) concerns(k *Kind) bool {
	switch {
	case f.own:
		return f.kinds == nil || slices.Contains(f.kinds, k.Name)
	case f.table == "":
		return len(k.Touches) > 0
	default:
		return slices.Contains(k.Touches, f.table)
	}
}

// reading returns the last reading, or makes one if that is too old. It returns nil if ctx has
// ended.
func (t *Throttle) reading(ctx context.Context) *health {
	if h := t.last.Load(); t.isRecent(h) {
		return h
	}
	select {
	case t.reader <- struct{}{}:
		defer func() { <-t.reader }()
	case <-ctx.Done():
		return nil
	}
	if h := t.last.Load(); t.isRecent(h) {
		return h // another session has made it meanwhile
	}
	began := time.Now()
	found := t.read(ctx)
	if ctx.Err() != nil {
		return nil // it was cut off
	}
	t.report(found)
	h := &health{t.readAt(began, time.Now()), found}
	t.last.Store(h)
	return h
}

// readAt is the time of a reading from which its age counts. What is read first is as old as the reading, so this is when it began, but
// at most half an interval before it ended: a reading that takes longer than an interval would else be too old at once. Each
// of the sessions that wait for it would read again, one after another, and a task would be released for no time.
func (t *Throttle) readAt(began, ended time.Time) time.Time {
	if latest := ended.Add(-t.config.Interval / 2); began.Before(latest) {
		return latest
	}
	return began
}

// isRecent reports whether a reading is not too old.
func (t *Throttle) isRecent(h *health) bool {
	return h != nil && time.Since(h.read) < t.config.Interval
}

// read reads all indicators.
func (t *Throttle) read(ctx context.Context) []finding {
	ctx, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	for _, c := range t.checks {
		c.start(ctx)
	}
	var found []finding
	if len(t.query.Tables) > 0 {
		r, err := t.store.ReadHealth(ctx, t.query)
		if err != nil {
			// A database that does not answer is not well either.
			found = append(found, finding{
				indicator: IndicatorHealth, reason: "the health of the database cannot be read: " + err.Error(), err: err,
			})
		} else {
			t.reportUnreadable(r)
			found = t.config.evaluate(r, t.walRate(r))
		}
	}
	for _, c := range t.checks {
		if f, well := c.finding(ctx, t.within); !well {
			found = append(found, f)
		}
	}
	return found
}

// report reports which indicators have ceased to be well, and which are well again.
func (t *Throttle) report(found []finding) {
	now := time.Now()
	unwell := make(map[string]bool)
	for i := range found {
		f := &found[i]
		since, known := t.began[f.indicator]
		if f.since = since; !known {
			f.since = now
		}
		if unwell[f.indicator] {
			continue
		}
		unwell[f.indicator] = true
		if !known {
			t.began[f.indicator] = now
			t.events.Report(taskevent.ThrottleBegan{Worker: t.events.Worker, Indicator: f.indicator, Reason: classify.Clean(f.reason), Err: f.err})
		}
	}
	for name, since := range t.began {
		if !unwell[name] {
			delete(t.began, name)
			t.events.Report(taskevent.ThrottleEnded{Worker: t.events.Worker, Indicator: name, Duration: now.Sub(since)})
		}
	}
}

// throttled is the [feature] of a task that an indicator can make wait.
type throttled struct {
	noFeature
	c         *current
	indicator string // because of which the task is released; ""
}

// between implements [feature].
func (f *throttled) between(ctx context.Context) (decision, error) {
	f.indicator = ""
	found, wait := f.c.Throttle.findings(ctx, f.c.kind)
	if len(found) == 0 {
		return decision{}, nil
	}
	f.indicator = found[0].indicator
	reasons := make([]string, len(found))
	for i := range found {
		reasons[i] = found[i].reason
	}
	w := f.c.requeueIn(wait, classify.Clean(lifecycle.ReasonThrottled+strings.Join(reasons, "; ")))
	if f.c.options.NotifiesOf(notice.Throttled) && isLong(found, time.Now()) {
		w.Notify = notice.Throttled
	}
	return decision{write: w}, nil
}

// throttledLong is how long an indicator must not be well before a target is notified of the tasks that wait for it.
const throttledLong = time.Hour

// isLong reports whether one of the findings has lasted for long at a time.
func isLong(found []finding, now time.Time) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return now.Sub(f.since) >= throttledLong })
}

// committed implements [feature].
func (f *throttled) committed(w *store.Write, _ store.Applied) {
	if f.indicator != "" && w.To == lifecycle.Queued {
		observe.Frequent(f.c.Events, taskevent.TaskThrottled{TaskRef: f.c.ref(), Indicator: f.indicator, Reason: w.Reason, Delay: max(w.Delay, 0)})
	}
}
