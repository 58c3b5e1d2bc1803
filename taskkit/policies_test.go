package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskpolicy"
)

// when is a condition over a number of items.
func when(of taskpolicy.Counter, n int64) taskpolicy.Condition {
	return taskpolicy.Condition{Items: &taskpolicy.Items{Of: of, AtLeast: n}}
}

// mixed processes numbers in batches of 10: of the items of a batch the first fails, the second is skipped, and the third is deferred once.
type mixed struct {
	mu    sync.Mutex
	seen  map[[2]any]bool
	delay time.Duration
	err   func(b *numbersBatch) error
}

func (x *mixed) Execute(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	if x.err != nil {
		if err := x.err(b); err != nil {
			return next, err
		}
	}
	lasts(ctx, x.delay)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, n := range numbers {
		switch n % 10 {
		case 0:
			b.Fail(n, taskkit.Permanent("odd", errPlanned))
		case 1:
			b.Skip(n, "same")
		case 2:
			if key := [2]any{b.Task, n}; !x.seen[key] {
				x.seen[key] = true
				b.Defer(n, errBusy)
			}
		}
	}
	return next, nil
}

func newMixed() *mixed { return &mixed{seen: make(map[[2]any]bool)} }

// watcher keeps the policies that have fired.
type watcher struct {
	mu    sync.Mutex
	fired []string
}

func (w *watcher) Observe(_ context.Context, e taskevent.Event) {
	if p, ok := e.(taskevent.PolicyFired); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fired = append(w.fired, fmt.Sprint(p.Policy, " ", p.Action))
	}
}

func (w *watcher) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.fired)
}

func mixedKind(name string) taskkind.Definition[numbersSpec, countState, struct{}] {
	return taskkind.Definition[numbersSpec, countState, struct{}]{
		Name: name, BatchSize: 10, MaxBatchSize: 10, Preview: true, DeferDelays: []time.Duration{time.Millisecond},
		Targets: taskkind.TargetsIn("numbers", func(s *numbersSpec) *[]int { return &s.Numbers }),
	}
}

