package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

// referring makes a new task with a reference; all of one maker have the same
// owner and the same reference.
func referring() func(spec string, change ...func(*store.NewTask)) store.NewTask {
	owner, runAs := uuid.New(), uuid.New()
	return func(spec string, change ...func(*store.NewTask)) store.NewTask {
		return task(append([]func(*store.NewTask){func(t *store.NewTask) {
			t.Owner, t.RunAs, t.Reference, t.Spec = owner, runAs, "person 7", json.RawMessage(spec)
		}}, change...)...)
	}
}

// coalesce: CER-14. A waiting task is replaced and keeps its id; any other is left
// alone.
func coalesce(e *env) {
	e.registerWorker()
	of := referring()
	id := e.insert(of(`{"n": 1}`, func(t *store.NewTask) { t.Reason, t.Total = "old", 5 }))[0]
	follows, actor := uuid.New(), uuid.New()
	is(e, "id", e.insert(of(`{"n": 2}`, func(t *store.NewTask) {
		t.Reason, t.Priority, t.Revision, t.Secrets, t.Total = "new", 1, 2, "/spec/n", -1
		t.Follows, t.Traceparent, t.Actor = follows, "00-1-2-01", actor
	}))[0], id)
	got := e.read(id)
	is(e, "spec and state", string(got.Spec)+string(got.State), `{"n": 2}{}`)
	is(e, "reason, priority, revisions, secrets, total, trace", fmt.Sprint(got.Reason, got.Priority, got.Revision, got.SpecRevision, got.Secrets, got.Progress.Total, got.Traceparent),
		"new1 2 2/spec/n-100-1-2-01")
	is(e, "follows and creator", [2]uuid.UUID{got.Follows, got.CreatedBy}, [2]uuid.UUID{follows, actor})
	if got.Wait > 0 {
		e.Fatalf("due in %v, want now", got.Wait)
	}
	// Other references, other kinds.
	e.insert(of(`{}`, func(t *store.NewTask) { t.Reference = "person 8" }))
	e.insert(of(`{}`, func(t *store.NewTask) { t.Kind = "other" }))
	is(e, "tasks", e.count(Tasks), 3)
	// A task in flight is left alone.
	is(e, "id", e.insert(of(`{"n": 3}`, func(t *store.NewTask) { t.Priority = 1 }))[0], id)
	c := e.claim(1)
	is(e, "claimed", c[0].ID, id)
	if second := e.insert(of(`{"n": 4}`))[0]; second == id {
		e.Fatal("a task in flight was replaced")
	}
	is(e, "the spec of the task in flight", string(e.read(id).Spec), `{"n": 3}`)
}

// coalesceIdentity: a submission of another owner, run-as or queue is refused,
// and changes nothing.
func coalesceIdentity(e *env) {
	of := referring()
	first := of(`{"n": 1}`, func(t *store.NewTask) { t.UniqueKey = "u" })
	id := e.insert(first)[0]
	for differs, change := range map[string]func(*store.NewTask){
		"owner":      func(t *store.NewTask) { t.Owner = uuid.New() },
		"run-as":     func(t *store.NewTask) { t.RunAs = uuid.New() },
		"queue":      func(t *store.NewTask) { t.Queue = "night" },
		"unique key": func(t *store.NewTask) { t.UniqueKey = "v" },
	} {
		e.together(func(submit func([]store.NewTask, bool) error) {
			err := submit([]store.NewTask{of(`{"n": 2}`, change)}, true)
			var differ *store.CoalesceError
			if !errors.As(err, &differ) || differ.ID != id || !slices.Equal(differ.Differs, []string{differs}) {
				e.Fatalf("another %s: got %v, want a CoalesceError of task %s", differs, err, id)
			}
			e.ok(submit([]store.NewTask{task()}, false)) // the transaction is usable
		})
	}
	got := e.read(id)
	is(e, "spec", string(got.Spec), `{"n": 1}`)
	is(e, "owner and run-as", [2]uuid.UUID{got.Owner, got.RunAs}, [2]uuid.UUID{first.Owner, first.RunAs})
	is(e, "tasks", e.count(Tasks), 5)
}

