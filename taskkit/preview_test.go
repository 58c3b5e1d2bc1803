package taskkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// seatSpec has the seats to change.
type seatSpec struct {
	Seats []int `json:"seats"`
}

type (
	seatState struct {
		Changed int `json:"changed"`
	}
	seatBatch = taskkit.Batch[seatSpec, seatState]
)

// seatKind is a kind that can be previewed.
func seatKind(batch int) *taskkit.Kind[seatSpec, seatState, string] {
	return taskkit.NewKind(taskkind.Definition[seatSpec, seatState, string]{
		Name: "seat", BatchSize: batch, MaxBatchSize: batch, Preview: true,
		Targets: taskkind.TargetsIn("seats", func(s *seatSpec) *[]int { return &s.Seats }),
	})
}

// makeSeats makes the table of seats 0 to n-1, and that of their log. Seats whose
// number ends in 7 cannot be taken.
func makeSeats(t *testing.T, db *testdb.DB, n int) {
	t.Helper()
	for _, text := range []string{
		"CREATE TABLE seat (id integer PRIMARY KEY, status text NOT NULL CHECK (status <> 'taken' OR id % 10 <> 7))",
		`CREATE TABLE "Seat log" (seat integer NOT NULL, note text NOT NULL)`,
		fmt.Sprintf(`INSERT INTO seat (id, status) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d) SELECT i, 'free' FROM n`, n),
	} {
		if _, err := db.DB.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// seats returns all rows of both tables.
func seats(t *testing.T, db *testdb.DB) (all []string) {
	t.Helper()
	rows, err := db.DB.QueryContext(t.Context(), `SELECT CAST(id AS text) || ' ' || status FROM seat UNION ALL SELECT CAST(seat AS text) || ' log ' || note FROM "Seat log"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// seatExecutor takes seats by every way that a batch has to write. Each batch fails
// once with an error that passes.
type seatExecutor struct {
	calls    atomic.Int64
	aborts   atomic.Int64
	outside  atomic.Int64 // effects outside b.Tx
	previews atomic.Int64 // calls with b.Preview
}

func (x *seatExecutor) Execute(ctx context.Context, b *seatBatch) (taskkit.Next, error) {
	call := x.calls.Add(1)
	if b.Preview {
		x.previews.Add(1)
	} else {
		x.outside.Add(1)
	}
	seats, next := taskkit.Take(b, b.Spec.Seats)
	err := taskkit.Each(ctx, b, seats, func(ctx context.Context, seats []int) error {
		changed := 0
		for _, s := range seats {
			if s%10 == 3 {
				b.Skip(s, "kept")
				b.Note(s, "free -> free")
				continue
			}
			b.Note(s, "to be overwritten")
			b.Note(s, "free -> taken")
			r, err := b.Tx.ExecContext(ctx, "UPDATE seat SET status = 'taken' WHERE id = $1", s)
			if err != nil {
				return err
			}
			n, err := r.RowsAffected()
			if err != nil {
				return err
			}
			changed += int(n)
		}
		b.State.Changed += changed
		return nil
	})
	if err != nil {
		return next, err
	}
	planned := errors.New("planned")
	for _, f := range []func() error{
		func() error { return x.log(ctx, b, seats[0], "undone", planned) },
		func() error { return x.log(ctx, b, seats[0], "kept", nil) },
	} {
		if err := b.Try(ctx, f); err != nil && !errors.Is(err, planned) {
			return next, err
		}
	}
	if err := x.byEnt(ctx, b, seats[0]); err != nil {
		return next, err
	}
	if call == 2 || call == 5 {
		return next, errors.New("passes")
	}
	return next, nil
}

// log writes a line into the log and returns err.
func (*seatExecutor) log(ctx context.Context, b *seatBatch, seat int, note string, err error) error {
	if _, err := b.Tx.ExecContext(ctx, `INSERT INTO "Seat log" (seat, note) VALUES ($1, $2)`, seat, note); err != nil {
		return err
	}
	return err
}

// byEnt writes as an ent client does, with rows that come back, and with a savepoint of
// the executor's own.
func (*seatExecutor) byEnt(ctx context.Context, b *seatBatch, seat int) error {
	d := b.EntDriver()
	for _, text := range []string{
		"SAVEPOINT own", `INSERT INTO "Seat log" (seat, note) VALUES (1, 'undone')`, "ROLLBACK TO own", "RELEASE own",
		`DELETE FROM "Seat log" WHERE note = 'never'`,
	} {
		if err := d.Exec(ctx, text, []any{}, nil); err != nil {
			return err
		}
	}
	var rows entsql.Rows
	if err := d.Query(ctx, `INSERT INTO "Seat log" (seat, note) VALUES ($1, 'a'), ($2, 'b') RETURNING seat`, []any{seat, seat}, &rows); err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func (x *seatExecutor) Abort(context.Context, *seatBatch) error {
	x.aborts.Add(1)
	return nil
}

func (x *seatExecutor) Report(ctx context.Context, b *seatBatch) (string, error) {
	return fmt.Sprintf("changed %d", b.State.Changed), x.log(ctx, b, -1, "reported", nil)
}

// upToSeats are the first n seats.
func upToSeats(n int) seatSpec { return seatSpec{Seats: upTo(n)} }

// unhurried is a configuration in which no worker is taken for dead, and no batch becomes smaller because
// the machine is slow.
func unhurried(t *testing.T, db *testdb.DB) taskkit.Config {
	t.Helper()
	c := quick(t, db)
	c.DeadAfter, c.BatchTimeout, c.BatchTarget = time.Minute, 30*time.Second, 15*time.Second
	return c
}

// A preview does all that the real task does, and nothing of it is kept. What it
// reports is what the real task then does.
func TestPreviewIsTheRealRunWithoutItsWrites(t *testing.T) {
	t.Parallel()
	const n = 230
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeSeats(t, db, n)
		k, x := seatKind(50), &seatExecutor{}
		before := seats(t, db)
		id := submitted(t, db, k, upToSeats(n), taskkit.WithPreview())
		stop := started(t, db, registered(k, x), unhurried(t, db))
		preview := ended(t, db, id)
		stop()
		if after := seats(t, db); !slices.Equal(before, after) {
			t.Errorf("the preview has changed rows: %d before, %d after", len(before), len(after))
		}
		if x.outside.Load() != 0 || x.previews.Load() < 5 || x.aborts.Load() != 0 {
			t.Errorf("%d calls without b.Preview, %d with it, %d of Abort; want all with it", x.outside.Load(), x.previews.Load(), x.aborts.Load())
		}
		report := previewed(t, db, id)
		result, err := clientOf(db).Result(t.Context(), id)
		if err != nil || string(result) != `"changed 184"` {
			t.Errorf("result %s (%v) of the preview", result, err)
		}

		again := &seatExecutor{}
		realID := submitted(t, db, k, upToSeats(n))
		started(t, db, registered(k, again), unhurried(t, db))
		task := ended(t, db, realID)
		if task.Status != taskkit.StatusCompleted || preview.Status != task.Status || preview.Progress != task.Progress || string(preview.StateJSON) != string(task.StateJSON) {
			t.Errorf("preview %s %s with %+v and %s, the real task %s with %+v and %s", preview.Status, preview.StatusDetail, preview.Progress, preview.StateJSON, task.Status, task.Progress, task.StateJSON)
		}
		checkSeatReport(t, db, report)
	})
}

// checkSeatReport compares a report with what the tables have after the real run.
func checkSeatReport(t *testing.T, db *testdb.DB, r *taskkit.PreviewReport) {
	t.Helper()
	var taken, logged int64
	if err := db.DB.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM seat WHERE status = 'taken'), (SELECT count(*) FROM "Seat log")`).Scan(&taken, &logged); err != nil {
		t.Fatal(err)
	}
	want := []taskkit.TableChange{{Table: "Seat log", Verb: "insert", Rows: logged}, {Table: "seat", Verb: "update", Rows: taken}}
	if !slices.Equal(r.Changes, want) || r.OtherChanges != 0 {
		t.Errorf("changes %+v and %d others, want %+v", r.Changes, r.OtherChanges, want)
	}
	if notes := []taskkit.NoteCount{{Note: "free -> taken", Items: taken}, {Note: "free -> free", Items: 23}}; !slices.Equal(r.Notes, notes) || r.OtherNotes != 0 {
		t.Errorf("notes %+v, want %+v", r.Notes, notes)
	}
	if len(r.Samples) != 100 || r.Samples[0].Text() != "0" || r.Samples[3].Outcome != taskkit.OutcomeSkipped || r.Samples[0].Outcome != taskkit.OutcomeSucceeded {
		t.Errorf("%d samples, the first %+v", len(r.Samples), r.Samples[:min(4, len(r.Samples))])
	}
	if r.Expected <= 0 || r.Progress.Failed != 23 || r.Progress.Skipped != 23 || r.Progress.Done != taken {
		t.Errorf("expected duration %v and progress %+v", r.Expected, r.Progress)
	}
}

// previewed reads the report of a preview.
func previewed(t *testing.T, db *testdb.DB, id taskkit.ID) *taskkit.PreviewReport {
	t.Helper()
	r, err := clientOf(db).Preview(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A preview that fails or is stopped keeps nothing, and does not call Abort.
func TestPreviewThatEndsEarly(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeSeats(t, db, 100)
		before := seats(t, db)
		reached := make(chan taskkit.ID)
		var aborts, reports atomic.Int64
		x := &aborting[seatSpec, seatState]{
			funcs: funcs[seatSpec, seatState]{execute: func(ctx context.Context, b *seatBatch) (taskkit.Next, error) {
				items, next := taskkit.Take(b, b.Spec.Seats)
				if items[0] >= 20 && len(b.Spec.Seats) == 100 {
					select { // before the transaction, which on SQLite keeps Stop from writing
					case reached <- b.Task:
					case <-ctx.Done():
					}
				}
				if _, err := b.Tx.ExecContext(ctx, "DELETE FROM seat WHERE id >= $1 AND id <= $2", items[0], items[len(items)-1]); err != nil {
					return next, err
				}
				if items[0] >= 20 && len(b.Spec.Seats) == 90 {
					return next, taskkit.Permanent("planned", nil)
				}
				return next, nil
			}},
			abort: func(_ context.Context, _ *seatBatch) error {
				aborts.Add(1)
				return nil
			},
			report: func(ctx context.Context, b *seatBatch) (string, error) {
				reports.Add(1)
				_, err := b.Tx.ExecContext(ctx, "DELETE FROM seat")
				return "stopped", err
			},
		}
		k := seatKind(10)
		started(t, db, registered(k, x), unhurried(t, db))
		failing := submitted(t, db, k, upToSeats(90), taskkit.WithPreview())
		if task := ended(t, db, failing); task.Status != taskkit.StatusFailure || task.Progress.Done != 20 {
			t.Errorf("%s with %+v, want FAILURE", task.Status, task.Progress)
		}
		stopping := submitted(t, db, k, upToSeats(100), taskkit.WithPreview())
		<-reached
		if _, err := clientOf(db).Stop(t.Context(), stopping); err != nil {
			t.Fatal(err)
		}
		task := func() *taskkit.Task {
			done := make(chan *taskkit.Task, 1)
			go func() { done <- ended(t, db, stopping) }()
			for {
				select {
				case <-reached:
				case task := <-done:
					return task
				}
			}
		}()
		if !task.Partial || reports.Load() != 1 || aborts.Load() != 0 {
			t.Errorf("%s, partial %v, %d reports and %d aborts; want a partial task, 1 report", task.Status, task.Partial, reports.Load(), aborts.Load())
		}
		if after := seats(t, db); !slices.Equal(before, after) {
			t.Errorf("%d rows before, %d after", len(before), len(after))
		}
		r := previewed(t, db, stopping)
		if want := []taskkit.TableChange{{Table: "seat", Verb: "delete", Rows: task.Progress.Done}}; !slices.Equal(r.Changes, want) {
			t.Errorf("changes %+v, want %+v", r.Changes, want)
		}
	})
}

// Changes whose rows are unknown are counted apart, and a report has bounds.
func TestPreviewReportIsBounded(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeSeats(t, db, 0)
		k := seatKind(1000)
		x := &funcs[seatSpec, seatState]{execute: func(ctx context.Context, b *seatBatch) (taskkit.Next, error) {
			items, next := taskkit.Take(b, b.Spec.Seats)
			for _, i := range items {
				b.Note(i, fmt.Sprint(i, strings.Repeat("ü", 500)))
			}
			rows, err := b.Tx.QueryContext(ctx, "INSERT INTO seat (id, status) VALUES (1, 'free') RETURNING id")
			if err != nil {
				return next, err
			}
			defer rows.Close()
			for rows.Next() {
			}
			if err := rows.Err(); err != nil {
				return next, err
			}
			_, err = b.Tx.ExecContext(ctx, "CREATE TABLE other_seat (id integer)")
			return next, err
		}}
		id := submitted(t, db, k, upToSeats(1500), taskkit.WithPreview())
		started(t, db, registered(k, x), unhurried(t, db))
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Fatalf("%s: %s", task.Status, task.StatusDetail)
		}
		r := previewed(t, db, id)
		if r.OtherChanges != 4 || len(r.Changes) != 0 {
			t.Errorf("changes %+v and %d others, want 2 of each of 2 batches", r.Changes, r.OtherChanges)
		}
		if len(r.Notes) != 100 || r.OtherNotes != 1400 || len(r.Samples) != 100 || len(r.Notes[0].Note) > 200 || !strings.HasSuffix(r.Notes[0].Note, "ü…") {
			t.Errorf("%d notes, %d others, %d samples, the first note %q", len(r.Notes), r.OtherNotes, len(r.Samples), r.Notes[0].Note)
		}
		if raw, err := json.Marshal(r); err != nil || len(raw) > 64<<10 {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
	})
}