// Policies do what they say in the transaction of the checkpoint that reaches their mark, once, and their conditions can be joined.
func TestMID46Actions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		type all = []taskpolicy.Condition
		const completed, failure = taskkit.StatusCompleted, taskkit.StatusFailure
		percent := func(p float64, after int64) taskpolicy.Condition {
			return taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, Percent: p, After: after}}
		}
		code := func(of taskpolicy.Counter, code string, n int64) taskpolicy.Condition {
			return taskpolicy.Condition{Items: &taskpolicy.Items{Of: of, Code: code, AtLeast: n}}
		}
		for name, c := range map[string]struct {
			when    taskpolicy.Condition
			do      taskpolicy.Action
			pausedA int64 // processed items at the pause
			status  taskkit.Status
			partial bool
			done    int64 // processed at the end
			fired   int
		}{
			"failed, paused":    {when(taskpolicy.Failed, 3), taskpolicy.Pause, 27, completed, false, 100, 1},
			"skipped, stopped":  {when(taskpolicy.Skipped, 4), taskpolicy.Stop, 0, completed, true, 36, 1},
			"deferred, failed":  {when(taskpolicy.Deferred, 2), taskpolicy.Fail, 0, failure, false, 18, 1},
			"processed, told":   {when(taskpolicy.Processed, 50), taskpolicy.Notify, 0, completed, false, 100, 1},
			"restarted":         {when(taskpolicy.Failed, 2), taskpolicy.Restart, 0, completed, false, 100, 1},
			"share":             {percent(11, 30), taskpolicy.Stop, 0, completed, true, 36, 1},
			"share, not":        {percent(12, 10), taskpolicy.Stop, 0, completed, false, 100, 0},
			"code":              {code(taskpolicy.Failed, "odd", 5), taskpolicy.Stop, 0, completed, true, 45, 1},
			"code, not":         {code(taskpolicy.Failed, "even", 1), taskpolicy.Stop, 0, completed, false, 100, 0},
			"code of deferred":  {code(taskpolicy.Deferred, "busy", 6), taskpolicy.Stop, 0, completed, true, 54, 1},
			"all":               {taskpolicy.Condition{All: all{when(taskpolicy.Failed, 2), when(taskpolicy.Processed, 60)}}, taskpolicy.Stop, 0, completed, true, 63, 1},
			"any":               {taskpolicy.Condition{Any: all{when(taskpolicy.Failed, 7), when(taskpolicy.Skipped, 2)}}, taskpolicy.Stop, 0, completed, true, 18, 1},
			"all and not":       {taskpolicy.Condition{All: all{when(taskpolicy.Failed, 2), {Not: &taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Skipped, AtLeast: 1}}}}}, taskpolicy.Stop, 0, completed, false, 100, 0},
			"it has run":        {taskpolicy.Condition{Runs: time.Nanosecond}, taskpolicy.Stop, 0, completed, true, 9, 1},
			"it has run, not":   {taskpolicy.Condition{Runs: time.Hour}, taskpolicy.Stop, 0, completed, false, 100, 0},
			"no progress, not":  {taskpolicy.Condition{Idle: time.Hour}, taskpolicy.Stop, 0, completed, false, 100, 0},
			"restarts, counted": {taskpolicy.Condition{Restarts: 1}, taskpolicy.Stop, 0, completed, false, 100, 0},
		} {
			t.Run(name, func(t *testing.T) {
				d := mixedKind("mixed_" + strings.NewReplacer(" ", "_", ",", "").Replace(name))
				k := taskkit.NewKind(d)
				w, config := new(watcher), unhurried(t, db)
				config.Observer = w
				x := newMixed()
				if c.when.Runs > 0 {
					x.delay = 50 * time.Millisecond // SQLite counts milliseconds
				}
				started(t, db, registered(k, x), config)
				id := submitted(t, db, k, below(100), taskkit.WithPolicies(taskpolicy.Policy{Name: "p", When: c.when, Do: c.do}))
				if c.pausedA > 0 {
					task := paused(t, db, id)
					if task.Cause() != taskcause.Rule || task.ControlReason != fmt.Sprintf("policy: p: %s when %s", c.do, &c.when) || task.Progress.Processed() != c.pausedA {
						t.Errorf("paused by %s: %s, with %+v", task.Cause(), task.ControlReason, task.Progress)
					}
					if _, err := clientOf(db).Resume(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				task := ended(t, db, id)
				if task.Status != c.status || task.Partial != c.partial || task.Progress.Processed() != c.done {
					t.Errorf("ended as %s, partial %t, with %d processed, want %s, %t, %d: %s", task.Status, task.Partial, task.Progress.Processed(), c.status, c.partial, c.done, task.StatusDetail)
				}
				if c.status == failure && !strings.HasPrefix(task.StatusDetail, "policy: policy: p: fail when") {
					t.Errorf("its description is %s", task.StatusDetail)
				}
				if fired := w.all(); len(fired) != c.fired || c.fired > 0 && fired[0] != fmt.Sprint("p ", c.do) {
					t.Errorf("the observer got %v", fired)
				}
				events, err := clientOf(db).Events(t.Context(), id, 10)
				recorded := slices.IndexFunc(events, func(e taskkit.Event) bool { return strings.HasPrefix(e.Reason, "policy: p: ") })
				if err != nil || recorded >= 0 != (c.fired > 0) {
					t.Errorf("events %+v, %v", events, err)
				}
				rules, err := clientOf(db).Rules(t.Context(), id)
				if err != nil || len(rules.Policies) != 1 || len(rules.Fired) != c.fired {
					t.Errorf("rules %+v, %v", rules, err)
				}
			})
		}
	})
}

// A policy counts the attempts that fail, is set again by progress, and a low-water mark sets it again when the share has fallen below it.
func TestMID46SetAgain(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		d := mixedKind("mixed_again")
		d.Policies = taskpolicy.Policies{
			{Name: "attempts", When: taskpolicy.Condition{Attempts: 2}, Do: taskpolicy.Notify},
			{Name: "restart", When: when(taskpolicy.Processed, 45), Do: taskpolicy.Restart},
			{Name: "restarted", When: taskpolicy.Condition{Restarts: 1}, Do: taskpolicy.Notify},
			{Name: "low", When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, Percent: 50, Low: 20}}, Do: taskpolicy.Notify},
		}
		k := taskkit.NewKind(d)
		x := newMixed()
		x.err = func(b *numbersBatch) error {
			if b.Attempt <= 2 && (b.State.Next == 1 || b.State.Next == 3) {
				return errPlanned
			}
			b.State.Next++
			if b.State.Next == 5 || b.State.Next == 1 { // the share is at least 50 %, and has fallen below 20 % between
				for n := range 100 {
					b.Fail(fmt.Sprint(b.State.Next, n), errPlanned)
				}
			} else {
				b.Advance(1000)
			}
			return nil
		}
		w, config := new(watcher), unhurried(t, db)
		config.Observer = w
		started(t, db, registered(k, x), config)
		task := ended(t, db, submitted(t, db, k, below(100)))
		var names []string
		for _, f := range w.all() {
			names = append(names, strings.Fields(f)[0])
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); task.Status != taskkit.StatusCompleted || got != "attempts attempts low restart restarted" {
			t.Errorf("ended in %s: %s; fired %s", task.Status, task.StatusDetail, got)
		}
	})
}