// coalesceTimes: immediate and delayed submissions are kept apart. The earlier time
// wins, but a submission that names a time starts then.
func coalesceTimes(e *env) {
	of := referring()
	in := func(d time.Duration) func(*store.NewTask) { return func(t *store.NewTask) { t.Delay = d } }
	now := e.insert(of(`{"n": 1}`))[0]
	later := e.insert(of(`{"n": 2}`, in(2*time.Hour)))[0]
	if later == now {
		e.Fatal("a delayed submission replaced one that is due")
	}
	if w := e.read(now).Wait; w > 0 {
		e.Fatalf("the task that was due is due in %v", w)
	}
	is(e, "delayed once more", e.insert(of(`{"n": 3}`, in(time.Hour)))[0], later)
	is(e, "delayed for longer", e.insert(of(`{"n": 4}`, in(3*time.Hour)))[0], later)
	got := e.read(later)
	is(e, "spec", string(got.Spec), `{"n": 4}`)
	if got.Wait <= 50*time.Minute || got.Wait > time.Hour {
		e.Fatalf("due in %v, want the earliest time: an hour", got.Wait)
	}
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	is(e, "delayed to a time", e.insert(of(`{"n": 5}`, func(t *store.NewTask) { t.NotBefore = at }))[0], later)
	if got := e.read(later); !got.NotBefore.Equal(at) {
		e.Fatalf("due at %v, want %v", got.NotBefore, at)
	}
	is(e, "immediate once more", e.insert(of(`{"n": 6}`))[0], now)
}

