package bulkkills_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskkind"
)

const (
	// tasks are the targets of the short form, and longTasks of the long one.
	tasks, longTasks = 1500, 100_000
	// tasksInSecond are the targets of the long form for each second that it has.
	tasksInSecond = 200
	// kills are how often a worker is killed while it has the bulk operation.
	kills = 2
	// others are tasks of another kind.
	others = 10
)

var kind = taskkit.NewKind(taskkind.Definition[struct{}, struct{}, struct{}]{Name: "target"})

var other = taskkit.NewKind(taskkind.Definition[struct{}, struct{}, struct{}]{Name: "other"})

func TestMain(m *testing.M) {
	workers.Main(m, 8, func(_ workers.Args, r *taskkit.Registry) taskkit.Config {
		taskbulk.Register(r)
		return taskkit.Config{
			Slots: 2, Heartbeat: 300 * time.Millisecond, DeadAfter: 4 * time.Second, BatchTimeout: 3 * time.Second, BatchTarget: 100 * time.Millisecond,
			Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond,
			Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000, Logger: slog.New(slog.DiscardHandler),
		}
	})
}

// Workers are killed in the middle of a bulk operation, and others go on: each task of the frozen set is stopped once.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		a := workers.On(db)
		if err := taskkit.Migrate(t.Context(), db.DB, a.Schema); err != nil {
			t.Fatal(err)
		}
		n := tasks
		if budget, long := prove.Budget(t); long { // a worker stops some hundreds in a second
			n = min(max(tasks, int(budget.Seconds())*tasksInSecond), longTasks)
		}
		in := []taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(a.Schema), taskkit.WithQueue("elsewhere")}
		for of, count := range map[*taskkit.Kind[struct{}, struct{}, struct{}]]int{kind: n, other: others} {
			if _, err := taskkit.SubmitMany(t.Context(), db.DB, of, make([]struct{}, count), in...); err != nil {
				t.Fatal(err)
			}
		}
		client, person := taskkit.NewClient(db.DB, taskkit.WithSchema(a.Schema)), uuid.New()
		began := time.Now()
		id, frozen, err := taskbulk.Submit(t.Context(), db.DB, taskbulk.Request{
			Verb: taskbulk.Stop, Filter: taskkit.Filter{Kinds: []string{kind.Name()}}, Reason: "wrong", Actor: person,
		}, taskkit.WithSchema(a.Schema))
		if err != nil || frozen != int64(n) {
			t.Fatalf("%d frozen, %v", frozen, err)
		}
		freezing := time.Since(began)
		until := func(what string, is func(task *taskkit.Task) bool) *taskkit.Task {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(4+n/1000)*testdb.Patience(t))
			defer cancel()
			for {
				task, err := client.Task(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if is(task) {
					return task
				}
				select {
				case <-ctx.Done():
					t.Fatalf("%s: %s with %+v", what, task.Status, task.Progress)
				case <-time.After(5 * time.Millisecond):
				}
			}
		}
		killed := 0
		for round := range kills {
			w := workers.Launch(t, a)
			at := int64((round + 1) * n / (kills + 2))
			task := until("it is in the middle", func(task *taskkit.Task) bool { return task.Progress.Done >= at })
			w.Kill()
			if !task.Ended() {
				killed++
			}
		}
		workers.Launch(t, a)
		task := until("it ends", (*taskkit.Task).Ended)
		violations := 0
		expect := func(what string, got, want int64) {
			t.Helper()
			if got != want {
				violations++
				t.Errorf("%s: %d, want %d", what, got, want)
			}
		}
		rows := func(query string, args ...any) (n int64) {
			t.Helper()
			if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		expect("kills in the middle", int64(killed), kills)
		expect("done", task.Progress.Done, int64(n))
		expect("skipped and failed", task.Progress.Skipped+task.Progress.Failed, 0)
		events := "FROM " + a.Table("taskkit_task_event") + " WHERE action = 'stop' AND actor = $1 AND reason = 'wrong'"
		expect("requests", rows("SELECT count(*) "+events, person.String()), int64(n))
		expect("tasks with a request", rows("SELECT count(DISTINCT task_id) "+events, person.String()), int64(n))
		stopped := "SELECT count(*) FROM " + a.Table("taskkit_queued_task") + " WHERE execution_component_name = $1 AND workflow_status = 'COMPLETED' AND partial"
		expect("tasks that are stopped", rows(stopped, kind.Name()), int64(n))
		expect("other tasks that are stopped", rows(stopped, other.Name()), 0)
		prove.Record(t, "bulkkills-"+db.Short(), map[string]any{
			"tasks": n, "kills": killed, "violations": violations, "frozen in ms": freezing.Milliseconds(), "done in ms": time.Since(began).Milliseconds(),
		})
	})
}
