package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// versions: only a submission that is newer than all before it is stored, and it is due at its own time.
func versions(e *env) {
	e.registerWorker()
	of := referring()
	version := func(n int64) func(*store.NewTask) { return func(t *store.NewTask) { t.Version = &n } }
	at := func(year int) func(*store.NewTask) {
		return func(t *store.NewTask) { t.NotBefore = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	}
	superseded := func(n store.NewTask, newest int64) {
		e.together(func(submit func([]store.NewTask, bool) error) {
			var old *store.SupersededError
			if err := submit([]store.NewTask{n}, false); !errors.As(err, &old) || old.Version != *n.Version || old.Newest != newest {
				e.Fatalf("version %d: got %v, want a SupersededError after version %d", *n.Version, err, newest)
			}
			e.ok(submit([]store.NewTask{task()}, false)) // the transaction is usable
		})
	}
	id := e.insert(of(`{"n": 0}`))[0]
	is(e, "merged into one without a version", e.insert(of(`{"n": 1}`, version(0), at(2050)))[0], id)
	is(e, "a newer one", e.insert(of(`{"n": 2}`, version(4), at(2100)))[0], id)
	if got := e.read(id); string(got.Spec) != `{"n": 2}` || got.NotBefore.Year() != 2100 || versionOf(&got.Submitted) != 4 {
		e.Fatalf("the waiting task is %+v", got)
	}
	superseded(of(`{"n": 3}`, version(3)), 4)
	superseded(of(`{"n": 4}`, version(4)), 4)
	keyed := of(`{"n": 5}`, version(5), func(t *store.NewTask) { t.IdempotencyKey, t.Priority = "k", 1 })
	is(e, "the newest, due now", e.insert(keyed)[0], id)
	var dup *store.DuplicateError
	if err := e.submit([]store.NewTask{keyed}, false); !errors.As(err, &dup) || dup.ID != id {
		e.Fatalf("repeated with its key: got %v, want the duplicate of %s", err, id)
	}
	// What is refused for another reason is no version.
	var differ *store.CoalesceError
	if err := e.submit([]store.NewTask{of(`{"n": 9}`, version(9), func(t *store.NewTask) { t.Queue = "night" })}, false); !errors.As(err, &differ) {
		e.Fatalf("got %v, want a CoalesceError", err)
	}
	c := e.claim(1)[0]
	is(e, "claimed", fmt.Sprint(c.ID, len(c.Spec)), fmt.Sprint(id, 0))
	p, err := e.s.Plan(e.ctx(), id)
	e.ok(err)
	is(e, "the spec in the plan", string(p.Spec), `{"n": 5}`)
	is(e, "ended", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Failure}).OK, true)
	superseded(of(`{"n": 6}`, version(2)), 5)
	if second := e.insert(of(`{"n": 7}`, version(8)))[0]; second == id {
		e.Fatal("a task that has ended was replaced")
	}
	e.insert(of(`{}`, version(1), func(t *store.NewTask) { t.Reference = "person 8" }))
	e.insert(of(`{}`, version(1), func(t *store.NewTask) { t.Kind = "other" }))
	if err := e.submit([]store.NewTask{task(version(1))}, false); err == nil {
		e.Fatal("a version without a reference was stored")
	}
}

// versionsConcurrently: of versions that are submitted at the same time the newest is stored.
func versionsConcurrently(e *env) {
	of := referring()
	const n = 16
	var (
		group sync.WaitGroup
		errs  [n]error
	)
	for i := range n {
		group.Go(func() {
			errs[i] = e.submit([]store.NewTask{of(fmt.Sprintf(`{"n": %d}`, i), func(t *store.NewTask) { t.Version = new(int64(i)) })}, false)
		})
	}
	group.Wait()
	for i, err := range errs {
		var old *store.SupersededError
		if err != nil && (!errors.As(err, &old) || old.Newest <= old.Version || i == n-1) {
			e.Errorf("version %d: %v", i, err)
		}
	}
	is(e, "tasks", e.count(Tasks), 1)
	c, _, err := e.s.Tasks(e.ctx(), store.Filter{Reference: "person 7", Limit: 2})
	e.ok(err)
	is(e, "the newest", string(e.read(c[0].ID).Spec), fmt.Sprintf(`{"n": %d}`, n-1))
}

