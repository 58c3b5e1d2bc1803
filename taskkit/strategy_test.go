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

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskpolicy"
)

// troubled executes numbers, of which one has an error for a number of tries.
type troubled struct {
	err   error
	times int32 // how often there is the error; 0: always
	how   string
	tries atomic.Int32 // of the number
}

const trouble = 7

func (x *troubled) try(n int) error {
	if n != trouble {
		return nil
	}
	if try := x.tries.Add(1); x.times > 0 && try > x.times {
		return nil
	}
	return x.err
}

func (x *troubled) Execute(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	if x.how == "each" {
		return next, taskkit.Each(ctx, b, numbers, func(ctx context.Context, part []int) error {
			if err := touchAll(ctx, b, part); err != nil {
				return err
			}
			if slices.Contains(part, trouble) {
				if len(part) > 1 {
					return x.err
				}
				return x.try(trouble)
			}
			return nil
		})
	}
	for _, n := range numbers {
		err := x.try(n)
		switch {
		case err == nil:
			if err := touchAll(ctx, b, []int{n}); err != nil {
				return next, err
			}
		case x.how == "fail":
			b.Fail(n, err)
		default:
			return next, err
		}
	}
	return next, nil
}

func touchAll(ctx context.Context, b *numbersBatch, numbers []int) error {
	for _, n := range numbers {
		if err := touch(ctx, b.Tx, b.Task, n, n+1, "w"); err != nil {
			return err
		}
	}
	return nil
}

