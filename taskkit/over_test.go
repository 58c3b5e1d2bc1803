package taskkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// overSpec has a list of targets of any type.
type overSpec[T any] struct {
	Remark  string   `json:"remark"`
	Targets []T      `json:"targets" validate:"required,max=3,unique,dive,required"`
	Others  []string `json:"others,omitempty"`
}

// overKind is a kind over targets of one type.
func overKind[T any](name string) *taskkit.Kind[overSpec[T], countState, string] {
	return taskkit.NewKind(taskkind.Definition[overSpec[T], countState, string]{
		Name: name, BatchSize: 400,
		Targets: taskkind.TargetsIn("targets", func(s *overSpec[T]) *[]T { return &s.Targets }),
	})
}

// pair is a small struct as a target.
type pair struct {
	Group string `json:"group"`
	N     int    `json:"n"`
}

// takes keeps what Take returns in batches that succeed.
type takes[T any] struct {
	mu  sync.Mutex
	got []T
}

func (x *takes[T]) Execute(_ context.Context, b *taskkit.Batch[overSpec[T], countState]) (taskkit.Next, error) {
	items, next := taskkit.Take(b, b.Spec.Targets)
	again, _ := taskkit.Take(b, b.Spec.Targets)
	if len(items) > b.Limit || len(again) != len(items) {
		return next, taskkit.Permanent("wrong_take", nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got = append(x.got, items...)
	return next, nil
}

// runOver submits a task over targets, runs it and compares what was taken.
func runOver[T comparable](t *testing.T, db *testdb.DB, name string, ids iter.Seq[T], want []T) {
	t.Helper()
	k, x := overKind[T](name), &takes[T]{}
	id := submitted(t, db, k, overSpec[T]{Remark: "n"}, taskkit.WithTargets(ids))
	before, err := taskkit.Get(t.Context(), clientOf(db), k, id)
	if err != nil {
		t.Fatal(err)
	}
	if before.Spec.Remark != "n" || len(before.Spec.Targets) != 0 || before.Task.Progress.Total != int64(len(want)) {
		t.Errorf("%s: spec %+v and total %d before the run", name, before.Spec, before.Task.Progress.Total)
	}
	if string(before.Task.SpecJSON) != `{"remark":"n","targets":null}` {
		t.Errorf("%s: the spec is shown as %s", name, before.Task.SpecJSON)
	}
	stop := started(t, db, registered(k, x), quick(t, db))
	task := ended(t, db, id)
	stop() // each worker keeps connections
	if task.Status != taskkit.StatusCompleted || task.Progress.Done != int64(len(want)) || task.Progress.Total != int64(len(want)) {
		t.Fatalf("%s: ended as %s %+v: %s", name, task.Status, task.Progress, task.StatusDetail)
	}
	if !slices.Equal(x.got, want) {
		t.Errorf("%s: %d targets were taken, want %d, in their order", name, len(x.got), len(want))
	}
}

// numbers are n integers that ascend, none of them 0.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i - 50_000
	}
	return all
}

// A frozen set comes back as it was: of every type, at and around the size of a page.
func TestOverReturnsTheTargets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for _, n := range []int{1, 999, 1000, 1001, 25_000} {
			all := numbers(n)
			runOver(t, db, fmt.Sprintf("numbers_%d", n), slices.Values(all), all)
		}
		ids := make([]uuid.UUID, 2500)
		words := make([]string, 2500)
		pairs := make([]pair, 2500)
		for i := range ids {
			ids[i] = uuid.New()
			words[i] = fmt.Sprintf(`%d "quoted\" ]},[{ ü %s`, i, strings.Repeat("x", i%900))
			pairs[i] = pair{Group: words[i][:4], N: -i}
		}
		runOver(t, db, "ids", slices.Values(ids), ids)
		runOver(t, db, "words", slices.Values(words), words)
		runOver(t, db, "pairs", slices.Values(pairs), pairs)
	})
}

// A target that comes twice is taken once, where it came first.
func TestOverLeavesOutDuplicates(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		want := numbers(2200)
		slices.Reverse(want)
		runOver(t, db, "twice", slices.Values(append(slices.Clone(want), want...)), want)
	})
}

// failsAfter is a sequence of n words and then one that is bad.
func failsAfter(n int, bad string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprint("t", i)) {
				return
			}
		}
		yield(bad)
	}
}

