package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// numbersSpec is a list of numbers.
type numbersSpec struct {
	Numbers []int `json:"numbers"`
}

// below is the list of the numbers below n.
func below(n int) numbersSpec {
	var s numbersSpec
	for i := range n {
		s.Numbers = append(s.Numbers, i)
	}
	return s
}

// badEvery is a kind whose items are numbers, of which every n-th fails, with batches of 10.
func badEvery(name, stopAfter string) *taskkit.Kind[numbersSpec, countState, string] {
	return taskkit.NewKind(taskkind.Definition[numbersSpec, countState, string]{
		Name: name, BatchSize: 10, MaxBatchSize: 10, StopAfter: stopAfter,
		Targets: taskkind.TargetsIn("numbers", func(s *numbersSpec) *[]int { return &s.Numbers }),
	})
}

type numbersBatch = taskkit.Batch[numbersSpec, countState]

// touching touches the items of the batch, and fails every n-th.
func touching(ctx context.Context, b *numbersBatch, every int) (taskkit.Next, error) {
	items, next := taskkit.Take(b, b.Spec.Numbers)
	for _, i := range items {
		if err := touch(ctx, b.Tx, b.Task, i, i+1, "w"); err != nil {
			return next, err
		}
		if i%every == every-1 {
			b.Fail(i, errPlanned)
		}
	}
	return next, nil
}

// paused waits until a task is paused and has left its worker.
func paused(t *testing.T, db *testdb.DB, id taskkit.ID) *taskkit.Task {
	t.Helper()
	var task *taskkit.Task
	until(t, "the task is paused", func() (is bool) {
		var err error
		if task, err = clientOf(db).Task(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task.Ended() {
			t.Fatalf("the task ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		return task.Status == taskkit.StatusQueued && task.Control == taskkit.ControlPause
	})
	return task
}

// refusedState fails the test unless an error is a *StateError that says text.
func refusedState(t *testing.T, err error, text string) {
	t.Helper()
	if state, ok := errors.AsType[*taskkit.StateError](err); !ok || !strings.Contains(state.Error(), text) || (state.Condition == "") != (state.Problem == "") {
		t.Errorf("got %v, want a *StateError that says %q", err, text)
	}
}

// A task pauses with the checkpoint that reaches its limit, however it is written, and goes
// on when the limit is raised. Each item is processed once.
func TestStopAfterPauses(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		client, person := clientOf(db), uuid.New()
		for name, c := range map[string]struct {
			kind    string
			options []taskkit.SubmitOption
			execute func(context.Context, *numbersBatch) (taskkit.Next, error)
			untold  bool // the executor touches nothing
		}{
			"by_number":  {options: []taskkit.SubmitOption{taskkit.WithStopAfter("3")}},
			"by_share":   {options: []taskkit.SubmitOption{taskkit.WithStopAfter("12.5%")}},
			"by_kind":    {kind: "3"},
			"before_own": {kind: "1", options: []taskkit.SubmitOption{taskkit.WithStopAfter("3")}},
			"with_total": {options: []taskkit.SubmitOption{taskkit.WithStopAfter("3"), taskkit.WithTotal(100)}},
			"without_statement": {kind: "3", untold: true, execute: func(_ context.Context, b *numbersBatch) (taskkit.Next, error) {
				items, next := taskkit.Take(b, b.Spec.Numbers)
				for _, i := range items {
					if i%5 == 4 {
						b.Fail(i, errPlanned)
					}
				}
				return next, nil
			}},
			"each": {kind: "3", execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
				items, next := taskkit.Take(b, b.Spec.Numbers)
				return next, taskkit.Each(ctx, b, items, func(ctx context.Context, part []int) error {
					for _, i := range part {
						if i%5 == 4 {
							return taskkit.Permanent("bad", nil)
						}
						if err := touch(ctx, b.Tx, b.Task, i, i+1, "w"); err != nil {
							return err
						}
					}
					return nil
				})
			}, untold: true},
			"later": {kind: "3", execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
				next, err := touching(ctx, b, 5)
				if next == taskkit.More {
					next = taskkit.Later(time.Millisecond)
				}
				return next, err
			}},
		} {
			k := badEvery("numbers_"+name, c.kind)
			if c.execute == nil {
				c.execute = func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) { return touching(ctx, b, 5) }
			}
			id := submitted(t, db, k, below(100), c.options...)
			stop := started(t, db, registered(k, &funcs[numbersSpec, countState]{execute: c.execute}), unhurried(t, db))
			task := paused(t, db, id)
			// At most 2 of the 10 items of a batch fail, and before the last one there were at most 2.
			if p := task.Progress; p.Failed < 3 || p.Failed > 4 || p.Processed() > 24 {
				t.Errorf("%s: paused at %+v", name, p)
			}
			why := fmt.Sprintf("%d of %d processed items have failed, and the limit is ", task.Progress.Failed, task.Progress.Processed())
			if !strings.HasPrefix(task.ControlReason, why) || task.ControlBy != uuid.Nil {
				t.Errorf("%s: paused by %s because %s", name, task.ControlBy, task.ControlReason)
			}
			if text, err := client.Explain(t.Context(), id); err != nil || !strings.Contains(text.Text, why) || !strings.Contains(text.Text, "resume with a higher limit continues it") {
				t.Errorf("%s: explained as %s, %v", name, text, err)
			}
			_, err := client.Resume(t.Context(), id, taskkit.WithActor(person))
			refusedState(t, err, why)
			_, err = client.Resume(t.Context(), id, taskkit.WithStopAfter("2"))
			refusedState(t, err, "and the limit is 2: set a higher limit with the same request")
			if _, err := client.Resume(t.Context(), id, taskkit.WithActor(person), taskkit.WithStopAfter("90%"), taskkit.WithReason("known")); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			task = ended(t, db, id)
			stop()
			if task.Status != taskkit.StatusCompleted || task.Progress.Failed != 20 || task.Progress.Processed() != 100 || task.ControlReason != "" {
				t.Errorf("%s: ended as %s %+v (%s)", name, task.Status, task.Progress, task.ControlReason)
			}
			if !c.untold {
				checkTouched(t, db.DB, id, 100)
			}
			var events []string
			list, err := client.Events(t.Context(), id, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range slices.Backward(list) {
				events = append(events, e.Action+" "+e.Reason)
			}
			if len(events) != 2 || !strings.HasPrefix(events[0], "pause "+why) || events[1] != "resume limit 90%: known" {
				t.Errorf("%s: events %q", name, events)
			}
		}
	})
}

