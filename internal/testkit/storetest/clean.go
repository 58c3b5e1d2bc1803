package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// passed waits until some milliseconds of the database have passed.
func (e *env) passed() {
	e.Helper()
	id := e.one()
	begin := e.read(id).Elapsed
	for now := begin; now < begin+5*time.Millisecond; now = e.read(id).Elapsed {
		e.ok(e.ctx().Err())
	}
	_, err := e.request(id, lifecycle.ActDelete)
	e.ok(err)
}

// ended returns a task that has ended with a result, which is kept so long.
func (e *env) ended(keep store.Retention) uuid.UUID {
	e.Helper()
	c := e.claimedTask()
	is(e, "ended", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Completed, Revision: 1, Result: json.RawMessage(`1`), Keep: keep}).OK, true)
	return c.ID
}

// eraseResults: those go that have expired, and their tasks still say that there was one.
// Who fetched a result has it for as long as that is said, and not for as long as others.
func eraseResults(e *env) {
	e.registerWorker()
	const short = time.Millisecond
	kept := e.ended(store.Retention{})
	late := e.ended(store.Retention{Unfetched: day, Fetched: day})
	unfetched := []uuid.UUID{e.ended(store.Retention{Unfetched: short, Fetched: day}), e.ended(store.Retention{Unfetched: short})}
	fetched := e.ended(store.Retention{Unfetched: day, Fetched: short})
	saved := e.ended(store.Retention{Unfetched: short, Fetched: day})
	for _, id := range []uuid.UUID{kept, late, fetched, saved} {
		_, _, err := e.s.Fetch(e.ctx(), id)
		e.ok(err)
	}
	e.passed()
	for _, want := range []int{2, 1, 0} {
		n, err := e.s.EraseResults(e.ctx(), 2)
		e.ok(err)
		is(e, "erased", n, want)
	}
	for _, id := range append(unfetched, fetched) {
		for _, read := range []string{"Result", "Fetch"} {
			_, _, err := e.s.Result(e.ctx(), id)
			if read == "Fetch" {
				_, _, err = e.s.Fetch(e.ctx(), id)
			}
			if !errors.Is(err, store.ErrExpired) {
				e.Fatalf("%s of a result that was erased: got %v, want ErrExpired", read, err)
			}
		}
	}
	for _, id := range []uuid.UUID{kept, late, saved} {
		r, _, err := e.s.Result(e.ctx(), id)
		e.ok(err)
		is(e, "result", string(r), "1")
	}
	is(e, "results", e.count(Results), 6)
	for _, id := range append(unfetched, fetched) {
		is(e, "read as erased", e.read(id).ResultErased, true)
	}
	is(e, "a result kept for ever is erased", e.read(kept).ResultErased, false)
	is(e, "a result kept for ever expires", e.read(kept).ResultExpires, nil)
	tasks, _, err := e.s.Tasks(e.ctx(), store.Filter{IDs: []uuid.UUID{late}})
	e.ok(err)
	if at := tasks[0].ResultExpires; at == nil || tasks[0].ResultErased || at.Before(tasks[0].Stopped.Add(day)) {
		e.Errorf("a result kept for a day after %v expires at %v", tasks[0].Stopped, at)
	}
	null := e.claimedTask()
	is(e, "ended", e.apply(store.Write{Lease: null.Lease, To: lifecycle.Completed, Revision: 1, Result: json.RawMessage(`null`)}).OK, true)
	r, _, err := e.s.Result(e.ctx(), null.ID)
	e.ok(err)
	is(e, "a result that is null", string(r), "null")
}

// ended returns a page of the tasks that ended so long ago.
func ended(period time.Duration) store.EndedTasks {
	return store.EndedTasks{Kind: kind, Period: period, Limit: 100, Items: 100}
}

// removeEnded removes the tasks of a page.
func (e *env) removeEnded(p store.EndedTasks) store.RemovedEnded {
	e.Helper()
	r, err := e.s.RemoveEnded(e.ctx(), p)
	e.ok(err)
	return r
}

// endedKinds returns the kinds of ended tasks.
func (e *env) endedKinds() (names []string) {
	e.Helper()
	kinds, err := e.s.EndedKinds(e.ctx())
	e.ok(err)
	for _, k := range kinds {
		if k.Age <= 0 || k.Age > day {
			e.Errorf("the first of %s ended %v ago", k.Kind, k.Age)
		}
		names = append(names, k.Kind)
	}
	return names
}

