package taskkit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
)

// tasksOf returns all pages of a list, and how many there are.
func tasksOf(tb testing.TB, db *testdb.DB, f taskkit.Filter) (ids []taskkit.ID, pages int) {
	tb.Helper()
	for more := true; more; pages++ {
		page, next, err := clientOf(db).Tasks(tb.Context(), f)
		if err != nil {
			tb.Fatal(err)
		}
		for _, t := range page {
			ids = append(ids, t.ID)
		}
		f.Before, more = next, next != taskkit.ID{}
	}
	return ids, pages
}

// rowsStage is a composite with one stage, which has buckets.
type rowsStage struct {
	funcs[rowsSpec, countState]

	rows *taskkit.Kind[rowsSpec, rowsState, string]
}

func (x *rowsStage) Stages(_ context.Context, b *taskkit.Batch[rowsSpec, countState]) ([]taskkit.Stage, error) {
	return []taskkit.Stage{taskkit.NewStage("count", x.rows, b.Spec)}, nil
}

// A list has the tasks that were submitted, and the stages and buckets below them when it is asked for them. A task
// runs while one below it does.
func TestListsHaveNoChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "roots_rows", 30)
		begun, release := make(chan struct{}, 10), make(chan struct{})
		rows := rowsKind("roots_rows")
		composite := taskkit.NewKind(taskkind.Definition[rowsSpec, countState, string]{Name: "roots_all", BatchSize: 10, Stages: true})
		reg := registered(rows, &rowsExecutor{table: "roots_rows", before: func(ctx context.Context, _ *rowsBatch) error {
			begun <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return ctx.Err()
			}
			return nil
		}})
		taskkit.Register(reg, composite, &rowsStage{rows: rows, funcs: funcs[rowsSpec, countState]{
			execute: func(context.Context, *taskkit.Batch[rowsSpec, countState]) (taskkit.Next, error) {
				return taskkit.Done, nil
			},
		}})
		started(t, db, reg, quick(t, db))
		owner := uuid.New()
		later := submitted(t, db, rows, rowsSpec{Rows: 1, Buckets: 1}, taskkit.OwnedBy(owner), taskkit.WithNotBefore(time.Now().Add(time.Hour)))
		id := submitted(t, db, composite, rowsSpec{Rows: 30, Buckets: 3}, taskkit.OwnedBy(owner))
		for range 3 {
			<-begun
		}
		stage := childrenOf(t, db, id)[0].ID
		var buckets []taskkit.ID
		for _, b := range childrenOf(t, db, stage) {
			buckets = append(buckets, b.ID)
		}
		until(t, "the starts of all buckets are stored", func() bool {
			executing, _ := tasksOf(t, db, taskkit.Filter{Parent: stage, Statuses: []taskkit.Status{taskkit.StatusExecuting}})
			return len(executing) == len(buckets)
		})
		slices.Reverse(buckets)
		below := append(slices.Clone(buckets), stage)
		all := append(slices.Clone(below), id, later)
		waiting := []taskkit.Status{taskkit.StatusQueued}
		type list struct {
			f    taskkit.Filter
			want []taskkit.ID
		}
		check := func(lists map[string]list) {
			t.Helper()
			for what, c := range lists {
				for _, limit := range []int{1, 2, 100} {
					c.f.Limit = limit
					if got, _ := tasksOf(t, db, c.f); !slices.Equal(got, c.want) {
						t.Errorf("%s, %d a page: %v, want %v", what, limit, got, c.want)
					}
				}
			}
		}
		check(map[string]list{
			"all":                        {taskkit.Filter{}, all[4:]},
			"with children":              {taskkit.Filter{Children: true}, all},
			"of the owner":               {taskkit.Filter{Owner: owner}, all[4:]},
			"of another":                 {taskkit.Filter{Owner: uuid.New()}, nil},
			"of the owner with children": {taskkit.Filter{Owner: owner, Children: true}, all},
			"of a kind":                  {taskkit.Filter{Kinds: []string{"roots_rows"}}, all[5:]},
			"of a kind with children":    {taskkit.Filter{Kinds: []string{"roots_rows"}, Children: true}, append(slices.Clone(below), later)},
			"children":                   {taskkit.Filter{Parent: stage}, buckets},
			"children of the owner":      {taskkit.Filter{Parent: id, Owner: owner}, below[3:]},
			"by id":                      {taskkit.Filter{IDs: []taskkit.ID{stage, later}}, []taskkit.ID{stage, later}},
			"running":                    {taskkit.Filter{Running: true}, all[4:5]},
			"running of the owner":       {taskkit.Filter{Owner: owner, Running: true}, all[4:5]},
			"running of another":         {taskkit.Filter{Owner: uuid.New(), Running: true}, nil},
			"running with children":      {taskkit.Filter{Owner: owner, Running: true, Children: true}, all[:5]},
			"running children":           {taskkit.Filter{Parent: id, Running: true}, below[3:]},
			"running and waiting":        {taskkit.Filter{Running: true, Statuses: waiting, Children: true}, all[3:5]},
			"executing":                  {taskkit.Filter{Statuses: []taskkit.Status{taskkit.StatusExecuting}}, nil},
			"executing with children":    {taskkit.Filter{Owner: owner, Statuses: []taskkit.Status{taskkit.StatusExecuting}, Children: true}, buckets},
		})
		if last, err := clientOf(db).Resolve(t.Context(), "@last"); err != nil || last != id {
			t.Errorf("@last is %v, %v, want %v", last, err, id)
		}
		close(release)
		ended(t, db, id)
		check(map[string]list{
			"running at the end": {taskkit.Filter{Running: true, Children: true}, nil},
			"completed":          {taskkit.Filter{Owner: owner, Statuses: []taskkit.Status{taskkit.StatusCompleted}}, []taskkit.ID{id}},
		})
	})
}

