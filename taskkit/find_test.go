package taskkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// huntSpec has numbers, or lets the task find those below Below.
type huntSpec struct {
	Numbers []int `json:"numbers" validate:"required,max=3,dive,min=0"`
	Below   int   `json:"below"`
}

// huntState is how far the search is, and how many numbers were taken after it.
type huntState struct {
	From  int `json:"from"`
	Taken int `json:"taken"`
}

type huntBatch = taskkit.Batch[huntSpec, huntState]

func huntKind(name string) *taskkit.Kind[huntSpec, huntState, string] {
	return taskkit.NewKind(taskkind.Definition[huntSpec, huntState, string]{
		Name: name, BatchSize: 100, Preview: true, DeferDelays: []time.Duration{time.Millisecond},
		Targets: taskkit.TargetsFoundIn[huntState]("numbers", func(s *huntSpec) *[]int { return &s.Numbers }),
	})
}

// numberHunter finds and takes numbers, and keeps what Take returned in batches that succeed.
type numberHunter struct {
	aborting[huntSpec, huntState]
	targets func(ctx context.Context, b *huntBatch) ([]int, taskkit.Next, error)

	mu       sync.Mutex
	got      []int
	searches int
	endings  []string
}

// newNumberHunter returns a numberHunter with an execution and a search; nil are the usual ones.
func newNumberHunter(execute func(ctx context.Context, b *huntBatch) (taskkit.Next, error), targets func(ctx context.Context, b *huntBatch) ([]int, taskkit.Next, error)) *numberHunter {
	x := &numberHunter{targets: targets}
	if x.execute = execute; execute == nil {
		x.execute = x.take
	}
	if targets == nil {
		x.targets = hunt
	}
	ending := func(name string, b *huntBatch) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.endings = append(x.endings, fmt.Sprintf("%s %s %+v", name, b.EndReason(), b.State))
	}
	x.abort = func(_ context.Context, b *huntBatch) error { ending("abort", b); return nil }
	x.report = func(_ context.Context, b *huntBatch) (string, error) {
		ending("report", b)
		return fmt.Sprint(b.State.Taken), nil
	}
	return x
}

func (x *numberHunter) Targets(ctx context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
	x.mu.Lock()
	x.searches++
	x.mu.Unlock()
	return x.targets(ctx, b)
}

// take takes numbers. The first state must be zero.
func (x *numberHunter) take(_ context.Context, b *huntBatch) (taskkit.Next, error) {
	items, next := taskkit.Take(b, b.Spec.Numbers)
	if b.State.From != 0 {
		return next, taskkit.Permanent("state_of_search", nil)
	}
	b.State.Taken += len(items)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got = append(x.got, items...)
	return next, nil
}

// hunt finds the next b.Limit numbers, and again some of those before.
func hunt(_ context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
	const again = 5
	to := min(b.State.From+b.Limit, b.Spec.Below)
	found := []int{}
	for i := max(b.State.From-again, 0); i < to; i++ {
		found = append(found, i, i)
	}
	b.State.From = to
	if to == b.Spec.Below {
		return found, taskkit.Done, nil
	}
	return found, taskkit.More, nil
}

// A task that is submitted without targets finds them, without duplicates, and then takes
// them as those of a frozen set.
func TestTargeterFindsTargets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for _, n := range []int{1, 999, 1000, 1001, 3500} {
			k, x := huntKind(fmt.Sprintf("hunt_%d", n)), newNumberHunter(nil, nil)
			id := submitted(t, db, k, huntSpec{Below: n})
			before, err := clientOf(db).Task(t.Context(), id)
			if err != nil || before.Found == nil || *before.Found != 0 || before.Progress.Total != -1 {
				t.Fatalf("%d: before the search: %+v, %v", n, before, err)
			}
			stop := started(t, db, registered(k, x), quick(t, db))
			task := ended(t, db, id)
			stop()
			if task.Status != taskkit.StatusCompleted || task.Found != nil || task.Progress != (taskkit.Progress{Total: int64(n), Done: int64(n)}) {
				t.Fatalf("%d: ended as %s %+v: %s", n, task.Status, task.Progress, task.StatusDetail)
			}
			if !slices.Equal(x.got, below(n).Numbers) {
				t.Errorf("%d: took %d numbers, in another order", n, len(x.got))
			}
			if items := listed(t, db, id, taskkit.OutcomeSucceeded); len(items) != n || items[n-1].Position != int64(n) {
				t.Errorf("%d: %d items succeeded", n, len(items))
			}
			if want := []string{fmt.Sprintf("report done {From:0 Taken:%d}", n)}; !slices.Equal(x.endings, want) {
				t.Errorf("%d: ended by %v, want %v", n, x.endings, want)
			}
		}
	})
}

