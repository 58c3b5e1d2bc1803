package tasktest

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// seekSpec has targets, or lets the task find them.
type seekSpec struct {
	Numbers []int `json:"numbers"`
}

// seekState is how often Targets was called.
type seekState struct {
	Searches int `json:"searches"`
}

type seekBatch = taskkit.Batch[seekSpec, seekState]

var seekKind = taskkit.NewKind(taskkind.Definition[seekSpec, seekState, []int]{
	Name: "seek", BatchSize: 2,
	Targets: taskkit.TargetsFoundIn[seekState]("numbers", func(s *seekSpec) *[]int { return &s.Numbers }),
})

// seeker finds five numbers at once. Report returns the next ones.
type seeker struct {
	mu     sync.Mutex
	again  int // calls of Targets after a failed attempt
	aborts [][]int
}

// Targets implements [taskkit.Targeter].
func (x *seeker) Targets(ctx context.Context, b *seekBatch) ([]int, taskkit.Next, error) {
	if _, err := b.Tx.ExecContext(ctx, "SELECT 1"); err != nil { // so that the batch has a COMMIT
		return nil, taskkit.More, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if b.Attempt > 1 {
		x.again++
	}
	b.State.Searches++
	return []int{5, 4, 3, 2, 1}, taskkit.Done, nil
}

// Execute implements [taskkit.Executor].
func (*seeker) Execute(_ context.Context, b *seekBatch) (taskkit.Next, error) {
	_, next := taskkit.Take(b, b.Spec.Numbers)
	return next, nil
}

// Abort implements [taskkit.Aborter].
func (x *seeker) Abort(_ context.Context, b *seekBatch) error {
	next, _ := taskkit.Take(b, b.Spec.Numbers)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aborts = append(x.aborts, slices.Clone(next))
	return nil
}

// Report implements [taskkit.Reporter].
func (*seeker) Report(_ context.Context, b *seekBatch) ([]int, error) {
	if b.State.Searches != 0 {
		return nil, errors.New("the state is that of the search")
	}
	next, _ := taskkit.Take(b, b.Spec.Numbers)
	return slices.Clone(next), nil
}

// seek runs a task of seekKind.
func seek(t *testing.T, db *sql.DB, x *seeker, f faults, fail bool) *Outcome[seekSpec, seekState, []int] {
	t.Helper()
	h := &harness[seekSpec, seekState, []int]{
		tb: t, db: db, kind: seekKind, options: options{db: db, tries: 3, fail: fail},
		newKinds: func() []KindOption { return []KindOption{WithKind(seekKind, x)} },
	}
	out, _ := h.run(seekSpec{}, f)
	return out
}

// A stop right after the last batch of a search, whose commit had no answer, finds the
// targets complete: Abort and Report can take them.
func TestStopAfterUnansweredSearch(t *testing.T) {
	t.Parallel()
	for name, open := range Databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &seeker{}
			got := seek(t, open(t), x, faults{lostAnswer: true, stopAfter: 1}, false)
			if task := got.Task; task.Status != taskkit.StatusCompleted || !task.Partial || task.StatusDetail != "" || task.Progress != (taskkit.Progress{Total: 5}) {
				t.Errorf("ended in %s with %+v: %s", task.Status, task.Progress, task.StatusDetail)
			}
			if got.Result == nil || !slices.Equal(*got.Result, []int{5, 4}) || len(x.aborts) != 1 || !slices.Equal(x.aborts[0], []int{5, 4}) {
				t.Errorf("the result is %v, and Abort has taken %v; want the first two", got.Result, x.aborts)
			}
		})
	}
}

// The first attempt of each batch of a search fails as well.
func TestFailedSearch(t *testing.T) {
	t.Parallel()
	x := &seeker{}
	got := seek(t, Open(t), x, faults{}, true)
	if got.Task.Progress != (taskkit.Progress{Total: 5, Done: 5}) || len(got.Attempts) != 4 || x.again != 1 {
		t.Errorf("%+v after %d failed attempts, and %d searches after one", got.Task.Progress, len(got.Attempts), x.again)
	}
}