// versionsPermitted: of the tasks of a reference one has the permit, and none of an older version than the newest that was
// submitted, also while it held the permit itself before.
func versionsPermitted(e *env) {
	e.registerWorker()
	of := referring()
	version := func(n int64) func(*store.NewTask) { return func(t *store.NewTask) { t.Version = &n } }
	permit := func(c store.ClaimedTask) store.PermitAnswer {
		p, err := e.s.Plan(e.ctx(), c.ID)
		e.ok(err)
		a, err := e.s.TakePermits(e.ctx(), []store.PermitRequest{{Lease: c.Lease, Limits: []store.Limit{p.Versioned.Limit()}, Versioned: p.Versioned}})
		e.ok(err)
		return a[0]
	}
	e.insert(of(`{"n": 1}`, version(1)))
	first := e.claim(1)[0]
	is(e, "the first", fmt.Sprintf("%+v", permit(first)), fmt.Sprintf("%+v", store.PermitAnswer{OK: true}))
	e.insert(of(`{"n": 2}`, version(2)))
	second := e.claim(1)[0]
	full := store.PermitAnswer{Full: (&store.Versioned{Kind: kind, Reference: "person 7"}).Limit()}
	is(e, "the second meanwhile", fmt.Sprintf("%+v", permit(second)), fmt.Sprintf("%+v", full))
	is(e, "limits that are listed", e.uses(), "")
	p, err := e.s.Plan(e.ctx(), first.ID)
	e.ok(err)
	is(e, "the version of the first", fmt.Sprintf("%+v", *p.Versioned), fmt.Sprintf("%+v", store.Versioned{Kind: kind, Reference: "person 7", Version: 1}))
	is(e, "released", e.apply(store.Write{Lease: first.Lease, To: lifecycle.Queued, Reason: "retry"}).OK, true)
	first = e.claim(1)[0]
	is(e, "the first again", fmt.Sprintf("%+v", permit(first)), fmt.Sprintf("%+v", store.PermitAnswer{Newest: 2}))
	is(e, "the second", fmt.Sprintf("%+v", permit(second)), fmt.Sprintf("%+v", store.PermitAnswer{OK: true}))
	// Another reference of the kind, and one of the same name of another kind, are not in the way.
	e.insert(of(`{}`, version(1), func(t *store.NewTask) { t.Reference = "person 8" }))
	is(e, "another reference", permit(e.claim(1)[0]).OK, true)
	if p, err := e.s.Plan(e.ctx(), e.one()); err != nil || p.Versioned != nil {
		e.Fatalf("the plan of a task without a version: %+v, %v", p, err)
	}
}

// pruneVersions: a version is forgotten some time after the last task with a version of its reference was removed, and not while there
// is one that waits, executes or has ended.
func pruneVersions(e *env) {
	e.registerWorker()
	of := referring()
	submit := func(n int64, reference, kind string) uuid.UUID {
		return e.insert(of("{}", func(t *store.NewTask) { t.Version, t.Reference, t.Kind = &n, reference, kind }))[0]
	}
	request := func(a lifecycle.Action, id uuid.UUID) {
		e.Helper()
		_, err := e.request(id, a)
		e.ok(err)
	}
	submit(7, "executes", kind)
	e.claim(1)
	submit(7, "waits", kind)
	ended := submit(7, "ended", kind)
	request(lifecycle.ActStop, ended)
	for _, reference := range []string{"a", "b", "c", "d"} {
		request(lifecycle.ActDelete, submit(7, reference, kind))
	}
	request(lifecycle.ActDelete, submit(7, "a", "other"))
	// An older task counts too: it could be retried.
	older := submit(7, "older", kind)
	request(lifecycle.ActStop, older)
	request(lifecycle.ActDelete, submit(8, "older", kind))
	prune := func(want int, check, unused time.Duration, limit int) {
		e.Helper()
		e.passed()
		n, err := e.s.PruneVersions(e.ctx(), store.OldVersions{Check: func(of string) time.Duration {
			if of == kind {
				return check
			}
			return 0
		}, Unused: unused, Limit: limit})
		e.ok(err)
		is(e, "rows", n, want)
	}
	prune(0, 0, time.Millisecond, 100)
	prune(0, day, time.Millisecond, 100)
	prune(8, time.Millisecond, day, 100)
	prune(4, time.Millisecond, day, 100) // those with a task again
	prune(3, time.Millisecond, day, 3)
	submit(8, "d", kind) // which is used again
	prune(2, day, time.Millisecond, 2)
	prune(1, day, time.Millisecond, 2)
	prune(0, day, time.Millisecond, 2)
	submitOld := func(reference, kind string) error {
		n := int64(6)
		return e.submit([]store.NewTask{of("{}", func(t *store.NewTask) { t.Version, t.Reference, t.Kind = &n, reference, kind })}, false)
	}
	var old *store.SupersededError
	for _, c := range [][2]string{{"executes", kind}, {"waits", kind}, {"ended", kind}, {"older", kind}, {"d", kind}, {"a", "other"}} {
		if err := submitOld(c[0], c[1]); !errors.As(err, &old) {
			e.Fatalf("the version of %v was forgotten: %v", c, err)
		}
	}
	e.ok(submitOld("a", kind))
	request(lifecycle.ActDelete, ended)
	request(lifecycle.ActDelete, older)
	prune(6, time.Millisecond, day, 100)
	prune(2, day, time.Millisecond, 100)
	for _, reference := range []string{"ended", "older"} {
		e.ok(submitOld(reference, kind))
	}
}