// A strategy decides about errors of items and of batches, whichever way the executor has reported them. The first entry that
// matches counts, and what no entry matches is treated as without a strategy.
func TestMID43Reactions(t *testing.T) {
	t.Parallel()
	permanent, transient := taskkit.Permanent("odd", errPlanned), taskkit.Transient(errPlanned)
	type outcome struct {
		status  taskkit.Status
		partial bool
		done    int64
		failed  int64
		skipped int64
		pause   bool // first
		tries   int32
	}
	const completed, failure = taskkit.StatusCompleted, taskkit.StatusFailure
	again := func(e taskpolicy.OnError) taskpolicy.OnError {
		e.Do, e.First, e.Tries = taskpolicy.DeferItem, time.Millisecond, 4
		return e
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		for name, c := range map[string]struct {
			how   string
			err   error
			times int32
			s     taskpolicy.Strategy
			want  outcome
		}{
			"a batch, skipped":        {"", permanent, 0, taskpolicy.Strategy{{Codes: []string{"odd"}, Do: taskpolicy.SkipItem}}, outcome{status: completed, done: 19, skipped: 1, tries: 6}},
			"a batch, failed":         {"", transient, 0, taskpolicy.Strategy{{Class: taskpolicy.Transient, Do: taskpolicy.FailItem}}, outcome{status: completed, done: 19, failed: 1, tries: 6}},
			"a batch, deferred":       {"", transient, 6, taskpolicy.Strategy{again(taskpolicy.OnError{})}, outcome{status: completed, done: 20, tries: 7}},
			"a batch, deferred, lost": {"", permanent, 0, taskpolicy.Strategy{again(taskpolicy.OnError{Of: taskpolicy.Batch})}, outcome{status: completed, done: 19, failed: 1, tries: 9}},
			"a batch, retried":        {"", permanent, 2, taskpolicy.Strategy{{Do: taskpolicy.RetryBatch}}, outcome{status: completed, done: 20, tries: 3}},
			"a batch, paused":         {"", transient, 1, taskpolicy.Strategy{{Do: taskpolicy.PauseTask}}, outcome{status: completed, done: 20, pause: true, tries: 2}},
			"a batch, stopped":        {"", transient, 0, taskpolicy.Strategy{{Do: taskpolicy.StopTask}}, outcome{status: completed, partial: true, tries: 1}},
			"a batch, ended":          {"", transient, 0, taskpolicy.Strategy{{Do: taskpolicy.FailTask}}, outcome{status: failure, tries: 1}},
			"a batch, unmatched":      {"", permanent, 0, taskpolicy.Strategy{{Of: taskpolicy.Item, Do: taskpolicy.SkipItem}, {Class: taskpolicy.Transient, Do: taskpolicy.StopTask}, {Codes: []string{"even"}, Do: taskpolicy.StopTask}}, outcome{status: failure, tries: 1}},
			"an item, skipped":        {"fail", permanent, 0, taskpolicy.Strategy{{Codes: []string{"even"}, Do: taskpolicy.StopTask}, {Codes: []string{"even", "odd"}, Do: taskpolicy.SkipItem}, {Do: taskpolicy.FailTask}}, outcome{status: completed, done: 19, skipped: 1, tries: 1}},
			"an item, deferred":       {"fail", errPlanned, 2, taskpolicy.Strategy{again(taskpolicy.OnError{Codes: []string{"item_failed"}})}, outcome{status: completed, done: 20, tries: 3}},
			"an item, retried":        {"fail", permanent, 1, taskpolicy.Strategy{{Do: taskpolicy.RetryBatch}}, outcome{status: completed, done: 20, tries: 2}},
			"an item, paused":         {"fail", permanent, 1, taskpolicy.Strategy{{Of: taskpolicy.Item, Do: taskpolicy.PauseTask}}, outcome{status: completed, done: 19, failed: 1, pause: true, tries: 1}},
			"an item, stopped":        {"fail", permanent, 0, taskpolicy.Strategy{{Of: taskpolicy.Item, Do: taskpolicy.StopTask}}, outcome{status: completed, partial: true, done: 9, failed: 1, tries: 1}},
			"an item, ended":          {"fail", permanent, 0, taskpolicy.Strategy{{Do: taskpolicy.FailTask}}, outcome{status: failure, tries: 1}},
			"each, transient":         {"each", transient, 0, taskpolicy.Strategy{{Of: taskpolicy.Item, Class: taskpolicy.Transient, Do: taskpolicy.SkipItem}}, outcome{status: completed, done: 19, skipped: 1, tries: 1}},
			"each, deferred":          {"each", errPlanned, 2, taskpolicy.Strategy{again(taskpolicy.OnError{Class: taskpolicy.Transient})}, outcome{status: completed, done: 20, tries: 3}},
			"each, ended":             {"each", permanent, 0, taskpolicy.Strategy{{Of: taskpolicy.Item, Do: taskpolicy.FailTask}}, outcome{status: failure, tries: 1}},
		} {
			t.Run(name, func(t *testing.T) {
				k := badEvery("trouble_"+strings.NewReplacer(" ", "_", ",", "").Replace(name), "")
				x := &troubled{err: c.err, times: c.times, how: c.how}
				stop := started(t, db, registered(k, x), unhurried(t, db))
				defer stop()
				id := submitted(t, db, k, below(20), taskkit.WithStrategy(c.s))
				if c.want.pause {
					if task := paused(t, db, id); task.Cause() != taskcause.Rule || !strings.Contains(task.ControlReason, "pause_task") {
						t.Errorf("paused by %s: %s", task.Cause(), task.ControlReason)
					}
					if _, err := clientOf(db).Resume(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				task := ended(t, db, id)
				p := task.Progress
				if got := (outcome{task.Status, task.Partial, p.Done, p.Failed, p.Skipped, c.want.pause, x.tries.Load()}); got != c.want {
					t.Errorf("ended as %+v, want %+v: %s", got, c.want, task.StatusDetail)
				}
				if c.want.done == 20 {
					checkTouched(t, db.DB, id, 20)
				}
				events, err := clientOf(db).Events(t.Context(), id, 10)
				if name == "an item, stopped" && (err != nil || len(events) == 0 || !strings.HasPrefix(events[0].Reason, "strategy: ")) {
					t.Errorf("events %+v, %v", events, err)
				}
			})
		}
	})
}

// The strategy of a kind is for all tasks that have none of their own, and WithStrategy reaches the parts of a task: ranges, buckets
// and stages. It holds in previews and for frozen sets, and matches SQLSTATEs on both databases.
func TestMID43Shapes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE once (n integer PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
		numberTable(t, db, "strategy_rows", 100)
		skip := taskpolicy.Strategy{{Codes: []string{"odd"}, Do: taskpolicy.SkipItem}}
		list := func(name string) *taskkit.Kind[numbersSpec, countState, struct{}] {
			return taskkit.NewKind(taskkind.Definition[numbersSpec, countState, struct{}]{
				Name: name, BatchSize: 10, MaxBatchSize: 10, Preview: true,
				Targets:  taskkind.TargetsIn("numbers", func(s *numbersSpec) *[]int { return &s.Numbers }),
				Strategy: taskpolicy.Strategy{{Codes: []string{"odd"}, Do: taskpolicy.FailTask}},
			})
		}
		k, unique := list("strategy_list"), badEvery("strategy_unique", "")
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "strategy_all", Stages: true})
		buckets := rowsKind("strategy_rows")
		var reg taskkit.Registry
		taskkit.Register(&reg, k, &troubled{err: taskkit.Permanent("odd", errPlanned)})
		taskkit.Register(&reg, composite, &oneStage{k})
		taskkit.Register(&reg, buckets, &rowsExecutor{table: "strategy_rows", before: func(_ context.Context, b *rowsBatch) error {
			if b.State.Buckets == 0 {
				b.Fail(b.Segment, taskkit.Permanent("odd", nil))
			}
			return nil
		}})
		taskkit.Register(&reg, unique, &funcs[numbersSpec, countState]{execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
			numbers, next := taskkit.Take(b, b.Spec.Numbers)
			return next, taskkit.Each(ctx, b, numbers, func(ctx context.Context, part []int) error {
				for _, n := range part {
					if _, err := b.Tx.ExecContext(ctx, "INSERT INTO once VALUES ($1)", n/2); err != nil {
						return err
					}
				}
				return nil
			})
		}})
		started(t, db, &reg, quick(t, db))
		with := taskkit.WithStrategy(skip)
		for name, c := range map[string]struct {
			id     taskkit.ID
			status taskkit.Status
			want   taskkit.Progress
		}{
			"of the kind": {submitted(t, db, k, below(20)), taskkit.StatusFailure, taskkit.Progress{Total: 20}},
			"list":        {submitted(t, db, k, below(20), with), taskkit.StatusCompleted, taskkit.Progress{Total: 20, Done: 19, Skipped: 1}},
			"frozen set":  {submitted(t, db, k, numbersSpec{}, with, taskkit.WithTargets(slices.Values(below(20).Numbers))), taskkit.StatusCompleted, taskkit.Progress{Total: 20, Done: 19, Skipped: 1}},
			"preview":     {submitted(t, db, k, below(20), with, taskkit.WithPreview()), taskkit.StatusCompleted, taskkit.Progress{Total: 20, Done: 19, Skipped: 1}},
			"ranges":      {submitted(t, db, k, below(20), with, taskkit.WithMaxParallel(2)), taskkit.StatusCompleted, taskkit.Progress{Total: 20, Done: 19, Skipped: 1}},
			"stages":      {submitted(t, db, composite, familySpec{}, with), taskkit.StatusCompleted, taskkit.Progress{Total: 20, Done: 19, Skipped: 1}},
			"buckets":     {submitted(t, db, buckets, rowsSpec{Rows: 100, Buckets: 4}, with), taskkit.StatusCompleted, taskkit.Progress{Total: -1, Done: 96, Skipped: 4}},
			"SQLSTATE": {
				submitted(t, db, unique, below(20), taskkit.WithStrategy(taskpolicy.Strategy{{Codes: []string{"23505"}, Do: taskpolicy.SkipItem}, {Do: taskpolicy.FailTask}})),
				taskkit.StatusCompleted,
				taskkit.Progress{Total: 20, Done: 10, Skipped: 10},
			},
		} {
			task := ended(t, db, c.id)
			if task.Status != c.status || task.Progress != c.want {
				t.Errorf("%s: ended in %s: %s, %+v, want %s %+v", name, task.Status, task.StatusDetail, task.Progress, c.status, c.want)
			}
		}
	})
}

