package taskkit

import (
	"fmt"
	"testing"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

func TestNewTaskProgress(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) *time.Time {
		at := now.Add(-d)
		return &at
	}
	sample := workrate.Sample{Items: 10, Took: 5 * time.Second}
	rate := store.Rate{History: workrate.History{}.Add(sample).Add(sample), Measured: *ago(time.Second)}
	long := store.Rate{History: workrate.History{}.Add(workrate.Sample{Items: 1, Took: 2 * time.Minute}), Measured: *ago(9 * time.Minute)}
	lately := func(t *Task) { t.Scheduled, t.LeaseStarted = ago(4*time.Minute), nil }
	earlier := []workrate.History{workrate.History{}.Add(sample)}
	for name, c := range map[string]struct {
		change  func(*Task)
		rate    store.Rate
		earlier []workrate.History
		want    string // remaining, rate, time left, waiting, halted since
	}{
		"running":           {func(*Task) {}, rate, nil, "80, 2.0, 26.7s to 1m0s, , "},
		"not measured":      {lately, store.Rate{}, nil, "80, 0.0, , , "},
		"from earlier ones": {lately, store.Rate{}, earlier, "80, 0.0, 20s to 1m20s earlier, , "},
		"unknown total":     {func(t *Task) { t.Progress.Total = -1 }, rate, nil, "-1, 2.0, , , "},
		"more than the total": {
			func(t *Task) { t.Progress.Total = 5 }, rate, nil, "0, 2.0, , , ",
		},
		"ended":  {func(t *Task) { t.Status = StatusCompleted }, rate, nil, "80, 2.0, , , "},
		"paused": {func(t *Task) { t.Status, t.Control = StatusQueued, ControlPause }, rate, nil, "80, 2.0, 26.7s to 1m0s, paused, "},
		"paused for a reason": {
			func(t *Task) { t.Status, t.Control, t.ControlReason = StatusQueued, ControlPause, "lunch" }, rate, nil, "80, 2.0, 26.7s to 1m0s, paused (lunch), ",
		},
		"due":               {func(t *Task) { t.Status = StatusQueued }, rate, nil, "80, 2.0, 26.7s to 1m0s, waits for a worker, "},
		"for later":         {func(t *Task) { t.Status, t.Wait = StatusQueued, time.Hour }, rate, nil, "80, 2.0, 26.7s to 1m0s, starts 1h0m0s from now, "},
		"for its own time":  {func(t *Task) { t.Status, t.Wait, t.WaitingReason = StatusQueued, time.Hour, "night" }, rate, nil, "80, 2.0, 26.7s to 1m0s, night, 1h0m0s from now, "},
		"taken over lately": {lately, long, nil, "80, 0.0, 1h20m0s to 5h20m0s, , "},
		"claimed long ago":  {func(t *Task) { t.Status, t.LeaseStarted = StatusScheduling, nil }, store.Rate{}, earlier, "80, 0.0, , , 1h0m0s"},
		"started long ago":  {func(*Task) {}, store.Rate{}, earlier, "80, 0.0, , , 59m0s"},
		"long batches":      {func(*Task) {}, long, nil, "80, 0.0, 1h20m0s to 5h20m0s, , "},
		"halted":            {func(*Task) {}, store.Rate{History: rate.History, Measured: *ago(5 * time.Minute)}, nil, "80, 2.0, , , 5m0s"},
		"not halted yet":    {func(*Task) {}, store.Rate{History: rate.History, Measured: *ago(299 * time.Second)}, nil, "80, 2.0, 26.7s to 1m0s, , "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := &Task{
				Status: StatusExecuting, Progress: Progress{Total: 100, Done: 15, Failed: 3, Skipped: 2},
				Created: *ago(2 * time.Hour), Elapsed: 2 * time.Hour, Scheduled: ago(time.Hour), LeaseStarted: ago(59 * time.Minute),
			}
			c.change(task)
			p := newTaskProgress(task, c.rate, c.earlier)
			left, since := "", ""
			if p.TimeLeft != nil {
				left = p.TimeLeft.String()
			}
			if p.FromEarlier {
				left += " earlier"
			}
			if p.Halted != nil {
				since = now.Sub(*p.Halted).String()
			}
			if got := fmt.Sprintf("%d, %.1f, %s, %s, %s", p.Remaining, p.Rate, left, p.Waiting, since); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