// A task without any target is done, and one with targets of its own searches for none.
func TestTargeterIsNotNeeded(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := huntKind("hunt_none"), newNumberHunter(nil, nil)
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, huntSpec{})
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Progress != (taskkit.Progress{}) || task.Found != nil {
			t.Errorf("ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		if got, err := taskkit.Get(t.Context(), clientOf(db), k, id); err != nil || got.Result == nil || *got.Result != "0" {
			t.Errorf("the result is %+v, %v", got, err)
		}
		if items := listed(t, db, id, taskkit.OutcomeSucceeded); len(items) != 0 {
			t.Errorf("%d items succeeded", len(items))
		}
		ended(t, db, submitted(t, db, k, huntSpec{Numbers: []int{3, 2}}))
		ended(t, db, submitted(t, db, k, huntSpec{}, taskkit.WithTargets(slices.Values([]int{9, 8, 7, 6}))))
		if !slices.Equal(x.got, []int{3, 2, 9, 8, 7, 6}) || x.searches != 1 {
			t.Errorf("took %v after %d searches", x.got, x.searches)
		}
	})
}

// waitFound waits until a task has found so many targets, and returns it.
func waitFound(t *testing.T, db *testdb.DB, id taskkit.ID, n int64) (task *taskkit.Task) {
	t.Helper()
	until(t, "targets are found", func() bool {
		var err error
		if task, err = clientOf(db).Task(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return task.Found != nil && *task.Found == n
	})
	return task
}

// searchOf returns a search that finds first and then waits.
func searchOf(first ...int) func(ctx context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
	return func(_ context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
		if b.State.From++; b.State.From == 1 {
			return first, taskkit.More, nil
		}
		return nil, taskkit.LaterAt(time.Now().Add(time.Hour), "until there are more"), nil
	}
}

// refusedItems fails the test unless an error is an *ItemsError that says text.
func refusedItems(t *testing.T, err error, text string) {
	t.Helper()
	if e, ok := errors.AsType[*taskkit.ItemsError](err); !ok || !strings.Contains(err.Error(), text) {
		t.Errorf("got %+v %v, want an *ItemsError that says %q", e, err, text)
	}
}

// What needs the targets of a task is refused until they are found, and a task that is
// stopped before says so.
func TestTargeterStopped(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := huntKind("hunt_stopped"), newNumberHunter(nil, searchOf(4, 5, 4))
		started(t, db, registered(k, x), quick(t, db))
		id, ctx, c := submitted(t, db, k, huntSpec{}), t.Context(), clientOf(db)
		waitFound(t, db, id, 2)
		until(t, "the search waits", func() bool {
			why, err := c.Explain(ctx, id)
			return err == nil && strings.Contains(why.Text, "until there are more")
		})
		itemsError := func(o taskkit.Outcome) (err error) {
			for _, e := range c.Items(ctx, id, o) {
				err = e
			}
			return err
		}
		refusedItems(t, itemsError(taskkit.OutcomeUnprocessed), "still finding its targets, 2 so far")
		refusedItems(t, itemsError(taskkit.OutcomeSucceeded), "cannot list the succeeded items of task")
		if items := listed(t, db, id, taskkit.OutcomeFailed); len(items) != 0 {
			t.Errorf("failed items: %v", items)
		}
		if _, err := c.Stop(ctx, id); err != nil {
			t.Fatal(err)
		}
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || !task.Partial || task.Progress != (taskkit.Progress{Total: -1}) || task.Found == nil || *task.Found != 2 {
			t.Errorf("ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		if want := []string{"abort stopped {From:2 Taken:0}", "report stopped {From:2 Taken:0}"}; !slices.Equal(x.endings, want) {
			t.Errorf("ended by %v, want %v", x.endings, want)
		}
		if why, err := c.Explain(ctx, id); err != nil || !strings.Contains(why.Text, "finding its targets: 2 so far") {
			t.Errorf("explained as %q, %v", why, err)
		}
		refusedItems(t, itemsError(taskkit.OutcomeUnprocessed), "ended while it was finding its targets, after 2")
		_, err := c.RetryFailed(ctx, id)
		refusedItems(t, err, "cannot retry the failed items of task")
		_, err = c.Continue(ctx, id)
		refusedItems(t, err, "submit the task again")

		gone := submitted(t, db, k, huntSpec{})
		waitFound(t, db, gone, 2)
		if _, err := c.Delete(ctx, gone); err != nil {
			t.Fatal(err)
		}
		until(t, "the task is removed", func() bool {
			_, err := c.Task(ctx, gone)
			return errors.Is(err, taskkit.ErrNotFound)
		})
	})
}