// The policies of a task count the items of its parts, of every shape; a preview counts for itself.
func TestMID46Shapes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "policies_rows", 1000)
		k := taskkit.NewKind(mixedKind("mixed_shapes"))
		buckets := taskkit.NewKind(taskkind.Definition[rowsSpec, rowsState, string]{
			Name: "policies_rows", BatchSize: 1, MaxBatchSize: 10, Segments: true,
			Policies: taskpolicy.Policies{{When: when(taskpolicy.Skipped, 20), Do: taskpolicy.Pause}},
		})
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "policies_all", Stages: true})
		var reg taskkit.Registry
		x := newMixed()
		x.delay = time.Millisecond
		taskkit.Register(&reg, k, x)
		taskkit.Register(&reg, buckets, &sortedParts{table: "policies_rows"})
		taskkit.Register(&reg, composite, &oneStageOf{k, 1000})
		started(t, db, &reg, quick(t, db))
		c := clientOf(db)
		with := func(do taskpolicy.Action) taskkit.SubmitOption {
			return taskkit.WithPolicies(taskpolicy.Policy{When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, Code: "odd", AtLeast: 20}}, Do: do})
		}
		for name, test := range map[string]struct {
			id   taskkit.ID
			do   taskpolicy.Action
			code string
		}{
			"ranges, paused":    {submitted(t, db, k, below(1000), with(taskpolicy.Pause), taskkit.WithMaxParallel(2)), taskpolicy.Pause, ""},
			"ranges, stopped":   {submitted(t, db, k, below(1000), with(taskpolicy.Stop), taskkit.WithMaxParallel(2)), taskpolicy.Stop, ""},
			"ranges, failed":    {submitted(t, db, k, below(1000), with(taskpolicy.Fail), taskkit.WithMaxParallel(2)), taskpolicy.Fail, ""},
			"stages, stopped":   {submitted(t, db, composite, familySpec{}, with(taskpolicy.Stop)), taskpolicy.Stop, ""},
			"stages, failed":    {submitted(t, db, composite, familySpec{}, with(taskpolicy.Fail)), taskpolicy.Fail, ""},
			"buckets, paused":   {submitted(t, db, buckets, rowsSpec{Rows: 1000, Buckets: 8}), taskpolicy.Pause, ""},
			"set, stopped":      {submitted(t, db, k, numbersSpec{}, with(taskpolicy.Stop), taskkit.WithTargets(slices.Values(below(1000).Numbers))), taskpolicy.Stop, ""},
			"preview, stopped":  {submitted(t, db, k, below(1000), with(taskpolicy.Stop), taskkit.WithPreview()), taskpolicy.Stop, ""},
			"ranges, told":      {submitted(t, db, k, below(400), with(taskpolicy.Notify), taskkit.WithMaxParallel(2)), taskpolicy.Notify, ""},
			"stages, of a part": {submitted(t, db, composite, familySpec{}, with(taskpolicy.Notify)), taskpolicy.Notify, ""},
		} {
			if test.do == taskpolicy.Pause {
				until(t, name+": paused", func() bool { return mustTask(t, db, test.id).Control == taskkit.ControlPause })
				if task := mustTask(t, db, test.id); task.Cause() != taskcause.Rule && task.Cause() != taskcause.Requested {
					t.Errorf("%s: the cause is %s: %s", name, task.Cause(), task.ControlReason)
				}
				if _, err := c.Resume(t.Context(), test.id); err != nil {
					t.Fatal(name, err)
				}
			}
			task := ended(t, db, test.id)
			whole := test.do == taskpolicy.Pause || test.do == taskpolicy.Notify
			want := taskkit.StatusCompleted
			if test.do == taskpolicy.Fail {
				want = taskkit.StatusFailure
			}
			if task.Status != want || task.Partial != (test.do == taskpolicy.Stop) || !whole && (task.Progress.Failed < 20 || task.Progress.Failed > 42) { // in a preview what was deferred fails
				t.Errorf("%s: ended in %s: %s, partial %t, %+v", name, task.Status, task.StatusDetail, task.Partial, task.Progress)
			}
			if test.do == taskpolicy.Fail && !strings.HasPrefix(task.StatusDetail, "policy: ") {
				t.Errorf("%s: %s", name, task.StatusDetail)
			}
			events, err := c.Events(t.Context(), test.id, 100)
			n := 0
			for _, e := range events {
				if strings.HasPrefix(e.Reason, "policy: 1: ") {
					n++
				}
			}
			if err != nil || n != 1 {
				t.Errorf("%s: %d events of the policy: %+v, %v", name, n, events, err)
			}
		}
	})
}

