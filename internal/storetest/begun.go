package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// applyBegun: checkpoints of tasks that are known to be EXECUTING, one by one and
// together, with a request standing or none, and of one that is so no more.
func applyBegun(b *bed) {
	b.enrol()
	checkpoint := func(h store.Hold, n int) store.Write {
		return store.Write{
			Hold: h, To: workflow.Executing, Begun: h.Seq > 0, Checkpoint: true, Revision: 1,
			State: json.RawMessage(fmt.Sprintf(`{"at": %d}`, n)), Progress: store.Progress{Total: 100, Done: int64(n)},
		}
	}
	var writes []store.Write
	for n := range 4 {
		c := b.held()
		is(b, "first", b.apply(checkpoint(c.Hold, n)), store.Applied{OK: true})
		c.Seq++
		is(b, "second", b.apply(checkpoint(c.Hold, n)), store.Applied{OK: true})
		is(b, "second, again", b.apply(checkpoint(c.Hold, n)), store.Applied{})
		c.Seq++
		writes = append(writes, checkpoint(c.Hold, 10+n))
	}
	started := b.read(writes[0].ID).Started
	_, err := b.request(writes[1].ID, store.ActPause)
	b.ok(err)
	is(b, "released", b.apply(store.Write{Hold: writes[2].Hold, To: workflow.Queued, Delay: -1}).OK, true)
	writes[3].Fence++
	writes = append(writes, checkpoint(store.Hold{ID: uuid.New(), Fence: 1, Seq: 2}, 1))

	applied, err := b.s.Apply(b.ctx(), process, writes)
	b.ok(err)
	is(b, "together", fmt.Sprint(applied), fmt.Sprint([]store.Applied{{OK: true}, {OK: true, Control: workflow.Pause}, {}, {}, {}}))
	for n, w := range writes[:2] {
		got := b.read(w.ID)
		is(b, "state", string(got.State), fmt.Sprintf(`{"at": %d}`, 10+n))
		is(b, "progress", got.Progress, w.Progress)
		is(b, "status, seq, attempts", fmt.Sprint(got.Status, got.Seq, got.Attempts), fmt.Sprint(workflow.Executing, 3, 0))
		is(b, "process", got.Process, process)
	}
	is(b, "control", b.read(writes[1].ID).Control, workflow.Pause)
	is(b, "seq of the released", b.read(writes[2].ID).Seq, 2)
	if got := b.read(writes[0].ID).Started; !got.Equal(*started) {
		b.Fatalf("started %v, was %v", got, started)
	}
}
