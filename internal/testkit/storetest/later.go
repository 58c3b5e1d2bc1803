package storetest

import (
	"encoding/json"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// applyLater: a task is given back until a time, which wins over a delay, in a
// write alone and among others, with a checkpoint and without.
func applyLater(e *env) {
	e.registerWorker()
	at := time.Now().Add(30 * time.Hour).UTC().Truncate(time.Millisecond)
	past := time.Date(2001, 2, 3, 4, 5, 6, 7e6, time.UTC)
	later := func(c store.ClaimedTask, at time.Time) store.Write {
		return store.Write{
			Lease: c.Lease, To: lifecycle.Queued, Checkpoint: true, Revision: 1, State: json.RawMessage(`{"at": 1}`),
			Progress: lifecycle.Progress{Total: -1}, Attempts: 2, At: at, Delay: time.Minute, Reason: "the file is not there",
		}
	}
	c := e.claimedTask()
	is(e, "written", e.apply(later(c, at)).OK, true)
	got := e.read(c.ID)
	if !got.NotBefore.Equal(at) || got.Attempts != 2 || got.Seq != 1 {
		e.Fatalf("due at %v with %d attempts and checkpoint %d, want %v, 2 and 1", got.NotBefore, got.Attempts, got.Seq, at)
	}
	e.insert(task(), task(), task())
	claimed := e.claim(3)
	is(e, "claimed", len(claimed), 3)
	applied, err := e.s.Apply(e.ctx(), process, []*store.Write{
		new(later(claimed[0], at)), new(later(claimed[1], time.Time{})), {Lease: claimed[2].Lease, To: lifecycle.Queued, At: past},
	})
	e.ok(err)
	for i, a := range applied {
		if !a.OK {
			e.Fatalf("write %d was not applied", i)
		}
	}
	if got := e.read(claimed[0].ID).NotBefore; !got.Equal(at) {
		e.Fatalf("of three: due at %v, want %v", got, at)
	}
	if got := e.read(claimed[1].ID).Wait; got <= 0 || got > time.Minute {
		e.Fatalf("of three: due in %v, want a minute", got)
	}
	if got := e.read(claimed[2].ID).NotBefore; !got.Equal(past) {
		e.Fatalf("of three: due at %v, want %v", got, past)
	}
}
