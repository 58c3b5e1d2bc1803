package storetest

import (
	"encoding/json"
	"errors"
	"slices"
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
	tasks, err := e.s.Tasks(e.ctx(), store.Filter{IDs: []uuid.UUID{late}})
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

// old is a page of all tasks, of which those go that ended this long ago.
func old(keep store.Retention) store.OldTasks {
	return store.OldTasks{Limit: 100, Items: 100, Youngest: time.Millisecond, Keep: func(string) store.Retention { return keep }}
}

// remove removes the tasks of a page.
func (e *env) remove(p store.OldTasks) store.RemovedTasks {
	e.Helper()
	r, err := e.s.RemoveTasks(e.ctx(), p)
	e.ok(err)
	return r
}

// removeEnded: tasks in every status, of which only the ended ones go, with all that is
// theirs, and none of a kind that is kept for ever.
func removeEnded(e *env) {
	e.registerWorker()
	var ended, open []uuid.UUID
	for _, s := range slices.Backward(lifecycle.Statuses()) { // what waits would be claimed for the others
		id := e.bring(s)
		if s.Live() {
			open = append(open, id)
		} else {
			ended = append(ended, id)
		}
	}
	e.passed()
	events := e.count(Events)
	is(e, "removed when they are kept for a day", len(e.remove(old(store.Retention{Ended: day})).Ended), 0)
	page := old(store.Retention{})
	page.Keep = func(k string) store.Retention {
		is(e, "kind", k, kind)
		return store.Retention{}
	}
	is(e, "removed when they are kept for ever", len(e.remove(page).Ended), 0)
	page = old(store.Retention{Ended: time.Millisecond})
	r := e.remove(page)
	is(e, "removed", len(r.Ended), len(ended))
	is(e, "idle", len(r.Idle), 0)
	for _, id := range ended {
		e.gone(id)
	}
	for _, id := range open {
		e.read(id)
	}
	is(e, "attempts and results", e.count(Attempts)+e.count(Results)+e.count(Items), 0)
	is(e, "events", e.count(Events), events)
	is(e, "removed again", len(e.remove(page).Ended), 0)
}

// removeGuarded: a task that is retried after the cleaner has read it stays.
func removeGuarded(e *env) {
	e.registerWorker()
	id := e.bring(lifecycle.Failure)
	e.passed()
	page := old(store.Retention{})
	page.Keep = func(string) store.Retention {
		_, err := e.request(id, lifecycle.ActRetry)
		e.ok(err)
		return store.Retention{Ended: time.Millisecond}
	}
	is(e, "removed", len(e.remove(page).Ended), 0)
	is(e, "status", e.read(id).Status, lifecycle.Queued)
}

// removeIdle: a task that waits and is due, and has not changed, goes with an event;
// one that is due later, that runs or has ended stays.
func removeIdle(e *env) {
	e.registerWorker()
	leased := e.claimedTask().ID
	idle := e.one()
	later := e.one(func(t *store.NewTask) { t.Delay = day })
	paused := e.one()
	_, err := e.request(paused, lifecycle.ActPause)
	e.ok(err)
	e.passed()
	r := e.remove(old(store.Retention{Idle: time.Millisecond}))
	is(e, "idle", len(r.Idle), 2)
	is(e, "ended", len(r.Ended), 0)
	e.gone(idle)
	e.gone(paused)
	e.read(leased)
	e.read(later)
	es, err := e.s.Events(e.ctx(), idle, 10)
	e.ok(err)
	is(e, "events", len(es), 1)
	is(e, "event", es[0].Action+": "+es[0].Reason, "delete: "+store.EventReasonIdle)
}

// removePages: each page goes on where the one before it has stopped, whether something was
// removed or not, and the last one is marked.
func removePages(e *env) {
	e.registerWorker()
	for range 3 {
		e.one(func(t *store.NewTask) { t.Delay = day })
		e.ended(store.Retention{})
	}
	e.passed()
	page := old(store.Retention{Ended: time.Millisecond})
	page.Limit = 2
	removed, pages := 0, 0
	for {
		r := e.remove(page)
		pages++
		removed += len(r.Ended)
		if page.After = r.Next; r.Next == uuid.Nil {
			break
		}
	}
	is(e, "removed", removed, 3)
	is(e, "pages", pages >= 3 && pages <= 4, true)
	// Tasks with many items go one by one.
	for range 2 {
		c := e.claimedTask()
		is(e, "ended", e.apply(store.Write{
			Lease: c.Lease, To: lifecycle.Completed, Checkpoint: true, State: json.RawMessage(`{}`), Revision: 1,
			Progress: lifecycle.Progress{Total: -1, Failed: 60},
		}).OK, true)
	}
	e.passed()
	page = old(store.Retention{Ended: time.Millisecond})
	r := e.remove(page)
	is(e, "removed at once", len(r.Ended), 1)
	page.After = r.Next
	is(e, "removed after that", len(e.remove(page).Ended), 1)
	// Tasks that are too young end the search.
	young := old(store.Retention{Ended: day})
	young.Youngest, young.Limit = day, 1
	is(e, "next", e.remove(young).Next, uuid.Nil)
}
