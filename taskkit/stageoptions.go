package taskkit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// WithStage gives a stage of a composite task further options, which count before its own: another priority, queue, stop policy, window,
// rate, limit or number of buckets at once, a preview, a canary or an approval. A strategy and policies replace its own. A stage of a stage has its options by WithStage within WithStage. What the stage
// inherits from the task, and what its kind refuses, is as if [NewStage] had the options.
//
// It is an *[OptionError] for a kind without stages, for a name that no stage can have or that is given twice, without options, and for options that say who
// and what a stage is, as [NewStage] lists them, and OwnedBy, System, RunAs, WithActor, WithPredecessor, WithTraceparent and WithTotal. If no stage of
// the task has the name, or its kind cannot have an option, the task ends in FAILURE with the code stages before its first stage.
func WithStage(name string, opts ...SubmitOption) SubmitOption {
	forgetSubmitted(opts)
	return submitOption(func(s *submission) {
		t := &submission{NewTask: store.NewTask{Total: -1, Options: new(store.Options)}}
		for _, o := range opts {
			o.applySubmit(t)
		}
		t.refuseInStage()
		t.refuseForStage()
		_, again := s.Options.Stages[name]
		switch err := t.check(); {
		case !lifecycle.ValidKind(name):
			s.fail("WithStage", fmt.Sprintf("%q is not the name of a stage: use %s", shorten(name), lifecycle.KindRule))
		case again:
			s.fail("WithStage", fmt.Sprintf("given twice for stage %s: give all of its options at once", name))
		case len(opts) == 0:
			s.fail("WithStage", fmt.Sprintf("no options for stage %s: name some, or leave it out", name))
		case err != nil:
			s.errs = append(s.errs, err)
		default:
			// Options that were taken from another submission are not changed.
			stages := maps.Clone(s.Options.Stages)
			if stages == nil {
				stages = make(map[string]store.StageOptions)
			}
			stages[name] = store.StageOptions{Queue: t.Queue, Priority: t.NewTask.Priority, Reason: t.Reason, Options: *t.Options}
			s.Options.Stages = stages
		}
	})
}

// refuseForStage refuses the options that a stage can have by the code of its composite task alone.
func (s *submission) refuseForStage() {
	const (
		person = "the composite task decides as whom its stages execute: give the option to that task, or to NewStage"
		code   = "it is for the code that makes the stage: give it to NewStage"
	)
	for _, o := range []struct {
		given        bool
		name, remedy string
	}{
		{s.owned, "OwnedBy", person},
		{s.NewTask.RunAs != uuid.Nil, "RunAs", person},
		{s.Actor != uuid.Nil, "WithActor", person},
		{s.Follows != uuid.Nil, "WithPredecessor", code},
		{s.Traceparent != "", "WithTraceparent", code},
		{s.Total >= 0, "WithTotal", code},
	} {
		if o.given {
			s.fail(o.name, "used in WithStage: "+o.remedy)
		}
	}
}

// tailorStages gives stages the options of the submission.
func tailorStages(stages []Stage, given map[string]store.StageOptions) ([]Stage, error) {
	if len(given) == 0 {
		return stages, nil
	}
	tailored := slices.Clone(stages)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.IndexFunc(stages, func(s Stage) bool { return s.name == name })
		if at < 0 {
			return nil, &UsageError{What: named("stage", name), Why: "WithStage has given it options, and the task has no stage with that name: submit it again with the name of one"}
		}
		options := given[name]
		task, err := stages[at].make(submitOption(func(s *submission) {
			if err := options.ApplyTo(&s.NewTask); err != nil {
				s.errs = append(s.errs, err)
			}
			s.policies = s.policies || len(options.Options.Policies) > 0
		}))
		if err != nil {
			return nil, &UsageError{What: named("stage", name), Why: "with the options of WithStage: " + strings.ReplaceAll(err.Error(), "taskkit: ", ""), Err: err}
		}
		tailored[at].task = task
	}
	return tailored, nil
}
