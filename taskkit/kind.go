package taskkit

import (
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"
)

// Defaults of a [Definition].
const (
	DefaultQueue = "default"
	DefaultBatch = 100
)

// Definition describes a kind. taskgen writes it.
type Definition[Spec, State any] struct {
	// Name is stored with every task and must never follow a rename in Go.
	// Lower case letters, digits and underscores, at most 63.
	Name string
	// Aliases are former names whose tasks this kind still runs.
	Aliases []string
	// Revision is that of Spec, State and Result, stored with each task.
	// Defaults to 1.
	Revision int
	// Reads lists the revisions that a worker with this code may claim, none
	// above Revision. Defaults to 1 up to Revision.
	Reads []int
	// Batch is the number of items a batch begins with. The runtime steers
	// b.Limit between 1 and ten times Batch towards Config.BatchTarget.
	// Defaults to 100.
	Batch int
	// Queue is where tasks wait unless InQueue says otherwise. Defaults to
	// "default".
	Queue string
	// Spec and State are required.
	Spec  Codec[Spec]
	State Codec[State]
	// Report is nil for a kind without a result.
	Report Report[Spec, State]
	// Upgrades make what former revisions wrote readable, where the types of
	// today cannot read it as it is.
	Upgrades []Upgrade
	// Retired refuses new tasks; those there are still run.
	Retired bool
	// Secrets are JSON pointers over an object of spec and state, in which * is
	// any element or member: /spec/token. What they point to is masked wherever
	// a task is shown.
	Secrets []string
	// SpecSchema and ResultSchema are JSON Schemas (2020-12), or nil.
	SpecSchema, ResultSchema []byte
}

// Kind is a bulk action as services and workers name it: its stored name and
// how its spec and state are written. Make one with [NewKind]; it is immutable.
type Kind[Spec, State any] struct {
	def       Definition[Spec, State]
	revisions revisions
	// notified is when a submission last carried a hint, in Unix nanoseconds.
	notified atomic.Int64
}

// NewKind makes a kind. It panics when the definition is not usable, which is a
// mistake in generated code or in a test, not in data.
func NewKind[Spec, State any](d Definition[Spec, State]) *Kind[Spec, State] {
	for _, name := range append([]string{d.Name}, d.Aliases...) {
		if !kindName.MatchString(name) {
			panic(fmt.Sprintf("taskkit: kind name %q is not of the form %s", name, kindName))
		}
	}
	if d.Spec.Append == nil || d.Spec.Decode == nil || d.State.Append == nil || d.State.Decode == nil {
		panic(fmt.Sprintf("taskkit: kind %s has no codec for its Spec or State", d.Name))
	}
	if d.Revision == 0 {
		d.Revision = 1
	}
	if len(d.Reads) == 0 {
		for r := 1; r <= d.Revision; r++ {
			d.Reads = append(d.Reads, r)
		}
	}
	if !slices.Contains(d.Reads, d.Revision) {
		panic(fmt.Sprintf("taskkit: kind %s cannot read its own revision %d", d.Name, d.Revision))
	}
	for _, r := range d.Reads {
		// One that read what is to come would write it back as its own revision,
		// without what it does not know.
		if r < 1 || r > d.Revision {
			panic(fmt.Sprintf("taskkit: kind %s cannot read revision %d: there are 1 to %d", d.Name, r, d.Revision))
		}
	}
	for _, s := range d.Secrets {
		if !secretPointer.MatchString(s) {
			panic(fmt.Sprintf("taskkit: kind %s: %q points to no secret: write /spec/ or /state/ and names, in which * is any element or member", d.Name, s))
		}
	}
	if d.Batch <= 0 {
		d.Batch = DefaultBatch
	}
	if d.Queue == "" {
		d.Queue = DefaultQueue
	}
	return &Kind[Spec, State]{def: d, revisions: newRevisions(d.Name, d.Reads, d.Upgrades)}
}

// Name returns the stored name.
func (k *Kind[Spec, State]) Name() string { return k.def.Name }

// Revision returns the revision that new tasks are stored with.
func (k *Kind[Spec, State]) Revision() int { return k.def.Revision }

// Schemas returns the JSON Schemas (2020-12) of the kind's spec and result, or
// nil. They must not be changed.
func (k *Kind[Spec, State]) Schemas() (spec, result []byte) {
	return k.def.SpecSchema, k.def.ResultSchema
}

// Codecs returns how the kind's spec and state are written, for programs that
// take or show them as JSON.
func (k *Kind[Spec, State]) Codecs() (Codec[Spec], Codec[State]) { return k.def.Spec, k.def.State }

// kindName is what a kind may be called, in a database, a metric and a shell.
var kindName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
