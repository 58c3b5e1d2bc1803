package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// limit is a limit of a case.
func limit(key string, atMost int) store.Limit { return store.Limit{Key: key, AtMost: atMost} }

// takePermits requests the permits of a task and returns the answer: "" for its permits, or the key that was full.
func (e *env) takePermits(c store.ClaimedTask, limits ...store.Limit) string {
	e.Helper()
	a, err := e.s.TakePermits(e.ctx(), []store.PermitRequest{{Lease: c.Lease, Limits: limits}})
	e.ok(err)
	if len(a) != 1 || a[0].OK != (a[0].Full == store.Limit{}) {
		e.Fatalf("answers: %+v", a)
	}
	return a[0].Full.Key
}

// park makes a task wait that was refused a permit.
func (e *env) park(c store.ClaimedTask) {
	e.Helper()
	is(e, "parked", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, At: store.Forever, Reason: "waits for a permit"}).OK, true)
}

// wokenFor returns which tasks are woken for a permit.
func (e *env) wokenFor(keys ...string) []uuid.UUID {
	e.Helper()
	ids, err := e.s.WakeWaiting(e.ctx(), keys)
	e.ok(err)
	return ids
}

// uses describes the use of each limit.
func (e *env) uses() string {
	e.Helper()
	all, err := e.s.Limited(e.ctx(), "", 100)
	e.ok(err)
	var text strings.Builder
	for _, u := range all {
		fmt.Fprintf(&text, "%s %d of %d, %d wait; ", u.Key, u.Executing, u.AtMost, u.Waiting)
	}
	return text.String()
}

// limitsAdmit: a task has a permit until it leaves its worker, and all of its limits must
// have one.
func limitsAdmit(e *env) {
	e.registerWorker()
	for range 4 {
		e.one()
	}
	c := e.claim(4)
	is(e, "first", e.takePermits(c[0], limit("a", 1), limit("b", 2)), "")
	is(e, "again", e.takePermits(c[0], limit("a", 1), limit("b", 2)), "")
	is(e, "second", e.takePermits(c[1], limit("b", 2), limit("a", 1)), "a")
	is(e, "without a", e.takePermits(c[2], limit("b", 2)), "")
	is(e, "third of b", e.takePermits(c[3], limit("b", 2)), "b")
	is(e, "of another key", e.takePermits(c[3], limit("c", 1)), "")
	e.executes(c[0])
	is(e, "while it executes", e.takePermits(c[1], limit("a", 1)), "a")
	e.end(c[0], lifecycle.Completed)
	is(e, "after the end", e.takePermits(c[1], limit("a", 1)), "")
	is(e, "released", e.apply(store.Write{Lease: c[1].Lease, To: lifecycle.Queued, Reason: "yields"}).OK, true)
	is(e, "after a release", e.takePermits(c[3], limit("a", 1)), "")
	again := e.claim(1)[0]
	is(e, "claimed again", again.ID, c[1].ID)
	is(e, "its old lease gives it nothing", e.takePermits(again, limit("a", 1)), "a")
	is(e, "nor a late call of its former worker", e.takePermits(c[1], limit("d", 1)), "")
	is(e, "which takes no permit", e.takePermits(again, limit("d", 1)), "")

	// A late call takes no permit away either.
	is(e, "another key", e.takePermits(again, limit("e", 1)), "")
	is(e, "a late call of its former worker", e.takePermits(c[1], limit("e", 1)), "")
	is(e, "the permit is still taken", e.takePermits(c[2], limit("e", 1)), "e")
	// A task that is claimed again has lost its permit.
	is(e, "released again", e.apply(store.Write{Lease: again.Lease, To: lifecycle.Queued, Reason: "yields"}).OK, true)
	is(e, "claimed once more", e.claim(1)[0].ID, c[1].ID)
	is(e, "its permit is free", e.takePermits(c[2], limit("e", 1)), "")
}

// limitsIdle: a key whose tasks have ended is not listed, unless it is set.
func limitsIdle(e *env) {
	e.registerWorker()
	for range 3 {
		e.one()
	}
	c := e.claim(3)
	is(e, "first", e.takePermits(c[0], limit("a", 1), limit("b", 2)), "")
	is(e, "second", e.takePermits(c[1], limit("b", 2)), "")
	is(e, "third", e.takePermits(c[2], limit("c", 1)), "")
	is(e, "all", e.uses(), "a 1 of 1, 0 wait; b 2 of 2, 0 wait; c 1 of 1, 0 wait; ")
	for i := range 2 {
		e.executes(c[i])
		e.end(c[i], lifecycle.Completed)
	}
	is(e, "one is left", e.uses(), "c 1 of 1, 0 wait; ")
	e.ok(e.s.SetLimit(e.ctx(), "b", 7, uuid.Nil, "because"))
	e.executes(c[2])
	e.end(c[2], lifecycle.Completed)
	is(e, "one is set", e.uses(), "b 0 of 7, 0 wait; ")
}