// endedBetween: the ended tasks of every kind in a span, without those that are kept for a time of their own.
func endedBetween(e *env) {
	count := func(from, until time.Duration, read int) [2]any {
		e.Helper()
		now := time.Now()
		n, exact, err := e.ops().EndedBetween(e.ctx(), now.Add(from), now.Add(until), read)
		e.ok(err)
		return [2]any{n, exact}
	}
	is(e, "of no task", count(-day, day, 10), [2]any{int64(0), true})
	e.insert(task())
	fax := func(t *store.NewTask) { t.Kind = "fax" }
	for _, id := range e.insert(task(), task(), task(fax), task(func(t *store.NewTask) { t.Options = &store.Options{Keep: day} })) {
		_, err := e.request(id, lifecycle.ActStop)
		e.ok(err)
	}
	is(e, "that ended", count(-day, day, 10), [2]any{int64(3), true})
	is(e, "before", count(-day, -time.Hour, 10), [2]any{int64(0), true})
	is(e, "after", count(time.Hour, day, 10), [2]any{int64(0), true})
	is(e, "in a span that ends before it begins", count(day, -day, 10), [2]any{int64(0), true})
	is(e, "at most one of a kind", count(-day, day, 1), [2]any{int64(2), false})
	is(e, "at most two of a kind", count(-day, day, 2), [2]any{int64(3), false})
	is(e, "since the year 1", func() int64 {
		n, _, err := e.ops().EndedBetween(e.ctx(), time.Time{}, time.Now().Add(day), 10)
		e.ok(err)
		return n
	}(), int64(3))
}

// removeEnded: tasks in every status, of which only the ended ones of a kind go, with all that is
// theirs, once they are old enough.
func removeEnded(e *env) {
	e.registerWorker(func(p *store.Process) { p.Kinds = map[string][]int{kind: {1}, "fax": {1}} })
	is(e, "kinds without a task", len(e.endedKinds()), 0)
	other := e.one(func(t *store.NewTask) { t.Kind = "fax" })
	_, err := e.request(other, lifecycle.ActStop)
	e.ok(err)
	is(e, "kinds", strings.Join(e.endedKinds(), " "), "fax")
	var over, open []uuid.UUID
	for _, s := range slices.Backward(lifecycle.Statuses()) { // what waits would be claimed for the others
		id := e.bring(s)
		if s.Live() {
			open = append(open, id)
		} else {
			over = append(over, id)
		}
	}
	is(e, "kinds", strings.Join(e.endedKinds(), " "), kind+" fax")
	e.passed()
	events := e.count(Events)
	is(e, "removed when they are kept for a day", len(e.removeEnded(ended(day)).IDs), 0)
	r := e.removeEnded(ended(time.Millisecond))
	is(e, "removed", len(r.IDs), len(over))
	for _, id := range over {
		e.gone(id)
	}
	for _, id := range append(open, other) {
		e.read(id)
	}
	is(e, "kinds after that", strings.Join(e.endedKinds(), " "), "fax")
	is(e, "attempts and results", e.count(Attempts)+e.count(Results)+e.count(Items), 0)
	is(e, "events", e.count(Events), events)
	is(e, "removed again", len(e.removeEnded(ended(time.Millisecond)).IDs), 0)
}

// removePages: each page goes on where the one before it has stopped, whether something was
// removed or not, and the last one is marked.
func removePages(e *env) {
	e.registerWorker()
	for range 3 {
		e.ended(store.Retention{})
	}
	e.passed()
	page := ended(time.Millisecond)
	page.Limit = 2
	removed, pages := 0, 0
	for {
		r := e.removeEnded(page)
		pages++
		removed += len(r.IDs)
		if page.After = r.Next; r.Next == (store.EndedCursor{}) {
			break
		}
	}
	is(e, "removed", removed, 3)
	is(e, "pages", pages == 2, true)
	// Tasks with many items go one by one.
	for range 2 {
		c := e.claimedTask()
		is(e, "ended", e.apply(store.Write{
			Lease: c.Lease, To: lifecycle.Completed, Checkpoint: true, State: json.RawMessage(`{}`), Revision: 1,
			Progress: lifecycle.Progress{Total: -1, Failed: 60},
		}).OK, true)
	}
	e.passed()
	r := e.removeEnded(ended(time.Millisecond))
	is(e, "removed at once", len(r.IDs), 1)
	page = ended(time.Millisecond)
	page.After = r.Next
	is(e, "removed after that", len(e.removeEnded(page).IDs), 1)
}

