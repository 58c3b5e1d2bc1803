package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// applyKind is the kind of seats at a revision, with a stop policy of its own.
func applyKind(revision int, stopAfter string) *taskkit.Kind[seatSpec, seatState, string] {
	return taskkit.NewKind(taskkind.Definition[seatSpec, seatState, string]{
		Name: "seat", BatchSize: 10, MaxBatchSize: 10, Preview: true, Revision: revision, StopAfter: stopAfter,
		Targets: taskkind.TargetsIn("seats", func(s *seatSpec) *[]int { return &s.Seats }),
	})
}

// applier remembers the seats that it takes outside previews. It fails those for which
// bad says so.
type applier struct {
	bad func(seat int) bool
	end func(b *seatBatch) error // after each batch

	mu     sync.Mutex
	taken  []int
	aborts int
}

func (x *applier) Execute(_ context.Context, b *seatBatch) (taskkit.Next, error) {
	seats, next := taskkit.Take(b, b.Spec.Seats)
	for _, s := range seats {
		if x.bad != nil && x.bad(s) {
			b.Fail(s, taskkit.Permanent("bad", nil))
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !b.Preview {
		x.taken = append(x.taken, seats...)
	}
	if x.end != nil {
		return next, x.end(b)
	}
	return next, nil
}

func (x *applier) Abort(context.Context, *seatBatch) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aborts++
	return nil
}

// all returns the seats that were taken, and how often Abort was called.
func (x *applier) all() (taken []int, aborts int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.taken), x.aborts
}

// runSeats runs a worker until tasks have ended.
func runSeats(t *testing.T, db *testdb.DB, k *taskkit.Kind[seatSpec, seatState, string], x *applier, ids ...taskkit.ID) (tasks []*taskkit.Task) {
	t.Helper()
	stop := started(t, db, registered(k, x), quick(t, db))
	defer stop()
	for _, id := range ids {
		tasks = append(tasks, ended(t, db, id))
	}
	return tasks
}

// submitSeats submits a task over a list or over a frozen set.
func submitSeats(t *testing.T, db *testdb.DB, frozen bool, seats []int, opts ...taskkit.SubmitOption) taskkit.ID {
	t.Helper()
	spec := seatSpec{Seats: seats}
	if frozen {
		spec, opts = seatSpec{}, append(opts, taskkit.WithTargets(slices.Values(seats)))
	}
	return submitted(t, db, applyKind(1, ""), spec, opts...)
}

// Apply runs the task over exactly the set of its preview, once, with what the preview
// was given.
func TestApply(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		const n = 2345
		seats := upTo(n)
		slices.Reverse(seats)
		owner, as, actor := uuid.New(), uuid.New(), uuid.New()
		c, k := clientOf(db), applyKind(1, "")
		x := &applier{bad: func(seat int) bool { return seat%100 == 7 }}
		preview := submitSeats(t, db, frozen, seats, taskkit.WithPreview(), taskkit.OwnedBy(owner), taskkit.RunAs(as),
			taskkit.WithPriority(taskkit.PriorityLow), taskkit.WithStopAfter("50"), taskkit.WithUniqueKey(fmt.Sprint("one of ", frozen)))
		first := runSeats(t, db, k, x, preview)[0]
		if len(x.taken) != 0 || first.Progress.Failed != 24 {
			t.Fatalf("the preview took %d seats, with %+v", len(x.taken), first.Progress)
		}
		id, err := c.Apply(t.Context(), preview, taskkit.WithActor(actor), taskkit.WithReason("read"))
		if err != nil {
			t.Fatal(err)
		}
		task, err := taskkit.Get(t.Context(), c, k, id)
		if err != nil {
			t.Fatal(err)
		}
		if got := task.Task; got.Follows != preview || got.Owner != owner || got.RunAs != as || got.CreatedBy != actor || got.Priority != taskkit.PriorityLow ||
			got.Reason != "read" || got.UniqueKey == "" || task.State != (seatState{}) || got.Progress.Processed() != 0 || got.Progress.Total != n {
			t.Errorf("the new task is %+v", task)
		}
		if _, err := c.Apply(t.Context(), preview); !isDuplicateOf(err, id) {
			t.Errorf("the second Apply: %v, want a DuplicateError with the first", err)
		}
		last := runSeats(t, db, k, x, id)[0]
		if !slices.Equal(x.taken, seats) || last.Status != taskkit.StatusCompleted || last.Progress != first.Progress {
			t.Errorf("%s: took %d seats, with %+v; want the %d of the preview, with %+v", last.Status, len(x.taken), last.Progress, n, first.Progress)
		}
		if _, err := c.Preview(t.Context(), id); !asPreviewError(err, "not a preview") {
			t.Errorf("the report of the new task: %v", err)
		}
		retry, err := c.RetryFailed(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if again := runSeats(t, db, k, &applier{}, retry)[0]; again.Progress.Done != 24 {
			t.Errorf("the retry of the new task has %+v", again.Progress)
		}
	})
}

