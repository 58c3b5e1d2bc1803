package tasknotify_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasknotify"
	"taskkit.dev/taskkit/taskpolicy"

	"github.com/google/uuid"
)

// every are all events to which a task can subscribe.
var every = []notice.Event{notice.Started, notice.Approval, notice.Policy, notice.Throttled, notice.Ended}

// Each event of a task notifies once, in the order of the events.
func TestMID59Events(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ops := new(inbox)
		plain, broken := newKind("numbers", ""), newKind("broken", "")
		strict := taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{
			Name: "strict", BatchSize: 10, MaxBatchSize: 10, Targets: taskkind.TargetsIn("numbers", func(s *spec) *[]int { return &s.Numbers }),
		})
		started(t, db, map[string]tasknotify.Target{"ops": ops}, func(r *taskkit.Registry) {
			taskkit.Register(r, plain, &work{})
			taskkit.Register(r, broken, &work{err: taskkit.Permanent("broken", errPlanned)})
			taskkit.Register(r, strict, &work{})
		})
		client, second := clientOf(db), taskkit.WithActor(uuid.New())
		all := taskkit.WithNotifications("ops", every...)
		mark := taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Processed, AtLeast: 20}}
		past := time.Now().Add(-time.Hour)
		paused := func(t *testing.T, id taskkit.ID) {
			t.Helper()
			until(t, "the task is paused", func() bool {
				task := task(t, db, id)
				return task.Control == taskkit.ControlPause && task.Status == taskkit.StatusQueued
			})
		}
		for name, c := range map[string]struct {
			kind *taskkit.Kind[spec, state, struct{}]
			opts []taskkit.SubmitOption
			then func(t *testing.T, id taskkit.ID)
			want []notice.Event
			code string // of the last
		}{
			"completed":   {want: []notice.Event{notice.Started, notice.Completed}},
			"dead letter": {kind: broken, want: []notice.Event{notice.Started, notice.DeadLetter}, code: "broken"},
			"approval": {opts: []taskkit.SubmitOption{taskkit.WithApproval()}, then: func(t *testing.T, id taskkit.ID) {
				if _, err := client.Approve(t.Context(), id, second); err != nil {
					t.Fatal(err)
				}
			}, want: []notice.Event{notice.Approval, notice.Started, notice.Completed}},
			"canary": {opts: []taskkit.SubmitOption{taskkit.WithCanary(10)}, then: func(t *testing.T, id taskkit.ID) {
				paused(t, id)
				if _, err := client.Approve(t.Context(), id, second); err != nil {
					t.Fatal(err)
				}
			}, want: []notice.Event{notice.Started, notice.Canary, notice.Completed}},
			"stop policy": {opts: []taskkit.SubmitOption{taskkit.WithStopAfter("2")}, then: func(t *testing.T, id taskkit.ID) {
				paused(t, id)
				if _, err := client.Resume(t.Context(), id, taskkit.WithStopAfter("100")); err != nil {
					t.Fatal(err)
				}
			}, want: []notice.Event{notice.Started, notice.Policy, notice.Completed}},
			"policy notifies": {
				opts: []taskkit.SubmitOption{taskkit.WithPolicies(taskpolicy.Policy{When: mark, Do: taskpolicy.Notify})},
				want: []notice.Event{notice.Started, notice.Policy, notice.Completed},
			},
			"policy stops": {
				opts: []taskkit.SubmitOption{taskkit.WithPolicies(taskpolicy.Policy{When: mark, Do: taskpolicy.Stop})},
				want: []notice.Event{notice.Started, notice.Policy, notice.Partial},
			},
			"strategy pauses": {
				opts: []taskkit.SubmitOption{taskkit.WithStrategy(taskpolicy.Strategy{{Of: taskpolicy.Item, Do: taskpolicy.PauseTask}})},
				then: func(t *testing.T, id taskkit.ID) {
					paused(t, id)
					if _, err := client.Stop(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}, want: []notice.Event{notice.Started, notice.Policy, notice.Partial},
			},
			"late": {opts: []taskkit.SubmitOption{taskkit.WithDeadline(past)}, want: []notice.Event{notice.Late}, code: "deadline_exceeded"},
			"stopped before it began": {
				opts: []taskkit.SubmitOption{taskkit.WithDelay(time.Hour)},
				then: func(t *testing.T, id taskkit.ID) {
					if _, err := client.Stop(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}, want: []notice.Event{notice.Partial},
			},
			"deleted": {opts: []taskkit.SubmitOption{taskkit.WithDelay(time.Hour)}, then: func(t *testing.T, id taskkit.ID) {
				if _, err := client.Delete(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				kind := c.kind
				if kind == nil {
					kind = plain
				}
				id := submitted(t, db, kind, below(40), append(c.opts, all)...)
				if c.then != nil {
					c.then(t, id)
				}
				if name != "deleted" {
					ended(t, db, id)
				}
				if n := len(deliveries(t, db, id)); n != len(c.want) {
					t.Errorf("%d tasks deliver, want %d", n, len(c.want))
				}
				sent := ops.of(id)
				slices.SortFunc(sent, func(a, b tasknotify.Message) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
				var got []notice.Event
				for _, m := range sent {
					got = append(got, m.Event)
				}
				if !slices.Equal(got, c.want) {
					t.Fatalf("notified of %v, want %v", got, c.want)
				}
				if n := len(sent); n > 0 && sent[n-1].Code != c.code {
					t.Errorf("code %q, want %q", sent[n-1].Code, c.code)
				}
			})
		}
	})
}

// A subscription has its events and no others, the option adds to the directive, and replaces the events of its target.
func TestMID59Subscriptions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		targets := map[string]tasknotify.Target{}
		boxes := make(map[string]*inbox)
		for _, name := range []string{"ops", "owner", "started"} {
			boxes[name] = new(inbox)
			targets[name] = boxes[name]
		}
		kind := newKind("numbers", "ops:dead_letter,owner")
		started(t, db, targets, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		byKind := submitted(t, db, kind, below(5))
		both := submitted(t, db, kind, below(5), taskkit.WithNotifications("started", notice.Started), taskkit.WithNotifications("ops", notice.Completed))
		for id, want := range map[taskkit.ID]map[string]int{byKind: {"ops": 0, "owner": 1, "started": 0}, both: {"ops": 1, "owner": 1, "started": 1}} {
			ended(t, db, id)
			deliveries(t, db, id)
			for name, n := range want {
				if got := len(boxes[name].of(id)); got != n {
					t.Errorf("target %s has %d notifications of %s, want %d", name, got, id, n)
				}
			}
		}
		// A task that is made from another notifies too.
		if failed := submitted(t, db, kind, below(5), taskkit.WithNotifications("started", notice.Partial)); true {
			ended(t, db, failed)
			again, err := clientOf(db).RetryFailed(t.Context(), failed)
			if err != nil {
				t.Fatal(err)
			}
			ended(t, db, again)
			if n := len(deliveries(t, db, again)); n != 1 {
				t.Errorf("a task that follows has %d notifications, want the one of its owner", n)
			}
		}
	})
}