// waiting is a page of all tasks, of which those go that have been idle for so long.
func waiting(period time.Duration) store.WaitingTasks {
	return store.WaitingTasks{
		Limit: 100, Items: 100, Youngest: time.Millisecond,
		Keep: func(string) store.Retention { return store.Retention{Idle: period} },
	}
}

// removeIdle removes the idle tasks of a page.
func (e *env) removeIdle(p store.WaitingTasks) store.RemovedIdle {
	e.Helper()
	r, err := e.s.RemoveIdle(e.ctx(), p)
	e.ok(err)
	return r
}

// removeGuarded: a task that changes after the cleaner has read it stays.
func removeGuarded(e *env) {
	e.registerWorker()
	id := e.one()
	e.passed()
	page := waiting(0)
	page.Keep = func(string) store.Retention {
		is(e, "claimed", e.claim(1)[0].ID, id)
		return store.Retention{Idle: time.Millisecond}
	}
	is(e, "removed", len(e.removeIdle(page).IDs), 0)
	is(e, "status", e.read(id).Status, lifecycle.Scheduling)
}

// removeIdle: a task that waits and is due, and has not changed, goes with an event;
// one that is due later, that runs or has ended stays, and all of a kind that is kept for ever.
func removeIdle(e *env) {
	e.registerWorker()
	e.ended(store.Retention{})
	leased := e.claimedTask().ID
	idle := e.one()
	later := e.one(func(t *store.NewTask) { t.Delay = day })
	paused := e.one()
	_, err := e.request(paused, lifecycle.ActPause)
	e.ok(err)
	e.passed()
	is(e, "idle when they are kept for ever", len(e.removeIdle(waiting(0)).IDs), 0)
	is(e, "idle", len(e.removeIdle(waiting(time.Millisecond)).IDs), 2)
	e.gone(idle)
	e.gone(paused)
	e.read(leased)
	e.read(later)
	es, err := e.s.Events(e.ctx(), idle, 10)
	e.ok(err)
	is(e, "events", len(es), 1)
	is(e, "event", es[0].Action+": "+es[0].Reason, "delete: "+store.EventReasonIdle)
	// Each page goes on where the one before it has stopped.
	page := waiting(time.Millisecond)
	page.Limit = 1
	pages := 1
	for r := e.removeIdle(page); r.Next != uuid.Nil; r = e.removeIdle(page) {
		page.After = r.Next
		pages++
	}
	is(e, "pages of three tasks", pages >= 3 && pages <= 4, true)
}

// removeIdleByID: neither a task that was merged or is of another clock, nor one of a kind that is kept, keeps the cleaner from the
// tasks behind it. Tasks whose ids say that they are too young are not read.
func removeIdleByID(e *env) {
	at := func(kind string, age time.Duration) uuid.UUID {
		return e.one(func(t *store.NewTask) {
			ms := uint64(time.Now().Add(-age).UnixMilli())
			for i := range 6 {
				t.ID[i] = byte(ms >> (40 - 8*i))
			}
			t.Kind = kind
		})
	}
	at("kept", 40*day) // created now, as after a merge
	old := at("idle", 30*day)
	at("young", 0)
	at("young", 10*day)
	future := at("idle", -400*day)
	e.passed()
	page := waiting(time.Millisecond)
	page.Limit, page.Youngest = 1, 20*day
	page.Keep = func(kind string) store.Retention {
		if kind == "young" {
			e.Error("a task was read that is too young")
		}
		return store.Retention{Idle: map[string]time.Duration{"idle": time.Millisecond}[kind]}
	}
	pages := 0
	for more := true; more; more = page.After != uuid.Nil {
		before := page.After
		page.After = e.removeIdle(page).Next
		is(e, "it goes on", page.After == uuid.Nil || bytes.Compare(before[:], page.After[:]) < 0, true)
		pages++
	}
	is(e, "pages", pages <= 5, true)
	e.gone(old)
	e.gone(future)
	is(e, "left", e.count(Tasks), 3)
}
