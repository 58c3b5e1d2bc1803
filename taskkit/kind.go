package taskkit

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/taskjson"
)

// Defaults of a [Definition].
const (
	DefaultQueue     = "default"
	DefaultBatchSize = 100
)

// Definition describes a kind. taskgen writes it.
type Definition[Spec, State, Result any] struct {
	// Name is stored with every task and must not change when Go code is renamed.
	// It consists of at most 63 lower case letters, digits and underscores.
	Name string
	// Aliases are former names. Tasks stored with them are run by this kind.
	Aliases []string
	// Revision is the revision of Spec, State and Result and is stored with each
	// task. Defaults to 1.
	Revision int
	// Reads lists the revisions that a worker with this code may claim, none
	// above Revision. Defaults to 1 up to Revision.
	Reads []int
	// BatchSize is the number of items of the first batch. The runtime adjusts
	// b.Limit between 1 and ten times BatchSize to reach Config.BatchTarget.
	// Defaults to 100.
	BatchSize int
	// MaxBatchSize bounds the number of items in a batch, for statements that
	// accept no more parameters. Defaults to 0, which is no bound but ten times
	// BatchSize.
	MaxBatchSize int
	// SkipPoison says what happens to an item that is alone in its batch and
	// kills the worker again and again. True counts the item as failed and
	// continues the task; false, the default, ends the task in ERROR. True needs
	// [Take], and a Config.MaxAttempts of at least 3.
	SkipPoison bool
	// StopAfter is the stop policy of tasks that are submitted without one, such as "100"
	// or "5%"; see the option [StopAfter]. Defaults to "", which is none.
	StopAfter string
	// DeferDelays is how long a task waits before each time that it tries its deferred
	// items again, see [Batch.Defer]. An item is tried once more than there are
	// delays, then it fails. All are positive. Defaults to 30 minutes and 6 hours.
	DeferDelays []time.Duration
	// Touches are the tables that the batches of the kind's tasks write, by the names that the
	// database has for them: "people", or "app.people" with a schema. Batches wait while one of
	// them is not well, see [Throttle]. Defaults to none.
	Touches []string
	// Queue is the queue of the kind's tasks, unless [WithQueue] names another.
	// Defaults to "default".
	Queue string
	// Spec, State and Result encode and decode what is stored. Each defaults to a
	// codec that works by reflection.
	Spec   taskjson.Codec[Spec]
	State  taskjson.Codec[State]
	Result taskjson.Codec[Result]
	// Upgrades convert what former revisions wrote, where the current types cannot
	// read it as it is.
	Upgrades []Upgrade
	// Retired kinds accept no new tasks. Existing tasks are still run.
	Retired bool
	// Targets is the list of the spec whose elements are the targets of a task; see
	// [Over] and, if the executor finds them, [TargetsFoundIn]. The zero value is none.
	Targets Targets[Spec]
	// Preview says that the executor can run as a preview: that it checks b.Preview
	// before each effect outside b.Tx. See [Preview].
	Preview bool
	// Ledger says that the items that [Batch.Succeed] records are stored, for a kind that
	// finds its items itself: [Client.Items] then lists those that succeeded. It is not
	// needed for what [Take] returns from the list of Targets.
	Ledger bool
	// Children says that the executor may submit tasks as children of its own, with the
	// option ChildOf, and wait for them. Segments and Stages imply it. [WithCoalescing] is
	// refused for such a kind.
	Children bool
	// Segments says that the executor is a [Segmenter].
	Segments bool
	// Stages says that the executor is a [Stager].
	Stages bool
	// Secrets are JSON pointers into an object of spec and state, such as
	// /spec/token, in which * stands for any element or member. The values they
	// point to are masked wherever a task is shown.
	Secrets []string
	// SpecSchema and ResultSchema are JSON Schemas (2020-12), or nil.
	SpecSchema, ResultSchema []byte
}

// Kind is a bulk action as services and workers refer to it: its stored name, and
// how its spec, state and result are stored. A Result of struct{} means that the
// kind has none. Make a Kind with [NewKind]; it is immutable and safe for
// concurrent use.
type Kind[Spec, State, Result any] struct {
	def       Definition[Spec, State, Result]
	revisions revisions
	stopAfter lifecycle.StopPolicy // def.StopAfter
	// notified is when a submission last carried a wake-up, in Unix nanoseconds.
	notified atomic.Int64
}

