package storetest

import (
	"encoding/json"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// report: the report of a preview is in its plan, is written with a checkpoint that
// takes effect and with no other, and stays what it is with a checkpoint without one.
func report(e *env) {
	e.registerWorker()
	want := store.Options{Preview: true}
	preview := func(t *store.NewTask) { t.Options = &want }
	c, other := e.claimedTask(preview), e.claimedTask(preview)
	stored := func(l store.Lease) string {
		plan, err := e.s.Plan(e.ctx(), l.ID)
		e.ok(err)
		is(e, "options", plan.Options, want)
		return string(plan.Report)
	}
	writing := func(l store.Lease, text string) store.Write {
		w := checkpoint(l)
		w.Begun = l.Seq > 0
		if text != "" {
			w.Report = json.RawMessage(text)
		}
		return w
	}
	is(e, "report before the first checkpoint", stored(c.Lease), "")
	for _, text := range []string{`{"batches":0}`, `{"batches":1}`} { // its first, and one of many
		is(e, "applied", e.apply(writing(c.Lease, text)).OK, true)
		is(e, "report", stored(c.Lease), text)
		is(e, "a late write", e.apply(writing(c.Lease, `{"batches":7}`)).OK, false)
		is(e, "report after a late write", stored(c.Lease), text)
		c.Seq++
	}
	is(e, "applied without one", e.apply(writing(c.Lease, "")).OK, true)
	is(e, "report after a checkpoint without one", stored(c.Lease), `{"batches":1}`)
	c.Seq++
	end := writing(c.Lease, `{"batches":2}`)
	end.To = lifecycle.Completed
	applied, err := e.s.Apply(e.ctx(), process, []*store.Write{&end, new(writing(other.Lease, `{"batches":3}`))})
	e.ok(err)
	is(e, "two in one call", applied[0].OK && applied[1].OK, true)
	is(e, "report at the end", stored(c.Lease), `{"batches":2}`)
	is(e, "report of the other", stored(other.Lease), `{"batches":3}`)
}
