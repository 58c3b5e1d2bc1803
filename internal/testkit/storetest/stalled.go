package storetest

import (
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// stalledStays: a task whose worker was lost stays stalled when a later worker gives
// it back and undoes its claim, and only then.
func stalledStays(e *env) {
	e.registerWorker()
	stalled := true
	for name, c := range map[string]struct {
		begun  bool
		writes []store.Write
		leaves bool
		want   bool
	}{
		"released":                           {writes: []store.Write{{To: lifecycle.Queued}}, want: true},
		"released after its start":           {begun: true, writes: []store.Write{{To: lifecycle.Queued}}, want: true},
		"its worker left":                    {leaves: true, want: true},
		"its worker left in its batch":       {begun: true, leaves: true, want: true},
		"failed with an error":               {begun: true, writes: []store.Write{{To: lifecycle.Queued, Attempts: 1}}},
		"released with a checkpoint":         {begun: true, writes: []store.Write{{To: lifecycle.Queued, Checkpoint: true}}},
		"released after a checkpoint":        {begun: true, writes: []store.Write{{To: lifecycle.Executing, Checkpoint: true}, {To: lifecycle.Queued}}},
		"its worker left after a checkpoint": {begun: true, writes: []store.Write{{To: lifecycle.Executing, Checkpoint: true}}, leaves: true},
		"ended":                              {begun: true, writes: []store.Write{{To: lifecycle.Failure, Attempts: 1}}},
	} {
		id := e.one()
		e.edit(id, TaskColumns{Stalled: &stalled})
		claimed := e.claim(1)[0]
		is(e, name+": claimed", claimed.ID, id)
		is(e, name+": claimed as stalled", claimed.Stalled, true)
		if c.begun {
			e.apply(store.Write{Lease: claimed.Lease, To: lifecycle.Executing, Attempts: 1})
		}
		for _, w := range c.writes {
			w.Lease = claimed.Lease
			e.apply(w)
			if w.Checkpoint {
				claimed.Seq++
			}
		}
		if c.leaves {
			e.ok(e.s.Deregister(e.ctx(), process))
			e.removeProcess(process)
			e.registerWorker()
		}
		is(e, name+": stalled", e.read(id).Stalled, c.want)
		e.removeTasks()
	}
}
