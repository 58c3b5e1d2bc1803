package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// situations are the states in which a task can receive a request, with SQL that
// brings a task there without a worker and that the triggers accept.
var situations = []string{"QUEUED", "QUEUED claimed before", "QUEUED paused", "SCHEDULING", "EXECUTING", "COMPLETED", "COMPLETED stopped", "ERROR", "FAILURE"}

// table returns the qualified name of a table of taskkit.
func table(db *testdb.DB, name string) string {
	if db.Dialect == dialect.Postgres {
		return schemaOf(db) + "." + name
	}
	return name
}

// bring brings a fresh task into a situation.
func bring(tb testing.TB, db *testdb.DB, situation string) taskkit.ID {
	tb.Helper()
	id := submitted(tb, db, countKind, countSpec{Items: 5})
	set := func(change string) {
		tb.Helper()
		if _, err := db.ExecContext(tb.Context(), "UPDATE "+table(db, "taskkit_queued_task")+" SET "+change+" WHERE id = $1", id.String()); err != nil {
			tb.Fatalf("bring a task to %s: %v", situation, err)
		}
	}
	now := dialect.Either("clock_timestamp()", "strftime('%Y-%m-%d %H:%M:%f','now')")
	claim := func() {
		set("workflow_status = 'SCHEDULING', fence = fence + 1, attempts = attempts + 1, scheduled_by_process = 'alive', scheduling_started_date = " + now)
	}
	start := func() { set("workflow_status = 'EXECUTING', execution_started_date = " + now) }
	end := func(status string) {
		set("workflow_status = '" + status + "', scheduled_by_process = NULL, workflow_status_desc = 'code: detail', workflow_stopped_date = " + now)
	}
	word, more, _ := strings.Cut(situation, " ")
	switch {
	case situation == "QUEUED paused":
		set("control = 'PAUSE'")
	case situation == "QUEUED claimed before":
		claim()
		set("workflow_status = 'QUEUED', scheduled_by_process = NULL")
	case word == "SCHEDULING":
		claim()
	case word == "EXECUTING":
		claim()
		start()
	case word == "COMPLETED" || word == "ERROR" || word == "FAILURE":
		claim()
		start()
		if more == "stopped" {
			set("partial = true")
		}
		end(word)
	}
	return id
}

// registerRow inserts the row of a live worker that knows the kind and that the tasks
// which bring put into flight belong to.
func registerRow(tb testing.TB, db *testdb.DB) {
	tb.Helper()
	_, err := db.ExecContext(tb.Context(), "INSERT INTO "+table(db, "taskkit_task_process")+
		" (id, version, dead_after_ms, kinds, queues, slots) VALUES ('alive', '0', 3600000, '{\"count\":[1]}', '[\"default\"]', 1)")
	if err != nil {
		tb.Fatalf("enrol: %v", err)
	}
}

