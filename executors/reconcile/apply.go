package reconcile

import (
	"context"
	"math/big"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/registrarrow"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// The buckets of the last stage.
const (
	// BucketSize is about how many differences a bucket has.
	BucketSize = 2_000
	// MaxBuckets bounds the buckets of a task.
	MaxBuckets = 64
)

// ApplyState is how far a bucket is.
type ApplyState struct {
	After int `json:"after,omitempty"` // the last line
}

// Applier sets the differing statuses, in buckets over the lines.
//
//taskkit:executor reconcile_apply batch=500
type Applier struct {
	// BucketSize is about how many differences a bucket has. Defaults to the constant.
	BucketSize int
}

// Segments implements [taskkit.Segmenter]. Lines are numbers, and equal parts of the file have
// about equal numbers of differences.
func (x *Applier) Segments(ctx context.Context, b *taskkit.Batch[RunSpec, ApplyState]) (*segment.Plan, error) {
	first, last, n, err := caseload.RegistrarSpan(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Spec.Run, caseload.RowDiffers)
	if err != nil {
		return nil, err
	}
	size := x.BucketSize
	if size <= 0 {
		size = BucketSize
	}
	return segment.Numeric{
		From: big.NewInt(int64(first)), To: big.NewInt(int64(last) + 1), Count: min(max(1, (n+size-1)/size), MaxBuckets),
	}.Plan()
}

// Execute implements [taskkit.Executor]. The statuses are recorded as set by the composite task.
// The line of a person who has left the program since the comparison fails.
func (*Applier) Execute(ctx context.Context, b *taskkit.Batch[RunSpec, ApplyState]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	rows, next, err := take(ctx, c, b, caseload.RowDiffers, &b.State.After, b.Segment.Where(registrarrow.FieldLine))
	if err != nil || len(rows) == 0 {
		return next, err
	}
	people, err := students(ctx, c, rows)
	if err != nil {
		return taskkit.More, err
	}
	var changed, left, unknown []int
	for _, g := range groups(rows) {
		var theirs []uuid.UUID
		lines := make(map[uuid.UUID]int)
		for _, r := range g {
			person, known := people[r.Student]
			if !known {
				unknown = append(unknown, r.Line)
				b.Fail(r.Line, taskkit.Permanent("no_such_person", nil))
				continue
			}
			theirs = append(theirs, person)
			lines[person] = r.Line
		}
		out, err := caseload.SetStatus(ctx, c, b.Spec.Run, g[0].Program, g[0].Status, theirs)
		if err != nil {
			return taskkit.More, err
		}
		for _, person := range out.Missing {
			left = append(left, lines[person])
			b.Fail(lines[person], taskkit.Permanent("not_enrolled", nil))
			delete(lines, person)
		}
		for _, n := range lines {
			changed = append(changed, n)
		}
	}
	for outcome, lines := range map[string][]int{caseload.RowChanged: changed, caseload.RowNotEnrolled: left, caseload.RowUnknown: unknown} {
		if err := caseload.SetRegistrarOutcome(ctx, c, b.Spec.Run, outcome, lines); err != nil {
			return taskkit.More, err
		}
	}
	return next, nil
}

// groups returns the lines with the same program and status together, in the order of their
// first lines.
func groups(rows []caseload.RegistrarRow) [][]caseload.RegistrarRow {
	var all [][]caseload.RegistrarRow
	at := make(map[[2]string]int)
	for _, r := range rows {
		key := [2]string{r.Program, r.Status}
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key], all = i, append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	return all
}