// A kind that does not support previews runs none: neither at Submit, nor in a worker
// with other code.
func TestPreviewIsRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeSeats(t, db, 10)
		before := seats(t, db)
		without := newKind[seatSpec, seatState]("seat", 10)
		for name, tc := range map[string]struct {
			kind *taskkit.Kind[seatSpec, seatState, string]
			opts []taskkit.SubmitOption
			says string
		}{
			"kind":       {without, nil, "kind seat cannot be previewed"},
			"coalescing": {seatKind(10), []taskkit.SubmitOption{taskkit.WithCoalescing("r")}, "used together with Preview"},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, tc.kind, upToSeats(10),
				append(tc.opts, taskkit.WithPreview(), taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			if _, ok := errors.AsType[*taskkit.OptionError](err); !ok || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want an *OptionError that says %q", name, err, tc.says)
			}
		}
		checkStored(t, db, 0, 0)
		id := submitted(t, db, seatKind(10), upToSeats(10), taskkit.WithPreview())
		x := &seatExecutor{}
		started(t, db, registered(without, x), unhurried(t, db))
		if task := ended(t, db, id); task.Status != taskkit.StatusError || !strings.Contains(task.StatusDetail, "put the word preview back") || x.calls.Load() != 0 {
			t.Errorf("%s (%s) after %d calls, want ERROR", task.Status, task.StatusDetail, x.calls.Load())
		}
		if after := seats(t, db); !slices.Equal(before, after) {
			t.Error("rows have changed")
		}
		task := submitted(t, db, seatKind(10), upToSeats(10))
		_, err := clientOf(db).Preview(t.Context(), task)
		if _, ok := errors.AsType[*taskkit.PreviewError](err); !ok {
			t.Errorf("the report of a task that is no preview: %v", err)
		}
		if _, err := clientOf(db).Preview(t.Context(), taskkit.ID{1}); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("the report of no task: %v", err)
		}
	})
}

// A preview cannot commit by a statement that hides in what looks like a string: a
// string after a line break continues an escape string of PostgreSQL's. SQLite has no
// such strings and refuses the text.
func TestPreviewRefusesHiddenCommit(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeSeats(t, db, 4)
		before := seats(t, db)
		k := seatKind(2)
		started(t, db, registered(k, &funcs[seatSpec, seatState]{execute: func(ctx context.Context, b *seatBatch) (taskkit.Next, error) {
			_, next := taskkit.Take(b, b.Spec.Seats)
			if _, err := b.Tx.ExecContext(ctx, "UPDATE seat SET status = 'taken'"); err != nil {
				return next, err
			}
			_, _ = b.Tx.ExecContext(ctx, "SELECT E'a'\n'\\', '; COMMIT; --'")
			return next, nil
		}}), quick(t, db))
		id := submitted(t, db, k, seatSpec{Seats: []int{0, 1, 2, 3}}, taskkit.WithPreview())
		if task := ended(t, db, id); task.Status != taskkit.StatusFailure {
			t.Errorf("ended in %s: %s", task.Status, task.StatusDetail)
		}
		if after := seats(t, db); !slices.Equal(after, before) {
			t.Errorf("the preview has changed seats: %v", after)
		}
	})
}