// A limit that the last checkpoint reaches changes nothing: the task is done.
func TestStopAfterIsForgottenAtTheEnd(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		k := badEvery("numbers_done", "")
		id := submitted(t, db, k, below(10), taskkit.WithStopAfter("1"), taskkit.WithCanary(5), taskkit.WithUniqueKey("u"))
		few := submitted(t, db, k, below(10), taskkit.WithStopAfter("2"))
		started(t, db, registered(k, &funcs[numbersSpec, countState]{execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
			return touching(ctx, b, 5)
		}}), unhurried(t, db))
		if task := ended(t, db, few); task.Status != taskkit.StatusCompleted || task.Control != "" || task.Progress.Failed != 2 {
			t.Errorf("ended as %s %+v, with %s", task.Status, task.Progress, task.Control)
		}
		// Both a canary and a limit.
		task := paused(t, db, id)
		if want := "it waits for approval after its first 5 items; 1 of 5 processed items have failed, and the limit is 1"; task.ControlReason != want {
			t.Errorf("paused because %s, want %s", task.ControlReason, want)
		}
		_, err := clientOf(db).Approve(t.Context(), id, taskkit.WithActor(uuid.Max))
		refusedState(t, err, "set a higher limit with the same request")
		if _, err := clientOf(db).Approve(t.Context(), id, taskkit.WithActor(uuid.Max), taskkit.WithStopAfter("3")); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("ended as %s", task.Status)
		}
		checkTouched(t, db.DB, id, 10)
	})
}

