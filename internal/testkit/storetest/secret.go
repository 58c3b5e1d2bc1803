package storetest

import (
	"encoding/json"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// secrets: what of a task is secret is stored with it, follows a spec that is
// replaced, and grows with a checkpoint; with nothing else.
func secrets(e *env) {
	e.registerWorker()
	id := e.one(func(t *store.NewTask) { t.Secrets = "/spec/a" })
	none := e.one()
	is(e, "as submitted", [2]string{e.read(id).Secrets, e.read(none).Secrets}, [2]string{"/spec/a", ""})

	of := referring()
	replaced := e.insert(of(`{"a": 1}`, func(t *store.NewTask) { t.Secrets = "/spec/a" }))[0]
	same := e.insert(of(`{"b": 1}`, func(t *store.NewTask) { t.Revision, t.Secrets = 2, "/spec/b" }))[0]
	is(e, "coalesced", same, replaced)
	is(e, "of the new spec", e.read(replaced).Secrets, "/spec/b")
	is(e, "revisions", [2]int{e.read(replaced).Revision, e.read(replaced).SpecRevision}, [2]int{2, 2})

	var writes []*store.Write
	for _, c := range e.claim(2) {
		writes = append(writes, &store.Write{
			Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 2, State: json.RawMessage(`{"at":1}`), Secrets: "/state/x\n/spec/c",
		})
	}
	is(e, "claimed", len(writes), 2)
	_, err := e.s.Apply(e.ctx(), process, writes)
	e.ok(err)
	is(e, "added", [2]string{e.read(id).Secrets, e.read(none).Secrets}, [2]string{"/spec/a\n/state/x\n/spec/c", "/state/x\n/spec/c"})

	// A write that is refused adds nothing, nor does one without a checkpoint.
	e.apply(*writes[0])
	h := writes[0].Lease
	h.Seq++
	is(e, "end", e.apply(store.Write{Lease: h, To: lifecycle.Failure, Secrets: "/spec/d"}).OK, true)
	is(e, "not added", e.read(id).Secrets, "/spec/a\n/state/x\n/spec/c")
}
