package taskkit

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskkind"
)

// defaultQueue is the queue of a kind that names none.
const defaultQueue = "default"

// defaultBatchSize is the default of taskkind.Definition.BatchSize.
const defaultBatchSize = 100

// Kind is a bulk action as services and workers refer to it: its stored name, and
// how its spec, state and result are stored. A Result of struct{} means that the
// kind has none. Make a Kind with [NewKind]; it is immutable and safe for
// concurrent use.
type Kind[Spec, State, Result any] struct {
	def       taskkind.Definition[Spec, State, Result]
	revisions revisions
	stopAfter lifecycle.StopPolicy  // def.StopAfter
	notify    []notice.Subscription // def.Notify
	// notified is when a submission last carried a wake-up, in Unix nanoseconds.
	notified atomic.Int64
}

// NewKind makes a kind. It panics when the definition is invalid, which is a
// mistake in generated code or in a test and never caused by data.
func NewKind[Spec, State, Result any](d taskkind.Definition[Spec, State, Result]) *Kind[Spec, State, Result] {
	for _, name := range append([]string{d.Name}, d.Aliases...) {
		if !lifecycle.ValidKind(name) {
			panic(fmt.Sprintf("taskkit: kind name %q is not valid: use %s", name, lifecycle.KindRule))
		}
	}
	if problem := contradiction(&d); problem != "" {
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
	if hidden := parseSecrets(d.Secrets); len(hidden) > 0 {
		d.Spec, d.State = d.Spec.Hiding(hidden.below("spec").hide), d.State.Hiding(hidden.below("state").hide)
	}
	var stopAfter lifecycle.StopPolicy
	if d.StopAfter != "" {
		var err error
		if stopAfter, err = lifecycle.ParseStopPolicy(d.StopAfter); err != nil {
			panic(fmt.Sprintf("taskkit: kind %s: %v", d.Name, err))
		}
	}
	notify, err := parseNotify(d.Notify)
	if err != nil {
		panic(fmt.Sprintf("taskkit: kind %s: Notify: %v", d.Name, err))
	}
	if err := d.Policies.Check(); err != nil {
		panic(fmt.Sprintf("taskkit: kind %s: %v", d.Name, err))
	}
	if d.Policies.Restarts() && (d.Children || d.Parallel > 0) {
		panic(fmt.Sprintf("taskkit: kind %s: a policy restarts its tasks, which may have children: let it pause or notify", d.Name))
	}
	if err := d.Strategy.Check(); err != nil {
		panic(fmt.Sprintf("taskkit: kind %s: %v", d.Name, err))
	}
	if t := d.Targets.State; t != nil && t != reflect.TypeFor[State]() {
		panic(fmt.Sprintf("taskkit: kind %s: its targets are found with the state %v, and its state is %v", d.Name, t, reflect.TypeFor[State]()))
	}
	if d.BatchSize <= 0 {
		d.BatchSize = defaultBatchSize
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
	if d.Parallel < 0 {
		panic(fmt.Sprintf("taskkit: kind %s: its Parallel of %d is negative: leave it out for none", d.Name, d.Parallel))
	}
	if d.LatestStart < 0 || d.TimeLimit < 0 {
		panic(fmt.Sprintf("taskkit: kind %s: its LatestStart of %v or its TimeLimit of %v is negative: leave it out for none", d.Name, d.LatestStart, d.TimeLimit))
	}
	for _, table := range d.Touches {
		if !lifecycle.ValidTable(table) {
			panic(fmt.Sprintf("taskkit: kind %s: %q is not a table that it touches: use %s", d.Name, table, lifecycle.TableRule))
		}
	}
	if d.Queue == "" {
		d.Queue = defaultQueue
	}
	if !lifecycle.ValidQueue(d.Queue) {
		panic(fmt.Sprintf("taskkit: kind %s: queue %q is not a valid name: use %s", d.Name, d.Queue, lifecycle.QueueRule))
	}
	revisions := newRevisions(d.Name, d.Reads, d.Upgrades)
	revisions.secrets = len(d.Secrets) > 0
	return &Kind[Spec, State, Result]{def: d, revisions: revisions, stopAfter: stopAfter, notify: notify}
}

// Name returns the stored name.
func (k *Kind[Spec, State, Result]) Name() string { return k.def.Name }

// Revision returns the revision that new tasks are stored with.
func (k *Kind[Spec, State, Result]) Revision() int { return k.def.Revision }

// CanPreview reports whether tasks of the kind can be previews, see [WithPreview].
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
