// Package reconcile sets the statuses of people to the statuses in a registrar's file.
//
// It is a composite task of three stages, each of a kind of its own:
//
//   - load reads the file into a table, and rejects invalid lines;
//   - compare finds the lines whose status differs from the enrolment;
//   - apply sets these statuses, in buckets over the lines.
//
// The composite task then counts the outcomes of the lines. The items of the stages are the
// numbers of lines, so that the sender of the file can find them.
//
// # The file
//
// A file of 40,000 lines has some megabytes: it would fill a spec, which is read at every claim
// and shown in every list of tasks. So the application stores the file first, in the
// transaction that submits the task, and the spec has its id.
//
// The stages pass the lines on in a table, under the id of the composite task. They are removed
// when it completes, is stopped or is deleted. When it fails they stay, so that a retry
// continues at the stage that has failed.
package reconcile

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/predicate"
	"taskkit.dev/taskkit"
)

// The names of the stages.
const (
	StageLoad    = "load"
	StageCompare = "compare"
	StageApply   = "apply"
)

// Spec has the file to reconcile with.
type Spec struct {
	// Upload is the file, see [caseload.PutUpload].
	Upload uuid.UUID `json:"upload"`
}

// Validate checks the rules that tags cannot express.
func (s *Spec) Validate() error {
	if s.Upload == uuid.Nil {
		return errors.New("upload: it is missing: store the file and give its id")
	}
	return nil
}

// State is empty: the stages have the states.
type State struct{}

// Result counts the lines of the file without the header.
type Result struct {
	// Loaded counts the valid lines. The next five are its parts.
	Loaded int `json:"loaded"`
	// Unchanged counts the lines whose status was already set.
	Unchanged int `json:"unchanged"`
	// Changed counts the lines whose status was set.
	Changed int `json:"changed"`
	// Unknown counts the lines of people who are not in the database.
	Unknown int `json:"unknown"`
	// NotEnrolled counts the lines of people who are not in the program.
	NotEnrolled int `json:"not_enrolled"`
	// Open counts the lines that a stopped task has not processed.
	Open int `json:"open"`
	// Rejected counts the lines that are not valid.
	Rejected int `json:"rejected"`
}

// RunSpec is the spec of the stages after the first.
type RunSpec struct {
	// Run is the composite task, under whose id the lines are stored.
	Run uuid.UUID `json:"run"`
}

// Executor reconciles. Its fields are the kinds of its stages, which wiring sets to those that
// are generated: this package cannot import them. All are required.
//
//taskkit:executor reconcile_caseload
type Executor struct {
	Load    *taskkit.Kind[LoadSpec, LoadState, struct{}]
	Compare *taskkit.Kind[RunSpec, CompareState, struct{}]
	Apply   *taskkit.Kind[RunSpec, ApplyState, struct{}]
}

// Stages implements [taskkit.Stager].
func (x *Executor) Stages(_ context.Context, b *taskkit.Batch[Spec, State]) ([]taskkit.Stage, error) {
	run := RunSpec{Run: b.Task}
	return []taskkit.Stage{
		taskkit.NewStage(StageLoad, x.Load, LoadSpec{Run: b.Task, Upload: b.Spec.Upload}),
		taskkit.NewStage(StageCompare, x.Compare, run),
		taskkit.NewStage(StageApply, x.Apply, run),
	}, nil
}

// Execute implements [taskkit.Executor]. Nothing is left to do after the stages.
func (*Executor) Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// Report implements [taskkit.Reporter]. It removes the lines.
func (*Executor) Report(ctx context.Context, b *taskkit.Batch[Spec, State]) (Result, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	n, err := caseload.RegistrarOutcomes(ctx, c, b.Task)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Unchanged: n[caseload.RowUnchanged], Changed: n[caseload.RowChanged], Unknown: n[caseload.RowUnknown],
		NotEnrolled: n[caseload.RowNotEnrolled], Open: n[caseload.RowLoaded] + n[caseload.RowDiffers], Rejected: n[caseload.RowRejected],
	}
	r.Loaded = r.Unchanged + r.Changed + r.Unknown + r.NotEnrolled + r.Open
	return r, caseload.DropRegistrarRows(ctx, c, b.Task)
}

// take returns the next lines of a stage with an outcome after a line, and whether they are
// the last. It counts them as processed.
func take[State any](ctx context.Context, c *ent.Client, b *taskkit.Batch[RunSpec, State], outcome string, after *int, within ...predicate.RegistrarRow) ([]caseload.RegistrarRow, taskkit.Next, error) {
	if *after == 0 {
		_, _, n, err := caseload.RegistrarSpan(ctx, c, b.Spec.Run, outcome, within...)
		if err != nil {
			return nil, taskkit.More, err
		}
		b.Total(n)
	}
	// One more line shows whether these are the last.
	rows, err := caseload.RegistrarRows(ctx, c, b.Spec.Run, outcome, *after, b.Limit+1, within...)
	if err != nil || len(rows) == 0 {
		return nil, taskkit.Done, err
	}
	next := taskkit.Done
	if len(rows) > b.Limit {
		rows, next = rows[:b.Limit], taskkit.More
	}
	b.Advance(len(rows))
	*after = rows[len(rows)-1].Line
	return rows, next, nil
}

// Abort implements [taskkit.Aborter].
func (*Executor) Abort(ctx context.Context, b *taskkit.Batch[Spec, State]) error {
	if b.EndReason() != taskkit.EndDelete {
		return nil
	}
	return caseload.DropRegistrarRows(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Task)
}
