package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// A submission gives a stage of a composite task further options, and a stage of a stage too.
func TestMID33StageOptions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "tailored_rows", 100)
		step, parts := newKind[stepSpec, countState]("tailored_step", 10), rowsKind("tailored_rows")
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "tailored", Stages: true})
		outer := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "tailored_outer", Stages: true})
		var reg taskkit.Registry
		taskkit.Register(&reg, step, &funcs[stepSpec, countState]{execute: func(context.Context, *taskkit.Batch[stepSpec, countState]) (taskkit.Next, error) {
			return taskkit.Done, nil
		}})
		taskkit.Register(&reg, parts, &rowsExecutor{table: "tailored_rows"})
		taskkit.Register(&reg, composite, &listedStages{stages: []taskkit.Stage{
			taskkit.NewStage("first", step, stepSpec{"first"}, taskkit.WithPriority(taskkit.PriorityLow), taskkit.WithReason("by the code")),
			taskkit.NewStage("rows", parts, rowsSpec{Rows: 100, Buckets: 4}, taskkit.WithLimit("rows", 5), taskkit.WithStopAfter("5%")),
		}})
		taskkit.Register(&reg, outer, &listedStages{stages: []taskkit.Stage{taskkit.NewStage("inner", composite, familySpec{})}})
		c := quick(t, db)
		c.Queues = []string{"default", "night"}
		started(t, db, &reg, c)

		tailored := []taskkit.SubmitOption{
			taskkit.WithStage("first", taskkit.WithPriority(taskkit.PriorityHigh), taskkit.WithQueue("night")),
			taskkit.WithStage("rows", taskkit.WithMaxParallel(1), taskkit.WithLimit("rows", 2), taskkit.WithLimit("more", 3), taskkit.WithStopAfter("7")),
		}
		check := func(id taskkit.ID) {
			t.Helper()
			stages := childrenOf(t, db, id)
			if len(stages) != 2 {
				t.Fatalf("%d stages", len(stages))
			}
			if first := mustTask(t, db, stages[0].ID); first.Priority != taskkit.PriorityHigh || first.Queue != "night" || first.Reason != "by the code" {
				t.Errorf("the first stage has priority %d, queue %q and reason %q", first.Priority, first.Queue, first.Reason)
			}
			if options := optionsOf(t, db, stages[1].ID); !strings.Contains(options, `"max_parallel":1`) || !strings.Contains(options, `"rows","at_most":2`) ||
				!strings.Contains(options, `"more","at_most":3`) || !strings.Contains(options, `"failed":7`) || strings.Contains(options, "percent") {
				t.Errorf("the second stage has the options %s", options)
			}
		}
		id := submitted(t, db, composite, familySpec{}, tailored...)
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Done != 100 {
			t.Fatalf("the task ended in %s: %s", task.Status, task.StatusDetail)
		}
		check(id)
		id = submitted(t, db, outer, familySpec{}, taskkit.WithStage("inner", tailored...))
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Fatalf("the outer task ended in %s: %s", task.Status, task.StatusDetail)
		}
		check(childrenOf(t, db, id)[0].ID)

		// What only the stages can say ends the task before its first one.
		for problem, o := range map[string]taskkit.SubmitOption{
			`stage "other": WithStage has given it options`: taskkit.WithStage("other", taskkit.WithMaxRate(5)),
			"WithDryRun":  taskkit.WithStage("first", taskkit.WithDryRun()),
			"WithPreview": taskkit.WithStage("first", taskkit.WithPreview()),
		} {
			task := ended(t, db, submitted(t, db, composite, familySpec{}, o))
			if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "stages: ") || !strings.Contains(task.StatusDetail, problem) || task.Children != nil {
				t.Errorf("%s: the task ended in %s: %s", problem, task.Status, task.StatusDetail)
			}
		}
	})
}

// optionsOf returns the options of a task as they are stored, in the form of JSON without spaces.
func optionsOf(t *testing.T, db *testdb.DB, id taskkit.ID) (options string) {
	t.Helper()
	table := "taskkit_task_plan"
	if db.Dialect == dialect.Postgres {
		table = fmt.Sprintf("%q.%s", schemaOf(db), table)
	}
	rows, err := db.DB.QueryContext(t.Context(), "SELECT CAST(options AS text) FROM "+table+" WHERE task_id = $1", id.String())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&options); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(options, " ", "")
}

// Options that a stage cannot have, and stages that a task cannot have, are refused at the submission.
func TestMID33StageOptionsRefused(t *testing.T) {
	t.Parallel()
	composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "tailored", Stages: true})
	plain := newKind[stepSpec, countState]("untailored", 10)
	rate := taskkit.WithMaxRate(5)
	submit := func(o ...taskkit.SubmitOption) error {
		_, err := taskkit.Submit(t.Context(), new(sql.DB), composite, familySpec{}, append(o, taskkit.System())...)
		return err
	}
	var option *taskkit.OptionError
	if _, err := taskkit.Submit(t.Context(), new(sql.DB), plain, stepSpec{}, taskkit.System(), taskkit.WithStage("a", rate)); !errors.As(err, &option) || option.Option != "WithStage" {
		t.Errorf("of a kind without stages: %v", err)
	}
	for want, o := range map[string]taskkit.SubmitOption{
		"WithStage":          taskkit.WithStage("no name", rate),
		"WithStage ":         taskkit.WithStage("a"),
		"WithStage  ":        taskkit.SubmitOptions(taskkit.WithStage("a", rate), taskkit.WithStage("a", rate)),
		"OwnedBy":            taskkit.WithStage("a", taskkit.OwnedBy(uuid.New())),
		"RunAs":              taskkit.WithStage("a", taskkit.RunAs(uuid.New())),
		"WithActor":          taskkit.WithStage("a", taskkit.WithActor(uuid.New())),
		"WithPredecessor":    taskkit.WithStage("a", taskkit.WithPredecessor(uuid.New())),
		"WithTotal":          taskkit.WithStage("a", taskkit.WithTotal(3)),
		"WithUniqueKey":      taskkit.WithStage("a", taskkit.WithUniqueKey("k")),
		"WithCoalescing":     taskkit.WithStage("a", taskkit.WithCoalescing("k")),
		"WithDelay":          taskkit.WithStage("a", taskkit.WithDelay(time.Second)),
		"WithMaxRate":        taskkit.WithStage("a", taskkit.WithMaxRate(-1)),
		"WithIdempotencyKey": taskkit.WithStage("a", taskkit.WithStage("b", taskkit.WithIdempotencyKey("k"))),
	} {
		if err := submit(o); !errors.As(err, &option) || option.Option != strings.TrimSpace(want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