// oneStage is a composite of one stage with 20 numbers.
type oneStage struct {
	k *taskkit.Kind[numbersSpec, countState, struct{}]
}

func (x *oneStage) Stages(context.Context, *familyBatch) ([]taskkit.Stage, error) {
	return []taskkit.Stage{taskkit.NewStage("numbers", x.k, below(20))}, nil
}

func (*oneStage) Execute(context.Context, *familyBatch) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// A strategy that cannot be meant is refused when it is given.
func TestMID43Refused(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	k := badEvery("strategy_refused", "")
	for name, c := range map[string]struct {
		s    taskpolicy.Strategy
		says string
	}{
		"empty":       {nil, "no entry"},
		"no reaction": {taskpolicy.Strategy{{}}, "entry 1 of the strategy: it has no reaction"},
		"reaction":    {taskpolicy.Strategy{{Do: "ignore"}}, `Do is "ignore"`},
		"class":       {taskpolicy.Strategy{{Class: "fatal", Do: taskpolicy.FailItem}}, `Class is "fatal"`},
		"of":          {taskpolicy.Strategy{{Of: "task", Do: taskpolicy.FailItem}}, `Of is "task"`},
		"code":        {taskpolicy.Strategy{{Codes: []string{""}, Do: taskpolicy.FailItem}}, "is no code"},
		"times":       {taskpolicy.Strategy{{Do: taskpolicy.FailItem, First: time.Second}}, "are for defer_item"},
		"no first":    {taskpolicy.Strategy{{Do: taskpolicy.DeferItem, Tries: 5}}, "no First"},
		"tries":       {taskpolicy.Strategy{{Do: taskpolicy.DeferItem, First: time.Second, Tries: 1}}, "Tries is 1"},
		"negative":    {taskpolicy.Strategy{{Do: taskpolicy.DeferItem, First: -time.Second}}, "defers items for -1s"},
		"rounds":      {taskpolicy.Strategy{{Codes: []string{"a"}, Do: taskpolicy.DeferItem, First: time.Second}, {Do: taskpolicy.DeferItem, First: time.Minute}}, "entry 2 of the strategy: it defers items for other times"},
		"unreachable": {taskpolicy.Strategy{{Do: taskpolicy.RetryBatch}, {Codes: []string{"a"}, Do: taskpolicy.FailTask}}, "entry 2 of the strategy is never used"},
		"too long":    {make(taskpolicy.Strategy, 51), "51 entries"},
	} {
		_, err := taskkit.Submit(t.Context(), db.DB, k, below(1), taskkit.System(), taskkit.WithStrategy(c.s))
		if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithStrategy" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an *OptionError that says %q", name, err, c.says)
		}
		if len(c.s) == 0 {
			continue
		}
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, c.says) {
					t.Errorf("%s: NewKind panicked with %s", name, v)
				}
			}()
			taskkit.NewKind(taskkind.Definition[numbersSpec, countState, string]{Name: "refused", Strategy: c.s})
		}()
	}
}