// limitsTogether: tasks that take permits in one call, and in calls at the same time, get no more permits
// than there are.
func limitsTogether(e *env) {
	e.registerWorker()
	// In the first rounds the pool opens its connections, one after the other.
	for round := range 5 {
		limitsRound(e, round)
	}
}

// limitsRound requests permits of limits of its own.
func limitsRound(e *env, round int) {
	const tasks = 30
	x, y := fmt.Sprintf("x%d", round), func(i int) string { return fmt.Sprintf("y%d of %d", i, round) }
	for range tasks {
		e.one()
	}
	c := e.claim(tasks)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		given = make(map[string]int)
	)
	for from := 0; from < tasks; from += 3 {
		wg.Go(func() {
			var requests []store.PermitRequest
			for i, t := range c[from : from+3] {
				// Each locks the keys in another order.
				limits := []store.Limit{limit(x, 4), limit(y(i), 3)}
				if from%2 == 1 {
					limits[0], limits[1] = limits[1], limits[0]
				}
				requests = append(requests, store.PermitRequest{Lease: t.Lease, Limits: limits})
			}
			answers, err := e.s.TakePermits(e.ctx(), requests)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				e.Error(err)
				return
			}
			for i, a := range answers {
				if a.OK {
					given[x]++
					given[y(i)]++
				}
			}
		})
	}
	wg.Wait()
	is(e, "permits of "+x, given[x], 4)
	for i := range 3 {
		if n := given[y(i)]; n > 3 {
			e.Errorf("%d permits of %s", n, y(i))
		}
	}
}

// limitsWake: the first tasks that wait are due when there are permits, and not before.
func limitsWake(e *env) {
	e.registerWorker()
	for range 5 {
		e.one()
	}
	c := e.claim(5)
	is(e, "first", e.takePermits(c[0], limit("a", 1)), "")
	is(e, "nobody waits", len(e.wokenFor("a", "b")), 0)
	for _, t := range c[1:] {
		is(e, "refused", e.takePermits(t, limit("a", 1)), "a")
	}
	is(e, "nobody waits yet", len(e.wokenFor("a")), 0)
	for _, t := range c[1:] {
		e.park(t)
	}
	is(e, "no permit", len(e.wokenFor("a")), 0)
	is(e, "uses", e.uses(), "a 1 of 1, 4 wait; ")
	is(e, "nothing is due", len(e.claim(5)), 0)
	e.end(e.executes(c[0]), lifecycle.Completed)
	is(e, "of another key", len(e.wokenFor("b")), 0)
	woken := e.wokenFor("a", "b")
	is(e, "woken", woken, []uuid.UUID{c[1].ID})
	row := e.read(c[1].ID)
	is(e, "reason", row.WaitingReason, lifecycle.ReasonPermitFree)
	is(e, "is due", row.Wait <= 0, true)
	next := e.claim(5)
	is(e, "claimed", len(next), 1)
	is(e, "takes a permit", e.takePermits(next[0], limit("a", 1)), "")
	// One is stopped, one removed, and the limit is raised.
	if _, err := e.request(c[2].ID, lifecycle.ActStop); err != nil {
		e.Fatal(err)
	}
	stopped := e.claim(5)
	is(e, "claimed to stop", len(stopped), 1)
	e.end(e.executes(stopped[0]), lifecycle.Completed)
	e.ok(e.s.SetLimit(e.ctx(), "a", 3, uuid.Max, "because"))
	is(e, "set", e.uses(), "a 1 of 3, 2 wait; ") // they are due
	both := e.claim(5)
	is(e, "claimed after more permits", len(both), 2)
	for _, t := range both {
		is(e, "takes a permit", e.takePermits(t, limit("a", 1)), "")
	}
	e.ok(e.s.SetLimit(e.ctx(), "a", 0, uuid.Nil, "because"))
	is(e, "taken back", e.uses(), "a 3 of 1, 0 wait; ")
	if err := e.s.SetLimit(e.ctx(), "a", -1, uuid.Nil, "because"); err != nil {
		e.Errorf("less than 1 takes it back too: %v", err)
	}
	e.ok(e.s.SetLimit(e.ctx(), "of no task", 2, uuid.Nil, "because"))
	is(e, "set, and of no task", e.uses(), "a 3 of 1, 0 wait; of no task 0 of 2, 0 wait; ")
	e.ok(e.s.SetLimit(e.ctx(), "of no task", 0, uuid.Nil, "because"))
	is(e, "taken back, and of no task", e.uses(), "a 3 of 1, 0 wait; ")
}

