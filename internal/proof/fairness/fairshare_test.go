package fairness_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/taskkit"
)

const (
	// items is how many the large tasks have together: one task if there is one slot.
	items = 1_000_000
	// small is how many small tasks there are, and how many items each has.
	small = 10
	// most is how many times as long they may take beside the large tasks as alone, in the median.
	most = 3
	// fewest is how often each is measured at least.
	fewest = 3
)

// setting is what large tasks have taken all slots of.
type setting struct {
	processes, slots int
	item             time.Duration // that an item takes
}

func (s setting) String() string {
	return fmt.Sprintf("%d slots, items of %d ms", s.processes*s.slots, s.item.Milliseconds())
}

// batch is how long a batch of the large tasks is at most, which is not cut off. With several slots the small tasks
// alone take less than that.
func (s setting) batch() time.Duration { return min(10*batchSize*s.item, time.Second) }

// The ten small tasks of one owner end while the large tasks of another owner have all slots, and these go on
// afterwards. In the long form they take at most three times as long as alone: on an idle worker, while the large
// tasks are paused.
func TestOwnersShareFairly(t *testing.T) { //nolint:paralleltest // it measures times
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			e := newEnv(t, database.open(t))
			budget, long := prove.Budget(t)
			if !long {
				e.ordered(setting{1, 1, time.Millisecond})
				return
			}
			settings := []setting{{1, 1, 10 * time.Millisecond}, {1, 1, time.Millisecond}, {2, 2, 10 * time.Millisecond}, {2, 2, time.Millisecond}}
			counts := make(map[string]any)
			for _, s := range settings {
				counts[s.String()] = e.measure(s, budget/time.Duration(3*len(settings)))
			}
			counts["violations"] = e.violations
			prove.Record(t, "turns-"+database.name, counts)
		})
	}
}

// begin starts the workers, and large tasks of one owner that take all slots.
func (e *env) begin(s setting) (large []taskkit.ID) {
	e.Helper()
	e.launch(s.processes, s.slots)
	n := s.processes * s.slots
	large = e.submit(n, workSpec{items / n, int(s.item.Microseconds())}, uuid.New())
	e.progressed(large)
	return large
}

// ordered checks that the small tasks end while the large one does not, which goes on afterwards.
func (e *env) ordered(s setting) {
	e.Helper()
	large := e.begin(s)
	e.ten(s)
	for _, id := range large {
		if t := e.read(id); t.Ended() {
			e.violation("the large task has ended: %s %s", t.Status, t.StatusDetail)
		}
	}
	e.progressed(large)
}

// ten submits the small tasks, and returns how long it took until the last one had ended, by the clock of the
// database.
func (e *env) ten(s setting) time.Duration {
	e.Helper()
	ids := e.submit(small, workSpec{small, int(s.item.Microseconds())}, uuid.New())
	e.until("ends", ids, (*taskkit.Task).Ended)
	var first, last time.Time
	for _, id := range ids {
		t := e.read(id)
		if t.Status != taskkit.StatusCompleted || t.Stopped == nil {
			e.violation("a small task is %s %s", t.Status, t.StatusDetail)
			continue
		}
		if first.IsZero() || t.Created.Before(first) {
			first = t.Created
		}
		if t.Stopped.After(last) {
			last = *t.Stopped
		}
	}
	return last.Sub(first)
}

// measure measures the small tasks alone and beside the large ones, in turn, until the time is up.
func (e *env) measure(s setting, budget time.Duration) map[string]any {
	e.Helper()
	large := e.begin(s)
	var alone, beside []time.Duration
	for began := time.Now(); len(beside) < fewest || time.Since(began) < budget; {
		e.all(large, e.client.Pause)
		e.until("is paused", large, func(t *taskkit.Task) bool {
			return t.Status == taskkit.StatusQueued && t.Control == taskkit.ControlPause
		})
		e.phase()
		alone = append(alone, e.ten(s))
		e.all(large, e.client.Resume)
		e.progressed(large)
		e.phase()
		beside = append(beside, e.ten(s))
		e.progressed(large)
	}
	e.all(large, e.client.Stop)
	e.until("is stopped", large, (*taskkit.Task).Ended)
	ratio := math.Round(100*median(beside).Seconds()/median(alone).Seconds()) / 100
	allowed := most * median(alone)
	if s.processes*s.slots > 1 {
		allowed += s.batch()
	}
	if median(beside) > allowed {
		e.violation("%v: the small tasks took %v beside large ones, and %v alone", s, median(beside), median(alone))
	}
	return map[string]any{
		"rounds": len(beside), "alone, ms": median(alone).Milliseconds(), "beside, ms": median(beside).Milliseconds(), "ratio": ratio,
		"longest alone, ms": slices.Max(alone).Milliseconds(), "longest beside, ms": slices.Max(beside).Milliseconds(),
	}
}

// phase lets a random time pass, of up to two of the intervals in which workers poll and read who waits. The large
// tasks have begun for longer than a turn then.
func (e *env) phase() {
	e.wait(1100*time.Millisecond + time.Duration(e.rng.Int64N(int64(2*time.Second))))
}

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
