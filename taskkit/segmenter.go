package taskkit

import (
	"context"

	"taskkit.dev/taskkit/segment"
)

// Segmenter is an [Executor] whose tasks are split into buckets, so that many workers
// process one task. The [Definition] of its kind says so with Segments, which taskgen
// writes.
//
// Segments is called once for a task, when it starts. It returns the segments, of which
// there is one for each bucket and [segment.MaxSegments] at most. It may read through b.Tx,
// as [segment.Even] does to sample a table. The segments are stored beside the task in the
// transaction of that batch and never change.
//
// The plan is verified by [segment.Plan.Verify]: its segments are disjoint and complete,
// NULL included. Otherwise the task ends in FAILURE with the code segments, before any
// bucket has run, and the text names the gap or the overlap. The rows of [segment.Predicates] are
// counted for that, and Execute calls their method Find.
//
// Each bucket is a child of the task, of the same kind and spec, with a state, checkpoints
// and attempts of its own. b.Segment is the segment of the bucket and builds its predicate. A bucket begins with the zero State. If the
// executor is a [Targeter] too, each bucket finds its targets by its segment.
//
// A task with [WithPreview], [WithCanary] or [WithMaxRate] is executed as a whole, and b.Segment is [segment.All]. One with a list or a
// frozen set of targets is executed over that.
//
// The task itself waits until all buckets have ended. Then it folds their states, see
// [Merger], and Report is called for it. Abort is called for a bucket and for the task, for
// each when it ends without being done. Neither Segments nor Merge processes items: the
// items of the task are those of its buckets.
//
// The state of the task while its buckets run, from which Merge starts, is the zero State.
// Errors and the end of the context mean what they mean for Execute, so after a transient
// error Segments is called again.
type Segmenter[Spec, State any] interface {
	Segments(ctx context.Context, b *Batch[Spec, State]) (*segment.Plan, error)
}

// Merger is a [Segmenter] that folds the states of the buckets into one, so that Report can
// sum up the whole task. Without it the state stays the zero State.
//
// Merge adds the state of one bucket to the total. It is called when all buckets have
// ended, for each of them in the order of their ids, which is that of their segments unless the
// clocks of the workers that submitted them differ. Report sees the total in b.State. A bucket that was stopped or has failed takes
// part with the state of its last checkpoint. After a stop of the task Merge is called before
// Report, which then sees what the buckets had done.
//
// The states are read in pages, and the total is written with a checkpoint after each page.
// A page whose checkpoint failed is merged again into the total before it. So Merge must
// depend on its arguments alone, and must not keep part or what it refers to. An error
// means what it means for Execute.
type Merger[State any] interface {
	Merge(total *State, part State) error
}
