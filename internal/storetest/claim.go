package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// claimOrder: stalled before new, then by priority, then the oldest; over
// queues alike.
func claimOrder(b *bed) {
	b.enrol(func(p *store.Process) { p.Queues = []string{"default", "other"} })
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
				b.insert(task(func(t *store.NewTask) { t.ID, t.Priority, t.Queue = id, priority, queue }))
				b.exec(fmt.Sprintf("UPDATE taskkit_queued_task SET stalled = %v, not_before = %s WHERE id = $1", stalled, b.at(-60*age)), id.String())
			}
		}
	}
	both := func(c *store.Claim) { c.Queues = []string{"default", "other"} }
	// The first part of them, then the rest: a claim ends in the middle of a rank.
	got := append(b.claim(5, both), b.claim(100, both)...)
	is(b, "claimed", len(got), len(want))
	for i := range want {
		rank := func(c store.Claimed) string { return fmt.Sprint(c.Stalled, b.read(c.ID).Priority) }
		if got[i].ID != want[i] && rank(got[i]) != rank(store.Claimed{Hold: store.Hold{ID: want[i]}, Stalled: i < 12}) {
			b.Fatalf("place %d: got %s, want %s", i, got[i].ID, want[i])
		}
		is(b, fmt.Sprint("stalled at place ", i), got[i].Stalled, i < 12)
	}
	// In one queue, exactly the order of age.
	var last int
	for _, c := range got {
		for i, id := range want {
			if id == c.ID && c.Queue == "default" {
				if i < last {
					b.Fatalf("task %d of the default queue came after task %d", i, last)
				}
				last = i
			}
		}
	}
}

// claimWhatIsKnown: other kinds, revisions and queues, paused tasks and those of
// the future stay untouched, byte for byte.
func claimWhatIsKnown(b *bed) {
	b.enrol()
	untouched := b.insert(
		task(func(t *store.NewTask) { t.Kind = "other" }),
		task(func(t *store.NewTask) { t.Revision = 2 }),
		task(func(t *store.NewTask) { t.Queue = "elsewhere" }),
		task(func(t *store.NewTask) { t.Delay = time.Hour }),
		task(),
	)
	_, err := b.request(untouched[4], store.ActPause)
	b.ok(err)
	var before []store.Task
	for _, id := range untouched {
		before = append(before, b.read(id))
	}
	waiting, err := b.s.Waiting(b.ctx(), asks(1))
	b.ok(err)
	is(b, "waiting", waiting, false)
	mine := b.one()
	waiting, err = b.s.Waiting(b.ctx(), asks(1))
	b.ok(err)
	is(b, "waiting", waiting, true)
	got := b.claim(10)
	is(b, "claimed", len(got), 1)
	is(b, "task", got[0].ID, mine)
	for i, id := range untouched {
		now := b.read(id)
		now.Wait, now.Elapsed, before[i].Wait, before[i].Elapsed = 0, 0, 0, 0
		is(b, "row", fmt.Sprintf("%+v", now), fmt.Sprintf("%+v", before[i]))
	}
	// Aliases and several revisions.
	got = b.claim(10, func(c *store.Claim) { c.Kinds = map[string][]int{"other": {1}, kind: {1, 2}} })
	is(b, "claimed with more known", len(got), 2)
	for _, none := range []store.Claim{asks(0), {Process: process, Limit: 5, Kinds: map[string][]int{kind: {1}}}, {Process: process, Limit: 5, Queues: []string{"default"}}} {
		c, err := b.s.Claim(b.ctx(), none)
		b.ok(err)
		is(b, "claimed by nobody in particular", len(c.Tasks), 0)
	}
}

// claimDead: a process that is not alive gets nothing.
func claimDead(b *bed) {
	b.one()
	is(b, "claimed without a process", len(b.claim(10)), 0)
	b.enrol()
	b.ok(b.s.Leave(b.ctx(), process))
	is(b, "claimed after leaving", len(b.claim(10)), 0)
	waiting, err := b.s.Waiting(b.ctx(), asks(1))
	b.ok(err)
	is(b, "waiting", waiting, true)
}

// claimNext: how long until the next task is due.
func claimNext(b *bed) {
	b.enrol()
	next := func() time.Duration {
		b.Helper()
		c, err := b.s.Claim(b.ctx(), asks(5))
		b.ok(err)
		return c.Next
	}
	is(b, "with no task at all", next(), -1)
	b.one(func(t *store.NewTask) { t.Delay = 2 * time.Hour })
	b.one(func(t *store.NewTask) { t.Delay = time.Hour; t.Priority = 4 })
	b.one(func(t *store.NewTask) { t.Delay = time.Minute; t.Queue = "elsewhere" })
	if n := next(); n <= 59*time.Minute || n > time.Hour+time.Second {
		b.Fatalf("next in %v, want an hour", n)
	}
	b.one()
	c, err := b.s.Claim(b.ctx(), asks(5))
	b.ok(err)
	is(b, "claimed", len(c.Tasks), 1)
	if c.Next <= 59*time.Minute || c.Next > time.Hour+time.Second {
		b.Fatalf("next beside a claimed task in %v, want an hour", c.Next)
	}
}