// limitsPaused: tasks that cannot be claimed because they or their queue are paused keep no other from being woken.
func limitsPaused(e *env) {
	e.registerWorker(func(p *store.Process) { p.Queues = []string{"default", "other"} })
	claim := func() []store.ClaimedTask {
		return e.claim(5, func(c *store.Claim) { c.Queues = []string{"default", "other"} })
	}
	for n := range 5 {
		e.one(func(t *store.NewTask) { t.Queue = []string{"default", "default", "other", "default", "default"}[n] })
	}
	c := claim()
	is(e, "claimed", len(c), 5)
	slices.SortFunc(c, func(a, b store.ClaimedTask) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	is(e, "first", e.takePermits(e.executes(c[0]), limit("a", 1)), "")
	for _, t := range c[1:] {
		is(e, "refused", e.takePermits(t, limit("a", 1)), "a")
		e.park(t)
	}
	if _, err := e.request(c[1].ID, lifecycle.ActPause); err != nil {
		e.Fatal(err)
	}
	e.pauseQueue("other", true, uuid.New(), "")
	e.end(c[0], lifecycle.Completed)
	e.wokenFor("a")
	is(e, "one is left", e.uses(), "a 0 of 1, 4 wait; ")
	next := claim()
	is(e, "claimed", len(next), 1)
	is(e, "the first that can be", next[0].ID, c[3].ID)
	is(e, "takes a permit", e.takePermits(next[0], limit("a", 1)), "")
	// Paused tasks request permits when they are resumed.
	if _, err := e.request(c[1].ID, lifecycle.ActResume); err != nil {
		e.Fatal(err)
	}
	next = claim()
	is(e, "claimed after it was resumed", len(next), 1)
	is(e, "resumed", next[0].ID, c[1].ID)
}

// limitsReap: the reaper makes the checks of a worker that was lost, whose tasks have no permits any
// more.
func limitsReap(e *env) {
	e.registerWorker()
	e.one()
	e.one()
	c := e.claim(2)
	is(e, "first", e.takePermits(e.executes(c[0]), limit("a", 1)), "")
	is(e, "second", e.takePermits(c[1], limit("a", 1)), "a")
	e.park(c[1])
	r, err := e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "woken while the other executes", len(r.Woken), 0)
	e.setEnded(process, 0)
	r, err = e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "released", r.Released, []uuid.UUID{c[0].ID})
	is(e, "woken", r.Woken, []uuid.UUID{c[1].ID})
}

// measuredOptions: a write that adds to the rate of its task brings the options of the task.
func measuredOptions(e *env) {
	e.registerWorker()
	c := e.executes(e.claimedTask())
	w := store.Write{Lease: c.Lease, To: lifecycle.Executing, Begun: true, Checkpoint: true, Revision: 1, Progress: lifecycle.Progress{Total: -1, Done: 1}}
	is(e, "without a measurement", e.apply(w).Options, nil)
	w.Seq++
	w.Worked = &store.Worked{Kind: kind}
	w.Worked.Items, w.Worked.Took = 1, 1
	if o := e.apply(w).Options; o == nil || o.MaxRate != 0 {
		e.Fatalf("of a task that has none: %+v", o)
	}
	_, err := e.s.Request(e.ctx(), c.ID, store.Request{Action: lifecycle.ActChange, MaxRate: 2.5})
	e.ok(err)
	w.Seq++
	if o := e.apply(w).Options; o == nil || o.MaxRate != 2.5 {
		e.Fatalf("after a change: %+v", o)
	}
	_, err = e.s.Request(e.ctx(), c.ID, store.Request{Action: lifecycle.ActChange, MaxRate: -1})
	e.ok(err)
	o, err := e.s.TaskOptions(e.ctx(), c.ID)
	e.ok(err)
	is(e, "removed", o.MaxRate, 0)
}

// rateRaised: a task that waits because of its rate is due when that is raised or removed, and one that waits for
// something else is not.
func rateRaised(e *env) {
	e.registerWorker()
	set := func(c store.ClaimedTask, rate float64) {
		e.Helper()
		_, err := e.s.Request(e.ctx(), c.ID, store.Request{Action: lifecycle.ActChange, MaxRate: rate})
		e.ok(err)
	}
	waits := func(reason string) store.ClaimedTask {
		e.Helper()
		c := e.executes(e.claimedTask())
		set(c, 0.5)
		is(e, "waits", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Delay: time.Hour, Reason: reason}).OK, true)
		return c
	}
	for _, raised := range []float64{2, -1} {
		c := waits(lifecycle.ReasonRate + "0.5 items a second at most")
		set(c, 0.25)
		is(e, "lower", len(e.claim(1)), 0)
		set(c, raised)
		is(e, "reason", e.read(c.ID).WaitingReason, lifecycle.ReasonRateChanged)
		is(e, "claimed", e.claim(1)[0].ID, c.ID)
	}
	c := waits("retry")
	set(c, 2)
	is(e, "for something else", len(e.claim(1)), 0)
}