// asPreviewError reports whether an error is a *PreviewError that says this.
func asPreviewError(err error, says string) bool {
	_, ok := errors.AsType[*taskkit.PreviewError](err)
	return ok && strings.Contains(err.Error(), says)
}

// What cannot be applied is a typed error that says what to do, and nothing is stored.
func TestApplyRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := clientOf(db)
		preview := func(n int, opts ...taskkit.SubmitOption) taskkit.ID {
			return submitSeats(t, db, true, upTo(n), append(opts, taskkit.WithPreview())...)
		}
		waits := preview(5)
		if _, err := c.Pause(t.Context(), waits, taskkit.WithReason("not today")); err != nil {
			t.Fatal(err)
		}
		task := submitSeats(t, db, true, upTo(5))
		failing, stopped := preview(20, taskkit.WithReason("fails")), preview(20)
		limit, share, kinds := preview(10, taskkit.WithStopAfter("2")), preview(20, taskkit.WithStopAfter("10%")), preview(10)
		walk := submitted(t, db, applyKind(1, ""), seatSpec{}, taskkit.WithPreview())
		fine := preview(9)
		x := &applier{
			bad: func(seat int) bool { return seat%10 == 8 || seat%10 == 9 },
			end: func(b *seatBatch) error {
				switch b.Task {
				case failing:
					return taskkit.Permanent("planned", nil)
				case stopped:
					_, err := c.Stop(context.Background(), stopped)
					return err
				}
				return nil
			},
		}
		runSeats(t, db, applyKind(1, "2"), x, task, failing, stopped, limit, share, kinds, walk, fine)
		before, _, err := c.Counts(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for name, tc := range map[string]struct {
			id   taskkit.ID
			says string
		}{
			"no preview":                      {task, "submitted with taskkit.WithPreview"},
			"paused":                          {waits, "not today; let it go on"},
			"failed":                          {failing, "it has ended in FAILURE"},
			"stopped":                         {stopped, "preview the task again"},
			"limit reached by the last batch": {limit, "2 of 10 processed items have failed, and the limit is 2"},
			"share reached by the last batch": {share, "4 of 20 processed items have failed, and the limit is 10%"},
			"limit of the kind":               {kinds, "and the limit is 2: correct the items"},
			"live walk":                       {walk, "frozen with WithTargets"},
		} {
			if _, err := c.Apply(t.Context(), tc.id); !asPreviewError(err, tc.says) {
				t.Errorf("%s: %v, want a *PreviewError with %q", name, err, tc.says)
			}
		}
		if _, err := c.Apply(t.Context(), uuid.New()); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("of no task: %v", err)
		}
		for name, o := range map[string]taskkit.SubmitOption{
			"WithIdempotencyKey": taskkit.WithIdempotencyKey("another"), "WithPreview": taskkit.WithPreview(), "WithTargets": taskkit.WithTargets(slices.Values([]int{1})),
		} {
			_, err := c.Apply(t.Context(), fine, o)
			if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != name {
				t.Errorf("%s: %v, want an *OptionError", name, err)
			}
		}
		if after, _, err := c.Counts(t.Context(), ""); err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("the tasks are %v (%v), want %v", after, err, before)
		}
	})
}

// A preview that reaches its stop policy pauses and cannot be applied. With a higher limit
// it goes on, and can be.
func TestApplyAfterStopPolicy(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c, k := clientOf(db), applyKind(1, "")
		x := &applier{bad: func(seat int) bool { return seat >= 5 && seat < 10 }}
		preview := submitSeats(t, db, true, upTo(100), taskkit.WithPreview(), taskkit.WithStopAfter("5"))
		started(t, db, registered(k, x), quick(t, db))
		until(t, "the preview is paused", func() bool {
			task, err := c.Task(t.Context(), preview)
			return err == nil && task.Control == taskkit.ControlPause && task.Status == taskkit.StatusQueued
		})
		if _, err := c.Apply(t.Context(), preview); !asPreviewError(err, "5 of 10 processed items have failed, and the limit is 5") {
			t.Errorf("paused by its policy: %v", err)
		}
		if _, err := c.Resume(t.Context(), preview, taskkit.WithStopAfter("6")); err != nil {
			t.Fatal(err)
		}
		ended(t, db, preview)
		id, err := c.Apply(t.Context(), preview, taskkit.WithCanary(20), taskkit.WithApproval())
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the new task waits for approval", func() bool {
			task, err := c.Task(t.Context(), id)
			return err == nil && task.Control == taskkit.ControlPause && task.Status == taskkit.StatusQueued && task.Progress.Processed() == 20
		})
		if _, err := c.Approve(t.Context(), id, taskkit.WithActor(uuid.New())); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Failed != 5 {
			t.Errorf("%s with %+v", task.Status, task.Progress)
		}
	})
}