// Every request in every situation has the expected outcome or typed error.
func TestClientRequests(t *testing.T) {
	t.Parallel()
	type result struct {
		status  taskkit.Status
		control taskkit.Control // or "partial"
	}
	refused, gone := result{"refused", ""}, result{"gone", ""}
	queued, stopping, deleting := result{taskkit.StatusQueued, ""}, result{taskkit.StatusQueued, taskkit.ControlStop}, result{taskkit.StatusQueued, taskkit.ControlDelete}
	stopped := result{taskkit.StatusCompleted, "partial"}
	done, failed, erred := result{taskkit.StatusCompleted, ""}, result{taskkit.StatusFailure, ""}, result{taskkit.StatusError, ""}
	held := func(s taskkit.Status, c taskkit.Control) result { return result{s, c} }

	want := map[string]map[string]result{
		"stop": {
			"QUEUED": stopped, "QUEUED claimed before": stopping, "QUEUED paused": stopped,
			"SCHEDULING": held(taskkit.StatusScheduling, taskkit.ControlStop), "EXECUTING": held(taskkit.StatusExecuting, taskkit.ControlStop),
			"COMPLETED": done, "COMPLETED stopped": stopped, "ERROR": erred, "FAILURE": failed,
		},
		"pause": {
			"QUEUED": result{taskkit.StatusQueued, taskkit.ControlPause}, "QUEUED claimed before": result{taskkit.StatusQueued, taskkit.ControlPause},
			"QUEUED paused": result{taskkit.StatusQueued, taskkit.ControlPause},
			"SCHEDULING":    held(taskkit.StatusScheduling, taskkit.ControlPause), "EXECUTING": held(taskkit.StatusExecuting, taskkit.ControlPause),
			"COMPLETED": refused, "COMPLETED stopped": refused, "ERROR": refused, "FAILURE": refused,
		},
		"resume": {
			"QUEUED": refused, "QUEUED claimed before": refused, "QUEUED paused": queued,
			"SCHEDULING": refused, "EXECUTING": refused,
			"COMPLETED": refused, "COMPLETED stopped": refused, "ERROR": refused, "FAILURE": refused,
		},
		"retry": {
			"QUEUED": refused, "QUEUED claimed before": refused, "QUEUED paused": refused,
			"SCHEDULING": refused, "EXECUTING": refused,
			"COMPLETED": refused, "COMPLETED stopped": refused, "ERROR": queued, "FAILURE": queued,
		},
		"delete": {
			"QUEUED": gone, "QUEUED claimed before": deleting, "QUEUED paused": gone,
			"SCHEDULING": held(taskkit.StatusScheduling, taskkit.ControlDelete), "EXECUTING": held(taskkit.StatusExecuting, taskkit.ControlDelete),
			"COMPLETED": gone, "COMPLETED stopped": gone, "ERROR": gone, "FAILURE": gone,
		},
		"approve": {
			"QUEUED": refused, "QUEUED claimed before": refused, "QUEUED paused": refused,
			"SCHEDULING": refused, "EXECUTING": refused,
			"COMPLETED": refused, "COMPLETED stopped": refused, "ERROR": refused, "FAILURE": refused,
		},
		"change": {
			"QUEUED": queued, "QUEUED claimed before": queued, "QUEUED paused": held(taskkit.StatusQueued, taskkit.ControlPause),
			"SCHEDULING": held(taskkit.StatusScheduling, ""), "EXECUTING": held(taskkit.StatusExecuting, ""),
			"COMPLETED": refused, "COMPLETED stopped": refused, "ERROR": refused, "FAILURE": refused,
		},
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		registerRow(t, db)
		c := clientOf(db)
		actor := uuid.New()
		for action, byName := range map[string]func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error){
			"stop": c.Stop, "pause": c.Pause, "resume": c.Resume, "retry": c.Retry, "delete": c.Delete, "approve": c.Approve,
			"change": func(ctx context.Context, id taskkit.ID, opts ...taskkit.RequestOption) (*taskkit.Task, error) {
				return c.Change(ctx, id, taskkit.Settings{StopAfter: "5%"}, opts...)
			},
		} {
			for _, situation := range situations {
				id := bring(t, db, situation)
				before, err := c.Task(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				_, err = byName(t.Context(), id, taskkit.WithActor(actor), taskkit.WithReason("a test"))
				var got result
				var state *taskkit.StateError
				after, rerr := c.Task(t.Context(), id)
				switch {
				case errors.As(err, &state):
					got = refused
					if rerr != nil || after.Status != before.Status || after.Control != before.Control {
						t.Errorf("%s of %s was refused and changed the task: %+v %v", action, situation, after, rerr)
					}
					if state.Action != action || state.ID != id {
						t.Errorf("%s of %s: %+v", action, situation, state)
					}
				case err != nil:
					t.Errorf("%s of %s: %v", action, situation, err)
					continue
				case errors.Is(rerr, taskkit.ErrNotFound):
					got = gone
				default:
					got = result{after.Status, after.Control}
					if after.Partial {
						got.control += "partial"
					}
				}
				if w := want[action][situation]; got != w {
					t.Errorf("%s of %s: %+v, want %+v", action, situation, got, w)
				}
				events, err := c.Events(t.Context(), id, 10)
				if err != nil {
					t.Fatal(err)
				}
				if got != refused && (len(events) != 1 || events[0].Actor != actor || !strings.HasSuffix(events[0].Reason, "a test") || events[0].FromStatus != before.Status) {
					t.Errorf("%s of %s left the events %+v", action, situation, events)
				}
			}
		}
		if _, err := c.Stop(t.Context(), uuid.New()); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("stop of no task: %v", err)
		}
	})
}