// coalesceRetry: a task that waits for a retry is replaced, and begins anew, also
// one that is half done.
func coalesceRetry(e *env) {
	e.registerWorker()
	of := referring()
	id := e.insert(of(`{"n": 1}`))[0]
	c := e.claim(1)[0]
	e.apply(store.Write{
		Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{"at": 3}`),
		Progress: lifecycle.Progress{Total: 9, Position: 3, Done: 1, Failed: 1, Skipped: 1},
		Items:    []store.Item{failedItem("x")},
		Worked:   &store.Worked{Kind: kind, Sample: workrate.Sample{Items: 3, Took: time.Second}},
	})
	l := c.Lease
	l.Seq++
	e.apply(store.Write{Lease: l, To: lifecycle.Queued, Attempts: 4, Delay: time.Hour, Reason: "retry", Attempt: failedAttempt(l)})
	is(e, "id", e.insert(of(`{"n": 2}`, func(t *store.NewTask) { t.Reason = "new" }))[0], id)
	got := e.read(id)
	is(e, "spec, state, reason, status", fmt.Sprint(string(got.Spec), string(got.State), got.Reason, got.Status), `{"n": 2}{}newQUEUED`)
	is(e, "why it waits", got.WaitingReason, "")
	is(e, "attempts, fence, checkpoints", fmt.Sprint(got.Attempts, got.Fence, got.Seq), "0 1 1")
	is(e, "progress", fmt.Sprintf("%+v", got.Progress), fmt.Sprintf("%+v", lifecycle.Progress{Total: -1}))
	is(e, "failed items", e.items(id, store.ItemFailed), "[]")
	is(e, "rate", e.rate(id), "0 []")
	if got.Wait > 0 {
		e.Fatalf("due in %v, want now", got.Wait)
	}
	is(e, "tasks", e.count(Tasks), 1)
	next := e.claim(1)[0]
	is(e, "claimed, under a new fence", fmt.Sprint(next.ID, next.Fence, string(next.Spec)), fmt.Sprint(id, 2, `{"n": 2}`))
	if e.apply(store.Write{Lease: l, To: lifecycle.Completed}).OK {
		e.Fatal("a late write of the former holder was applied")
	}
}

// failedAttempt is the record of a failed attempt under a task lease.
func failedAttempt(l store.Lease) *store.Attempt {
	return &store.Attempt{Process: "p1", Fence: l.Fence, Seq: l.Seq, Attempt: 1, Class: "transient", Code: "error", Detail: "planned"}
}

// coalesceHalfDone: a task that is half done and waits without having failed since
// its last checkpoint is left alone, and a new one is stored beside it, once.
func coalesceHalfDone(e *env) {
	e.registerWorker()
	counted := func(p lifecycle.Progress) func(*store.Write) {
		return func(w *store.Write) {
			p.Total = -1
			w.Checkpoint, w.Revision, w.State, w.Progress = true, 1, json.RawMessage("{}"), p
		}
	}
	for i, c := range []struct {
		name     string
		write    func(*store.Write) // the release, after a failed attempt that is not the last
		replaced bool
	}{
		{"no checkpoint", func(*store.Write) {}, true},
		{"a checkpoint of nothing", counted(lifecycle.Progress{}), true},
		{"a state", func(w *store.Write) { w.Checkpoint, w.Revision, w.State = true, 1, json.RawMessage(`{"at": 1}`) }, false},
		{"items taken", counted(lifecycle.Progress{Position: 1}), false},
		{"items done", counted(lifecycle.Progress{Done: 1}), false},
		{"items failed", counted(lifecycle.Progress{Failed: 1}), false},
		{"items skipped", counted(lifecycle.Progress{Skipped: 1}), false},
	} {
		of := referring()
		change := func(t *store.NewTask) { t.Reference, t.Priority = fmt.Sprint("reference ", i), 1 }
		keyed := func(t *store.NewTask) { t.UniqueKey = fmt.Sprint("key ", i) }
		id := e.insert(of(`{"n": 1}`, change, keyed))[0]
		l := e.claim(1)[0].Lease
		e.apply(store.Write{Lease: l, To: lifecycle.Queued, Attempts: 1, Reason: "retry", Attempt: failedAttempt(l)})
		l = e.claim(1)[0].Lease
		e.apply(store.Write{Lease: l, To: lifecycle.Executing})
		w := store.Write{Lease: l, To: lifecycle.Queued, Attempts: 1, Delay: time.Hour, Reason: "later"}
		c.write(&w)
		is(e, c.name+": released", e.apply(w).OK, true)
		state := string(e.read(id).State)

		second := e.insert(of(`{"n": 2}`, change))[0]
		is(e, c.name+": replaced", second == id, c.replaced)
		if c.replaced {
			e.claim(1)
			continue
		}
		got := e.read(id)
		is(e, c.name+": spec, state and progress", fmt.Sprint(string(got.Spec), string(got.State), got.Progress), fmt.Sprint(`{"n": 1}`, state, w.Progress))
		is(e, c.name+": third", e.insert(of(`{"n": 3}`, change))[0], second)
		// It keeps its key, as a running task does.
		var dup *store.DuplicateError
		if err := e.submit([]store.NewTask{of(`{"n": 4}`, change, keyed)}, true); !errors.As(err, &dup) || dup.ID != id {
			e.Fatalf("%s: got %v, want the duplicate of %s", c.name, err, id)
		}
		is(e, c.name+": claimed", e.claim(1)[0].ID, second)
		e.insert(referring()(`{"n": 5}`, change)) // another owner's
		e.claim(1)
	}
}

// coalesceKeys: keys are checked before a merge, and belong to the merged task
// after it.
func coalesceKeys(e *env) {
	of := referring()
	unique := func(key string) func(*store.NewTask) { return func(t *store.NewTask) { t.UniqueKey = key } }
	idempotent := func(key string) func(*store.NewTask) {
		return func(t *store.NewTask) { t.IdempotencyKey = key }
	}
	other := e.one(unique("taken"), idempotent("used"))
	id := e.insert(of(`{"n": 1}`))[0]
	is(e, "a unique key", e.insert(of(`{"n": 2}`, unique("u")))[0], id)
	is(e, "the same one", e.insert(of(`{"n": 3}`, unique("u")))[0], id)
	is(e, "none", e.insert(of(`{"n": 4}`))[0], id)
	is(e, "an idempotency key", e.insert(of(`{"n": 5}`, idempotent("a")))[0], id)
	is(e, "another", e.insert(of(`{"n": 6}`, idempotent("b"), unique("u")))[0], id)
	for name, c := range map[string]struct {
		n      store.NewTask
		column string
		id     uuid.UUID
	}{
		"unique key of another task":      {of(`{"n": 9}`, unique("taken")), "unique_key", other},
		"idempotency key of another task": {of(`{"n": 9}`, idempotent("used")), "idempotency_key", other},
		"merged idempotency key":          {of(`{"n": 9}`, idempotent("a")), "idempotency_key", id},
		"last idempotency key":            {of(`{"n": 9}`, idempotent("b")), "idempotency_key", id},
		"without a reference":             {task(idempotent("a")), "idempotency_key", id},
		"merged unique key elsewhere":     {task(unique("u")), "unique_key", id},
		"with all columns":                {of(`{"n": 9}`, func(t *store.NewTask) { t.Reference = "person 8"; t.IdempotencyKey = "a"; t.Delay = time.Hour }), "idempotency_key", id},
	} {
		err := e.submit([]store.NewTask{c.n}, true)
		var dup *store.DuplicateError
		if !errors.As(err, &dup) || dup.ID != c.id || dup.Column != c.column {
			e.Fatalf("%s: got %v, want the duplicate of %s", name, err, c.id)
		}
	}
	err := e.submit([]store.NewTask{task(), task(idempotent("b"))}, false)
	if dup := (*store.DuplicateError)(nil); !errors.As(err, &dup) || dup.ID != id {
		e.Fatalf("a merged key among many: got %v, want the duplicate of %s", err, id)
	}
	got := e.read(id)
	is(e, "spec and unique key", string(got.Spec)+got.UniqueKey, `{"n": 6}u`)
	is(e, "tasks", e.count(Tasks), 2)
	// The keys go with the task.
	e.registerWorker()
	_, err = e.request(id, lifecycle.ActDelete)
	e.ok(err)
	e.one(idempotent("a"), unique("u"))
}

// coalescePaused: a merge into a paused task is made and reported.
func coalescePaused(e *env) {
	e.registerWorker()
	of := referring()
	id := e.insert(of(`{"n": 1}`))[0]
	_, err := e.request(id, lifecycle.ActPause)
	e.ok(err)
	n := []store.NewTask{of(`{"n": 2}`)}
	var paused *store.PausedError
	if err := e.submit(n, true); !errors.As(err, &paused) || paused.ID != id {
		e.Fatalf("got %v, want a PausedError of task %s", err, id)
	}
	is(e, "id", n[0].ID, id)
	got := e.read(id)
	is(e, "spec and control", string(got.Spec)+string(got.Control), `{"n": 2}PAUSE`)
}

// coalesceRequested: a waiting task that is to stop or to be deleted is left
// alone.
func coalesceRequested(e *env) {
	for _, a := range []lifecycle.Action{lifecycle.ActStop, lifecycle.ActDelete} {
		e.registerWorker(func(p *store.Process) { p.ID = "p-" + string(a) })
		of := referring()
		change := func(t *store.NewTask) { t.Reference = string(a); t.Priority = 1 }
		id := e.insert(of(`{"n": 1}`, change))[0]
		claimed := e.claim(10, func(c *store.Claim) { c.Process = "p-" + string(a) })
		c := claimed[slices.IndexFunc(claimed, func(c store.ClaimedTask) bool { return c.ID == id })]
		_, err := e.request(id, a)
		e.ok(err)
		e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued})
		second := e.insert(of(`{"n": 2}`, change))[0]
		if second == id {
			e.Fatalf("%s: a task that is to end was replaced", a)
		}
		is(e, "spec", string(e.read(id).Spec), `{"n": 1}`)
		is(e, "third", e.insert(of(`{"n": 3}`, change))[0], second)
	}
}

// coalesceTwoWaiting: when a task comes back to the queue and another was
// submitted meanwhile, one takes the next submission and the other ends.
func coalesceTwoWaiting(e *env) {
	e.registerWorker()
	of := referring()
	unique := func(t *store.NewTask) { t.UniqueKey = "u" }
	first := e.insert(of(`{"n": 1}`, unique))[0]
	c := e.claim(1)[0]
	second := e.insert(of(`{"n": 2}`))[0]
	if a := e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Attempts: 1, Reason: "retry"}); !a.OK {
		e.Fatal("a task does not come back to the queue")
	}
	third := of(`{"n": 3}`, func(t *store.NewTask) { t.Actor = uuid.New() })
	is(e, "third", e.insert(third)[0], second)
	is(e, "spec and unique key", string(e.read(second).Spec)+e.read(second).UniqueKey, `{"n": 3}u`)
	got := e.read(first)
	is(e, "end of the first", fmt.Sprint(string(got.Spec), got.Status, got.Partial, got.StatusDetail),
		fmt.Sprint(`{"n": 1}`, lifecycle.Completed, true, lifecycle.SupersededBy(second)))
	if got.Stopped == nil || got.WaitingReason != "" || got.ModifiedBy != third.Actor {
		e.Fatalf("the first is %+v", got)
	}
	is(e, "fourth", e.insert(of(`{"n": 4}`, unique))[0], second)
	is(e, "claimed", e.claim(9)[0].ID, second)
}

// coalesceConcurrently: of submissions at the same time one is stored, and the
// others are merged into it.
func coalesceConcurrently(e *env) {
	of := referring()
	const n = 16
	var (
		group sync.WaitGroup
		ids   [n]uuid.UUID
		errs  [n]error
	)
	for i := range n {
		group.Go(func() {
			one := []store.NewTask{of(fmt.Sprintf(`{"n": %d}`, i), func(t *store.NewTask) { t.IdempotencyKey = fmt.Sprint(i) })}
			errs[i] = e.submit(one, false)
			ids[i] = one[0].ID
		})
	}
	group.Wait()
	e.ok(errors.Join(errs[:]...))
	for _, id := range ids {
		is(e, "id", id, ids[0])
	}
	is(e, "tasks", e.count(Tasks), 1)
}

// coalesceRandomly: in random sequences of submissions, claims, releases and ends
// with one reference, no task is claimed with an older spec than one that was
// accepted while the task waited, but one that is half done goes on with its own.
func coalesceRandomly(e *env) {
	e.registerWorker()
	of := referring()
	random := rand.New(rand.NewPCG(7, 14))
	newest := map[uuid.UUID]int{} // the spec that a task must have at least, by task
	leased := map[uuid.UUID]store.ClaimedTask{}
	halfDone := map[uuid.UUID]bool{} // and has not failed since
	for n := 1; n <= 150; n++ {
		switch random.IntN(4) {
		case 0, 1:
			id := e.insert(of(strconv.Itoa(n)))[0]
			newest[id] = n
			for other := range newest {
				if e.read(other).Status.Terminal() { // superseded
					delete(newest, other)
					continue
				}
				if _, ok := leased[other]; !ok && !halfDone[other] {
					newest[other] = n
				}
			}
		case 2:
			for _, c := range e.claim(1 + random.IntN(2)) {
				spec, err := strconv.Atoi(string(c.Spec))
				e.ok(err)
				if spec < newest[c.ID] {
					e.Fatalf("step %d: task %s runs submission %d after %d was accepted while it waited", n, c.ID, spec, newest[c.ID])
				}
				leased[c.ID] = c
			}
		case 3:
			for id, c := range leased {
				w := store.Write{Lease: c.Lease, To: lifecycle.Queued, Attempts: c.Attempts, Reason: "waits"}
				switch random.IntN(4) {
				case 0:
					w.To = lifecycle.Failure
				case 1:
					w.Checkpoint, w.Revision, w.State = true, 1, json.RawMessage(`{"at": 1}`)
					halfDone[id] = true
				case 2:
					w.Attempt = failedAttempt(c.Lease)
					delete(halfDone, id)
				}
				if w.Checkpoint {
					is(e, "started", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing}).OK, true)
				}
				is(e, "written", e.apply(w).OK, true)
				delete(leased, id)
				if w.To.Terminal() {
					delete(newest, id)
					delete(halfDone, id)
				}
				break
			}
		}
	}
}
