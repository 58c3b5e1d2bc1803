package taskkit_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// A composite task runs its stages in their order, and those only whose turn comes.
func TestStages(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var (
			mu     sync.Mutex
			ran    []string
			broken = map[string]bool{"c": true, "e": true}
		)
		step := newKind[stepSpec, countState]("stage_step", 10)
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "stage_all", BatchSize: 10, Stages: true})
		var reg taskkit.Registry
		taskkit.Register(&reg, step, &funcs[stepSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[stepSpec, countState]) (taskkit.Next, error) {
			mu.Lock()
			defer mu.Unlock()
			if broken[b.Spec.Name] {
				return taskkit.More, taskkit.Permanent("planned", errPlanned)
			}
			ran = append(ran, b.Spec.Name)
			return taskkit.Done, nil
		}})
		taskkit.Register(&reg, composite, &staged{step: step, ran: func(s string) { mu.Lock(); ran = append(ran, s); mu.Unlock() }})
		started(t, db, &reg, quick(t, db))
		id := submitted(t, db, composite, familySpec{})
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, "stage c,") || !strings.Contains(task.StatusDetail, "stage e,") {
			t.Fatalf("the composite ended in %s: %s", task.Status, task.StatusDetail)
		}
		check := func(want string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(ran, " "); got != want {
				t.Errorf("ran %q, want %q", got, want)
			}
			ran = nil
		}
		// a; b, c and e after a; d after b and c; f after d and e.
		check("a b")
		mu.Lock()
		broken = nil
		mu.Unlock()
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Fatalf("the retried composite ended in %s: %s", task.Status, task.StatusDetail)
		}
		mu.Lock()
		sorted := strings.Join(ran, " ")
		mu.Unlock()
		if sorted != "c e d f all" && sorted != "e c d f all" && sorted != "c d e f all" {
			t.Errorf("the retry ran %q", sorted)
		}
		names := ""
		for _, c := range childrenOf(t, db, id) {
			names += c.Stage
		}
		if len(names) != 6 || !strings.HasPrefix(names, "a") || !strings.HasSuffix(names, "f") {
			t.Errorf("the stages are %q", names)
		}
	})
}

type stepSpec struct {
	Name string `json:"name"`
}

// staged is a composite of six stages.
type staged struct {
	step *taskkit.Kind[stepSpec, countState, string]
	ran  func(string)
}

func (x *staged) Stages(_ context.Context, b *familyBatch) ([]taskkit.Stage, error) {
	if b.Spec.Children < 0 {
		return nil, fmt.Errorf("%d children", b.Spec.Children)
	}
	stage := func(name string) taskkit.Stage { return taskkit.NewStage(name, x.step, stepSpec{name}) }
	return []taskkit.Stage{
		stage("a"), stage("b"), stage("c").After("a"), stage("d").After("b", "c"), stage("e").After("a"), stage("f").After("d", "e"),
	}, nil
}

func (x *staged) Execute(context.Context, *familyBatch) (taskkit.Next, error) {
	x.ran("all")
	return taskkit.Done, nil
}

// Stages that cannot be used end the task before the first of them.
func TestStagesRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		step := newKind[stepSpec, countState]("refused_step", 10)
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "refused_all", BatchSize: 10, Stages: true})
		x := &listedStages{}
		var reg taskkit.Registry
		taskkit.Register(&reg, composite, x)
		started(t, db, &reg, quick(t, db))
		stage := func(name string) taskkit.Stage { return taskkit.NewStage(name, step, stepSpec{name}) }
		for problem, stages := range map[string][]taskkit.Stage{
			"a -> c -> b -> a":     {stage("a").After("c"), stage("b").After("a"), stage("c").After("b")},
			"there are none":       {},
			"no stage has that":    {stage("a").After("z")},
			"kind: nil":            {taskkit.NewStage[stepSpec, countState, string]("a", nil, stepSpec{})},
			"have this name":       {stage("a"), stage("a")},
			"WithUniqueKey: used":  {taskkit.NewStage("a", step, stepSpec{}, taskkit.WithUniqueKey("k"))},
			"the name is not vali": {stage("A b")},
		} {
			x.set(stages)
			task := ended(t, db, submitted(t, db, composite, familySpec{}))
			if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "stages: ") || !strings.Contains(task.StatusDetail, problem) || task.Children != nil {
				t.Errorf("%s: the task ended in %s (%s) with %+v", problem, task.Status, task.StatusDetail, task.Children)
			}
		}
	})
}