// laterOptions: a task that is given options after its submission, whatever its status, comes without its spec in later claims,
// which makes its sessions read the plan: spec and options. Its row and its revisions stay as they were, and a merged
// submission keeps the options.
func laterOptions(e *env) {
	e.registerWorker(func(p *store.Process) { p.Kinds = map[string][]int{kind: {1, 2}} })
	give := func(id uuid.UUID) {
		e.Helper()
		before := e.read(id)
		_, err := e.s.Request(e.ctx(), id, store.Request{Action: lifecycle.ActChange, MaxRate: 2.5})
		e.ok(err)
		is(e, "row", rowOf(e.read(id)), rowOf(before))
	}
	planned := func(name string, id uuid.UUID, spec string, revision int) store.ClaimedTask {
		e.Helper()
		c := e.claim(1, func(c *store.Claim) { c.Kinds = map[string][]int{kind: {1, 2}} })
		is(e, name, len(c), 1)
		is(e, name+": claimed", c[0].ID, id)
		is(e, name+": spec and revisions of the claim", fmt.Sprint(string(c[0].Spec), c[0].Revision, c[0].SpecRevision), fmt.Sprint(revision, revision))
		p, err := e.s.Plan(e.ctx(), id)
		e.ok(err)
		is(e, name+": of the plan", fmt.Sprint(string(p.Spec), p.Options.MaxRate), spec+"2.5")
		is(e, name+": of the task", string(e.read(id).Spec), spec)
		return c[0]
	}
	release := func(c store.ClaimedTask) {
		is(e, "released", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued}).OK, true)
	}

	waiting := e.one()
	give(waiting)
	c := planned("given before the first claim", waiting, `{"n": 1}`, 1)
	release(e.executes(c))
	planned("claimed again", waiting, `{"n": 1}`, 1)

	running := e.executes(e.claimedTask())
	is(e, "spec without options", string(running.Spec), `{"n": 1}`)
	give(running.ID)
	give(running.ID)
	w := store.Write{Lease: running.Lease, To: lifecycle.Queued, Checkpoint: true, Revision: 1, State: json.RawMessage(`{"s": 1}`)}
	is(e, "released with a checkpoint", e.apply(w).OK, true)
	c = planned("given while it ran", running.ID, `{"n": 1}`, 1)
	is(e, "state", string(c.State), `{"s": 1}`)

	of := referring()
	merged := e.insert(of(`{"n": 1}`))[0]
	give(merged)
	is(e, "merged", e.insert(of(`{"n": 2}`, func(t *store.NewTask) { t.Revision = 2 }))[0], merged)
	planned("merged", merged, `{"n": 2}`, 2)
}

// waitingOwners: the owners of tasks that could be claimed, with the rank of the first task of each.
func waitingOwners(e *env) {
	e.registerWorker()
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	for _, t := range []struct {
		owner    uuid.UUID
		priority int
		queue    string
	}{{a, 3, "default"}, {a, 2, "default"}, {b, 4, "default"}, {c, 1, "other"}} {
		e.one(func(n *store.NewTask) { n.Owner, n.Priority, n.Queue = t.owner, t.priority, t.queue })
	}
	e.one(func(n *store.NewTask) { n.Owner, n.Delay = c, time.Hour })
	waiting := func() map[uuid.UUID]int {
		e.Helper()
		owners, err := e.s.WaitingOwners(e.ctx(), claimOf(1))
		e.ok(err)
		return owners
	}
	is(e, "waiting", waiting(), map[uuid.UUID]int{a: lifecycle.ClaimOrder(false, 2, 0), b: lifecycle.ClaimOrder(false, 4, 0)})
	is(e, "claimed", len(e.claim(2)), 2) // those of a
	is(e, "without a", waiting(), map[uuid.UUID]int{b: lifecycle.ClaimOrder(false, 4, 0)})
	e.setEnded(process, 0)
	_, err := e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "taken over", waiting(), map[uuid.UUID]int{a: lifecycle.ClaimOrder(true, 2, 1), b: lifecycle.ClaimOrder(false, 4, 0)})
	e.pauseQueue("default", true, a, "")
	is(e, "paused", waiting(), map[uuid.UUID]int{})
}
