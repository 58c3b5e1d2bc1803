package taskkit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// seatSearch finds two seats in two batches. It stops before the second until it is let
// through.
type seatSearch struct {
	batches atomic.Int64
	reached chan struct{}
	pass    chan struct{}
}

func (f *seatSearch) Targets(ctx context.Context, b *seatBatch) ([]int, taskkit.Next, error) {
	if f.batches.Add(1) == 1 {
		b.State.Changed++
		return []int{1}, taskkit.More, nil
	}
	close(f.reached)
	select {
	case <-f.pass:
		return []int{2}, taskkit.Done, nil
	case <-ctx.Done():
		return nil, taskkit.More, ctx.Err()
	}
}

func (*seatSearch) Execute(_ context.Context, b *seatBatch) (taskkit.Next, error) {
	_, next := taskkit.Take(b, b.Spec.Seats)
	return next, nil
}

// A task that finds its targets is counted at its start, and is seen to work meanwhile.
func TestClientProgressOfSearch(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ctx, c := testdb.Within(t), clientOf(db)
		kind := taskkit.NewKind(taskkind.Definition[seatSpec, seatState, struct{}]{
			Name: "find_seats", Targets: taskkit.TargetsFoundIn[seatState]("seats", func(s *seatSpec) *[]int { return &s.Seats }),
		})
		id, err := taskkit.Submit(ctx, db.DB, kind, seatSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)))
		if err != nil {
			t.Fatal(err)
		}
		f := &seatSearch{reached: make(chan struct{}), pass: make(chan struct{})}
		r := new(taskkit.Registry)
		taskkit.Register(r, kind, f)
		stop := started(t, db, r, taskkit.MeasureEvery(quick(t, db), time.Nanosecond))
		defer stop()
		select {
		case <-f.reached:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
		if _, err := db.ExecContext(ctx, setBack(db, "taskkit_queued_task", "scheduling_started_date", "execution_started_date")); err != nil {
			t.Fatal(err)
		}
		p, err := c.Progress(ctx, id)
		if err != nil || !p.Finding || p.Remaining != -1 || p.Halted != nil || p.Rate != 0 {
			t.Errorf("while it is searching: %+v, %v", p, err)
		}
		close(f.pass)
		if _, err := c.Wait(ctx, id, nil); err != nil {
			t.Fatal(err)
		}
		p, err = c.Progress(ctx, id)
		if err != nil || p.Finding || p.Remaining != 0 || p.Progress.Done != 2 {
			t.Errorf("at its end: %+v, %v", p, err)
		}
	})
}
