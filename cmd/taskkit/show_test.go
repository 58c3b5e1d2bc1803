package main_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"

	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/gen/sendemailtask"
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

// The JSON of the commands has what operators need and the JSON of a task lacks: the error, and where one task is printed
// its spec and state.
func TestJSONForOperators(t *testing.T) {
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
		taskkit.Register(&r, exportcaseloadtask.Kind, refusing{})
		s.serve(t, &r)
		const spec, state, failed = `"format": "csv"`, `"state": {`, `"status_detail": "no_format: planned"`
		for _, c := range []struct{ args, want []string }{
			{[]string{"watch", id.String()}, []string{spec, state, failed}},
			{[]string{"show", id.String()}, []string{spec, state, failed}},
			{[]string{"ls"}, []string{failed}},
			{[]string{"dead", "show"}, []string{failed}},
			{[]string{"retry", id.String()}, []string{spec, state}},
		} {
			_, out, errs := ran(t, s.args(append(c.args, "-o", "json")...)...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("taskkit %v: no %s in %s%s", c.args, want, out, errs)
				}
			}
		}
	})
}

// refusing is an executor that fails.
type refusing struct{ reporting }

func (refusing) Segments(context.Context, *taskkit.Batch[exportcaseload.Spec, exportcaseload.State]) (*segment.Plan, error) {
	return nil, taskkit.Permanent("no_format", errors.New("planned"))
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

func (reporting) Merge(*exportcaseload.State, exportcaseload.State) error { return nil }

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
