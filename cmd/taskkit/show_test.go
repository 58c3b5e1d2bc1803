package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// A table shows the beginning of a long spec, and JSON all of it.
func TestShowLongSpec(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		body := strings.Repeat("x", 100_000)
		id, err := sendemailtask.Submit(t.Context(), db.DB, sendemail.Spec{
			Targets: targets.Targets{Query: &targets.Query{Everyone: true}}, Letter: sendemail.Letter{Subject: "long", Body: body},
		}, taskkit.System(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		status, out, errs := ran(t, s.args("show", id.String())...)
		if status != 0 || len(out) > 5000 || !strings.Contains(out, "-o json shows all") {
			t.Errorf("status %d, %d bytes: %.3000s%s", status, len(out), out, errs)
		}
		expect(t, 0, body, s.args("show", id.String(), "-o", "json")...)
	})
}

// reporting is an executor with a result, one bucket and no items.
type reporting struct{}

func (reporting) Segments(context.Context, *taskkit.Batch[exportcaseload.Spec, exportcaseload.State]) (*segment.Plan, error) {
	return segment.Numeric{Size: big.NewInt(1), Count: 1}.Plan()
}

func (reporting) Execute(context.Context, *taskkit.Batch[exportcaseload.Spec, exportcaseload.State]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

func (reporting) Report(context.Context, *taskkit.Batch[exportcaseload.Spec, exportcaseload.State]) (exportcaseload.Result, error) {
	return exportcaseload.Result{}, nil
}

// To show a task is not to fetch its result: the time until the result expires does not begin.
func TestShowIsNotFetching(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		id, err := exportcaseloadtask.Submit(t.Context(), db.DB, exportcaseload.Spec{
			Targets: targets.Targets{Query: &targets.Query{Everyone: true}}, Format: "csv",
		}, taskkit.System(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		var r taskkit.Registry
		taskkit.Register(&r, exportcaseloadtask.Kind, reporting{})
		s.serve(t, &r)
		expect(t, 0, "COMPLETED", s.args("watch", id.String())...)
		expect(t, 0, "result", s.args("show", id.String())...)
		expect(t, 0, `"result": {`, s.args("show", id.String(), "-o", "json")...)
		results := "taskkit_task_result"
		if db.Dialect == dialect.Postgres {
			results = s.schema + "." + results
		}
		var stored, fetched int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*), count(fetched_date) FROM "+results).Scan(&stored, &fetched); err != nil || stored != 1 || fetched != 0 {
			t.Errorf("%d results, %d of them fetched (%v), want 1 and 0", stored, fetched, err)
		}
	})
}

// An operator makes a task go on after the item at which it has ended.
func TestRetrySkip(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		people := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		listed, err := watchtask.Submit(t.Context(), db.DB, watch.Spec{Action: watch.Start, Targets: targets.Targets{People: people}}, taskkit.System(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		walk := s.submit(t)
		s.work(t, func(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			if b.Task == walk && b.State.Cursor.After == uuid.Nil {
				b.State.Cursor.After = people[0]
				return taskkit.More, nil
			} else if b.Task == walk {
				return taskkit.More, taskkit.Permanent("broken", errors.New("broken"))
			}
			b.Limit = 1
			taken, next := taskkit.Take(b, b.Spec.Targets.People)
			if slices.Contains(taken, people[1]) {
				return taskkit.More, taskkit.Permanent("broken", errors.New("broken"))
			}
			return next, nil
		})
		expect(t, 3, "FAILURE", s.args("watch", listed.String())...)
		expect(t, 0, "", s.args("retry", listed.String(), "--skip", "--reason", "she has no address")...)
		expect(t, 0, "COMPLETED  3/3 (100%), failed 1", s.args("watch", listed.String())...)
		_, out, _ := ran(t, s.args("items", listed.String(), "--failed", "-o", "json")...)
		var items []taskkit.Item
		if err := json.Unmarshal([]byte(out), &items); err != nil || len(items) != 1 || items[0].Code != "skipped" || items[0].Position != 2 {
			t.Errorf("failed items %s (%v), want the second one, skipped", out, err)
		}
		expect(t, 0, "she has no address", s.args("show", listed.String())...)

		expect(t, 3, "FAILURE", s.args("watch", walk.String())...)
		expect(t, 2, "no item to skip", s.args("retry", walk.String(), "--skip")...)
		expect(t, 3, "FAILURE", s.args("watch", walk.String())...) // the retry that was refused has done nothing
	})
}