// oneStageOf is a composite of one stage with so many numbers.
type oneStageOf struct {
	k *taskkit.Kind[numbersSpec, countState, struct{}]
	n int
}

func (x *oneStageOf) Stages(context.Context, *familyBatch) ([]taskkit.Stage, error) {
	return []taskkit.Stage{taskkit.NewStage("numbers", x.k, below(x.n))}, nil
}

func (*oneStageOf) Execute(context.Context, *familyBatch) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// Policies of a task can be replaced while it runs, a task that a policy has failed can be retried, and what cannot be meant is refused.
func TestMID46Changed(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(mixedKind("mixed_changed"))
		started(t, db, registered(k, newMixed()), unhurried(t, db))
		c := clientOf(db)
		policy := func(n int64, do taskpolicy.Action) *taskpolicy.Policies {
			return &taskpolicy.Policies{{When: when(taskpolicy.Failed, n), Do: do}}
		}
		id := submitted(t, db, k, below(100), taskkit.WithPolicies((*policy(2, taskpolicy.Pause))...))
		paused(t, db, id)
		if _, err := c.Change(t.Context(), id, taskkit.Settings{Policies: policy(4, taskpolicy.Fail)}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || task.Progress.Failed != 4 {
			t.Errorf("ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
		if _, err := c.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Failed != 10 {
			t.Errorf("after its retry it ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}

		refused := func(name, option, says string, err error) {
			t.Helper()
			if o, ok := errors.AsType[*taskkit.OptionError](err); !ok || o.Option != option || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: got %v, want an *OptionError of %s that says %q", name, err, option, says)
			}
		}
		plain := submitted(t, db, k, below(1), taskkit.WithDelay(time.Hour))
		_, err := c.Change(t.Context(), plain, taskkit.Settings{Policies: policy(1, taskpolicy.Stop)})
		refused("without policies", "Settings.Policies", "was submitted without policies", err)
		for name, of := range map[string]struct {
			p    taskpolicy.Policy
			says string
			with taskkit.SubmitOption
		}{
			"no condition": {taskpolicy.Policy{Do: taskpolicy.Stop}, "has 0 of the fields", nil},
			"two":          {taskpolicy.Policy{When: taskpolicy.Condition{Attempts: 1, Restarts: 1}, Do: taskpolicy.Stop}, "has 2 of the fields", nil},
			"no action":    {taskpolicy.Policy{When: when(taskpolicy.Failed, 1)}, `Do is ""`, nil},
			"counter":      {taskpolicy.Policy{When: when("lost", 1), Do: taskpolicy.Stop}, `Items.Of is "lost"`, nil},
			"no mark":      {taskpolicy.Policy{When: when(taskpolicy.Failed, 0), Do: taskpolicy.Stop}, "set one of them", nil},
			"low":          {taskpolicy.Policy{When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: 5, Low: 6}}, Do: taskpolicy.Stop}, "Items.Low is 6", nil},
			"share of all": {taskpolicy.Policy{When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Processed, Percent: 5}}, Do: taskpolicy.Stop}, "no share", nil},
			"restart":      {taskpolicy.Policy{When: when(taskpolicy.Failed, 1), Do: taskpolicy.Restart}, "may have children", taskkit.WithMaxParallel(2)},
			"coalescing":   {taskpolicy.Policy{When: when(taskpolicy.Failed, 1), Do: taskpolicy.Stop}, "WithCoalescing", taskkit.WithCoalescing("x")},
		} {
			with := taskkit.SubmitOptions(taskkit.System(), taskkit.WithSchema(schemaOf(db)))
			if of.with != nil {
				with = taskkit.SubmitOptions(with, of.with)
			}
			_, err := taskkit.Submit(t.Context(), db.DB, k, below(10), with, taskkit.WithPolicies(of.p))
			refused(name, "WithPolicies", of.says, err)
		}
	})
}

