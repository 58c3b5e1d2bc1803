package proptest_test

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"taskkit.dev/taskkit"
)

// Submit submits one task.
func (m *machine) Submit(t *rapid.T) {
	k := &known{
		plan:       normal(rapid.SliceOfN(aStep, 1, 5).Draw(t, "plan")),
		unique:     rapid.SampledFrom([]string{"", "", "u", "v"}).Draw(t, "unique key"),
		idempotent: rapid.SampledFrom([]string{"", "", "i", "j"}).Draw(t, "idempotency key"),
	}
	opts := m.options(t, k)
	if k.unique != "" {
		opts = append(opts, taskkit.WithUniqueKey(k.unique))
	}
	if k.idempotent != "" {
		opts = append(opts, taskkit.WithIdempotencyKey(k.idempotent))
	}
	id, err := taskkit.Submit(t.Context(), m.db, m.kind, spec{k.plan}, opts...)
	var possible, certain bool // that a key is taken
	for _, o := range m.tasks {
		if k.unique != "" && o.unique == k.unique {
			possible, certain = possible || !o.over(), certain || o.live()
		}
		if k.idempotent != "" && o.idempotent == k.idempotent {
			possible, certain = possible || !o.gone(), certain || !o.deleted
		}
	}
	if dup, is := errors.AsType[*taskkit.DuplicateError](err); is {
		if !possible {
			t.Fatalf("keys %q and %q are free: %v", k.unique, k.idempotent, err)
		}
		holder := m.find(dup.ID)
		if dup.ID != uuid.Nil && (holder == nil || holder.unique != dup.Key && holder.idempotent != dup.Key) {
			t.Fatalf("%v, which has no such key", err)
		}
		return
	}
	if err != nil || certain {
		t.Fatalf("submit with keys %q and %q: %v; surely taken: %t", k.unique, k.idempotent, err, certain)
	}
	m.add(id, k)
}

// SubmitReferring submits one task with a reference. It does so only while it is
// certain what becomes of the submission: no task of the reference may have begun.
func (m *machine) SubmitReferring(t *rapid.T) {
	k := &known{
		plan:      normal(rapid.SliceOfN(aStep, 1, 5).Draw(t, "plan")),
		reference: rapid.SampledFrom([]string{"r", "s"}).Draw(t, "reference"),
	}
	opts := append(m.options(t, k), taskkit.WithCoalescing(k.reference))
	var into *known
	for _, o := range m.tasks {
		may, must := o.merges(k)
		if may && !must {
			t.Skip("one of the reference may have begun")
		}
		if must {
			into = o
		}
	}
	id, err := taskkit.Submit(t.Context(), m.db, m.kind, spec{k.plan}, opts...)
	paused, isPaused := errors.AsType[*taskkit.PausedError](err)
	switch {
	case into == nil:
		if err != nil || m.find(id) != nil {
			t.Fatalf("submit with the reference %q, which no task that waits has: task %s, %v", k.reference, id, err)
		}
		m.add(id, k)
		return
	case id != into.id, isPaused != into.paused, isPaused && paused.ID != into.id, err != nil && !isPaused:
		t.Fatalf("submit with the reference %q of task %s: task %s, %v; model %+v", k.reference, into.id, id, err, *into)
	}
	into.merge(k)
	into.begun = m.worker != nil && into.mayRun()
	m.seen.merged.Add(1)
}

// SubmitMany submits some at once.
func (m *machine) SubmitMany(t *rapid.T) {
	var (
		ks    []*known
		specs []spec
		first known
	)
	for _, plan := range rapid.SliceOfN(rapid.SliceOfN(aStep, 1, 3), 1, 4).Draw(t, "plans") {
		ks = append(ks, &known{plan: normal(plan)})
		specs = append(specs, spec{ks[len(ks)-1].plan})
	}
	ids, err := taskkit.SubmitMany(t.Context(), m.db, m.kind, specs, m.options(t, &first)...)
	if err != nil || len(ids) != len(ks) {
		t.Fatalf("submit %d: %d ids, %v", len(ks), len(ids), err)
	}
	for i, k := range ks {
		k.far = first.far
		m.add(ids[i], k)
	}
	if _, err := taskkit.SubmitMany(t.Context(), m.db, m.kind, append(specs, spec{}), taskkit.WithUniqueKey("w"), taskkit.WithSchema(m.schema), taskkit.System()); err == nil {
		t.Fatal("one key for several tasks was taken")
	}
}

func (m *machine) options(t *rapid.T, k *known) []taskkit.SubmitOption {
	opts := []taskkit.SubmitOption{
		taskkit.WithSchema(m.schema), taskkit.OwnedBy(m.owner),
		taskkit.WithPriority(taskkit.Priority(rapid.IntRange(1, 4).Draw(t, "priority"))),
	}
	switch rapid.SampledFrom([]string{"", "", "soon", "far"}).Draw(t, "delay") {
	case "soon":
		k.delayed = true
		opts = append(opts, taskkit.WithDelay(2*time.Millisecond))
	case "far":
		k.delayed, k.far = true, true
		opts = append(opts, taskkit.WithDelay(time.Hour))
	}
	return opts
}
