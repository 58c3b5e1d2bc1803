package dbstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/testkit/testdb"
)

// Every change of what the guards connect, by a plain UPDATE of nothing but the
// columns that change: what passes is what [lifecycle.Row.CheckChange] permits,
// whichever trigger or CHECK of a database refuses the others.
func TestGuardsOfAnyChange(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, _ := opened(t, db)
		a := &attacked{T: t, s: s, db: db}
		for _, from := range lifecycle.Statuses() {
			id := a.bring(from)
			before := a.row(id)
			passed := 0
			for _, after := range changes(before) {
				err := a.change(id, before, after)
				want := before.CheckChange(after)
				if (err == nil) != (want == nil) {
					t.Errorf("%+v to %+v: %v, want %v", before, after, err, want)
				}
				if err == nil {
					passed++
				}
			}
			if passed < 2 {
				t.Errorf("from %s %d changes passed: the test changes too much at once", from, passed)
			}
		}
	})
}

// changes are rows that a row may be changed to, legal or not.
func changes(r lifecycle.Row) (all []lifecycle.Row) {
	now := time.Now()
	for _, to := range lifecycle.Statuses() {
		for bits := range 64 {
			after := r
			after.Status, after.Process, after.Started, after.Stopped = to, "", nil, nil
			if bits&1 != 0 {
				after.Process = "p"
			}
			if bits&2 != 0 {
				after.Started = &now
			}
			if bits&4 != 0 {
				after.Stopped = &now
			}
			after.Fence += int64(bits >> 3 & 1)
			after.Partial = bits&16 != 0
			if bits&32 != 0 {
				after.Progress.Done = -1
			}
			all = append(all, after)
		}
	}
	for _, by := range []int64{-1, 1, 2} {
		after := r
		after.Seq += by
		all = append(all, after)
	}
	for _, change := range []func(*lifecycle.Row){
		func(r *lifecycle.Row) { r.Fence-- },
		func(r *lifecycle.Row) { r.Fence += 2 },
		func(r *lifecycle.Row) { r.Attempts = -1 },
		func(r *lifecycle.Row) { r.Progress.Position = -1 },
		func(r *lifecycle.Row) { r.Progress.Round = -1 },
		func(r *lifecycle.Row) { r.Progress.Failed = -1 },
		func(r *lifecycle.Row) { r.Progress.Skipped = -1 },
		func(r *lifecycle.Row) { r.Status = "NONE" },
		func(r *lifecycle.Row) { r.Control = "NONE" },
		func(r *lifecycle.Row) { r.Control = lifecycle.Pause },
		func(r *lifecycle.Row) { r.Priority = 5 },
	} {
		after := r
		change(&after)
		all = append(all, after)
	}
	return all
}

// row reads what the guards check.
func (a *attacked) row(id uuid.UUID) (r lifecycle.Row) {
	a.Helper()
	var leased, started, stopped bool
	err := a.db.QueryRowContext(a.Context(), `SELECT workflow_status, fence, checkpoint_seq, attempts, priority,
  scheduled_by_process IS NOT NULL, execution_started_date IS NOT NULL, workflow_stopped_date IS NOT NULL
FROM taskkit_queued_task WHERE id = $1`, id.String()).Scan(&r.Status, &r.Fence, &r.Seq, &r.Attempts, &r.Priority, &leased, &started, &stopped)
	if err != nil {
		a.Fatal(err)
	}
	now := time.Now()
	if leased {
		r.Process = "p"
	}
	if started {
		r.Started = &now
	}
	if stopped {
		r.Stopped = &now
	}
	return r
}

