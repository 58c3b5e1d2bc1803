package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// gate is an executor that stops before its third batch until it is let through.
type gate struct {
	batches atomic.Int64
	reached chan struct{}
	pass    chan struct{}
}

func (g *gate) Execute(ctx context.Context, b *taskkit.Batch[seatSpec, seatState]) (taskkit.Next, error) {
	if g.batches.Add(1) == 3 {
		close(g.reached)
		select {
		case <-g.pass:
		case <-ctx.Done():
			return taskkit.More, ctx.Err()
		}
	}
	_, next := taskkit.Take(b, b.Spec.Seats)
	return next, nil
}

// Progress of a task while it waits, runs and has ended, and of a second one that is
// estimated from it.
func TestClientProgress(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ctx, c, kind := testdb.Within(t), clientOf(db), seatKind(10)
		read := func(id taskkit.ID) *taskkit.TaskProgress {
			t.Helper()
			p, err := c.Progress(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		submit := func(opts ...taskkit.SubmitOption) taskkit.ID {
			t.Helper()
			id, err := taskkit.Submit(ctx, db.DB, kind, seatSpec{Seats: make([]int, 50)}, append(opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		if _, err := c.Progress(ctx, taskkit.ID{1}); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("of no task: %v", err)
		}
		first := submit()
		if p := read(first); p.Waiting != "waits for a worker" || p.Remaining != 50 || p.Finding || p.TimeLeft != nil || p.Rate != 0 {
			t.Errorf("before it runs: %+v", p)
		}
		g := &gate{reached: make(chan struct{}), pass: make(chan struct{})}
		r := new(taskkit.Registry)
		taskkit.Register(r, kind, g)
		stop := started(t, db, r, taskkit.MeasureEvery(quick(t, db), time.Nanosecond))
		defer stop()
		select {
		case <-g.reached:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
		p := read(first)
		if p.Progress.Done != 20 || p.Remaining != 30 || p.Rate <= 0 || p.Waiting != "" || p.Halted != nil || p.FromEarlier {
			t.Errorf("while it runs: %+v", p)
		}
		if p.TimeLeft == nil || p.TimeLeft.Low <= 0 || p.TimeLeft.High < p.TimeLeft.Low*2 {
			t.Errorf("time left after two samples: %v", p.TimeLeft)
		}
		// The database says when the task was last seen to work.
		if _, err := db.ExecContext(ctx, setBack(db, "taskkit_task_rate", "measured_date")); err != nil {
			t.Fatal(err)
		}
		if p := read(first); p.Halted != nil {
			t.Errorf("it was claimed lately: %+v", p)
		}
		if _, err := db.ExecContext(ctx, setBack(db, "taskkit_queued_task", "scheduling_started_date", "execution_started_date")); err != nil {
			t.Fatal(err)
		}
		if p := read(first); p.Halted == nil || time.Since(*p.Halted) < 50*time.Minute || p.TimeLeft != nil {
			t.Errorf("not seen to work for an hour: %+v", p)
		}
		paused := submit(taskkit.WithDelay(time.Hour))
		if p := read(paused); p.TimeLeft == nil || !p.FromEarlier || !strings.HasPrefix(p.Waiting, "starts ") {
			t.Errorf("estimated from an earlier task: %+v", p)
		}
		close(g.pass)
		if _, err := c.Wait(ctx, first, nil); err != nil {
			t.Fatal(err)
		}
		if p := read(first); p.Status != taskkit.StatusCompleted || p.Remaining != 0 || p.TimeLeft != nil || p.Halted != nil {
			t.Errorf("after its end: %+v", p)
		}
		walk, err := taskkit.Submit(ctx, db.DB, newKind[countSpec, countState]("walk", 1), countSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)))
		if err != nil {
			t.Fatal(err)
		}
		if p := read(walk); p.Finding || p.Remaining != -1 {
			t.Errorf("of a walk: %+v", p)
		}
	})
}

// setBack returns the statement that sets times of a table back by an hour.
func setBack(db *testdb.DB, table string, columns ...string) string {
	earlier := "%[1]s = strftime('%%Y-%%m-%%d %%H:%%M:%%f', %[1]s, '-1 hour')"
	if db.Dialect == dialect.Postgres {
		table, earlier = schemaOf(db)+"."+table, "%[1]s = %[1]s - interval '1 hour'"
	}
	set := make([]string, len(columns))
	for i, c := range columns {
		set[i] = fmt.Sprintf(earlier, c)
	}
	return "UPDATE " + table + " SET " + strings.Join(set, ", ")
}