// Policies that were removed are decided when they are given again, while the session runs that began without any.
func TestMID46GivenAgain(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := taskkit.NewKind(mixedKind("mixed_again")), newMixed()
		calls, runs, gate := 0, make(chan struct{}), make(chan struct{})
		x.err = func(*numbersBatch) error {
			if calls++; calls != 2 {
				return nil
			}
			close(runs)
			select {
			case <-gate:
			case <-t.Context().Done():
			}
			return nil
		}
		started(t, db, registered(k, x), unhurried(t, db))
		c := clientOf(db)
		id := submitted(t, db, k, below(100), taskkit.WithPolicies(taskpolicy.Policy{When: when(taskpolicy.Failed, 1), Do: taskpolicy.Pause}))
		paused(t, db, id)
		if _, err := c.Change(t.Context(), id, taskkit.Settings{Policies: new(taskpolicy.Policies)}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		select {
		case <-runs:
		case <-time.After(testdb.Patience(t)):
			t.Fatal("the task was resumed and does not run")
		}
		odd := taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, Code: "odd", AtLeast: 3}}
		if _, err := c.Change(t.Context(), id, taskkit.Settings{Policies: &taskpolicy.Policies{{When: odd, Do: taskpolicy.Stop}}}); err != nil {
			t.Fatal(err)
		}
		close(gate)
		if task := ended(t, db, id); !task.Partial || task.Progress.Failed != 3 {
			t.Errorf("ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
	})
}

// StopAfter is the policy that pauses at the same mark.
func TestMID46StopAfterIsAPolicy(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for limit, mark := range map[string]*taskpolicy.Items{
			"3": {Of: taskpolicy.Failed, AtLeast: 3}, "10%": {Of: taskpolicy.Failed, Percent: 10, After: 20},
		} {
			k := taskkit.NewKind(mixedKind("mixed_stop_" + strings.TrimSuffix(limit, "%")))
			stop := started(t, db, registered(k, newMixed()), unhurried(t, db))
			one := paused(t, db, submitted(t, db, k, below(100), taskkit.WithStopAfter(limit)))
			other := paused(t, db, submitted(t, db, k, below(100), taskkit.WithPolicies(taskpolicy.Policy{When: taskpolicy.Condition{Items: mark}, Do: taskpolicy.Pause})))
			if one.Progress != other.Progress {
				t.Errorf("StopAfter %s paused at %+v, and its policy at %+v", limit, one.Progress, other.Progress)
			}
			stop()
		}
	})
}

// Policies count what children do that a batch has submitted, their failed attempts too, and see that a task has no progress.
func TestMID46Children(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		skipping := newFamily("policies_skip", taskkit.FailParent, func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			if b.State.Next == 0 && b.Attempt < 3 {
				return taskkit.More, taskkit.Transient(errPlanned)
			}
			lasts(ctx, 10*time.Millisecond)
			b.State.Next++
			b.Skip(b.State.Next, "same")
			if b.State.Next == 50 {
				return taskkit.Done, nil
			}
			return taskkit.More, nil
		})
		w, config := new(watcher), quick(t, db)
		config.Observer = w
		started(t, db, &skipping.reg, config)
		task := ended(t, db, submitted(t, db, skipping.parent, familySpec{Children: 4}, taskkit.WithPolicies(
			taskpolicy.Policy{Name: "attempts", When: taskpolicy.Condition{Attempts: 4}, Do: taskpolicy.Notify},
			taskpolicy.Policy{Name: "idle", When: taskpolicy.Condition{All: []taskpolicy.Condition{{Idle: time.Millisecond}, {Attempts: 1}}}, Do: taskpolicy.Notify},
			taskpolicy.Policy{Name: "skipped", When: when(taskpolicy.Skipped, 20), Do: taskpolicy.Stop},
		)))
		if p := task.Progress; task.Status != taskkit.StatusCompleted || !task.Partial || p.Skipped < 20 || p.Skipped > 40 {
			t.Errorf("ended in %s: %s, partial %t, %+v", task.Status, task.StatusDetail, task.Partial, p)
		}
		fired := w.all()
		slices.Sort(fired)
		if got := fmt.Sprint(slices.Compact(fired)); got != "[attempts notify idle notify skipped stop]" {
			t.Errorf("fired %s", got)
		}
		for _, c := range childrenOf(t, db, task.ID) {
			if !c.Partial {
				t.Errorf("child %s is %s, and not stopped", c.ID, c.Status)
			}
		}
	})
}
