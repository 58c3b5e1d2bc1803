package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// walGap is how far apart two readings may lie for the rate of WAL between them to be one of now.
const walGap = time.Minute

// walRate returns how fast WAL was written since the reading before, in bytes per second, 0 if that is
// not known.
func (t *Throttle) walRate(r store.HealthReading) int64 {
	before := t.wal
	t.wal = store.HealthReading{WAL: r.WAL, At: r.At}
	elapsed := r.At.Sub(before.At)
	if r.At.IsZero() || before.At.IsZero() || elapsed <= 0 || elapsed > max(walGap, 3*t.config.Interval) {
		return 0
	}
	return max(int64(float64(r.WAL-before.WAL)/elapsed.Seconds()), 0)
}

// evaluate compares a reading with the limits.
func (c ThrottleConfig) evaluate(r store.HealthReading, walRate int64) (found []finding) {
	add := func(i store.HealthIndicator, table, reason string) {
		found = append(found, finding{indicator: string(i), table: table, reason: reason})
	}
	for _, v := range r.Vacuums {
		add(store.HealthVacuum, v.Table, vacuumReason(v))
	}
	for _, p := range r.Replicas {
		late := c.ReplicaLag > 0 && p.Behind > c.ReplicaLag
		far := c.ReplicaBytes > 0 && p.Bytes > c.ReplicaBytes
		if (late || far) && !slices.Contains(c.IgnoreReplicas, p.Name) {
			add(store.HealthReplicas, "", replicaReason(p))
		}
	}
	if c.WALRate > 0 && walRate > c.WALRate {
		add(store.HealthWAL, "", fmt.Sprintf("WAL is written at %s/s, more than %s/s", size(walRate), size(c.WALRate)))
	}
	for _, w := range r.LockWaits {
		on := "that a batch holds"
		if w.Table != "" {
			on = "on table " + w.Table
		}
		add(store.HealthLocks, w.Table, fmt.Sprintf("a session has waited %s for a lock %s", rounded(w.For), on))
	}
	return found
}

func vacuumReason(v store.Vacuum) string {
	command := v.Command
	if v.Wraparound {
		command += " to prevent wraparound"
	}
	reason := fmt.Sprintf("%s works on table %s", command, v.Table)
	switch {
	case v.Phase != "" && v.Percent >= 0:
		reason += fmt.Sprintf(" (%s, %d %% scanned)", v.Phase, v.Percent)
	case v.Phase != "":
		reason += fmt.Sprintf(" (%s)", v.Phase)
	}
	return reason
}

func replicaReason(r store.Replica) string {
	if r.Behind == 0 {
		return fmt.Sprintf("standby %s is %s behind", r.Name, size(r.Bytes))
	}
	return fmt.Sprintf("standby %s is %s and %s behind", r.Name, rounded(r.Behind), size(r.Bytes))
}

// reportUnreadable reports once what a reading could not read. That makes no task wait.
func (t *Throttle) reportUnreadable(r store.HealthReading) {
	tell := func(what string, i store.HealthIndicator, err error) {
		if !t.told[what] {
			t.told[what] = true
			t.events.Report(taskevent.IndicatorUnreadable{Worker: t.events.Worker, Indicator: string(i), Err: err})
		}
	}
	for _, i := range []store.HealthIndicator{store.HealthVacuum, store.HealthReplicas, store.HealthWAL, store.HealthLocks} {
		if err := r.Unreadable[i]; err != nil {
			tell(string(i), i, err)
		}
	}
	for _, table := range r.Missing {
		tell("table "+table, store.HealthVacuum, errors.New("a kind touches the table "+table+
			", which does not exist in the search_path: correct touches= in its directive, or name the schema, as in app."+table))
	}
}

// size writes a number of bytes for people.
func size(n int64) string {
	const unit = 1024
	value, units := float64(n), []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	if value < unit {
		return fmt.Sprintf("%d B", n)
	}
	for _, u := range units {
		value /= unit
		if value < unit || u == units[len(units)-1] {
			return fmt.Sprintf("%.1f %s", value, u)
		}
	}
	return ""
}

// rounded shortens a duration for people.
func rounded(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