// A search that fails is tried again from its last checkpoint, and a failed task goes on
// with what it has found.
func TestTargeterRetried(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var broken atomic.Bool
		broken.Store(true)
		x := newNumberHunter(nil, func(ctx context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
			if b.Attempt == 1 {
				_, _, _ = hunt(ctx, b) // the state is restored
				return nil, taskkit.More, taskkit.Transient(errPlanned)
			}
			if b.State.From >= 2000 && broken.Load() {
				return nil, taskkit.More, taskkit.Permanent("broken", nil)
			}
			return hunt(ctx, b)
		})
		k := huntKind("hunt_retried")
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, huntSpec{Below: 5000})
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "broken") || task.Found == nil || *task.Found < 2000 {
			t.Fatalf("ended as %s with %v found: %s", task.Status, task.Found, task.StatusDetail)
		}
		_, err := clientOf(db).Continue(t.Context(), id)
		refusedItems(t, err, "retry it, which goes on with the search")
		broken.Store(false)
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task = ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Progress.Done != 5000 || !slices.Equal(x.got, below(5000).Numbers) {
			t.Errorf("ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
	})
}

// What a search must not do ends its task with an error that says so.
func TestTargeterRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		finding := func(n ...int) ([]int, taskkit.Next, error) { return n, taskkit.Done, nil }
		for name, c := range map[string]struct {
			targets func(ctx context.Context, b *huntBatch) ([]int, taskkit.Next, error)
			want    string
		}{
			"fails": {func(_ context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
				b.Fail(1, errPlanned)
				return finding(1)
			}, "misuse: Targets finds"},
			"counts": {func(_ context.Context, b *huntBatch) ([]int, taskkit.Next, error) { b.Advance(1); return finding(1) }, "misuse: Targets finds"},
			"totals": {func(_ context.Context, b *huntBatch) ([]int, taskkit.Next, error) { b.Total(1); return finding(1) }, "misuse: Targets finds"},
			"takes": {func(_ context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
				taskkit.Take(b, b.Spec.Numbers)
				return finding()
			}, "misuse: Targets finds"},
			"defers": {func(_ context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
				b.Defer(1, errPlanned)
				return finding(1)
			}, "misuse: "},
			"awaits": {func(context.Context, *huntBatch) ([]int, taskkit.Next, error) {
				return []int{1}, taskkit.AwaitChildren(0, taskkit.FailParent), nil
			}, "misuse: the executor returned AwaitChildren"},
			"awaits wrongly": {func(context.Context, *huntBatch) ([]int, taskkit.Next, error) {
				return []int{1}, taskkit.AwaitChildren(0, "none"), nil
			}, "misuse: "},
			"invalid": {func(context.Context, *huntBatch) ([]int, taskkit.Next, error) { return finding(3, -1) }, "targets: what Targets returned cannot be stored: taskkit: spec of refused_invalid refused, nothing was stored: /numbers/1 breaks the rule min=0"},
			"stands":  {func(context.Context, *huntBatch) ([]int, taskkit.Next, error) { return []int{7}, taskkit.More, nil }, "no_progress: "},
		} {
			k := huntKind("refused_" + strings.ReplaceAll(name, " ", "_"))
			stop := started(t, db, registered(k, newNumberHunter(nil, c.targets)), quick(t, db))
			task := ended(t, db, submitted(t, db, k, huntSpec{}))
			stop()
			if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, c.want) {
				t.Errorf("%s: ended as %s: %s; want %s", name, task.Status, task.StatusDetail, c.want)
			}
		}

		k := huntKind("refused_without")
		id := submitted(t, db, k, huntSpec{})
		started(t, db, registered(k, &funcs[huntSpec, huntState]{execute: newNumberHunter(nil, nil).execute}), quick(t, db))
		if task := ended(t, db, id); task.Status != taskkit.StatusError || !strings.Contains(task.StatusDetail, "has no method Targets: put it back") {
			t.Errorf("without the method: ended as %s: %s", task.Status, task.StatusDetail)
		}
		_, err := taskkit.Submit(t.Context(), db.DB, k, huntSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithCoalescing("r"))
		if e, ok := errors.AsType[*taskkit.OptionError](err); !ok || e.Option != "WithCoalescing" {
			t.Errorf("with coalescing: %v", err)
		}
		_, err = taskkit.Submit(t.Context(), db.DB, k, huntSpec{Numbers: []int{1, 2, 3, 4}}, taskkit.System(), taskkit.WithSchema(schemaOf(db)))
		if _, ok := errors.AsType[*taskkit.SpecError](err); !ok {
			t.Errorf("a list that breaks a rule: %v", err)
		}
	})
}

