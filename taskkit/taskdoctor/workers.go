package taskdoctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store/vitals"
	"taskkit.dev/taskkit/taskops"
)

const (
	// reapGrace is for how long after its time a dead worker may be without takeover: longer than a reaper pauses.
	reapGrace = 15 * time.Second
	// presenceGrace is how long a worker may take until it has its presence lock.
	presenceGrace = time.Minute
	// rollout is how long workers of two versions may run beside each other.
	rollout = 30 * time.Minute
	// skewMost is by how much clocks may differ; a worker whose registration was slow seems to be late.
	skewMost, lateMost = time.Second, 10 * time.Second
)

// readWorkers examines the worker processes.
func readWorkers(ctx context.Context, e *scope) ([]Finding, error) {
	workers, err := e.Operator.Workers(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(lostWorkers(workers), safeWorkers(workers), differing(workers))
	if e.dialect == dialect.Postgres {
		all = append(all, skewed(workers)...)
	}
	absent, err := e.withoutPresence(ctx, workers)
	return append(all, absent...), err
}

// now is the time by the clock of the database when a worker was read.
func now(w taskops.WorkerInfo) time.Time { return w.Heartbeat.Add(w.Silence) }

// lostWorkers finds dead workers whose tasks no other has taken over.
func lostWorkers(workers []taskops.WorkerInfo) (all []Finding) {
	for _, w := range workers {
		var text string
		since := w.Heartbeat
		switch {
		case w.Ended == nil && w.Silence > w.DeadAfter+reapGrace:
			text = fmt.Sprintf("Worker %s has been silent for %s, and no live worker has declared it dead", w.ID, round(w.Silence))
		case w.Ended != nil && w.Busy > 0 && now(w).Sub(*w.Ended) > reapGrace:
			since = *w.Ended
			text = fmt.Sprintf("Worker %s ended %s ago (%s), and no live worker has taken its tasks over", w.ID, round(now(w).Sub(*w.Ended)), w.EndReason)
		default:
			continue
		}
		all = append(all, found("worker_lost", fmt.Sprintf("%s; it has %s.", text, count(w.Busy, "task"))).since(since).of(w.ID).by("taskkit workers"))
	}
	return all
}

// live returns the live workers.
func live(workers []taskops.WorkerInfo) []taskops.WorkerInfo {
	return slices.DeleteFunc(slices.Clone(workers), func(w taskops.WorkerInfo) bool { return !w.Alive })
}

// ids returns the ids of workers.
func ids(workers []taskops.WorkerInfo) (all []string) {
	for _, w := range workers {
		all = append(all, w.ID)
	}
	return all
}

// safeWorkers finds workers in safe mode.
func safeWorkers(workers []taskops.WorkerInfo) []Finding {
	alive := live(workers)
	safe := slices.DeleteFunc(slices.Clone(alive), func(w taskops.WorkerInfo) bool { return !w.SafeMode })
	if len(safe) == 0 {
		return nil
	}
	first := slices.MinFunc(safe, func(a, b taskops.WorkerInfo) int { return a.Started.Compare(b.Started) })
	return []Finding{found("safe_mode", fmt.Sprintf("%d of %s in safe mode: they claim no task.", len(safe), isAre(len(alive), "live worker"))).since(first.Started).of(ids(safe)...)}
}

// isAre returns "1 worker is" or "2 workers are".
func isAre(n int, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return fmt.Sprintf("%d %ss are", n, one)
}

// differing finds live workers that run different versions, or read different revisions of a kind, for longer than a deployment takes.
func differing(workers []taskops.WorkerInfo) []Finding {
	alive := live(workers)
	versions := make(map[string]bool)
	revisions := make(map[string][]string) // by kind
	var newest time.Time
	for _, w := range alive {
		versions[w.Version] = true
		if newest.Before(w.Started) {
			newest = w.Started
		}
		for kind, reads := range w.Kinds {
			slices.Sort(reads)
			if text := fmt.Sprint(reads); !slices.Contains(revisions[kind], text) {
				revisions[kind] = append(revisions[kind], text)
			}
		}
	}
	if len(alive) == 0 || now(alive[0]).Sub(newest) < rollout {
		return nil
	}
	var text []string
	if len(versions) > 1 {
		text = append(text, fmt.Sprintf("%d versions of taskkit", len(versions)))
	}
	for _, kind := range sorted(revisions) {
		if reads := revisions[kind]; len(reads) > 1 {
			slices.Sort(reads)
			text = append(text, fmt.Sprintf("revisions %s of %s", strings.Join(reads, " and "), kind))
		}
	}
	if len(text) == 0 {
		return nil
	}
	return []Finding{found("workers_differ", fmt.Sprintf("The %s run %s, and the last was started %s ago.",
		count(len(alive), "live worker"), strings.Join(text[:min(len(text), affectedMost)], ", "), round(now(alive[0]).Sub(newest)))).since(newest).of(ids(alive)...).by("taskkit workers -o json")}
}

// sorted returns the keys of a map in their order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// startOf matches the time of the machine's clock in the id of a worker.
var startOf = regexp.MustCompile(`-(\d{8}T\d{6}\.\d{3}Z)-[0-9a-f]+$`)

// skewed finds workers whose clocks differ from the clock of the database. Their ids have the time by their clock, at which they
// registered.
func skewed(workers []taskops.WorkerInfo) []Finding {
	var names []string
	var text string
	for _, w := range live(workers) {
		m := startOf.FindStringSubmatch(w.ID)
		if m == nil {
			continue
		}
		at, err := time.Parse("20060102T150405.000Z", m[1])
		if err != nil {
			continue
		}
		skew := at.Sub(w.Started)
		if skew <= skewMost && skew >= -lateMost {
			continue
		}
		names = append(names, w.ID)
		if text == "" {
			text = skewText("The clock of worker "+w.ID+" was", skew) + " when it started"
		}
	}
	if text == "" {
		return nil
	}
	return []Finding{found("clock_skew", text+": its log and the times that its executors compute are wrong.").of(names...)}
}

// skewText says how a clock differs from the clock of the database.
func skewText(what string, skew time.Duration) string {
	if skew < 0 {
		return fmt.Sprintf("%s %s behind the clock of the database", what, round(-skew))
	}
	return fmt.Sprintf("%s %s ahead of the clock of the database", what, round(skew))
}

// withoutPresence finds live workers that hold no presence lock, and says why if that can be seen from here.
func (e *scope) withoutPresence(ctx context.Context, workers []taskops.WorkerInfo) ([]Finding, error) {
	alive := live(workers)
	absent := slices.DeleteFunc(slices.Clone(alive), func(w taskops.WorkerInfo) bool {
		return w.Present || w.Draining || now(w).Sub(w.Started) < presenceGrace
	})
	if len(absent) == 0 {
		return nil, nil
	}
	why, err := e.whyNoPresence(ctx)
	first := slices.MinFunc(absent, func(a, b taskops.WorkerInfo) int { return a.Started.Compare(b.Started) })
	return []Finding{found("no_presence", fmt.Sprintf("%d of %s without a presence lock, so that the end of one is noticed after %s instead of 2 s%s.",
		len(absent), isAre(len(alive), "live worker"), round(first.DeadAfter), why)).since(first.Started).of(ids(absent)...)}, err
}

// whyNoPresence returns what keeps a worker that connects as this program does from having presence.
func (e *scope) whyNoPresence(ctx context.Context) (string, error) {
	if e.dialect == dialect.SQLite {
		return ": its file cannot be locked from there, or the database is in memory", nil
	}
	s, err := vitals.ReadServer(ctx, e.tx)
	if err != nil {
		return "", err
	}
	var told int64
	err = e.conn.Raw(func(inner any) error {
		if c, ok := inner.(*stdlib.Conn); ok {
			told = int64(c.Conn().PgConn().PID())
		}
		return nil
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("look for a pooler: %w", err)
	case told != 0 && told != s.Backend:
		return ": a pooler in transaction mode is between this connection and the server, and passes neither notifications nor locks of sessions on", nil
	case !s.MayLock:
		return ": this role may not take advisory locks and read pg_locks", nil
	}
	return "; this program could have one, so the workers connect in another way, or their pools have no connection to spare: see their logs", nil
}
