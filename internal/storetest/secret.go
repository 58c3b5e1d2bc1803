package storetest

import (
	"encoding/json"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// secrets: what of a task is secret is stored with it, follows a spec that is
// replaced, and grows with a checkpoint; with nothing else.
func secrets(b *bed) {
	b.enrol()
	id := b.one(func(t *store.NewTask) { t.Secrets = "/spec/a" })
	none := b.one()
	is(b, "as submitted", [2]string{b.read(id).Secrets, b.read(none).Secrets}, [2]string{"/spec/a", ""})

	replaced := b.one(func(t *store.NewTask) { t.Reference, t.Secrets = "ref", "/spec/a" })
	same := b.one(func(t *store.NewTask) { t.Reference, t.Revision, t.Secrets = "ref", 2, "/spec/b" })
	is(b, "coalesced", same, replaced)
	is(b, "of the new spec", b.read(replaced).Secrets, "/spec/b")
	is(b, "revisions", [2]int{b.read(replaced).Revision, b.read(replaced).SpecRevision}, [2]int{2, 2})

	var writes []store.Write
	for _, c := range b.claim(2) {
		writes = append(writes, store.Write{
			Hold: c.Hold, To: workflow.Executing, Checkpoint: true, Revision: 2, State: json.RawMessage(`{"at":1}`), Secrets: "/state/x\n/spec/c",
		})
	}
	is(b, "claimed", len(writes), 2)
	_, err := b.s.Apply(b.ctx(), process, writes)
	b.ok(err)
	is(b, "added", [2]string{b.read(id).Secrets, b.read(none).Secrets}, [2]string{"/spec/a\n/state/x\n/spec/c", "/state/x\n/spec/c"})

	// A write that is refused adds nothing, nor does one without a checkpoint.
	b.apply(writes[0])
	h := writes[0].Hold
	h.Seq++
	is(b, "end", b.apply(store.Write{Hold: h, To: workflow.Failure, Secrets: "/spec/d"}).OK, true)
	is(b, "not added", b.read(id).Secrets, "/spec/a\n/state/x\n/spec/c")
}