// Change of the priority changes what is claimed next, and nothing of a task that has ended.
func TestChangePriority(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := clientOf(db)
		id := bring(t, db, "QUEUED")
		task, err := c.Change(t.Context(), id, taskkit.Settings{Priority: taskkit.PriorityHigh}, taskkit.WithReason("it is urgent"))
		if err != nil || task.Priority != taskkit.PriorityHigh {
			t.Errorf("set: %+v, %v", task, err)
		}
		events, err := c.Events(t.Context(), id, 10)
		if err != nil || len(events) != 1 || events[0].Action != "change" || events[0].Reason != "priority 1: it is urgent" {
			t.Errorf("events %+v, %v", events, err)
		}
		var option *taskkit.OptionError
		for _, p := range []taskkit.Priority{0, 5} {
			if _, err := c.Change(t.Context(), id, taskkit.Settings{Priority: p}); !errors.As(err, &option) {
				t.Errorf("priority %d: %v", p, err)
			}
		}
		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		var state *taskkit.StateError
		if _, err := c.Change(t.Context(), id, taskkit.Settings{Priority: taskkit.PriorityIdle}); !errors.As(err, &state) {
			t.Errorf("of a task that has ended: %v", err)
		}
		if _, err := c.Change(t.Context(), uuid.New(), taskkit.Settings{Priority: taskkit.PriorityIdle}); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("of no task: %v", err)
		}
	})
}

// Requests reach tasks that no worker can run.
func TestClientRequestsWithoutWorker(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		// and no worker is registered: the process that has the tasks in flight does not exist
		c := clientOf(db)
		for _, situation := range []string{"QUEUED claimed before", "SCHEDULING", "EXECUTING"} {
			id := bring(t, db, situation)
			task, err := c.Stop(t.Context(), id)
			if err != nil || !task.Partial {
				t.Errorf("stop of %s without a worker: %+v, %v", situation, task, err)
			}
			id = bring(t, db, situation)
			if _, err := c.Delete(t.Context(), id); err != nil {
				t.Errorf("delete of %s without a worker: %v", situation, err)
			}
			if _, err := c.Task(t.Context(), id); !errors.Is(err, taskkit.ErrNotFound) {
				t.Errorf("delete of %s without a worker left it: %v", situation, err)
			}
		}
	})
}

