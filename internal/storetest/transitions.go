package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// applyEvery tries every write on every row: from each status, with each request
// standing, to each status, with the request void or not. All are made in one
// call, by whoever has, or last had, the task. What passes is what the
// transition table says of a task in flight, and a checkpoint.
func applyEvery(b *bed) {
	b.enrol()
	type try struct {
		from    workflow.Status
		control workflow.Control
		to      workflow.Status
		void    bool
	}
	var tries []try
	for _, from := range workflow.Statuses() {
		controls := workflow.Controls()
		if !from.InFlight() {
			controls = controls[:1] // nobody holds it, and every write must fail
		}
		for _, control := range controls {
			for _, to := range workflow.Statuses() {
				tries = append(tries, try{from, control, to, false}, try{from, control, to, true})
			}
		}
	}
	tasks := make([]store.NewTask, len(tries))
	for i := range tasks {
		tasks[i] = task()
	}
	b.insert(tasks...)
	claimed := b.claim(len(tries))
	is(b, "claimed", len(claimed), len(tries))
	var begin []store.Write
	writes := make([]store.Write, len(tries))
	for i, try := range tries {
		hold := claimed[i].Hold
		if try.from != workflow.Scheduling {
			begin = append(begin, store.Write{Hold: hold, To: try.from})
		}
		writes[i] = store.Write{Hold: hold, To: try.to, ClearControl: try.void}
		if i%3 == 0 {
			writes[i].Checkpoint, writes[i].Revision, writes[i].State = true, 1, json.RawMessage(`{}`)
		}
	}
	begun, err := b.s.Apply(b.ctx(), process, begin)
	b.ok(err)
	for _, a := range begun {
		is(b, "begun", a, store.Applied{OK: true})
	}
	asked := map[workflow.Control]store.Action{workflow.Stop: store.ActStop, workflow.Pause: store.ActPause, workflow.Delete: store.ActDelete}
	for i, try := range tries {
		if try.control != workflow.None {
			_, err := b.request(writes[i].ID, asked[try.control])
			b.ok(err)
		}
	}

	applied, err := b.s.Apply(b.ctx(), process, writes)
	b.ok(err)
	left, err := b.s.Tasks(b.ctx(), store.Filter{Limit: len(tries)})
	b.ok(err)
	there := make(map[uuid.UUID]store.Task)
	for _, t := range left {
		there[t.ID] = t
	}
	for i, try := range tries {
		what := fmt.Sprintf("%+v", try)
		_, edge := workflow.Find(try.from, try.to)
		legal := try.from.InFlight() && (edge || try.from == workflow.Executing && try.to == workflow.Executing)
		status, control, seq := try.from, try.control, int64(0)
		if legal {
			status = try.to
			if writes[i].Checkpoint {
				seq = 1
			}
			if try.void {
				control = workflow.None
			}
		}
		want := store.Applied{OK: legal}
		if legal {
			want.Control = control
		}
		is(b, what, applied[i], want)
		got, ok := there[writes[i].ID]
		is(b, what+" is there", ok, !legal || !try.to.Terminal() || control != workflow.Delete)
		if ok {
			is(b, what, fmt.Sprint(got.Status, got.Control, got.Seq), fmt.Sprint(status, control, seq))
		}
	}
}
