package taskkind

import (
	"time"

	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskpolicy"
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
	// WithStopAfter is the stop policy of tasks that are submitted without one, such as "100"
	// or "5%"; see the option StopAfter. Defaults to "", which is none.
	StopAfter string
	// LatestStart is how long after its submission a task may begin, or after the time of WithDelay and WithNotBefore:
	// one that is submitted without WithLatestStart gets this time as its latest start, by the clock of the program
	// that submits. Not negative. Defaults to 0, which is no latest start.
	LatestStart time.Duration
	// TimeLimit is the WithTimeLimit of tasks that are submitted without one. Not negative. Defaults to 0, which is none.
	TimeLimit time.Duration
	// DeferDelays is how long a task waits before each time that it tries its deferred
	// items again, see Batch.Defer. An item is tried once more than there are
	// delays, then it fails. All are positive. Defaults to 30 minutes and 6 hours.
	DeferDelays []time.Duration
	// Strategy is what becomes of errors of tasks that are submitted without WithStrategy. Defaults to nil: permanent errors fail
	// their item or the task, and the rest is tried again.
	Strategy taskpolicy.Strategy
	// Policies are the policies of tasks that are submitted without WithPolicies. Defaults to none.
	Policies taskpolicy.Policies
	// Notify are the subscriptions of tasks of the kind, which WithNotifications adds to, as notice.Parse reads them: "ops:dead_letter". Defaults
	// to none.
	Notify string
	// Touches are the tables that the batches of the kind's tasks write, by the names that the
	// database has for them: "people", or "app.people" with a schema. Batches wait while one of
	// them is not well, see taskkit.Config.Throttle. Defaults to none.
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
	// [WithTargets] and, if the executor finds them, [TargetsFoundIn]. The zero value is none.
	Targets Targets[Spec]
	// WithPreview says that the executor can run as a preview: that it checks b.Preview
	// before each effect outside b.Tx. See [WithPreview].
	Preview bool
	// Ledger says that the items that [Batch.Succeed] records are stored, for a kind that
	// finds its items itself: [Client.Items] then lists those that succeeded. It is not
	// needed for what [Take] returns from the list of Targets.
	Ledger bool
	// Children says that the executor may submit tasks as children of its own, with the
	// option WithParent, and wait for them. Segments and Stages imply it. [WithCoalescing] is
	// refused for such a kind.
	Children bool
	// Segments says that the executor is a [Segmenter].
	Segments bool
	// Stages says that the executor is a [Stager].
	Stages bool
	// Merge says that the executor is a [Merger]. A kind with Targets and a result needs it to be divided into ranges, see
	// [WithMaxParallel]; a kind with Segments does not say so.
	Merge bool
	// Parallel is the WithMaxParallel of tasks that are submitted without one, of a kind with Targets. Not negative.
	// Defaults to 0: a task is executed as a whole.
	Parallel int
	// CheckItems returns the method CheckItems of an executor in the form that package taskkit calls, for a kind with Targets whose executor
	// is a taskkit.ItemChecker; make it with taskkit.ItemsCheckedIn. Defaults to nil, which is none.
	CheckItems func(executor any) any
	// CheckBucket says that the executor is a taskkit.BucketChecker, of a kind with Segments.
	CheckBucket bool
	// Secrets are JSON pointers into an object of spec and state, such as
	// /spec/token, in which * stands for any element or member. The values they
	// point to are masked wherever a task is shown.
	Secrets []string
	// Doc is the doc comment of the executor, for people. Defaults to "".
	Doc string
	// SpecSchema and ResultSchema are JSON Schemas (2020-12), or nil.
	SpecSchema, ResultSchema []byte
}