// Whatever is wrong with a set of targets is a typed error, and nothing is stored.
func TestOverRefusesBadSets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := overKind[string]("words")
		submit := func(spec overSpec[string], opts ...taskkit.SubmitOption) error {
			_, err := taskkit.Submit(t.Context(), db.DB, k, spec,
				append(opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			return err
		}
		one := slices.Values([]string{"a"})
		for name, tc := range map[string]struct {
			err  error
			as   any
			says string
		}{
			"type":        {submit(overSpec[string]{}, taskkit.WithTargets(slices.Values([]int{1}))), new(*taskkit.OptionError), "the targets are of type int, and those of kind words, in the list targets of its spec, are of type string"},
			"nil":         {submit(overSpec[string]{}, taskkit.WithTargets[string](nil)), new(*taskkit.OptionError), "nil is no sequence"},
			"list":        {submit(overSpec[string]{Targets: []string{"x"}}, taskkit.WithTargets(one)), new(*taskkit.OptionError), "leave it empty"},
			"twice":       {submit(overSpec[string]{}, taskkit.WithTargets(one), taskkit.WithTargets(one)), new(*taskkit.OptionError), "used twice"},
			"coalescing":  {submit(overSpec[string]{}, taskkit.WithTargets(one), taskkit.WithCoalescing("r")), new(*taskkit.OptionError), "used together with WithTargets"},
			"empty":       {submit(overSpec[string]{}, taskkit.WithTargets(slices.Values([]string(nil)))), new(*taskkit.TargetsError), "there are no targets"},
			"large":       {submit(overSpec[string]{}, taskkit.WithTargets(failsAfter(3, strings.Repeat("x", 1023)))), new(*taskkit.TargetsError), "the target at position 3 has 1025 bytes"},
			"large, late": {submit(overSpec[string]{}, taskkit.WithTargets(failsAfter(20_000, strings.Repeat("x", 1023)))), new(*taskkit.TargetsError), "the target at position 20000 has 1025 bytes"},
			"rule":        {submit(overSpec[string]{}, taskkit.WithTargets(failsAfter(1003, ""))), new(*taskkit.SpecError), "/targets/1003 breaks the rule required"},
			"rule, late":  {submit(overSpec[string]{}, taskkit.WithTargets(failsAfter(20_003, ""))), new(*taskkit.SpecError), "/targets/20003 breaks the rule required"},
			"text":        {submit(overSpec[string]{}, taskkit.WithTargets(failsAfter(3, "a\x00b"))), new(*taskkit.SpecError), "NUL"},
		} {
			if tc.err == nil || !errors.As(tc.err, tc.as) || !strings.Contains(tc.err.Error(), tc.says) {
				t.Errorf("%s: %v, want a %T that says %q", name, tc.err, tc.as, tc.says)
			}
		}
		_, err := taskkit.SubmitMany(t.Context(), db.DB, k, make([]overSpec[string], 2),
			taskkit.WithTargets(one), taskkit.System(), taskkit.WithSchema(schemaOf(db)))
		if _, ok := errors.AsType[*taskkit.OptionError](err); !ok {
			t.Errorf("SubmitMany: %v", err)
		}
		_, err = taskkit.Submit(t.Context(), db.DB, countKind, countSpec{Items: 1}, taskkit.WithTargets(one), taskkit.System(), taskkit.WithSchema(schemaOf(db)))
		if _, ok := errors.AsType[*taskkit.OptionError](err); !ok || !strings.Contains(err.Error(), "add") && !strings.Contains(err.Error(), "targets=FIELD") {
			t.Errorf("a kind without targets: %v", err)
		}
		checkStored(t, db, 0, 0)
		if err := submit(overSpec[string]{}, taskkit.WithTargets(one), taskkit.WithIdempotencyKey("k")); err != nil {
			t.Fatal(err)
		}
		err = submit(overSpec[string]{}, taskkit.WithTargets(one), taskkit.WithIdempotencyKey("k"))
		if _, ok := errors.AsType[*taskkit.DuplicateError](err); !ok {
			t.Errorf("a key that is taken: %v", err)
		}
		checkStored(t, db, 1, 1)
	})
}

// checkStored compares the number of tasks with a plan, and of pages.
func checkStored(t *testing.T, db *testdb.DB, plans, pages int) {
	t.Helper()
	for table, want := range map[string]int{"taskkit_queued_task": plans, "taskkit_task_plan": plans, "taskkit_task_target": pages} {
		if db.Schema != "" {
			table = `"` + db.Schema + `".` + table
		}
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
}

// A set belongs to the caller's transaction, and goes with the task.
func TestOverGoesWithItsTask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := overKind[int]("numbers")
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		opts := []taskkit.SubmitOption{taskkit.WithTargets(slices.Values(numbers(20_500))), taskkit.System(), taskkit.WithSchema(schemaOf(db))}
		if _, err := taskkit.Submit(t.Context(), tx, k, overSpec[int]{}, opts...); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		checkStored(t, db, 0, 0)
		id := submitted(t, db, k, overSpec[int]{}, opts...)
		checkStored(t, db, 1, 21)
		if _, err := clientOf(db).Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		checkStored(t, db, 0, 0)
	})
}

