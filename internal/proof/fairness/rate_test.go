package fairness_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/taskkit"
)

const (
	// rate is the rate of a task in items per second, and deviation its largest relative error over a minute.
	rate, deviation = 50, 0.05
	// rateKnown is after how long a running task surely has a new rate, and its burst is over.
	rateKnown = 10 * time.Second
)

// A running task keeps to a rate that it is given, on one of two workers. If workers are killed, it loses the time
// until that is noticed, and is never faster.
func TestRate(t *testing.T) {
	t.Parallel()
	if _, long := prove.Budget(t); !long {
		t.Skip("in the long form only: set " + prove.BudgetEnv)
	}
	for _, database := range databases {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			var steady, killed float64
			violations := make([]int, 2)
			t.Run("each", func(t *testing.T) {
				t.Run("steady", func(t *testing.T) {
					t.Parallel()
					e := newEnv(t, database.open(t))
					if steady = e.minute(nil); math.Abs(steady/rate-1) > deviation {
						e.violation("%.2f items a second over a minute, want %d", steady, rate)
					}
					violations[0] = e.violations
				})
				t.Run("kills", func(t *testing.T) {
					t.Parallel()
					e := newEnv(t, database.open(t))
					if killed = e.minute(e.replace); killed/rate-1 > deviation {
						e.violation("%.2f items a second over a minute, want at most %d", killed, rate)
					}
					violations[1] = e.violations
				})
			})
			prove.Record(t, "rate-"+database.name, map[string]any{
				"items/s": math.Round(100*steady) / 100, "items/s with two kills": math.Round(100*killed) / 100, "violations": violations[0] + violations[1],
			})
		})
	}
}

// minute gives a rate to a task that runs, and returns how many items a second it processes over a minute. Kill, if
// there is one, kills each of the two workers, one at a third of the minute and one at two thirds.
func (e *env) minute(kill func(i int)) float64 {
	e.Helper()
	e.launch(2, 1)
	ids := e.submit(1, workSpec{Items: items, Micros: 100}, uuid.New())
	e.progressed(ids)
	if _, err := e.client.Change(e.Context(), ids[0], taskkit.Settings{MaxRate: new(float64(rate))}); err != nil {
		e.Fatal(err)
	}
	e.wait(rateKnown)
	count := func() (int64, time.Time) {
		t := e.read(ids[0])
		if t.Status.Ended() {
			e.violation("the task has ended: %s %s", t.Status, t.StatusDetail)
		}
		return t.Progress.Done, time.Now()
	}
	from, began := count()
	for i := range 2 {
		e.wait(20 * time.Second)
		if kill != nil {
			kill(i)
		}
	}
	e.wait(time.Until(began.Add(time.Minute)))
	to, ended := count()
	e.all(ids, e.client.Stop)
	e.until("is stopped", ids, (*taskkit.Task).Ended)
	return float64(to-from) / ended.Sub(began).Seconds()
}
