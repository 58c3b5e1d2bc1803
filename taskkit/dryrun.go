package taskkit

import (
	"fmt"

	"taskkit.dev/internal/engine/session"
)

// WithDryRun submits the task to find and count what it would process: a [Targeter] finds its targets, and a [Segmenter] its segments,
// whose buckets each find theirs. Nothing is executed. Then the task is COMPLETED and partial, its total is the number of items, and
// [Client.WriteBuckets] has it for each bucket. [Client.Items] lists the items as unprocessed, and [Client.Continue]
// executes them.
//
// Other modes are [WithPreview], which executes the task and keeps nothing, and [WithApproval], which submits it and executes nothing
// until somebody approves.
//
// It is an *[OptionError] for a kind with neither targets nor buckets, of which nothing can be counted, for a composite task, whose stages
// take it, and together with WithPreview or [WithCoalescing].
func WithDryRun() SubmitOption {
	return submitOption(func(s *submission) { s.Options.DryRun = true })
}

// dryRun is the detail of a task that has executed nothing.
const dryRun = "dry_run: nothing was executed"

// isDryRun reports whether the task of a step executes nothing.
func isDryRun(s *session.Step) bool { return s.Options != nil && s.Options.DryRun }

// checkDryRun refuses WithDryRun where nothing would be found.
func (k *Kind[Spec, State, Result]) checkDryRun(s *submission) error {
	switch {
	case !s.Options.DryRun:
		return nil
	case k.def.Stages:
		return &OptionError{"WithDryRun", fmt.Sprintf("kind %s has stages, which process the items: give the option to a stage", k.def.Name)}
	case k.def.Targets.Get == nil && !k.def.Segments:
		return &OptionError{"WithDryRun", fmt.Sprintf("kind %s has neither targets nor buckets, so a dry run finds nothing: use WithPreview, or count the items where its executor finds them", k.def.Name)}
	case s.Options.Preview:
		return &OptionError{"WithDryRun", "used together with WithPreview, which executes the task: use one of them"}
	case s.Reference != "":
		return &OptionError{"WithCoalescing", "used together with WithDryRun: a dry run replaces no waiting task"}
	}
	return nil
}
