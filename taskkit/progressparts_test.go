package taskkit_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// heldMailer stops each task before its third batch until pass is closed.
type heldMailer struct {
	mu      sync.Mutex
	batches map[taskkit.ID]int
	pass    chan struct{}
}

func (x *heldMailer) Execute(ctx context.Context, b *taskkit.Batch[mailing, struct{}]) (taskkit.Next, error) {
	x.mu.Lock()
	x.batches[b.Task]++
	third := x.batches[b.Task] == 3
	x.mu.Unlock()
	if third {
		select {
		case <-x.pass:
		case <-ctx.Done():
			return taskkit.More, ctx.Err()
		}
	}
	lasts(ctx, time.Millisecond) // something to measure
	_, next := taskkit.Take(b, b.Spec.Numbers)
	return next, nil
}

// held returns how many tasks have come to their third batch.
func (x *heldMailer) held() (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, batches := range x.batches {
		if batches == 3 {
			n++
		}
	}
	return n
}

// A divided task has the rate of its parts together and the time that they take for the rest. It is reduced while one of them does not
// work, and halted while none does.
func TestMID51ProgressOfParts(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, c := mailingKind("progress_ranges"), clientOf(db)
		x := &heldMailer{batches: map[taskkit.ID]int{}, pass: make(chan struct{})}
		started(t, db, registered(k, x), taskkit.MeasureEvery(quick(t, db), time.Nanosecond))
		pass := sync.OnceFunc(func() { close(x.pass) })
		defer pass()
		id := submitted(t, db, k, mailing{}, taskkit.WithTargets(slices.Values(numbersBetween(0, 80))), taskkit.WithMaxParallel(2))
		until(t, "both ranges are held", func() bool { return x.held() == 2 })
		read := func() *taskkit.TaskProgress {
			t.Helper()
			p, err := c.Progress(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := read()
		if want := (taskkit.ProgressParts{Name: "ranges", Total: -1, Running: 2}); *p.Parts != want || p.State() != "running" || p.Remaining != 64 || p.Waiting != "" {
			t.Errorf("while it runs: %+v, %s, %+v, want %+v", p.Parts, p.State(), p, want)
		}
		if p.Rate <= 0 || p.TimeLeft == nil || p.TimeLeft.Low <= 0 || p.TimeLeft.High < p.TimeLeft.Low || !strings.HasPrefix(p.Text(), "0 ranges, 16 of 80, about ") {
			t.Errorf("while it runs: rate %v, %v left, %s", p.Rate, p.TimeLeft, p.Text())
		}
		alone, err := c.Progress(t.Context(), childrenOf(t, db, id)[0].ID)
		if err != nil || p.Rate <= alone.Rate || alone.Parts != nil {
			t.Errorf("a range alone has the rate %v of %v (%v)", alone.Rate, p.Rate, err)
		}
		for n, want := range []string{"running (reduced)", "halted"} {
			of := "'" + childrenOf(t, db, id)[n].ID.String() + "'"
			for _, query := range []string{
				setBack(db, "taskkit_queued_task", "scheduling_started_date", "execution_started_date") + " WHERE id = " + of,
				setBack(db, "taskkit_task_rate", "measured_date") + " WHERE task_id = " + of,
			} {
				if _, err := db.ExecContext(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			if p := read(); p.State() != want || p.Parts.Running != 2 || p.Parts.Reduced != int64(n+1) || (p.Halted != nil) != (n == 1) || (p.TimeLeft == nil) != (n == 1) {
				t.Errorf("%d ranges are not seen to work: %s, %+v, %+v", n+1, p.State(), p.Parts, p)
			}
		}
		pass()
		ended(t, db, id)
		if p := read(); p.State() != "completed" || p.Text() != "8 of 8 ranges, 80 of 80" {
			t.Errorf("at the end: %s, %s", p.State(), p.Text())
		}
	})
}

// The parts of a composite task are its stages, also those that have not begun.
func TestMID51ProgressOfStages(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		step := newKind[stepSpec, countState]("progress_step", 10)
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "progress_all", BatchSize: 10, Stages: true})
		var r taskkit.Registry
		reached, pass := make(chan struct{}, 9), make(chan struct{})
		taskkit.Register(&r, step, &funcs[stepSpec, countState]{execute: func(ctx context.Context, b *taskkit.Batch[stepSpec, countState]) (taskkit.Next, error) {
			if b.Spec.Name == "b" {
				reached <- struct{}{}
				select {
				case <-pass:
				case <-ctx.Done():
				}
			}
			return taskkit.Done, ctx.Err()
		}})
		taskkit.Register(&r, composite, &staged{step: step, ran: func(string) {}})
		started(t, db, &r, quick(t, db))
		id := submitted(t, db, composite, familySpec{})
		<-reached
		p, err := clientOf(db).Progress(t.Context(), id)
		if err != nil || p.Parts.Name != "stages" || p.Parts.Ended < 1 || p.Parts.Ended > 5 || p.Parts.Total != 6 || p.Parts.Running < 1 || p.State() != "running" || !strings.Contains(p.Text(), " of 6 stages, ") {
			t.Errorf("in the second stage: %+v, %s, %s (%v)", p.Parts, p.State(), p.Text(), err)
		}
		close(pass)
		ended(t, db, id)
		if p, err = clientOf(db).Progress(t.Context(), id); err != nil || p.Parts.Ended != 6 || p.Parts.Running != 0 || p.State() != "completed" {
			t.Errorf("at the end: %+v, %s (%v)", p.Parts, p.State(), err)
		}
	})
}

// Progress as people read it.
func TestMID51ProgressText(t *testing.T) {
	t.Parallel()
	left := func(low, high time.Duration) *taskkit.TimeRange { return &taskkit.TimeRange{Low: low, High: high} }
	for want, p := range map[string]taskkit.TaskProgress{
		"2 of 3 stages, 4,100 of 10,000, about 3 min": {
			Progress: taskkit.Progress{Total: 10_000, Done: 4000, Failed: 60, Skipped: 40}, TimeLeft: left(2*time.Minute, 4*time.Minute),
			Parts: &taskkit.ProgressParts{Name: "stages", Ended: 2, Total: 3},
		},
		"1,234,567":                           {Progress: taskkit.Progress{Total: -1, Done: 1_234_567}},
		"0 of 7, about 1 s":                   {Progress: taskkit.Progress{Total: 7}, TimeLeft: left(0, time.Millisecond)},
		"999 of 1,000, about 89 s":            {Progress: taskkit.Progress{Total: 1000, Done: 999}, TimeLeft: left(88*time.Second, 90*time.Second)},
		"12 buckets, 3 of 9, about 5 h":       {Progress: taskkit.Progress{Total: 9, Done: 3}, TimeLeft: left(4*time.Hour, 6*time.Hour), Parts: &taskkit.ProgressParts{Name: "buckets", Ended: 12, Total: -1}},
		"0 of 7, about 3 days":                {Progress: taskkit.Progress{Total: 7}, TimeLeft: left(72*time.Hour, 72*time.Hour)},
		"1 of 65,536 buckets, 5 of 1,000,000": {Progress: taskkit.Progress{Total: 1_000_000, Done: 5}, Parts: &taskkit.ProgressParts{Name: "buckets", Ended: 1, Total: 65_536}},
	} {
		if got := p.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
