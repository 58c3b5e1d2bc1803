package taskkit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskops"
)

// A task that is due ends when no worker has known its kind for Config.UnknownKindAfter, and is a dead letter, which
// continues once a worker knows it again. It no longer waits for its children, and its own parent goes on.
func TestUnknownKindAfter(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		f := newFamily("unknown", taskkit.ContinueParent, func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.Later(5 * time.Millisecond), nil
		})
		top := familyKind("top")
		all := &f.reg
		submitOne := &funcs[familySpec, familyState]{execute: func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
			if b.State.Submitted {
				return taskkit.Done, nil
			}
			b.State.Submitted = true
			_, err := taskkit.Submit(ctx, b.Tx, f.parent, familySpec{Children: 2}, taskkit.WithParent(b.Task))
			return taskkit.AwaitChildren(0, taskkit.PauseParent), err
		}}
		taskkit.Register(all, top, submitOne)
		stop := started(t, db, all, quick(t, db))
		c, ctx := clientOf(db), t.Context()
		above := submitted(t, db, top, familySpec{})
		var id taskkit.ID
		until(t, "the parent waits for its children", func() bool {
			for _, child := range childrenOf(t, db, above) {
				id = child.ID
				task, err := c.Task(ctx, id)
				return err == nil && task.Status == taskkit.StatusQueued && strings.HasPrefix(task.WaitingReason, "waits for its children")
			}
			return false
		})
		stop()

		var known taskkit.Registry
		taskkit.Register(&known, f.child, &funcs[countSpec, countState]{execute: doneAtOnce})
		taskkit.Register(&known, top, submitOne)
		config, r := quick(t, db), &recorder{}
		config.Observer, config.UnknownKindAfter = r, 50*time.Millisecond
		config.DeadAfter, config.BatchTimeout = 10*time.Second, 5*time.Second
		stop = started(t, db, &known, taskkit.CleanEvery(config, 10*time.Millisecond))
		task := ended(t, db, id)
		if task.Status != taskkit.StatusError || !strings.HasPrefix(task.StatusDetail, "unknown_kind: ") || task.Children.Completed != 2 {
			t.Errorf("%s %q with the children %+v", task.Status, task.StatusDetail, task.Children)
		}
		if attempts, err := c.Attempts(ctx, id, 10); err != nil || len(attempts) != 0 {
			t.Errorf("attempts %+v, %v", attempts, err)
		}
		if why, err := c.Explain(ctx, id); err != nil || !strings.Contains(why.Text, "no live worker that serves its queue has known its kind") {
			t.Errorf("explain: %q, %v", why, err)
		}
		until(t, "the parent of the task is paused, because it failed", func() bool {
			task, err := c.Task(ctx, above)
			return err == nil && task.Control == taskkit.ControlPause
		})
		var waits int
		if err := db.QueryRow("SELECT count(*) FROM "+table(db, "taskkit_task_parent")+" WHERE waits AND task_id = $1", id.String()).Scan(&waits); err != nil || waits != 0 {
			t.Errorf("%d tasks that have ended wait for their children, %v", waits, err)
		}
		var unknown, over int
		until(t, "the worker says that it has ended the task", func() bool {
			unknown, over = 0, 0
			for _, e := range r.all() {
				switch e := e.(type) {
				case taskevent.KindUnknown:
					if unknown++; e.Kind != "unknown" || e.Queue != "default" || e.Tasks != 1 {
						t.Errorf("%+v", e)
					}
				case taskevent.UnknownKindsEnded:
					over += e.Tasks
				}
			}
			return over > 0
		})
		stop()
		if unknown != 1 || over != 1 {
			t.Errorf("%d kinds were reported, and %d tasks ended", unknown, over)
		}

		started(t, db, all, quick(t, db))
		report, err := taskops.New(c).RetryDead(ctx, taskops.DeadFilter{Code: "unknown_kind", Children: true})
		if err != nil || report.Done != 1 || report.Refused != 0 {
			t.Errorf("retry: %+v, %v", report, err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("after the retry it is %s %q", task.Status, task.StatusDetail)
		}
		if _, err := c.Resume(ctx, above); err != nil {
			t.Error(err)
		}
		if task := ended(t, db, above); task.Status != taskkit.StatusCompleted {
			t.Errorf("its parent is %s %q", task.Status, task.StatusDetail)
		}
	})
}

// A kind of which no task waits any more is forgotten after a day, and not reported again, also while another one is
// unknown.
func TestUnknownKindForgotten(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		config, r := quick(t, db), &recorder{}
		config.Observer = r
		started(t, db, registered(countKind, counting("w")), taskkit.CleanEvery(config, 10*time.Millisecond))
		submitted(t, db, newKind[countSpec, countState]("stays", 10), countSpec{})
		gone := submitted(t, db, newKind[countSpec, countState]("goes", 10), countSpec{})
		c := clientOf(db)
		kinds := func() (names []string) {
			queues, err := taskops.New(c).Queues(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range queues {
				for _, k := range q.UnknownKinds {
					names = append(names, k.Kind)
				}
			}
			return names
		}
		recorded := func(kind string) (rows int) {
			if err := db.QueryRow("SELECT count(*) FROM "+table(db, "taskkit_unknown_kind")+" WHERE execution_component_name = $1 AND reported_date IS NOT NULL", kind).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			return rows
		}
		until(t, "both kinds are unknown, and a worker has recorded it", func() bool {
			return strings.Join(kinds(), " ") == "goes stays" && recorded("goes") == 1 && recorded("stays") == 1
		})
		if _, err := c.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		ago := "clock_timestamp() - interval '2 days'"
		if db.Dialect == dialect.SQLite {
			ago = "strftime('%Y-%m-%d %H:%M:%f', 'now', '-2 days')"
		}
		until(t, "it is forgotten", func() bool {
			executeSQL(t, db.DB, "UPDATE "+table(db, "taskkit_unknown_kind")+" SET last_seen_date = "+ago+", reported_date = "+ago+" WHERE execution_component_name = 'goes'")
			return recorded("goes") == 0 && strings.Join(kinds(), " ") == "stays"
		})
		reported := make(map[string]int)
		for _, e := range r.all() {
			if e, ok := e.(taskevent.KindUnknown); ok {
				reported[e.Kind]++
			}
		}
		if reported["stays"] != 1 || reported["goes"] != 1 {
			t.Errorf("reported %v", reported)
		}
	})
}
