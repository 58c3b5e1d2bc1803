package storetest

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// policiesOfParents: failed items of children count for the stop policy of their parent, which is paused with its children.
func policiesOfParents(e *env) {
	e.registerFamily()
	const reached = "PAUSE 5 of 15 processed items have failed, and the limit is 4"
	for way, write := range map[string]func(*store.Write) store.Applied{
		"alone": func(w *store.Write) store.Applied { return e.apply(*w) },
		"with a batch": func(w *store.Write) store.Applied {
			a, err := e.begin(w.Lease).Commit(e.ctx(), *w)
			e.ok(err)
			return a
		},
	} {
		parent := e.executes(e.claimedTask(func(t *store.NewTask) { t.Options.StopAfter = lifecycle.StopPolicy{Failed: 4} }))
		var children []store.ClaimedTask
		for range 3 {
			children = append(children, e.executes(e.claimedChild(parent.ID)))
		}
		e.wait(parent.Lease, store.Wait{})
		fails := func(n int, failed, processed int64) *store.Write {
			w := failing(children[n].Lease, failed, processed)
			w.Check, w.CheckParents = false, true
			return &w
		}
		controls := func() (all []string) {
			for _, id := range []uuid.UUID{parent.ID, children[0].ID, children[1].ID, children[2].ID} {
				all = append(all, e.control(id))
			}
			return all
		}
		is(e, way+": below", write(fails(0, 2, 5)), store.Applied{OK: true})
		is(e, way+": below", fmt.Sprint(controls()), fmt.Sprint([]string{"", "", "", ""}))
		unchecked := fails(1, 1, 5)
		unchecked.CheckParents = false
		is(e, way+": not checked", write(unchecked), store.Applied{OK: true})
		children[1].Seq++
		passed := "PAUSE " + lifecycle.ReasonParent
		is(e, way+": reached", write(fails(1, 3, 10)), store.Applied{OK: true, Control: lifecycle.Pause})
		is(e, way+": reached", fmt.Sprint(controls()), fmt.Sprint([]string{reached, passed, passed, passed}))
		is(e, way+": events", e.events(parent.ID), "pause: 5 of 15 processed items have failed, and the limit is 4")
		is(e, way+": another", write(fails(2, 1, 1)), store.Applied{OK: true, Control: lifecycle.Pause})
		is(e, way+": another", e.control(parent.ID), reached)

		_, err := e.s.Request(e.ctx(), parent.ID, store.Request{Action: lifecycle.ActResume})
		if state, ok := errors.AsType[*store.StateError](err); !ok || state.Condition != lifecycle.LimitReached {
			e.Fatalf("%s: a resume at the limit: %v", way, err)
		}
		_, err = e.s.Request(e.ctx(), parent.ID, store.Request{Action: lifecycle.ActResume, StopAfter: lifecycle.StopPolicy{Failed: 7}})
		e.ok(err)
		_, _, err = e.s.PassOn(e.ctx(), []uuid.UUID{parent.ID}, 10)
		e.ok(err)
		is(e, way+": resumed", fmt.Sprint(controls()), fmt.Sprint([]string{"", "", "", ""}))
		children[0].Seq++
		end := fails(0, 3, 6)
		end.To = lifecycle.Completed
		is(e, way+": reached by an end", write(end).OK, true)
		is(e, way+": reached by an end", fmt.Sprint(controls()), fmt.Sprint([]string{"PAUSE 7 of 17 processed items have failed, and the limit is 7", "", passed, passed}))
		e.removeTasks()
	}
}

// sumsForgotten: the children of a task are counted anew after a retry of one that had ended.
func sumsForgotten(e *env) {
	e.registerFamily()
	parent, children := e.withChildren(3)
	e.wait(parent.Lease, store.Wait{OpenAtMost: 2})
	counts := func() string {
		e.Helper()
		c, err := e.s.CountChildren(e.ctx(), []uuid.UUID{parent.ID})
		e.ok(err)
		of := c[parent.ID]
		return fmt.Sprint(of.Statuses, of.Items.Done)
	}
	ends := func(c store.ClaimedTask, to lifecycle.Status, done int64) {
		w := checkpoint(c.Lease)
		w.To, w.Progress = to, lifecycle.Progress{Total: 10, Done: done}
		is(e, "ended", e.apply(w).OK, true)
	}
	ends(children[0], lifecycle.Failure, 4)
	is(e, "woken", len(e.woken(parent.ID)), 1)
	parent = e.claim(1)[0]
	e.wait(parent.Lease, store.Wait{OpenAtMost: 1}) // the failed one is added up
	is(e, "added up", counts(), "map[EXECUTING:2 FAILURE:1] 4")
	_, err := e.s.Request(e.ctx(), children[0].ID, store.Request{Action: lifecycle.ActRetry})
	e.ok(err)
	is(e, "retried", counts(), "map[EXECUTING:2 QUEUED:1] 4")
	ends(e.claim(1, ofChildren)[0], lifecycle.Completed, 10)
	ends(children[1], lifecycle.Completed, 1)
	is(e, "ended again", counts(), "map[COMPLETED:2 EXECUTING:1] 11")
	is(e, "woken", len(e.woken(parent.ID)), 1)
	parent = e.claim(1)[0]
	e.wait(parent.Lease, store.Wait{})
	is(e, "added up again", counts(), "map[COMPLETED:2 EXECUTING:1] 11")
	ends(children[2], lifecycle.Completed, 2)
	is(e, "all", counts(), "map[COMPLETED:3] 13")
}

// requestsOfWrites: a write can pause or stop its task, with or without a checkpoint, unless another request stands on it.
func requestsOfWrites(e *env) {
	e.registerWorker()
	for _, c := range []struct {
		name        string
		asked       lifecycle.Action
		pause, stop string
		want        lifecycle.Control
		control     string
		events      string
	}{
		{"paused", "", "because", "", lifecycle.Pause, "PAUSE because", "pause: because"},
		{"stopped", "", "", "because", lifecycle.Stop, "STOP because", "stop: because"},
		{"paused before", lifecycle.ActPause, "because", "", lifecycle.Pause, "PAUSE", "pause: "},
		{"paused before, stopped", lifecycle.ActPause, "", "because", lifecycle.Stop, "STOP because", "stop: because, pause: "},
		{"stopped before", lifecycle.ActStop, "because", "", lifecycle.Stop, "STOP", "stop: "},
	} {
		for way, write := range map[string]func(store.Write) store.Applied{
			"alone": e.apply,
			"with a batch": func(w store.Write) store.Applied {
				a, err := e.begin(w.Lease).Commit(e.ctx(), w)
				e.ok(err)
				return a
			},
		} {
			task := e.executes(e.claimedTask(func(*store.NewTask) {}))
			if c.asked != "" {
				_, err := e.s.Request(e.ctx(), task.ID, store.Request{Action: c.asked})
				e.ok(err)
			}
			w := checkpoint(task.Lease)
			w.Pause, w.Stop = c.pause, c.stop
			is(e, c.name+" "+way, write(w), store.Applied{OK: true, Control: c.want})
			is(e, c.name+" "+way, e.control(task.ID), c.control)
			is(e, c.name+" "+way, e.events(task.ID), c.events)
			e.removeTasks()
		}
	}
}