// listedStages is a composite of stages that a test gives it.
type listedStages struct {
	mu     sync.Mutex
	stages []taskkit.Stage
}

func (x *listedStages) set(stages []taskkit.Stage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stages = stages
}

func (x *listedStages) Stages(context.Context, *familyBatch) ([]taskkit.Stage, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stages, nil
}

func (x *listedStages) Execute(context.Context, *familyBatch) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// Any kind can be split into parts that run one after another (MID-29): without After the
// stages are a chain.
func TestGenericPartitions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var (
			mu  sync.Mutex
			ran []string
		)
		step := newKind[stepSpec, countState]("part_step", 10)
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "part_all", BatchSize: 10, Stages: true})
		x := &listedStages{}
		for i := range 5 {
			name := fmt.Sprintf("part_%d", i+1)
			x.stages = append(x.stages, taskkit.NewStage(name, step, stepSpec{name}))
		}
		var reg taskkit.Registry
		taskkit.Register(&reg, composite, x)
		taskkit.Register(&reg, step, &funcs[stepSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[stepSpec, countState]) (taskkit.Next, error) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, b.Spec.Name)
			return taskkit.Done, nil
		}})
		started(t, db, &reg, quick(t, db))
		task := ended(t, db, submitted(t, db, composite, familySpec{}))
		if got := strings.Join(ran, " "); got != "part_1 part_2 part_3 part_4 part_5" || task.Status != taskkit.StatusCompleted {
			t.Errorf("ran %q and ended in %s", got, task.Status)
		}
	})
}

// A composite may have stages of kinds of their own, of which one is in buckets (MID-31): a
// reconciliation in three stages whose second is in 128 buckets over 2^64.
func TestSpecificPartitions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "hashes", 500)
		before, after := newKind[stepSpec, countState]("reconcile_before", 10), newKind[stepSpec, countState]("reconcile_after", 10)
		middle := rowsKind("reconcile_middle")
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "reconcile_all", BatchSize: 10, Stages: true})
		var reg taskkit.Registry
		taskkit.Register(&reg, composite, &listedStages{stages: []taskkit.Stage{
			taskkit.NewStage("operation_completion", before, stepSpec{}), taskkit.NewStage("resource_objects", middle, rowsSpec{}), taskkit.NewStage("remaining_shadows", after, stepSpec{}),
		}})
		done := &funcs[stepSpec, countState]{execute: func(context.Context, *taskkit.Batch[stepSpec, countState]) (taskkit.Next, error) {
			return taskkit.Done, nil
		}}
		taskkit.Register(&reg, before, done)
		taskkit.Register(&reg, after, done)
		taskkit.Register(&reg, middle, &rowsExecutor{table: "hashes", plan: func(b *rowsBatch) (*segment.Plan, error) {
			if dialectOf(b) != "postgres" { // SQLite has no greater integers
				return segment.Numeric{From: new(big.Int).Neg(bigPower(63)), To: new(big.Int).Sub(bigPower(63), big.NewInt(1)), Count: 128}.Plan()
			}
			return segment.Numeric{To: bigPower(64), Count: 128}.Plan()
		}})
		started(t, db, &reg, quick(t, db))
		id := submitted(t, db, composite, familySpec{})
		task := ended(t, db, id)
		children := childrenOf(t, db, id)
		if task.Status != taskkit.StatusCompleted || len(children) != 3 {
			t.Fatalf("the composite ended in %s with %d stages: %s", task.Status, len(children), task.StatusDetail)
		}
		stage, err := clientOf(db).Task(t.Context(), children[1].ID)
		if err != nil || stage.Children.Completed != 128 || stage.Progress.Done != 500 {
			t.Errorf("the stage in buckets: %+v, %+v (%v)", stage.Children, stage.Progress, err)
		}
	})
}

// bigPower is a power of two.
func bigPower(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }
