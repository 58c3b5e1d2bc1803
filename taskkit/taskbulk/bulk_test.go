package taskbulk_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

const many = 1000

// Each verb is carried out on 1,000 tasks, once on each, and on no other. What was counted before is frozen, and what is frozen is done.
func TestVerbs(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.start("default", taskbulk.Register)
		for _, c := range []struct {
			verb  taskbulk.Verb
			begin func(k *job) []taskkit.ID
			is    func(task *taskkit.Task) bool // nil: it is gone
		}{
			{taskbulk.Retry, func(k *job) []taskkit.ID { return b.failed(k, many) }, func(task *taskkit.Task) bool { return task.Status != taskkit.StatusCompleted }},
			{taskbulk.Stop, func(k *job) []taskkit.ID { return b.waiting(k, many) }, func(task *taskkit.Task) bool { return task.Status == taskkit.StatusCompleted && task.Partial }},
			{taskbulk.Pause, func(k *job) []taskkit.ID { return b.waiting(k, many) }, func(task *taskkit.Task) bool {
				return task.Control == taskkit.ControlPause && task.ControlBy == person && task.ControlReason == "because"
			}},
			{taskbulk.Resume, func(k *job) []taskkit.ID {
				ids := b.waiting(k, many)
				id, _ := b.submit(taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{k.Name()}}, Actor: uuid.New()})
				b.ended(id)
				return ids
			}, func(task *taskkit.Task) bool { return task.Control == "" && task.Status == taskkit.StatusQueued }},
			{taskbulk.Delete, func(k *job) []taskkit.ID { return b.waiting(k, many) }, nil},
		} {
			kind := newKind("to_" + string(c.verb))
			ids := c.begin(kind)
			b.waiting(newKind("other"), 3)
			r := taskbulk.Request{Verb: c.verb, Filter: taskkit.Filter{Kinds: []string{kind.Name()}}, Reason: "because", Actor: person}
			if n, exact, err := taskbulk.Count(b.Context(), b.Client, r, 10*many); n != many || !exact || err != nil {
				b.Fatalf("%s: %d tasks, exact %t, %v", c.verb, n, exact, err)
			}
			id, n := b.submit(r)
			if n != many {
				b.Fatalf("%s: %d tasks are frozen", c.verb, n)
			}
			task := b.ended(id)
			if p := task.Progress; p.Done != many || p.Total != many || p.Failed+p.Skipped > 0 {
				b.Errorf("%s: %+v", c.verb, p)
			}
			if task.Owner != person || task.Reason != "because" {
				b.Errorf("%s: of %s, for %q", c.verb, task.Owner, task.Reason)
			}
			b.same(string(c.verb), b.items(id, taskkit.OutcomeSucceeded), ids)
			b.requested(string(c.verb), ids)
			page, _, err := b.Tasks(b.Context(), taskkit.Filter{IDs: ids, Limit: many})
			if err != nil {
				b.Fatal(err)
			}
			if c.is == nil && len(page) > 0 || c.is != nil && len(page) != many {
				b.Errorf("%s: %d tasks are left", c.verb, len(page))
			}
			for _, task := range page {
				if c.is != nil && !c.is(task) {
					b.Fatalf("%s: task %s is %s %s %s", c.verb, task.ID, task.Status, task.Control, task.ControlReason)
				}
			}
			if n, _, err := taskbulk.Count(b.Context(), b.Client, r, many); c.verb != taskbulk.Retry && (n != 0 || err != nil) {
				b.Errorf("%s: %d tasks match afterwards, %v", c.verb, n, err)
			}
		}
	})
}

// What changes between the submission and the request is skipped with a reason, what comes later is not in the set, and what is
// refused fails its item. The three add up to the frozen set.
func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		if queue, served, err := taskbulk.Queue(b.Context(), b.Client); queue != "default" || served || err != nil {
			b.Errorf("before there is a worker: %s, %t, %v", queue, served, err)
		}
		kind := newKind("changing")
		ids := b.waiting(kind, 100)
		r := taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{kind.Name()}}}
		id, n := b.submit(r)
		if n != int64(len(ids)) {
			b.Fatalf("%d tasks are frozen", n)
		}
		later := b.waiting(kind, 10)
		want := make(map[taskkit.ID]string)
		for i, of := range ids[:30] {
			var err error
			switch i % 3 {
			case 0:
				_, err = b.Stop(b.Context(), of)
				want[of] = "is_completed"
			case 1:
				_, err = b.Delete(b.Context(), of)
				want[of] = "gone"
			case 2:
				_, err = b.Pause(b.Context(), of)
				want[of] = "requested"
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.start("default", taskbulk.Register)
		if p := b.ended(id).Progress; p.Done != 70 || p.Skipped != 30 || p.Failed != 0 {
			b.Errorf("%+v", p)
		}
		if got := b.items(id, taskkit.OutcomeSkipped); !maps.Equal(got, want) {
			b.Errorf("skipped %v, want %v", got, want)
		}
		b.same("paused", b.items(id, taskkit.OutcomeSucceeded), ids[30:])
		b.requested("pause", ids[30:])
		for _, of := range later {
			if c := b.task(of).Control; c != "" {
				b.Errorf("a task that was submitted later has %s", c)
			}
		}
	})
}

// A task whose unique key is taken fails its item and no other. After the cause is gone, the failed items are retried.
func TestRefusedItems(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		kind := newKind("keyed")
		failed := b.failed(kind, 20)
		unique := taskkit.WithUniqueKey("k")
		taken := b.waiting(kind, 1, unique, taskkit.WithQueue("fails-keyed"))[0]
		b.until("it has failed", func() bool { return b.task(taken).Status == taskkit.StatusFailure })
		holder := b.waiting(kind, 1, unique)[0]
		b.start("default", taskbulk.Register)
		id, n := b.submit(taskbulk.Request{Verb: taskbulk.Retry, Filter: taskkit.Filter{Kinds: []string{kind.Name()}}})
		if p := b.ended(id).Progress; n != 21 || p.Done != 20 || p.Failed != 1 {
			b.Errorf("%d, %+v", n, p)
		}
		if got := b.items(id, taskkit.OutcomeFailed); !maps.Equal(got, map[taskkit.ID]string{taken: "key_taken"}) {
			b.Errorf("failed %v", got)
		}
		b.requested("retry", failed)
		if _, err := b.Stop(b.Context(), holder); err != nil {
			b.Fatal(err)
		}
		again, err := b.RetryFailed(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		if p := b.ended(again).Progress; p.Done != 1 {
			b.Errorf("the retry: %+v", p)
		}
		b.requested("retry", append(failed, taken))
	})
}

// A bulk operation that is stopped in the middle has done a part, and Continue does the rest: each task once.
func TestStoppedAndContinued(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		kind := newKind("halves")
		ids := b.waiting(kind, many)
		b.start("operations", taskbulk.Register)
		var queue string
		b.until("a worker has the kind", func() bool {
			var (
				served bool
				err    error
			)
			queue, served, err = taskbulk.Queue(b.Context(), b.Client)
			return served && err == nil && queue == "operations"
		})
		id, _ := b.submit(taskbulk.Request{Verb: taskbulk.Stop, Filter: taskkit.Filter{Kinds: []string{kind.Name()}}, Reason: "because"}, taskkit.WithCanary(300), taskkit.WithQueue(queue))
		b.until("it is in the middle", func() bool { return b.task(id).Control == taskkit.ControlPause })
		if _, err := b.Stop(b.Context(), id); err != nil {
			b.Fatal(err)
		}
		first := b.ended(id)
		if !first.Partial || first.Progress.Done != 300 {
			b.Fatalf("stopped with %+v", first.Progress)
		}
		done := b.items(id, taskkit.OutcomeSucceeded)
		b.requested("stop", slices.Collect(maps.Keys(done)))
		rest, err := b.Continue(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		b.until("it is in the middle again", func() bool { task := b.task(rest); return task.Ended() || task.Control == taskkit.ControlPause })
		if task := b.task(rest); !task.Ended() {
			if _, err := b.Approve(b.Context(), rest, taskkit.WithActor(uuid.New())); err != nil {
				b.Fatal(err)
			}
		}
		b.ended(rest)
		for of := range b.items(rest, taskkit.OutcomeSucceeded) {
			if _, twice := done[of]; twice {
				b.Errorf("%s is stopped twice", of)
			}
			done[of] = ""
		}
		b.same("both", done, ids)
		b.requested("stop", ids)
	})
}

// A filter selects by code, owner and status. Bulk operations are never targets, and no bulk operation acts on itself.
func TestSelection(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		kind, mine := newKind("chosen"), uuid.New()
		b.failed(kind, 10, taskkit.OwnedBy(mine))
		b.failed(newKind("chosen_too"), 4)
		for what, c := range map[string]struct {
			r    taskbulk.Request
			want int64
		}{
			"code":          {taskbulk.Request{Verb: taskbulk.Retry, Filter: taskkit.Filter{Code: "odd"}}, 7},
			"code and kind": {taskbulk.Request{Verb: taskbulk.Retry, Filter: taskkit.Filter{Kinds: []string{"chosen"}, Code: "odd"}}, 5},
			"owner":         {taskbulk.Request{Verb: taskbulk.Delete, Filter: taskkit.Filter{Owner: mine}, Reason: "because"}, 10},
			"another owner": {taskbulk.Request{Verb: taskbulk.Delete, Filter: taskkit.Filter{Owner: uuid.New()}, Reason: "because"}, 0},
			"all":           {taskbulk.Request{Verb: taskbulk.Retry, All: true}, 14},
		} {
			if n, exact, err := taskbulk.Count(b.Context(), b.Client, c.r, 1000); n != c.want || !exact || err != nil {
				b.Errorf("%s: %d, exact %t, %v, want %d", what, n, exact, err, c.want)
			}
		}
		if n, exact, err := taskbulk.Count(b.Context(), b.Client, taskbulk.Request{Verb: taskbulk.Retry, All: true}, 5); n != 5 || exact || err != nil {
			b.Errorf("bounded: %d, exact %t, %v", n, exact, err)
		}
		ids := b.waiting(kind, 3)
		var bulk []taskkit.ID
		for range 2 {
			id, n := b.submit(taskbulk.Request{Verb: taskbulk.Stop, All: true, Reason: "because"})
			if bulk = append(bulk, id); n != 3 {
				b.Errorf("%d tasks are frozen, want 3", n)
			}
		}
		b.start("default", taskbulk.Register)
		if p := b.ended(bulk[0]).Progress.Done + b.ended(bulk[1]).Progress.Done; p != 3 {
			b.Errorf("%d tasks are stopped by the two, want 3", p)
		}
		for _, id := range bulk {
			if b.task(id).Partial {
				b.Error("a bulk operation was stopped by one")
			}
		}
		b.requested("stop", ids)
	})
}
