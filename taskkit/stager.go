package taskkit

import "context"

// Stager is an [Executor] of composite tasks: of several stages, each of which is a task of
// any kind. The [Definition] of its kind says so with Stages, which taskgen writes.
//
// Stages is called once for a task, when it starts. It returns the stages, 1,000 at
// most, each made with [NewStage]. They are stored together with b.State and with what was
// written through b.Tx, and they never change. Stages that cannot be used end the task in
// FAILURE, see [UsageError]. Errors and the end of the context mean what they mean for
// Execute.
//
// Each stage is a child of the task. It is submitted when the stages that it comes after
// are complete, see [Stage.After]. When a stage fails, those after it are not submitted,
// and the task fails; a retry of the task retries the stage that failed and goes on from
// there.
//
// Execute is called once all stages are complete, for what is left to do then, and may be
// called again as that of any other task. Report is called when Execute has returned
// [Done].
type Stager[Spec, State any] interface {
	Stages(ctx context.Context, b *Batch[Spec, State]) ([]Stage, error)
}