// A worker that passes on leaves a notification to a target of another worker waiting.
func TestMID59PassOn(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		kind := newKind("numbers", "")
		startedWith(t, db, tasknotify.Config{Targets: map[string]tasknotify.Target{"ops": new(inbox)}, PassOn: true}, func(r *taskkit.Registry) {
			taskkit.Register(r, kind, &work{})
		})
		id := submitted(t, db, kind, below(5), taskkit.WithNotifications("other"))
		ended(t, db, id)
		until(t, "the notification waits for another worker", func() bool {
			page, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{Kinds: []string{notice.Kind}, Follows: id})
			if err != nil {
				t.Fatal(err)
			}
			return len(page) == 1 && page[0].Status == taskkit.StatusQueued && page[0].WaitingReason == "for a worker with the target other"
		})
	})
}

// A target that no worker has makes its notification a dead letter, which can be retried; nothing else waits for it.
func TestMID59UnknownTarget(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		kind := newKind("numbers", "")
		started(t, db, map[string]tasknotify.Target{"ops": new(inbox)}, func(r *taskkit.Registry) { taskkit.Register(r, kind, &work{}) })
		id := submitted(t, db, kind, below(5), taskkit.WithNotifications("nobody"))
		ended(t, db, id)
		all := deliveries(t, db, id)
		if len(all) != 1 || all[0].Status != taskkit.StatusFailure || all[0].Follows != id || all[0].Owner != taskkit.SystemOwner {
			t.Fatalf("delivered by %+v", all)
		}
		const want = "unknown_target: there is no target nobody in tasknotify.Config.Targets, only ops: add it and retry the task"
		if got := task(t, db, all[0].ID).StatusDetail; got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	})
}
