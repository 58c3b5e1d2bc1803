package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// claimOrder: stalled before new, then by priority, then the oldest; over
// queues alike.
func claimOrder(e *env) {
	e.registerWorker(func(p *store.Process) { p.Queues = []string{"default", "other"} })
	var want []uuid.UUID
	for _, stalled := range []bool{true, false} {
		for priority := 1; priority <= 4; priority++ {
			for age := 3; age >= 1; age-- {
				id := uuid.Must(uuid.NewV7())
				want = append(want, id)
				queue := "default"
				if age == 2 {
					queue = "other"
				}
				e.insert(task(func(t *store.NewTask) { t.ID, t.Priority, t.Queue = id, priority, queue }))
				due := -time.Duration(age) * time.Minute
				e.edit(id, TaskColumns{Stalled: &stalled, Due: &due})
			}
		}
	}
	both := func(c *store.Claim) { c.Queues = []string{"default", "other"} }
	// The first part of them, then the rest: a claim ends in the middle of a rank.
	got := append(e.claim(5, both), e.claim(100, both)...)
	is(e, "claimed", len(got), len(want))
	for i := range want {
		rank := func(c store.ClaimedTask) string { return fmt.Sprint(c.Stalled, e.read(c.ID).Priority) }
		if got[i].ID != want[i] && rank(got[i]) != rank(store.ClaimedTask{Lease: store.Lease{ID: want[i]}, Stalled: i < 12}) {
			e.Fatalf("place %d: got %s, want %s", i, got[i].ID, want[i])
		}
		is(e, fmt.Sprint("stalled at place ", i), got[i].Stalled, i < 12)
	}
	// In one queue, exactly the order of age.
	var last int
	for _, c := range got {
		for i, id := range want {
			if id == c.ID && c.Queue == "default" {
				if i < last {
					e.Fatalf("task %d of the default queue came after task %d", i, last)
				}
				last = i
			}
		}
	}
}