// A limit that a person changes while a batch runs holds for that batch: the checkpoint
// reads it.
func TestStopAfterWhileRunning(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		client := clientOf(db)
		k := badEvery("numbers_running", "2")
		inBatch, release := make(chan int), make(chan struct{})
		var batches atomic.Int64
		started(t, db, registered(k, &funcs[numbersSpec, countState]{execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
			items, next := taskkit.Take(b, b.Spec.Numbers)
			b.Fail(items[0], errPlanned)
			select {
			case inBatch <- int(batches.Add(1)):
			case <-ctx.Done():
				return next, ctx.Err()
			}
			select {
			case <-release:
			case <-ctx.Done():
				return next, ctx.Err()
			}
			return next, nil
		}}), unhurried(t, db))
		id := submitted(t, db, k, below(60))
		step := func(want int) {
			t.Helper()
			select {
			case n := <-inBatch:
				if n != want {
					t.Fatalf("batch %d has begun, want %d", n, want)
				}
			case <-time.After(testdb.Patience(t)):
				t.Fatalf("batch %d does not begin", want)
			}
		}
		limit := func(text string) *taskkit.Task {
			t.Helper()
			task, err := client.Change(t.Context(), id, taskkit.Settings{StopAfter: text}, taskkit.WithActor(uuid.Max), taskkit.WithReason("why"))
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		step(1)
		limit("4") // above that of the kind
		release <- struct{}{}
		step(2)
		release <- struct{}{}
		step(3) // with 2 failures
		if task := limit("3"); task.Control != "" {
			t.Errorf("at a limit of 3, with 2 failures: %s", task.Control)
		}
		release <- struct{}{}
		if task := paused(t, db, id); task.Progress.Failed != 3 || !strings.HasSuffix(task.ControlReason, "the limit is 3") {
			t.Errorf("paused at %+v because %s", task.Progress, task.ControlReason)
		}
		if task := limit("40"); task.Control != taskkit.ControlPause {
			t.Errorf("a higher limit resumed the task")
		}
		if _, err := client.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		step(4)
		if task := limit("3"); task.Control != taskkit.ControlPause || task.ControlBy != uuid.Max {
			t.Errorf("a limit that is reached leaves %s by %s", task.Control, task.ControlBy)
		}
		release <- struct{}{}
		if task := paused(t, db, id); task.Progress.Failed != 4 {
			t.Errorf("paused at %+v", task.Progress)
		}
		for _, bad := range []string{"", "0", "101%", "many"} {
			_, err := client.Change(t.Context(), id, taskkit.Settings{StopAfter: bad})
			if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || bad != "" && option.Option != "WithStopAfter" {
				t.Errorf("limit %q: %v, want an *OptionError", bad, err)
			}
		}
		if _, err := client.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		ended(t, db, id)
		_, err := client.Change(t.Context(), id, taskkit.Settings{StopAfter: "5"})
		refusedState(t, err, "only a task that has not ended")
	})
}

// Options of a submission or of a request that make no sense are refused, and nothing is stored.
func TestConditionsOptionsRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := badEvery("numbers_refused", "")
		for name, options := range map[string][]taskkit.SubmitOption{
			"WithStopAfter":  {taskkit.WithStopAfter("0.5%")},
			"WithCanary":     {taskkit.WithCanary(0)},
			"WithCoalescing": {taskkit.WithCanary(1), taskkit.WithCoalescing("r")},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, k, below(1), append(options, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != name {
				t.Errorf("%s: got %v, want its *OptionError", name, err)
			}
		}
		client := clientOf(db)
		id := submitted(t, db, k, below(1), taskkit.WithApproval())
		_, err := client.Approve(t.Context(), id)
		if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithActor" {
			t.Errorf("approved by nobody: %v, want an *OptionError", err)
		}
		_, err = client.Pause(t.Context(), id, taskkit.WithStopAfter("5"))
		if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithStopAfter" {
			t.Errorf("paused with a limit: %v, want an *OptionError", err)
		}
		all, _, err := client.Tasks(t.Context(), taskkit.Filter{})
		if err != nil || len(all) != 1 {
			t.Errorf("%d tasks, want 1 (%v)", len(all), err)
		}
	})
}

// An item that kills its workers counts as failed, and its checkpoint, which the next worker
// makes, pauses the task.
func TestStopAfterCountsPoison(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		const n, at = 30, 12
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		names = slices.Insert(names, at, "poison")
		id := submitted(t, db, skippingOver, namesSpec{}, taskkit.WithTargets(slices.Values(names)), taskkit.WithStopAfter("1"))
		defer keepAlive(t, db, workerArgs{Name: "w"})()
		if task := paused(t, db, id); task.Progress.Failed != 1 || task.Progress.Processed() != at+1 {
			t.Errorf("paused at %+v", task.Progress)
		}
		if _, err := clientOf(db).Resume(t.Context(), id, taskkit.WithStopAfter("2")); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Done != n {
			t.Errorf("ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		checkTouched(t, db.DB, id, n)
	})
}
