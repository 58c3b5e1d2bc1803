package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// applyEvery tries every write on every row: from each status, with each request
// standing, to each status, partial or not. All are made in one
// call, by whoever has, or last had, the task. What passes is what the
// transition table has for a task in flight, and a checkpoint.
func applyEvery(e *env) {
	e.registerWorker()
	type try struct {
		from    lifecycle.Status
		control lifecycle.Control
		to      lifecycle.Status
		partial bool
	}
	var tries []try
	for _, from := range lifecycle.Statuses() {
		controls := lifecycle.Controls()
		if !from.InFlight() {
			controls = controls[:1] // it is not leased, and every write must fail
		}
		for _, control := range controls {
			for _, to := range lifecycle.Statuses() {
				tries = append(tries, try{from, control, to, false})
				if to == lifecycle.Completed {
					tries = append(tries, try{from, control, to, true})
				}
			}
		}
	}
	tasks := make([]store.NewTask, len(tries))
	for i := range tasks {
		tasks[i] = task()
	}
	e.insert(tasks...)
	claimed := e.claim(len(tries))
	is(e, "claimed", len(claimed), len(tries))
	var begin []*store.Write
	writes := make([]*store.Write, len(tries))
	for i, try := range tries {
		lease := claimed[i].Lease
		if try.from != lifecycle.Scheduling {
			begin = append(begin, &store.Write{Lease: lease, To: try.from})
		}
		writes[i] = &store.Write{Lease: lease, To: try.to, Partial: try.partial}
		if i%3 == 0 {
			writes[i].Checkpoint, writes[i].Revision, writes[i].State = true, 1, json.RawMessage(`{}`)
		}
	}
	begun, err := e.s.Apply(e.ctx(), process, begin)
	e.ok(err)
	for _, a := range begun {
		is(e, "begun", a, store.Applied{OK: true})
	}
	asked := map[lifecycle.Control]lifecycle.Action{lifecycle.Stop: lifecycle.ActStop, lifecycle.Pause: lifecycle.ActPause, lifecycle.Delete: lifecycle.ActDelete}
	for i, try := range tries {
		if try.control != lifecycle.None {
			_, err := e.request(writes[i].ID, asked[try.control])
			e.ok(err)
		}
	}

	before := make([]store.Task, len(writes))
	for i := range writes {
		before[i] = e.read(writes[i].ID)
	}
	applied, err := e.s.Apply(e.ctx(), process, writes)
	e.ok(err)
	left, _, err := e.s.Tasks(e.ctx(), store.Filter{Limit: len(tries)})
	e.ok(err)
	there := make(map[uuid.UUID]store.Task)
	for _, t := range left {
		there[t.ID] = t
	}
	for i, try := range tries {
		what := fmt.Sprintf("%+v", try)
		_, edge := lifecycle.Find(try.from, try.to)
		legal := try.from.InFlight() && (edge || try.from == lifecycle.Executing && try.to == lifecycle.Executing)
		status, control, seq := try.from, try.control, int64(0)
		if legal {
			status = try.to
			if writes[i].Checkpoint {
				seq = 1
			}
			if try.to.Terminal() && control != lifecycle.Delete {
				control = lifecycle.None
			}
		}
		want := store.Applied{OK: legal}
		if legal {
			want.Control = control
		}
		is(e, what, applied[i], want)
		got, ok := there[writes[i].ID]
		is(e, what+" is there", ok, !legal || !try.to.Terminal() || control != lifecycle.Delete)
		if !ok {
			continue
		}
		is(e, what, fmt.Sprint(got.Status, got.Control, got.Partial, got.Seq), fmt.Sprint(status, control, legal && try.partial, seq))
		row := rowOf(before[i])
		if legal {
			row, _ = row.Write(writes[i].Lifecycle(), nowInRules)
		}
		sameRow(e, what, e.read(writes[i].ID), row, before[i].Created) // a list has no state
	}
}
