package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// applyBegun: checkpoints of tasks that are known to be EXECUTING, one by one and
// together, with a request standing or none, and of one that is so no more.
func applyBegun(e *env) {
	e.registerWorker()
	checkpoint := func(h store.Lease, n int) store.Write {
		return store.Write{
			Lease: h, To: lifecycle.Executing, Begun: h.Seq > 0, Checkpoint: true, Revision: 1,
			State: json.RawMessage(fmt.Sprintf(`{"at": %d}`, n)), Progress: lifecycle.Progress{Total: 100, Done: int64(n)},
		}
	}
	var writes []*store.Write
	for n := range 4 {
		c := e.claimedTask()
		is(e, "first", e.apply(checkpoint(c.Lease, n)), store.Applied{OK: true})
		c.Seq++
		is(e, "second", e.apply(checkpoint(c.Lease, n)), store.Applied{OK: true})
		is(e, "second, again", e.apply(checkpoint(c.Lease, n)), store.Applied{})
		c.Seq++
		writes = append(writes, new(checkpoint(c.Lease, 10+n)))
	}
	started := e.read(writes[0].ID).Started
	_, err := e.request(writes[1].ID, lifecycle.ActPause)
	e.ok(err)
	is(e, "released", e.apply(store.Write{Lease: writes[2].Lease, To: lifecycle.Queued, Delay: -1}).OK, true)
	writes[3].Fence++
	writes = append(writes, new(checkpoint(store.Lease{ID: uuid.New(), Fence: 1, Seq: 2}, 1)))

	applied, err := e.s.Apply(e.ctx(), process, writes)
	e.ok(err)
	is(e, "together", fmt.Sprint(applied), fmt.Sprint([]store.Applied{{OK: true}, {OK: true, Control: lifecycle.Pause}, {}, {}, {}}))
	for n, w := range writes[:2] {
		got := e.read(w.ID)
		is(e, "state", string(got.State), fmt.Sprintf(`{"at": %d}`, 10+n))
		is(e, "progress", got.Progress, w.Progress)
		is(e, "status, seq, attempts", fmt.Sprint(got.Status, got.Seq, got.Attempts), fmt.Sprint(lifecycle.Executing, 3, 0))
		is(e, "process", got.Process, process)
	}
	is(e, "control", e.read(writes[1].ID).Control, lifecycle.Pause)
	is(e, "seq of the released", e.read(writes[2].ID).Seq, 2)
	if got := e.read(writes[0].ID).Started; !got.Equal(*started) {
		e.Fatalf("started %v, was %v", got, started)
	}
}
