package taskkit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// maxStages is the greatest number of stages of a composite task.
const maxStages = 1000

// Stage is a part of a composite task: a prepared submission of any kind with a name. Make
// it with [NewStage] and return it from the method Stages of a [Stager]. It is a value that
// can be copied and never changes.
type Stage struct {
	name  string
	task  store.NewTask // without ID; owner, run-as and queue are zero: those of the composite task
	after []string      // names
	given bool          // After was called
	err   error         // of NewStage
	// make makes the task with one more option.
	make func(SubmitOption) (store.NewTask, error)
}

// NewStage prepares a stage: a task of a kind with its spec and options. The name is unique
// among the stages of a task and consists of at most 63 lower case letters, digits and
// underscores. The spec is validated and encoded at once; what is wrong with the arguments
// is the error of the composite task, see [UsageError].
//
// The owner, the person as whom the stage runs and the queue are those of the composite
// task, so OwnedBy is not needed. Options that identify a task, that say when it starts, or
// that need the handle of the submission are an *[OptionError]: [WithUniqueKey],
// [WithIdempotencyKey], [WithCoalescing], [WithSubmitted], [WithTargets], [WithSample],
// [WithNotBefore], [WithDelay], [WithSchema], [WithoutNotify], [WithLogger] and WithParent. [WithPreview] is
// allowed, so that a preview and its execution can be two stages.
func NewStage[Spec, State, Result any](name string, k *Kind[Spec, State, Result], spec Spec, opts ...SubmitOption) Stage {
	forgetSubmitted(opts)
	task, err := k.stageTask(spec, opts)
	return Stage{name: name, task: task, err: err, make: func(o SubmitOption) (store.NewTask, error) {
		return k.stageTask(spec, append(slices.Clip(opts), o))
	}}
}

// After returns the stage with the names of the stages that must be complete before it is
// submitted. Without After a stage comes after the one before it in the list, so that a
// list of stages is a chain. After without names lets the stage start at once. A second
// After adds names to the first. There must be no cycle.
func (s Stage) After(names ...string) Stage {
	s.after, s.given = append(slices.Clip(s.after), names...), true
	return s
}

// stageTask returns what is stored of a stage. Owner, run-as and queue are zero if no
// option names them.
func (k *Kind[Spec, State, Result]) stageTask(spec Spec, opts []SubmitOption) (task store.NewTask, err error) {
	if err := k.acceptsTasks(); err != nil {
		return store.NewTask{}, err
	}
	s := k.options(opts)
	if s.owned && s.NewTask.RunAs == uuid.Nil {
		s.NewTask.RunAs = s.Owner
	}
	s.refuseInStage()
	if err := s.check(); err != nil {
		return store.NewTask{}, err
	}
	if err := k.checkOptions(s, []Spec{spec}); err != nil {
		return store.NewTask{}, err
	}
	err = k.newTask(s, &spec, &task)
	return task, err
}

// refuseInStage refuses the options that a stage cannot have.
func (s *submission) refuseInStage() {
	const (
		identity = "a stage is identified by its composite task and its name: give the option to that task"
		start    = "a stage starts when those before it are complete: return LaterAt from its executor, or give the option to the composite task"
		where    = "a stage is submitted by the runtime, where its composite task is: leave the option out"
	)
	for _, o := range []struct {
		given        bool
		name, remedy string
	}{
		{s.UniqueKey != "", "WithUniqueKey", identity},
		{s.IdempotencyKey != "", "WithIdempotencyKey", identity},
		{s.Reference != "", "WithCoalescing", identity},
		{s.Version != nil, "WithVersion", identity},
		{s.submitted != nil, "WithSubmitted", "a stage is not stored yet when it is made: list the children of the composite task with a Filter of its id as Parent"},
		{s.over != nil, "WithTargets", "a stage has no handle through which the targets could be stored: put them into its spec, or find them in a method Targets of its executor"},
		{s.sampled(), "WithSample", "a stage has no handle through which a sample could be stored: put the sampled targets into its spec"},
		{!s.NotBefore.IsZero(), "WithNotBefore", start},
		{s.Delay != 0, "WithDelay", start},
		{s.schema != "", "WithSchema", where},
		{s.withoutNotify, "WithoutNotify", where},
		{s.logger != nil, "WithLogger", where},
		{s.observer != nil, "WithObserver", where},
		{len(s.notify) > 0, "WithNotifications", "give the option to the composite task, which notifies for all of its stages"},
		{s.NewTask.Parent != uuid.Nil, "WithParent", "a stage is a child of its composite task already: leave the option out"},
	} {
		if o.given {
			s.fail(o.name, "used for a stage: "+o.remedy)
		}
	}
}