// A preview keeps the targets that it finds, and approval and canary hold the task before
// the search and after the first items.
func TestTargeterPreviewAndApproval(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		k := huntKind("hunt_previewed")
		x := newNumberHunter(nil, func(ctx context.Context, b *huntBatch) ([]int, taskkit.Next, error) {
			if err := touch(ctx, b.Tx, b.Task, 0, 1, "w"); err != nil {
				return nil, taskkit.More, err
			}
			return hunt(ctx, b)
		})
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, huntSpec{Below: 1500}, taskkit.WithPreview())
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Progress.Done != 1500 {
			t.Fatalf("ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		checkTouched(t, db.DB, id, 0)
		if r, err := clientOf(db).Preview(t.Context(), id); err != nil || len(r.Changes) != 1 || r.Changes[0].Rows < 2 {
			t.Errorf("report %+v, %v", r, err)
		}

		x.got = nil
		id = submitted(t, db, k, huntSpec{Below: 30}, taskkit.WithApproval())
		if task = paused(t, db, id); *task.Found != 0 {
			t.Errorf("before the approval it has found %d", *task.Found)
		}
		approve := func() {
			t.Helper()
			if _, err := clientOf(db).Approve(t.Context(), id, taskkit.WithActor(uuid.New())); err != nil {
				t.Fatal(err)
			}
		}
		approve()
		if task = ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Done != 30 {
			t.Errorf("ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		id = submitted(t, db, k, huntSpec{Below: 30}, taskkit.WithCanary(10))
		if task = paused(t, db, id); task.Found != nil || task.Progress != (taskkit.Progress{Total: 30, Done: 10}) {
			t.Errorf("after the canary: %+v", task.Progress)
		}
		approve()
		if task = ended(t, db, id); task.Progress.Done != 30 {
			t.Errorf("ended as %s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
	})
}

// A task that an older revision was submitted for finds its targets with newer code, if
// that writes them in the same form.
func TestTargeterAcrossRevisions(t *testing.T) {
	t.Parallel()
	type numberedSpec struct {
		Counts []string `json:"counts"`
		Below  int      `json:"below"`
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		rename := func(old json.RawMessage) (json.RawMessage, error) {
			return bytes.Replace(old, []byte(`"numbers"`), []byte(`"counts"`), 1), nil
		}
		for name, c := range map[string]struct {
			find func(n int) string
			want taskkit.Status
		}{
			"same":  {func(n int) string { return fmt.Sprintf("number %d", n) }, taskkit.StatusCompleted},
			"other": {func(n int) string { return fmt.Sprintf("number %d", n) }, taskkit.StatusFailure},
		} {
			type wordsSpec struct {
				Numbers []string `json:"numbers"`
				Below   int      `json:"below"`
			}
			older := taskkit.NewKind(taskkind.Definition[wordsSpec, huntState, string]{
				Name: "revised_" + name, Targets: taskkit.TargetsFoundIn[huntState]("numbers", func(s *wordsSpec) *[]string { return &s.Numbers }),
			})
			upgrade := rename
			if name == "other" {
				upgrade = func(old json.RawMessage) (json.RawMessage, error) {
					renamed, err := rename(old)
					return bytes.ReplaceAll(renamed, []byte("number"), []byte("was")), err
				}
			}
			newer := taskkit.NewKind(taskkind.Definition[numberedSpec, huntState, string]{
				Name: "revised_" + name, Revision: 2, Upgrades: []taskkind.Upgrade{{From: 1, Spec: upgrade}},
				Targets: taskkit.TargetsFoundIn[huntState]("counts", func(s *numberedSpec) *[]string { return &s.Counts }),
			})
			x := &wordHunter[numberedSpec]{find: c.find, list: func(s *numberedSpec) []string { return s.Counts }}
			id := submitted(t, db, older, wordsSpec{Below: 7})
			stop := started(t, db, registered(newer, x), quick(t, db))
			task := ended(t, db, id)
			stop()
			if task.Status != c.want || task.Status == taskkit.StatusFailure && !strings.HasPrefix(task.StatusDetail, "targets: this revision of the kind writes targets in another form") {
				t.Errorf("%s: ended as %s %+v: %s", name, task.Status, task.Progress, task.StatusDetail)
			}
		}
	})
}

// wordHunter finds seven words and takes them.
type wordHunter[Spec any] struct {
	find func(n int) string
	list func(s *Spec) []string
}

func (x *wordHunter[Spec]) Targets(context.Context, *taskkit.Batch[Spec, huntState]) (found []string, next taskkit.Next, err error) {
	for n := range 7 {
		found = append(found, x.find(n))
	}
	return found, taskkit.Done, nil
}

func (x *wordHunter[Spec]) Execute(_ context.Context, b *taskkit.Batch[Spec, huntState]) (taskkit.Next, error) {
	_, next := taskkit.Take(b, x.list(&b.Spec))
	return next, nil
}