// claimTries: within a priority, tasks with the fewest failed tries go first, however long the
// others have been due; three and more count as the same. A claim that takes tried ones first
// reverses that, but neither the priorities nor that stalled tasks go first.
func claimTries(e *env) {
	e.registerWorker()
	type class struct {
		priority, tries int
		stalled         bool
	}
	classes := []class{
		{1, 2, true},
		{2, 0, true},
		{1, 0, false},
		{1, 1, false},
		{1, 2, false},
		{1, 3, false},
		{1, 9, false},
		{2, 0, false},
		{2, 1, false},
		{3, 5, false},
		{4, 0, false},
	}
	insert := func() (ids []uuid.UUID) {
		for i, c := range classes {
			id := e.one(func(t *store.NewTask) { t.Priority = c.priority })
			due := -time.Duration(i) * time.Minute // what comes later has been due for longer
			if c.tries > 3 && c.priority == 1 {
				due = -time.Minute // but among those that count as the same, for less long
			}
			e.edit(id, TaskColumns{Stalled: &c.stalled, Due: &due, Attempts: &c.tries})
			ids = append(ids, id)
		}
		return ids
	}
	for _, tc := range []struct {
		triedFirst bool
		order      []int
	}{
		{false, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		{true, []int{0, 1, 5, 6, 4, 3, 2, 8, 7, 9, 10}},
	} {
		ids := insert()
		for n := 0; n < len(ids); n += 4 { // a claim ends in the middle of a priority
			for i, t := range e.claim(4, func(c *store.Claim) { c.TriedFirst = tc.triedFirst }) {
				c := classes[tc.order[n+i]]
				is(e, fmt.Sprintf("place %d with triedFirst %t", n+i, tc.triedFirst), t.ID, ids[tc.order[n+i]])
				is(e, "class", class{t.Priority, t.Attempts - 1, t.Stalled}, class{e.read(t.ID).Priority, c.tries, c.stalled})
			}
		}
		waiting, err := e.s.Waiting(e.ctx(), claimOf(1))
		e.ok(err)
		is(e, "waiting", waiting, false)
	}
}

// claimWhatIsKnown: other kinds, revisions and queues, paused tasks and those of
// the future stay untouched, byte for byte.
func claimWhatIsKnown(e *env) {
	e.registerWorker()
	untouched := e.insert(
		task(func(t *store.NewTask) { t.Kind = "other" }),
		task(func(t *store.NewTask) { t.Revision = 2 }),
		task(func(t *store.NewTask) { t.Queue = "elsewhere" }),
		task(func(t *store.NewTask) { t.Delay = time.Hour }),
		task(),
	)
	_, err := e.request(untouched[4], lifecycle.ActPause)
	e.ok(err)
	var before []store.Task
	for _, id := range untouched {
		before = append(before, e.read(id))
	}
	waiting, err := e.s.Waiting(e.ctx(), claimOf(1))
	e.ok(err)
	is(e, "waiting", waiting, false)
	mine := e.one()
	waiting, err = e.s.Waiting(e.ctx(), claimOf(1))
	e.ok(err)
	is(e, "waiting", waiting, true)
	got := e.claim(10)
	is(e, "claimed", len(got), 1)
	is(e, "task", got[0].ID, mine)
	for i, id := range untouched {
		now := e.read(id)
		now.Wait, now.Elapsed, before[i].Wait, before[i].Elapsed = 0, 0, 0, 0
		is(e, "row", fmt.Sprintf("%+v", now), fmt.Sprintf("%+v", before[i]))
	}
	// Aliases and several revisions.
	got = e.claim(10, func(c *store.Claim) { c.Kinds = map[string][]int{"other": {1}, kind: {1, 2}} })
	is(e, "claimed with more known", len(got), 2)
	for _, none := range []store.Claim{claimOf(0), {Process: process, Limit: 5, Kinds: map[string][]int{kind: {1}}}, {Process: process, Limit: 5, Queues: []string{"default"}}} {
		c, err := e.s.Claim(e.ctx(), none)
		e.ok(err)
		is(e, "claimed by nobody in particular", len(c.Tasks), 0)
	}
}

// claimDead: a process that is not alive gets nothing.
func claimDead(e *env) {
	e.one()
	is(e, "claimed without a process", len(e.claim(10)), 0)
	e.registerWorker()
	e.ok(e.s.Deregister(e.ctx(), process))
	is(e, "claimed after leaving", len(e.claim(10)), 0)
	waiting, err := e.s.Waiting(e.ctx(), claimOf(1))
	e.ok(err)
	is(e, "waiting", waiting, true)
}

// claimNext: how long until the next task is due.
func claimNext(e *env) {
	e.registerWorker()
	next := func() time.Duration {
		e.Helper()
		c, err := e.s.Claim(e.ctx(), claimOf(5))
		e.ok(err)
		return c.Next
	}
	is(e, "with no task at all", next(), -1)
	e.one(func(t *store.NewTask) { t.NotBefore = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) })
	if n := next(); n < 100*365*24*time.Hour {
		e.Fatalf("next in %v, want more than a hundred years", n)
	}
	e.one(func(t *store.NewTask) { t.Delay = 2 * time.Hour })
	e.one(func(t *store.NewTask) { t.Delay = time.Hour; t.Priority = 4 })
	e.one(func(t *store.NewTask) { t.Delay = time.Minute; t.Queue = "elsewhere" })
	if n := next(); n <= 59*time.Minute || n > time.Hour+time.Second {
		e.Fatalf("next in %v, want an hour", n)
	}
	e.one()
	c, err := e.s.Claim(e.ctx(), claimOf(5))
	e.ok(err)
	is(e, "claimed", len(c.Tasks), 1)
	if c.Next <= 59*time.Minute || c.Next > time.Hour+time.Second {
		e.Fatalf("next beside a claimed task in %v, want an hour", c.Next)
	}
}