// A request for a running task takes effect at the next batch boundary.
func TestClientRunningTask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		boundary, entered := make(chan struct{}), make(chan struct{}, 100)
		endings := make(chan string, 10)
		x := &aborting[countSpec, countState]{
			funcs: funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
				entered <- struct{}{}
				select {
				case <-boundary:
				case <-ctx.Done():
					return taskkit.More, ctx.Err()
				}
				b.State.Next++
				b.Advance(1)
				return taskkit.More, nil
			}},
			abort: func(_ context.Context, b *countBatch) error {
				endings <- fmt.Sprint("abort ", b.EndReason(), " at ", b.State.Next)
				return nil
			},
			report: func(_ context.Context, b *countBatch) (string, error) {
				endings <- fmt.Sprint("report ", b.EndReason(), " at ", b.State.Next)
				return "so far", nil
			},
		}
		cfg := quick(t, db)
		started(t, db, registered[countSpec, countState](k, x), cfg)
		c := clientOf(db)
		// running returns a task that is inside its second batch.
		running := func() taskkit.ID {
			id := submitted(t, db, k, countSpec{})
			<-entered
			boundary <- struct{}{}
			<-entered
			return id
		}
		status := func(id taskkit.ID) taskkit.Status {
			task, err := c.Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return task.Status
		}

		id := running()
		if _, err := c.Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		boundary <- struct{}{}
		until(t, "paused", func() bool { return status(id) == taskkit.StatusQueued })
		if why, err := c.Explain(t.Context(), id); err != nil || !strings.Contains(why.Text, "paused") {
			t.Errorf("explain of a paused task: %q, %v", why, err)
		}
		if _, err := c.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		<-entered
		until(t, "running again", func() bool { return status(id) == taskkit.StatusExecuting })
		if why, err := c.Explain(t.Context(), id); err != nil || !strings.Contains(why.Text, "running on") {
			t.Errorf("explain of a running task: %q, %v", why, err)
		}

		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		boundary <- struct{}{}
		task := ended(t, db, id)
		if !task.Partial || task.Progress.Done != 3 {
			t.Errorf("stopped task: %s with %+v, want COMPLETED, partial, 3 done", task.Status, task.Progress)
		}
		if got, want := []string{<-endings, <-endings}, []string{"abort stopped at 3", "report stopped at 3"}; !slices.Equal(got, want) {
			t.Errorf("the end called %v, want %v", got, want)
		}
		if raw, err := c.Result(t.Context(), id); err != nil || string(raw) != `"so far"` {
			t.Errorf("result %s, %v", raw, err)
		}

		id = running()
		if _, err := c.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		boundary <- struct{}{}
		until(t, "deleted", func() bool {
			_, err := c.Task(t.Context(), id)
			return errors.Is(err, taskkit.ErrNotFound)
		})
		if got := <-endings; got != "abort deleted at 2" {
			t.Errorf("the delete called %q", got)
		}
	})
}

// Tasks are listed newest first, by keyset, and found by part of their id.
func TestClientFindsTasks(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := clientOf(db)
		var id *taskkit.IDError
		if _, err := c.Resolve(t.Context(), "@last"); !errors.As(err, &id) {
			t.Errorf("@last of nothing: %v", err)
		}
		owner := uuid.New()
		var ids []taskkit.ID
		for i := range 25 {
			opts := []taskkit.SubmitOption{}
			if i%5 == 0 {
				opts = append(opts, taskkit.OwnedBy(owner))
			}
			ids = append(ids, submitted(t, db, countKind, countSpec{Items: i}, opts...))
		}
		var got []taskkit.ID
		for page := (taskkit.Filter{Limit: 10}); ; {
			tasks, _, err := c.Tasks(t.Context(), page)
			if err != nil {
				t.Fatal(err)
			}
			if len(tasks) == 0 {
				break
			}
			for _, task := range tasks {
				got = append(got, task.ID)
			}
			page.Before = got[len(got)-1]
		}
		slices.Reverse(got)
		if !slices.Equal(got, ids) {
			t.Errorf("paged through %v, want %v", got, ids)
		}
		mine, _, err := c.Tasks(t.Context(), taskkit.Filter{Owner: owner})
		if err != nil || len(mine) != 5 {
			t.Errorf("%d tasks of an owner, want 5 (%v)", len(mine), err)
		}
		last := ids[len(ids)-1]
		for text, want := range map[string]taskkit.ID{
			"@last": last, last.String(): last, last.String()[24:]: last, strings.ToUpper(last.String()[26:]): last,
		} {
			if got, err := c.Resolve(t.Context(), text); err != nil || got != want {
				t.Errorf("resolve %q: %v, %v; want %v", text, got, err, want)
			}
		}
		for _, text := range []string{"", "abc", "zzzz", "%%%%", last.String()[:8], "@first", last.String()[:35] + "x"} {
			if got, err := c.Resolve(t.Context(), text); !errors.As(err, &id) {
				t.Errorf("resolve %q: %v, %v; want *IDError", text, got, err)
			}
		}
		for _, f := range []taskkit.Filter{{Statuses: []taskkit.Status{"LOST"}}} {
			var option *taskkit.OptionError
			if _, _, err := c.Tasks(t.Context(), f); !errors.As(err, &option) {
				t.Errorf("filter %+v: %v, want *OptionError", f, err)
			}
		}
	})
}
