package taskhttp_test

import (
	"context"
	"math/big"
	"slices"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

type halvesState struct {
	Items int `json:"items"`
}

// halvesKind has tasks with two buckets of two items.
var halvesKind = taskkit.NewKind(taskkind.Definition[struct{}, halvesState, struct{}]{Name: "halves", Segments: true})

// halves is the executor of halvesKind. It holds the second item of each bucket.
type halves struct{ work *work }

func (halves) Segments(context.Context, *taskkit.Batch[struct{}, halvesState]) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(4), Count: 2}.Plan()
}

func (x halves) Execute(ctx context.Context, b *taskkit.Batch[struct{}, halvesState]) (taskkit.Next, error) {
	b.Total(2)
	if b.State.Items++; b.State.Items == 2 {
		if err := x.work.held(ctx, b.Task); err != nil {
			return taskkit.More, err
		}
		b.Advance(1)
		return taskkit.Done, nil
	}
	b.Advance(1)
	return taskkit.More, nil
}

func (halves) Merge(total *halvesState, part halvesState) error {
	total.Items += part.Items
	return nil
}

// A job whose buckets are executed is RUNNING, with their progress, and can be stopped or deleted.
func TestPTV17RunningWhileChildrenRun(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		begin := func() taskkit.ID {
			t.Helper()
			id := submit(t, e, halvesKind, struct{}{})
			for _, c := range e.children(t, id, 2) {
				e.batch(t, c.ID)
			}
			return id
		}
		id := begin()
		r := e.do(t, "GET", path(id), "")
		j := r.job(t)
		if j.Status != taskhttp.Running || j.Reason != "" || j.Done {
			t.Errorf("while its buckets are executed: %s", r.body)
		}
		if p := j.Progress; p == nil || p.Processed != 2 || p.Succeeded != 2 || p.Total == nil || *p.Total != 4 || *p.Remaining != 2 {
			t.Errorf("progress: %s", r.body)
		}
		for name, want := range map[string]bool{"stop": true, "delete": true, "result": false} {
			if _, have := j.Links[name]; have != want {
				t.Errorf("link %s of %s: %t, want %t", name, r.body, have, want)
			}
		}
		check(t, "fetch", e.do(t, "GET", path(id)+"/result", ""), 409, taskhttp.ErrNotDone)
		if got := listOf(t, newDocument(t), "/jobs", e.do(t, "GET", "/jobs?status=RUNNING", "")); !slices.Equal(got, []taskkit.ID{id}) {
			t.Errorf("listed as RUNNING: %v, want %s", got, id)
		}
		for range 2 {
			e.work.next <- struct{}{}
		}
		if j := e.reach(t, id, taskhttp.Succeeded); j.Progress.Processed != 4 || j.Partial {
			t.Errorf("in the end: %+v", j)
		}
		id = begin()
		if r := e.do(t, "POST", path(id)+"/stop", ""); r.status != 202 || r.job(t).Status != taskhttp.Stopping {
			t.Errorf("stop: %d %s", r.status, r.body)
		}
		id = begin()
		if r := e.do(t, "DELETE", path(id), ""); r.status != 200 || r.job(t).Status != taskhttp.Deleted {
			t.Errorf("delete: %d %s", r.status, r.body)
		}
	})
}