// checkStages returns a *[UsageError] if a composite task cannot have these stages.
func checkStages(stages []Stage) error {
	switch n := len(stages); {
	case n == 0:
		return &UsageError{What: "stages", Why: "there are none: return at least one from Stages, or use an Executor without Stages"}
	case n > maxStages:
		return &UsageError{What: "stages", Why: fmt.Sprintf("there are %d, more than %d: put some of them into a composite task that is a stage of this one", n, maxStages)}
	}
	at := make(map[string]int, len(stages)) // where the stages are, by name
	for i, s := range stages {
		first, again := at[s.name]
		switch {
		case s.name == "" && s.task.Kind == "" && s.err == nil:
			return &UsageError{What: "stages", Why: fmt.Sprintf("number %d of the list is the zero Stage: make it with NewStage", i+1)}
		case s.name == "":
			return &UsageError{What: "stages", Why: fmt.Sprintf("number %d of the list has no name: give it one of %s", i+1, lifecycle.KindRule)}
		case !lifecycle.ValidKind(s.name):
			return &UsageError{What: named("stage", s.name), Why: "the name is not valid: use " + lifecycle.KindRule}
		case again:
			return &UsageError{What: named("stage", s.name), Why: fmt.Sprintf("number %d and number %d of the list have this name: rename one of them", first+1, i+1)}
		case s.err != nil:
			return &UsageError{What: named("stage", s.name), Why: strings.ReplaceAll(s.err.Error(), "taskkit: ", ""), Err: s.err}
		}
		at[s.name] = i
	}
	for _, s := range stages {
		for _, name := range s.after {
			switch _, known := at[name]; {
			case name == s.name:
				return &UsageError{What: named("stage", s.name), Why: "it comes after itself: remove its name from After"}
			case !known:
				return &UsageError{What: named("stage", s.name), Why: fmt.Sprintf("it comes after %q, and no stage has that name: correct the name in After", shorten(name))}
			}
		}
	}
	if c := stageCycle(stagesBefore(stages)); c != nil {
		names := make([]string, len(c))
		for i, stage := range c {
			names[i] = stages[stage].name
		}
		return &UsageError{What: named("stage", names[0]), Why: fmt.Sprintf("it waits for itself, %s: change what one of these comes after; without After that is the stage before it in the list", strings.Join(names, " -> "))}
	}
	return nil
}

// stagesBefore returns for each stage the positions of those that it comes after, sorted.
// All names are known.
func stagesBefore(stages []Stage) [][]int {
	at := make(map[string]int, len(stages))
	for i, s := range stages {
		at[s.name] = i
	}
	before := make([][]int, len(stages))
	for i, s := range stages {
		switch {
		case s.given:
			for _, name := range s.after {
				before[i] = append(before[i], at[name])
			}
			slices.Sort(before[i])
			before[i] = slices.Compact(before[i])
		case i > 0:
			before[i] = []int{i - 1}
		}
	}
	return before
}

// stageCycle returns stages of which each comes after the next, and the first is the last,
// given what each comes after; nil if there are none.
func stageCycle(before [][]int) []int {
	var (
		path []int
		done = make([]bool, len(before))
		on   = make([]bool, len(before)) // the path
		walk func(i int) []int
	)
	walk = func(i int) []int {
		switch {
		case done[i]:
			return nil
		case on[i]:
			return append(slices.Clone(path[slices.Index(path, i):]), i)
		}
		on[i], path = true, append(path, i)
		for _, b := range before[i] {
			if c := walk(b); c != nil {
				return c
			}
		}
		on[i], path, done[i] = false, path[:len(path)-1], true
		return nil
	}
	for i := range before {
		if c := walk(i); c != nil {
			return c
		}
	}
	return nil
}