// Take of another list than the one that the set stands for ends the task.
func TestOverRefusesTakeOfAnotherList(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for name, tc := range map[string]struct {
			spec overSpec[int]
			take func(b *taskkit.Batch[overSpec[int], countState])
		}{
			"list": {overSpec[int]{Others: []string{"a"}}, func(b *taskkit.Batch[overSpec[int], countState]) { taskkit.Take(b, b.Spec.Others) }},
			"type": {overSpec[int]{}, func(b *taskkit.Batch[overSpec[int], countState]) { taskkit.Take(b, b.Spec.Others) }},
		} {
			k := overKind[int]("other_" + name)
			id := submitted(t, db, k, tc.spec, taskkit.WithTargets(slices.Values(numbers(3))))
			stop := started(t, db, registered(k, &funcs[overSpec[int], countState]{execute: func(_ context.Context, b *taskkit.Batch[overSpec[int], countState]) (taskkit.Next, error) {
				tc.take(b)
				return taskkit.Done, nil
			}}), quick(t, db))
			task := ended(t, db, id)
			stop()
			if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "misuse: Take was given") {
				t.Errorf("%s: %s %q", name, task.Status, task.StatusDetail)
			}
		}
	})
}

// Pages that are missing or cannot be decoded end the task, without a retry.
func TestOverUnreadablePages(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		table := "taskkit_task_target"
		if db.Schema != "" {
			table = `"` + db.Schema + `".` + table
		}
		for name, keys := range map[string]string{"missing": "", "undecodable": `["a"]`, "short": "[1]"} {
			k := overKind[int]("unreadable_" + name)
			id := submitted(t, db, k, overSpec[int]{}, taskkit.WithTargets(slices.Values(numbers(2000))))
			if _, err := db.ExecContext(t.Context(), "DELETE FROM "+table+" WHERE page = 1 AND task_id = $1", id.String()); err != nil {
				t.Fatal(err)
			}
			if keys != "" {
				if _, err := db.ExecContext(t.Context(), "INSERT INTO "+table+" (id, task_id, page, keys) VALUES ($1, $2, 1, $3)",
					uuid.NewString(), id.String(), keys); err != nil {
					t.Fatal(err)
				}
			}
			stop := started(t, db, registered(k, &takes[int]{}), quick(t, db))
			task := ended(t, db, id)
			stop()
			if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "targets: page 1 of the targets") || task.Progress.Done == 0 || task.Progress.Done > 1000 {
				t.Errorf("%s: %s %q after %d", name, task.Status, task.StatusDetail, task.Progress.Done)
			}
		}
	})
}

// A newer revision, with another type of targets and another name of the list, runs a
// set that an older one has frozen.
func TestOverIsUpgraded(t *testing.T) {
	t.Parallel()
	type newSpec struct {
		Pairs []pair `json:"pairs" validate:"required"`
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, overKind[int]("numbers"), overSpec[int]{Remark: "old"}, taskkit.WithTargets(slices.Values(numbers(1500))))
		k := taskkit.NewKind(taskkind.Definition[newSpec, countState, string]{
			Name: "numbers", Revision: 2,
			Targets: taskkind.TargetsIn("pairs", func(s *newSpec) *[]pair { return &s.Pairs }),
			Upgrades: []taskkind.Upgrade{{From: 1, Spec: func(old json.RawMessage) (json.RawMessage, error) {
				var from overSpec[int]
				if err := json.Unmarshal(old, &from); err != nil {
					return nil, err
				}
				to := newSpec{Pairs: []pair{}}
				for _, n := range from.Targets {
					to.Pairs = append(to.Pairs, pair{from.Remark, n})
				}
				return json.Marshal(to)
			}}},
		})
		var got []pair
		started(t, db, registered(k, &funcs[newSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[newSpec, countState]) (taskkit.Next, error) {
			items, next := taskkit.Take(b, b.Spec.Pairs)
			got = append(got, items...)
			return next, nil
		}}), quick(t, db))
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || len(got) != 1500 || got[1499] != (pair{"old", 1499 - 50_000}) {
			t.Errorf("%s %q, %d pairs", task.Status, task.StatusDetail, len(got))
		}
	})
}

// The total of a task over the list of its spec is known at Submit.
func TestTargetsSetTheTotal(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, overKind[int]("numbers"), overSpec[int]{Targets: []int{4, 7}})
		task, err := clientOf(db).Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if task.Progress.Total != 2 {
			t.Errorf("total %d, want 2", task.Progress.Total)
		}
	})
}

// The total of a task whose list is empty is not known before its first batch: its
// executor may find the targets.
func TestTotalOfAnEmptyList(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(taskkind.Definition[lateSpec, countState, string]{
			Name: "late", Targets: taskkind.TargetsIn("targets", func(s *lateSpec) *[]int { return &s.Targets }),
		})
		for n, want := range map[int]int64{0: -1, 3: 3} {
			task, err := clientOf(db).Task(t.Context(), submitted(t, db, k, lateSpec{Targets: numbers(n)}))
			if err != nil || task.Progress.Total != want {
				t.Errorf("%d targets: total %d, want %d (%v)", n, task.Progress.Total, want, err)
			}
		}
	})
}

// lateSpec has a list that may be empty.
type lateSpec struct {
	Targets []int `json:"targets"`
}