// claimSetsAndClears: SSP-17 and SSP-36.
func claimSetsAndClears(b *bed) {
	b.enrol()
	c := b.held(func(t *store.NewTask) { t.Total, t.Traceparent = 9, "tp" })
	is(b, "fence, seq, attempts", [3]int64{c.Fence, c.Seq, int64(c.Attempts)}, [3]int64{1, 0, 1})
	is(b, "progress", c.Progress, store.Progress{Total: 9})
	is(b, "traceparent", c.Traceparent, "tp")
	is(b, "state", string(c.State), "{}")
	b.apply(store.Write{Hold: c.Hold, To: workflow.Executing, Attempts: 1})
	b.apply(store.Write{Hold: c.Hold, To: workflow.Queued, Attempts: 1, Desc: "went wrong", Reason: "retry"})
	before := b.read(c.ID)
	is(b, "desc", before.Desc, "went wrong")
	if before.Started == nil {
		b.Fatal("no start")
	}
	again := b.claim(1)
	is(b, "fence, attempts", [2]int64{again[0].Fence, int64(again[0].Attempts)}, [2]int64{2, 2})
	got := b.read(c.ID)
	is(b, "status", got.Status, workflow.Scheduling)
	is(b, "process", got.Process, process)
	is(b, "desc", got.Desc, "")
	if got.Started != nil || got.Scheduled == nil || !got.Scheduled.After(*before.Scheduled) && !got.Scheduled.Equal(*before.Scheduled) {
		b.Fatalf("started %v, scheduled %v", got.Started, got.Scheduled)
	}
	if !got.Created.Equal(c.Created) || got.Created.IsZero() {
		b.Fatalf("created %v, claimed with %v", got.Created, c.Created)
	}
}

// claimSpecSize: a large spec stays behind and can be fetched.
func claimSpecSize(b *bed) {
	b.enrol()
	big, err := json.Marshal(noise(200 << 10))
	b.ok(err)
	id := b.one(func(t *store.NewTask) { t.Spec = big })
	small := b.one(func(t *store.NewTask) { t.Priority = 3 })
	null := b.one(func(t *store.NewTask) { t.Spec, t.Priority = nil, 4 })
	got := b.claim(3, func(c *store.Claim) { c.SpecMax = 10 << 10 })
	is(b, "order", [3]uuid.UUID{got[0].ID, got[1].ID, got[2].ID}, [3]uuid.UUID{id, small, null})
	is(b, "omitted", [3]bool{got[0].SpecOmitted, got[1].SpecOmitted, got[2].SpecOmitted}, [3]bool{true, false, false})
	is(b, "specs", [3]bool{got[0].Spec == nil, string(got[1].Spec) == `{"n": 1}`, got[2].Spec == nil}, [3]bool{true, true, true})
	spec, err := b.s.Spec(b.ctx(), id)
	b.ok(err)
	is(b, "spec", string(spec), string(big))
	if spec, err := b.s.Spec(b.ctx(), null); err != nil || spec != nil {
		b.Fatalf("spec of a task without: %q, %v", spec, err)
	}
	if _, err := b.s.Spec(b.ctx(), uuid.New()); !errors.Is(err, store.ErrNotFound) {
		b.Fatalf("spec of no task: %v", err)
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
func claimersCompete(b *bed) {
	tasks := make([]store.NewTask, 2000)
	for i := range tasks {
		tasks[i] = task()
	}
	b.insert(tasks...)
	var (
		mu   sync.Mutex
		by   = make(map[uuid.UUID]string)
		wg   sync.WaitGroup
		errs = make(chan error, 2)
	)
	for _, p := range []string{"test-1-a", "test-1-b"} {
		b.enrol(func(e *store.Process) { e.ID = p })
		wg.Go(func() {
			for {
				c, err := b.s.Claim(b.Context(), asks(37, func(c *store.Claim) { c.Process = p }))
				if err != nil {
					errs <- err
					return
				}
				if len(c.Tasks) == 0 {
					waiting, err := b.s.Waiting(b.Context(), asks(1))
					if err != nil || !waiting {
						errs <- err
						return
					}
				}
				mu.Lock()
				for _, t := range c.Tasks {
					if other, taken := by[t.ID]; taken {
						b.Errorf("task %s claimed by %s and %s", t.ID, other, p)
					}
					by[t.ID] = p
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.ok(<-errs)
	b.ok(<-errs)
	is(b, "claimed", len(by), len(tasks))
	is(b, "fences", b.count("SELECT count(*) FROM taskkit_queued_task WHERE fence = 1 AND workflow_status = 'SCHEDULING'"), len(tasks))
}