// A preview of an old revision is not applied: neither when a live worker has a new one,
// nor when the task meets one later.
func TestApplyOutdated(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c, one, two := clientOf(db), applyKind(1, ""), applyKind(2, "")
		early, late, begun := submitSeats(t, db, true, upTo(30), taskkit.WithPreview()), submitSeats(t, db, false, upTo(30), taskkit.WithPreview()), submitSeats(t, db, true, upTo(30), taskkit.WithPreview())
		apply := func(preview taskkit.ID, opts ...taskkit.SubmitOption) taskkit.ID {
			t.Helper()
			id, err := c.Apply(t.Context(), preview, opts...)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		x := &applier{}
		stop := started(t, db, registered(one, x), quick(t, db))
		for _, id := range []taskkit.ID{early, late, begun} {
			ended(t, db, id)
		}
		goesOn := apply(begun, taskkit.WithCanary(10))
		until(t, "the first items are done", func() bool {
			task, err := c.Task(t.Context(), goesOn)
			return err == nil && task.Progress.Done == 10 && task.Control == taskkit.ControlPause && task.Status == taskkit.StatusQueued
		})
		stop()

		outdated := apply(late)
		x.taken = nil
		defer started(t, db, registered(two, x), quick(t, db))()
		task := ended(t, db, outdated)
		if taken, aborts := x.all(); task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "revision: ") ||
			!strings.Contains(task.StatusDetail, "preview the task again") || task.Progress.Processed() != 0 || len(taken) != 0 || aborts != 0 {
			t.Errorf("%s (%s) with %+v after %d seats and %d aborts, want FAILURE and nothing done", task.Status, task.StatusDetail, task.Progress, len(taken), aborts)
		}
		next, err := c.Continue(t.Context(), outdated)
		if err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, next); task.Status != taskkit.StatusFailure || task.Progress.Processed() != 0 {
			t.Errorf("continued: %s with %+v, want FAILURE and nothing done", task.Status, task.Progress)
		}
		if _, err := c.Apply(t.Context(), early); !asPreviewError(err, "executed at revision 1 of kind seat, which has revision 2 now") {
			t.Errorf("beside a worker of a newer revision: %v", err)
		}
		if _, err := c.Approve(t.Context(), goesOn, taskkit.WithActor(uuid.New())); err != nil {
			t.Fatal(err)
		}
		task = ended(t, db, goesOn)
		if taken, _ := x.all(); task.Status != taskkit.StatusCompleted || task.Progress.Done != 30 || len(taken) != 20 {
			t.Errorf("a task that has begun: %s with %+v", task.Status, task.Progress)
		}
		// A preview by new code of a spec that old code has submitted can be applied.
		newer := submitSeats(t, db, false, upTo(30), taskkit.WithPreview())
		ended(t, db, newer)
		if task := ended(t, db, apply(newer)); task.Status != taskkit.StatusCompleted || task.Progress.Done != 30 {
			t.Errorf("previewed by new code: %s (%s) with %+v", task.Status, task.StatusDetail, task.Progress)
		}
	})
}

// finder finds the seats of a task, as many as a function says.
type finder struct {
	applier

	seats func() int
}

func (x *finder) Targets(_ context.Context, b *seatBatch) ([]int, taskkit.Next, error) {
	b.State.Changed++
	return upTo(x.seats()), taskkit.Done, nil
}

// What a preview has found is what is applied: nothing is searched again.
func TestApplyFoundTargets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(taskkind.Definition[seatSpec, seatState, string]{
			Name: "seat", Preview: true,
			Targets: taskkit.TargetsFoundIn[seatState]("seats", func(s *seatSpec) *[]int { return &s.Seats }),
		})
		var found atomic.Int64
		x := &finder{seats: func() int { return int(found.Load()) }}
		c := clientOf(db)
		defer started(t, db, registered(k, x), quick(t, db))()
		empty := submitted(t, db, k, seatSpec{}, taskkit.WithPreview())
		ended(t, db, empty)
		if _, err := c.Apply(t.Context(), empty); !asPreviewError(err, "nothing to apply") {
			t.Errorf("a preview that has found nothing: %v", err)
		}
		found.Store(1500)
		preview := submitted(t, db, k, seatSpec{}, taskkit.WithPreview())
		ended(t, db, preview)
		found.Store(1600)
		id, err := c.Apply(t.Context(), preview)
		if err != nil {
			t.Fatal(err)
		}
		task := ended(t, db, id)
		if taken, _ := x.all(); task.Status != taskkit.StatusCompleted || !slices.Equal(taken, upTo(1500)) {
			t.Errorf("%s (%s): took %d seats, want the 1500 of the preview", task.Status, task.StatusDetail, len(taken))
		}
	})
}
