package taskkit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The set of a preview of a sample is the sample, and Apply is over that.
func TestSampleOfPreview(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		const n, every = 30_000, 7
		seats := upTo(n)
		slices.Reverse(seats)
		var want []int
		for i := 0; i < n; i += every {
			want = append(want, seats[i])
		}
		c, k, x := clientOf(db), sampleKind(), &applier{}
		preview := submitSeats(t, db, frozen, seats, taskkit.WithPreview(), taskkit.WithSample(taskkit.Sample{Every: every}))
		if task := runSeats(t, db, k, x, preview)[0]; task.Progress.Total != int64(len(want)) || task.Progress.Done != task.Progress.Total {
			t.Fatalf("%s: the preview has %+v, want %d seats", task.StatusDetail, task.Progress, len(want))
		}
		id, err := c.Apply(t.Context(), preview)
		if err != nil {
			t.Fatal(err)
		}
		runSeats(t, db, k, x, id)
		if !slices.Equal(x.taken, want) {
			t.Errorf("the task took %d seats %v, want %d", len(x.taken), head(x.taken), len(want))
		}
	})
}

// sampleKind is the kind of seats with large batches.
func sampleKind() *taskkit.Kind[seatSpec, seatState, string] { return seatKind(1000) }

// The canary of a sample sees the sample, and then all others come in their order: in a
// task that is submitted, and in one that applies a preview of all.
func TestSampleOfCanary(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		const n, canary, every = 20_500, 20, 1000
		seats := upTo(n)
		slices.Reverse(seats)
		var first, rest []int
		for i, s := range seats {
			if i%every == 0 && len(first) < canary {
				first = append(first, s)
			} else {
				rest = append(rest, s)
			}
		}
		c, k, x := clientOf(db), sampleKind(), &applier{}
		defer started(t, db, registered(k, x), quick(t, db))()
		check := func(id taskkit.ID) {
			t.Helper()
			until(t, "the task waits for approval", func() bool {
				task, err := c.Task(t.Context(), id)
				return err == nil && task.Status == taskkit.StatusQueued && task.Control == taskkit.ControlPause
			})
			if taken, _ := x.all(); !slices.Equal(taken, first) {
				t.Errorf("the canary took %v, want %v", head(taken), first)
			}
			if _, err := c.Approve(t.Context(), id, taskkit.WithActor(uuid.New())); err != nil {
				t.Fatal(err)
			}
			task := ended(t, db, id)
			if taken, _ := x.all(); !slices.Equal(taken, slices.Concat(first, rest)) || task.Progress.Total != n {
				t.Errorf("%d of %d seats taken, from %v on", len(taken), task.Progress.Total, head(taken[canary:]))
			}
			x.mu.Lock()
			x.taken = nil
			x.mu.Unlock()
		}
		check(submitSeats(t, db, frozen, seats, taskkit.WithCanary(canary), taskkit.WithSample(taskkit.Sample{Every: every})))
		preview := submitSeats(t, db, frozen, seats, taskkit.WithPreview())
		ended(t, db, preview)
		id, err := c.Apply(t.Context(), preview, taskkit.WithCanary(canary), taskkit.WithSample(taskkit.Sample{Every: every}))
		if err != nil {
			t.Fatal(err)
		}
		check(id)
	})
}

// A sample that cannot be taken is a typed error, and nothing is stored.
func TestSampleRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := sampleKind()
		without := newKind[seatSpec, seatState]("other", 10)
		for name, tc := range map[string]struct {
			kind  *taskkit.Kind[seatSpec, seatState, string]
			specs []seatSpec
			opts  []taskkit.SubmitOption
			says  string
		}{
			"no interval":           {k, []seatSpec{upToSeats(9)}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{}), taskkit.WithPreview()}, "give it one"},
			"neither":               {k, []seatSpec{upToSeats(9)}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 2})}, "add WithPreview() or WithCanary(items)"},
			"too large":             {k, []seatSpec{upToSeats(9)}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 1001}), taskkit.WithCanary(100)}, "more than 100000 targets"},
			"much too large":        {k, []seatSpec{upToSeats(9)}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 1 << 60}), taskkit.WithCanary(1 << 60)}, "more than 100000 targets"},
			"live walk":             {k, []seatSpec{{}}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithPreview()}, "use WithTargets"},
			"kind without targets":  {without, []seatSpec{upToSeats(9)}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithCanary(1)}, "targets=FIELD"},
			"several specs":         {k, []seatSpec{upToSeats(9), upToSeats(9)}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithPreview()}, "one by one"},
			"coalescing a canary":   {k, []seatSpec{upToSeats(9)}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithCanary(1), taskkit.WithCoalescing("r")}, "used together with"},
			"sample of no target":   {k, []seatSpec{{}}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithCanary(1)}, "use WithTargets"},
			"sample of a null list": {k, []seatSpec{{Seats: nil}}, []taskkit.SubmitOption{taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithPreview()}, "use WithTargets"},
		} {
			_, err := taskkit.SubmitMany(t.Context(), db.DB, tc.kind, tc.specs, append(tc.opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			if _, ok := errors.AsType[*taskkit.OptionError](err); !ok || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want an *OptionError that says %q", name, err, tc.says)
			}
		}
		checkStored(t, db, 0, 0)
		x := &applier{bad: func(int) bool { return true }}
		id := submitSeats(t, db, true, upTo(9))
		preview := submitSeats(t, db, true, upTo(9), taskkit.WithPreview())
		runSeats(t, db, k, x, id, preview)
		c := clientOf(db)
		_, retried := c.RetryFailed(t.Context(), id, taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithCanary(1))
		_, continued := c.Continue(t.Context(), id, taskkit.WithSample(taskkit.Sample{Every: 2}), taskkit.WithCanary(1))
		_, applied := c.Apply(t.Context(), preview, taskkit.WithSample(taskkit.Sample{Every: 2}))
		for _, err := range []error{retried, continued, applied} {
			if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithSample" {
				t.Errorf("%v, want an *OptionError", err)
			}
		}
	})
}