// claimSetsAndClears: SSP-17 and SSP-36.
func claimSetsAndClears(e *env) {
	e.registerWorker()
	c := e.claimedTask(func(t *store.NewTask) { t.Total = 9 })
	is(e, "fence, seq, attempts", [3]int64{c.Fence, c.Seq, int64(c.Attempts)}, [3]int64{1, 0, 1})
	is(e, "progress", c.Progress, lifecycle.Progress{Total: 9})
	is(e, "state", string(c.State), "{}")
	e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing, Attempts: 1})
	e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Attempts: 1, StatusDetail: "went wrong", Reason: "retry"})
	before := e.read(c.ID)
	is(e, "desc", before.StatusDetail, "went wrong")
	is(e, "waiting reason", before.WaitingReason, "retry")
	if before.Started == nil || before.LeaseStarted == nil {
		e.Fatal("no start")
	}
	again := e.claim(1)
	is(e, "fence, attempts", [2]int64{again[0].Fence, int64(again[0].Attempts)}, [2]int64{2, 2})
	got := e.read(c.ID)
	is(e, "status", got.Status, lifecycle.Scheduling)
	is(e, "process", got.Process, process)
	is(e, "desc", got.StatusDetail, "")
	if got.LeaseStarted != nil || got.Started == nil || !got.Started.Equal(*before.Started) || got.Scheduled == nil || !got.Scheduled.After(*before.Scheduled) && !got.Scheduled.Equal(*before.Scheduled) {
		e.Fatalf("started %v, then %v, scheduled %v", got.Started, got.LeaseStarted, got.Scheduled)
	}
	is(e, "waiting reason", got.WaitingReason, "")
	is(e, "reason", got.Reason, before.Reason)
	e.apply(store.Write{Lease: again[0].Lease, To: lifecycle.Executing, Attempts: 2})
	got = e.read(c.ID)
	if got.LeaseStarted == nil || !got.Started.Equal(*before.Started) {
		e.Fatalf("started %v, then %v; was %v", got.Started, got.LeaseStarted, before.Started)
	}
	// Neither a claim whose lease began nor one whose lease did not takes the first start away.
	e.apply(store.Write{Lease: again[0].Lease, To: lifecycle.Queued, Attempts: 2})
	for range 2 {
		claimed := e.claim(1)
		if got = e.read(c.ID); got.LeaseStarted != nil || got.Started == nil || !got.Started.Equal(*before.Started) {
			e.Fatalf("started %v, then %v; was %v", got.Started, got.LeaseStarted, before.Started)
		}
		e.apply(store.Write{Lease: claimed[0].Lease, To: lifecycle.Queued, Attempts: 2})
	}
	if !got.Created.Equal(c.Created) || got.Created.IsZero() {
		e.Fatalf("created %v, claimed with %v", got.Created, c.Created)
	}
}

// claimSpecSize: a large spec stays behind and can be fetched.
func claimSpecSize(e *env) {
	e.registerWorker()
	big, err := json.Marshal(noise(200 << 10))
	e.ok(err)
	id := e.one(func(t *store.NewTask) { t.Spec = big })
	small := e.one(func(t *store.NewTask) { t.Priority = 3 })
	null := e.one(func(t *store.NewTask) { t.Spec, t.Priority = nil, 4 })
	got := e.claim(3, func(c *store.Claim) { c.SpecMax = 10 << 10 })
	is(e, "order", [3]uuid.UUID{got[0].ID, got[1].ID, got[2].ID}, [3]uuid.UUID{id, small, null})
	is(e, "specs", [3]bool{got[0].Spec == nil, string(got[1].Spec) == `{"n": 1}`, got[2].Spec == nil}, [3]bool{true, true, true})
	plan, err := e.s.Plan(e.ctx(), id)
	e.ok(err)
	is(e, "spec", string(plan.Spec), string(big))
	if plan, err := e.s.Plan(e.ctx(), null); err != nil || plan.Spec != nil || plan.Frozen != nil {
		e.Fatalf("plan of a task without spec: %+v, %v", plan, err)
	}
	if _, err := e.s.Plan(e.ctx(), uuid.New()); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("spec of no task: %v", err)
	}
}

// noise is text that does not compress away.
func noise(n int) string {
	var s []byte
	for len(s) < n {
		s = append(s, uuid.NewString()...)
	}
	return string(s[:n])
}

// claimersCompete: two processes, 2,000 tasks, no task twice and none left.
func claimersCompete(e *env) {
	tasks := make([]store.NewTask, 2000)
	for i := range tasks {
		tasks[i] = task()
	}
	e.insert(tasks...)
	var (
		mu   sync.Mutex
		by   = make(map[uuid.UUID]string)
		wg   sync.WaitGroup
		errs = make(chan error, 2)
	)
	for _, p := range []string{"test-1-a", "test-1-b"} {
		e.registerWorker(func(q *store.Process) { q.ID = p })
		wg.Go(func() {
			for {
				c, err := e.s.Claim(e.Context(), claimOf(37, func(c *store.Claim) { c.Process = p }))
				if err != nil {
					errs <- err
					return
				}
				if len(c.Tasks) == 0 {
					waiting, err := e.s.Waiting(e.Context(), claimOf(1))
					if err != nil || !waiting {
						errs <- err
						return
					}
				}
				mu.Lock()
				for _, t := range c.Tasks {
					if other, taken := by[t.ID]; taken {
						e.Errorf("task %s claimed by %s and %s", t.ID, other, p)
					}
					by[t.ID] = p
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	e.ok(<-errs)
	e.ok(<-errs)
	is(e, "claimed", len(by), len(tasks))
	scheduling, _, err := e.s.Tasks(e.ctx(), store.Filter{Statuses: []lifecycle.Status{lifecycle.Scheduling}, Limit: len(tasks) + 1})
	e.ok(err)
	is(e, "SCHEDULING", len(scheduling), len(tasks))
	for _, t := range scheduling {
		is(e, "fence", t.Fence, 1)
	}
}