// NewKind makes a kind. It panics when the definition is invalid, which is a
// mistake in generated code or in a test and never caused by data.
func NewKind[Spec, State, Result any](d Definition[Spec, State, Result]) *Kind[Spec, State, Result] {
	for _, name := range append([]string{d.Name}, d.Aliases...) {
		if !lifecycle.ValidKind(name) {
			panic(fmt.Sprintf("taskkit: kind name %q is not valid: use %s", name, lifecycle.KindRule))
		}
	}
	if problem := d.contradiction(); problem != "" {
		panic(fmt.Sprintf("taskkit: kind %s: %s", d.Name, problem))
	}
	d.Children = d.Children || d.Segments || d.Stages
	if d.Spec.IsZero() {
		d.Spec = taskjson.Reflected[Spec]()
	}
	if d.State.IsZero() {
		d.State = taskjson.Reflected[State]()
	}
	if d.Result.IsZero() {
		d.Result = taskjson.Reflected[Result]()
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
		// Code that read a later revision would write it back as its own, without
		// the fields that it does not know.
		if r < 1 || r > d.Revision {
			panic(fmt.Sprintf("taskkit: kind %s cannot read revision %d: there are 1 to %d", d.Name, r, d.Revision))
		}
	}
	for _, s := range d.Secrets {
		if !secretPointer.MatchString(s) {
			panic(fmt.Sprintf("taskkit: kind %s: %q is not a pointer to a secret: write /spec/ or /state/ and names, in which * is any element or member", d.Name, s))
		}
	}
	var stopAfter lifecycle.StopPolicy
	if d.StopAfter != "" {
		var err error
		if stopAfter, err = lifecycle.ParseStopPolicy(d.StopAfter); err != nil {
			panic(fmt.Sprintf("taskkit: kind %s: %v", d.Name, err))
		}
	}
	if t := d.Targets.state; t != nil && t != reflect.TypeFor[State]() {
		panic(fmt.Sprintf("taskkit: kind %s: its targets are found with the state %v, and its state is %v", d.Name, t, reflect.TypeFor[State]()))
	}
	if d.BatchSize <= 0 {
		d.BatchSize = DefaultBatchSize
	}
	if d.MaxBatchSize > 0 {
		d.BatchSize = min(d.BatchSize, d.MaxBatchSize)
	}
	if d.DeferDelays == nil {
		d.DeferDelays = []time.Duration{30 * time.Minute, 6 * time.Hour}
	}
	for _, delay := range d.DeferDelays {
		if delay <= 0 {
			panic(fmt.Sprintf("taskkit: kind %s: its delay of %v before deferred items are tried again is not positive", d.Name, delay))
		}
	}
	for _, table := range d.Touches {
		if !lifecycle.ValidTable(table) {
			panic(fmt.Sprintf("taskkit: kind %s: %q is not a table that it touches: use %s", d.Name, table, lifecycle.TableRule))
		}
	}
	if d.Queue == "" {
		d.Queue = DefaultQueue
	}
	if !lifecycle.ValidQueue(d.Queue) {
		panic(fmt.Sprintf("taskkit: kind %s: queue %q is not a valid name: use %s", d.Name, d.Queue, lifecycle.QueueRule))
	}
	return &Kind[Spec, State, Result]{def: d, revisions: newRevisions(d.Name, d.Reads, d.Upgrades), stopAfter: stopAfter}
}

// Name returns the stored name.
func (k *Kind[Spec, State, Result]) Name() string { return k.def.Name }

// Revision returns the revision that new tasks are stored with.
func (k *Kind[Spec, State, Result]) Revision() int { return k.def.Revision }

// CanPreview reports whether tasks of the kind can be previews, see [Preview].
func (k *Kind[Spec, State, Result]) CanPreview() bool { return k.def.Preview }

// Schemas returns the JSON Schemas (2020-12) of the kind's spec and result, or
// nil. The caller must not modify them.
func (k *Kind[Spec, State, Result]) Schemas() (spec, result []byte) {
	return k.def.SpecSchema, k.def.ResultSchema
}

// Codecs returns the codecs of the kind's spec, state and result, for programs
// that accept or show them as JSON.
func (k *Kind[Spec, State, Result]) Codecs() (taskjson.Codec[Spec], taskjson.Codec[State], taskjson.Codec[Result]) {
	return k.def.Spec, k.def.State, k.def.Result
}

// hasResult reports whether tasks of the kind have a result.
func (k *Kind[Spec, State, Result]) hasResult() bool {
	return reflect.TypeFor[Result]() != reflect.TypeFor[struct{}]()
}