// Dead letters are tasks that can be retried: the task whose buckets have failed, and the buckets on request.
func TestDeadLettersHaveNoChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "dead_rows", 30)
		ops, k := taskops.New(clientOf(db)), rowsKind("dead_rows")
		broken := make(chan struct{})
		started(t, db, registered(k, &rowsExecutor{table: "dead_rows", before: func(context.Context, *rowsBatch) error {
			select {
			case <-broken:
				return nil
			default:
				return taskkit.Permanent("planned", errPlanned)
			}
		}}), quick(t, db))
		id := submitted(t, db, k, rowsSpec{Rows: 30, Buckets: 3}, taskkit.WithChildFailure(taskkit.FailParent), taskkit.WithMaxParallel(1))
		ended(t, db, id)
		bucket := childrenOf(t, db, id)[0].ID
		groups := func(f taskops.DeadFilter) (codes []string) {
			t.Helper()
			found, err := ops.Dead(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range found.Groups {
				codes = append(codes, g.Code)
			}
			return codes
		}
		for what, c := range map[string]struct {
			f      taskops.DeadFilter
			groups []string
			tasks  []taskkit.ID
		}{
			"all":                     {taskops.DeadFilter{}, []string{"child_failed"}, []taskkit.ID{id}},
			"with children":           {taskops.DeadFilter{Children: true}, []string{"child_failed", "planned"}, []taskkit.ID{bucket, id}},
			"of a kind":               {taskops.DeadFilter{Kinds: []string{"dead_rows"}}, []string{"child_failed"}, []taskkit.ID{id}},
			"of a kind with children": {taskops.DeadFilter{Kinds: []string{"dead_rows"}, Children: true, Code: "planned"}, []string{"planned"}, []taskkit.ID{bucket}},
			"the code of a child":     {taskops.DeadFilter{Code: "planned"}, nil, nil},
		} {
			if got := groups(c.f); !slices.Equal(got, c.groups) {
				t.Errorf("%s: groups %v, want %v", what, got, c.groups)
			}
			page, _, err := ops.DeadTasks(t.Context(), c.f, taskkit.ID{}, 10)
			var got []taskkit.ID
			for _, task := range page {
				got = append(got, task.ID)
			}
			if err != nil || !slices.Equal(got, c.tasks) {
				t.Errorf("%s: %v, %v, want %v", what, got, err, c.tasks)
			}
		}
		if report, err := ops.RetryDead(t.Context(), taskops.DeadFilter{Code: "planned", Children: true}); err != nil || report.Refused != 1 || report.Done != 0 {
			t.Errorf("a retry of the bucket alone: %+v, %v", report, err)
		}
		close(broken)
		if report, err := ops.RetryDead(t.Context(), taskops.DeadFilter{}); err != nil || report.Refused != 0 || report.Done != 1 {
			t.Errorf("a retry of all: %+v, %v", report, err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("the retried task ended in %s: %s", task.Status, task.StatusDetail)
		}
	})
}

// A page of an owner's tasks is whole however many children they have, and a list with children reads a part at a time.
func TestListsDoNotReadChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		parent, child := familyKind("many_parent"), newKind[countSpec, countState]("many_child", 10)
		started(t, db, registered(parent, &funcs[familySpec, familyState]{execute: func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
			for range b.Spec.Children / 1000 {
				if _, err := taskkit.SubmitMany(ctx, b.Tx, child, make([]countSpec, 1000), taskkit.WithParent(b.Task), taskkit.WithQueue("unserved")); err != nil {
					return taskkit.More, err
				}
			}
			return taskkit.AwaitChildren(0, taskkit.FailParent), nil
		}}), quick(t, db))
		owner := uuid.New()
		first := submitted(t, db, parent, familySpec{}, taskkit.OwnedBy(owner), taskkit.WithQueue("unserved"))
		id := submitted(t, db, parent, familySpec{Children: 12_000}, taskkit.OwnedBy(owner))
		until(t, "the children are submitted", func() bool { return len(childrenOf(t, db, id)) > 0 })
		want := []taskkit.ID{id, first}
		for what, c := range map[string]struct {
			f     taskkit.Filter
			pages int
		}{
			"of the owner":     {taskkit.Filter{Owner: owner}, 1},
			"of a kind":        {taskkit.Filter{Owner: owner, Kinds: []string{"many_parent"}}, 1},
			"of everybody":     {taskkit.Filter{}, 2},
			"among all of his": {taskkit.Filter{Owner: owner, Children: true, Kinds: []string{"many_parent"}}, 2},
		} {
			if got, pages := tasksOf(t, db, c.f); !slices.Equal(got, want) || pages != c.pages {
				t.Errorf("%s: %v in %d pages, want %v in %d", what, got, pages, want, c.pages)
			}
		}
	})
}