// change sets what differs between two rows, and takes it back.
func (a *attacked) change(id uuid.UUID, before, after lifecycle.Row) error {
	a.Helper()
	var set []string
	add := func(column string, differs bool, value any) {
		if differs {
			set = append(set, fmt.Sprintf("%s = %v", column, value))
		}
	}
	orNull := func(is bool, value string) string {
		if is {
			return value
		}
		return "NULL"
	}
	add("workflow_status", before.Status != after.Status, "'"+string(after.Status)+"'")
	add("control", before.Control != after.Control, "'"+string(after.Control)+"'")
	add("fence", before.Fence != after.Fence, after.Fence)
	add("checkpoint_seq", before.Seq != after.Seq, after.Seq)
	add("attempts", before.Attempts != after.Attempts, after.Attempts)
	add("priority", before.Priority != after.Priority, after.Priority)
	add("position", before.Progress.Position != after.Progress.Position, after.Progress.Position)
	add("round", before.Progress.Round != after.Progress.Round, after.Progress.Round)
	add("items_done", before.Progress.Done != after.Progress.Done, after.Progress.Done)
	add("items_failed", before.Progress.Failed != after.Progress.Failed, after.Progress.Failed)
	add("items_skipped", before.Progress.Skipped != after.Progress.Skipped, after.Progress.Skipped)
	add("partial", before.Partial != after.Partial, after.Partial)
	add("scheduled_by_process", before.Process != after.Process, orNull(after.Process != "", "'p'"))
	add("execution_started_date", (before.Started == nil) != (after.Started == nil), orNull(after.Started != nil, "created_date"))
	add("workflow_stopped_date", (before.Stopped == nil) != (after.Stopped == nil), orNull(after.Stopped != nil, "created_date"))
	if len(set) == 0 {
		return nil
	}
	tx, err := a.db.BeginTx(a.Context(), nil)
	if err != nil {
		a.Fatal(err)
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(a.Context(), "UPDATE taskkit_queued_task SET "+strings.Join(set, ", ")+" WHERE id = $1", id.String())
	return err
}

// A statement that inserts several tasks is refused as a whole if one of them is not as a new one must be.
func TestGuardOfNewTasks(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO taskkit_queued_task (id, owner_id, run_as_id, created_by, modified_by, execution_component_name, codec_revision, queue,
  workflow_status, control, priority, fence, checkpoint_seq, attempts, position, round, items_done, items_failed, items_skipped, scheduled_by_process, workflow_stopped_date)
VALUES `
	columns := []struct{ name, good, bad string }{
		{"workflow_status", "'QUEUED'", "'COMPLETED'"},
		{"control", "''", "'NONE'"},
		{"priority", "2", "5"},
		{"fence", "0", "1"},
		{"checkpoint_seq", "0", "-1"},
		{"attempts", "0", "2"},
		{"position", "7", "-1"},
		{"round", "0", "1"},
		{"items_done", "0", "3"},
		{"items_failed", "0", "3"},
		{"items_skipped", "0", "3"},
		{"scheduled_by_process", "NULL", "'p'"},
		{"workflow_stopped_date", "NULL", "'2026-01-01 00:00:00.000+00:00'"},
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		opened(t, db)
		row := func(wrong string) string {
			id := uuid.NewString()
			values := []string{"'" + id + "'", "'" + id + "'", "'" + id + "'", "'" + id + "'", "'" + id + "'", "'demo'", "1", "'default'"}
			for _, c := range columns {
				if c.name == wrong {
					values = append(values, c.bad)
				} else {
					values = append(values, c.good)
				}
			}
			return "(" + strings.Join(values, ", ") + ")"
		}
		for _, c := range columns {
			if _, err := db.ExecContext(t.Context(), insert+strings.Join([]string{row(""), row(c.name), row("")}, ", ")); err == nil {
				t.Errorf("a new task has %s %s", c.name, c.bad)
			}
		}
		count := func(want int) {
			t.Helper()
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_queued_task").Scan(&n); err != nil || n != want {
				t.Errorf("%d tasks, %v, want %d", n, err, want)
			}
		}
		count(0)
		if _, err := db.ExecContext(t.Context(), insert+strings.Join([]string{row(""), row("")}, ", ")); err != nil {
			t.Error(err)
		}
		count(2)
	})
}
