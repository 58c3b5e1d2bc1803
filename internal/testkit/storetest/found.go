package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// finding is a task that finds its targets when it starts.
func finding(t *store.NewTask) {
	t.Targets = &store.NewTargets{Field: "ids", Finding: true}
	t.Total = -1
}

// foundPage is a page of the numbers from one up to before another.
func foundPage(number, from, to int) store.TargetPage {
	var keys []string
	for i := from; i < to; i++ {
		keys = append(keys, strconv.Itoa(i))
	}
	return store.TargetPage{Number: number, Keys: json.RawMessage("[" + strings.Join(keys, ",") + "]")}
}

// findWrite is a checkpoint with found targets.
func findWrite(l store.Lease, f store.Found) store.Write {
	w := checkpoint(l)
	w.Progress.Total = -1
	if f.Complete {
		w.Progress.Total = f.Total
	}
	w.Found = &f
	return w
}

// storedTargets returns what is stored of the targets of a task.
func (e *env) storedTargets(l store.Lease) string {
	e.Helper()
	plan, err := e.s.Plan(e.ctx(), l.ID)
	e.ok(err)
	pages, err := e.s.Targets(e.ctx(), l.ID, 0, 100)
	e.ok(err)
	text := []string{fmt.Sprint(plan.Frozen.Total), fmt.Sprint(plan.Frozen.Finding)}
	for _, p := range pages {
		text = append(text, fmt.Sprintf("%d:%s", p.Number, p.Keys))
	}
	return strings.Join(text, " ")
}

// foundTargets: targets are added with the checkpoint of the batch that has found them,
// the last page is replaced by one with more, and the last batch completes the set.
func foundTargets(e *env) {
	e.registerWorker()
	c := e.claimedTask(finding)
	is(e, "spec in the claim", c.Spec == nil, true)
	is(e, "total in the claim", c.Progress.Total, -1)
	is(e, "at first", e.storedTargets(c.Lease), "0 true")
	is(e, "found at first", *e.read(c.ID).Found, 0)

	is(e, "applied", e.apply(findWrite(c.Lease, store.Found{Pages: []store.TargetPage{foundPage(0, 0, 2)}, Total: 2})).OK, true)
	is(e, "two", e.storedTargets(c.Lease), "2 true 0:[0,1]")
	is(e, "found", *e.read(c.ID).Found, 2)
	is(e, "total", e.read(c.ID).Progress.Total, -1)
	c.Seq++
	is(e, "applied without more", e.apply(checkpoint(c.Lease)).OK, true)
	is(e, "still two", e.storedTargets(c.Lease), "2 true 0:[0,1]")
	c.Seq++
	var more []store.TargetPage // more than one statement
	want := []string{"40 false"}
	for i := range 20 {
		more = append(more, foundPage(i, 2*i, 2*i+2))
		want = append(want, fmt.Sprintf("%d:[%d,%d]", i, 2*i, 2*i+1))
	}
	tx := e.begin(c.Lease)
	a, err := tx.Commit(e.ctx(), findWrite(c.Lease, store.Found{Pages: more, Total: 40, Complete: true}))
	e.ok(err)
	is(e, "applied", a.OK, true)
	is(e, "complete", e.storedTargets(c.Lease), strings.Join(want, " "))
	is(e, "found at the end", e.read(c.ID).Found == nil, true)
	is(e, "total at the end", e.read(c.ID).Progress.Total, 40)
}

// foundTargetsGuards: a write that does not take effect adds no targets, and a complete
// set does not change.
func foundTargetsGuards(e *env) {
	e.registerWorker()
	c := e.claimedTask(finding)
	first := store.Found{Pages: []store.TargetPage{foundPage(0, 0, 1)}, Total: 1}
	late := c.Lease
	late.Fence--
	is(e, "an old fence", e.apply(findWrite(late, first)).OK, false)
	is(e, "after it", e.storedTargets(c.Lease), "0 true")

	tx := e.begin(c.Lease)
	tx.Rollback()
	is(e, "after a rollback", e.storedTargets(c.Lease), "0 true")

	complete := first
	complete.Complete = true
	is(e, "applied", e.apply(findWrite(c.Lease, complete)).OK, true)
	c.Seq++
	other := store.Found{Pages: []store.TargetPage{foundPage(0, 5, 7)}, Total: 2}
	if _, err := e.s.Apply(e.ctx(), process, []*store.Write{new(findWrite(c.Lease, other))}); err == nil {
		e.Error("targets were added to a complete set")
	}
	fewer := store.Found{Pages: []store.TargetPage{foundPage(0, 1, 2)}, Total: 2}
	replaced := e.claimedTask(finding)
	is(e, "applied", e.apply(findWrite(replaced.Lease, first)).OK, true)
	replaced.Seq++
	if _, err := e.s.Apply(e.ctx(), process, []*store.Write{new(findWrite(replaced.Lease, fewer))}); err == nil {
		e.Error("a page was replaced by one without its former targets")
	}
	is(e, "the page", e.storedTargets(replaced.Lease), "1 true 0:[0]")
	if e.db != nil {
		for _, query := range []string{
			"UPDATE taskkit_task_target SET keys = '[0,1]' WHERE task_id = $1",
			"UPDATE taskkit_task_plan SET targets = 'finding' WHERE task_id = $1",
			"UPDATE taskkit_task_plan SET targets_total = 7 WHERE task_id = $1",
		} {
			if _, err := e.db.ExecContext(e.ctx(), query, c.ID.String()); err == nil {
				e.Errorf("%s passed for a complete set", query)
			}
		}
	}
	is(e, "the set", e.storedTargets(c.Lease), "1 false 0:[0]")
	is(e, "the task", e.read(c.ID).Seq, c.Seq)

	listed := e.claimedTask()
	if _, err := e.s.Apply(e.ctx(), process, []*store.Write{new(findWrite(listed.Lease, other))}); err == nil {
		e.Error("targets were added to a task without a set")
	}

	stopped := e.claimedTask(finding)
	end := store.Write{Lease: stopped.Lease, To: lifecycle.Error, Attempts: 1}
	is(e, "ended", e.apply(end).OK, true)
	_, err := e.s.Request(e.ctx(), stopped.ID, store.Request{Action: lifecycle.ActRetry, Skip: true})
	is(e, "skip while finding", errors.Is(err, store.ErrNoSkip), true)
}
