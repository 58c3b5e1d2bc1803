package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
)

// CompareState is how far the lines have been compared.
type CompareState struct {
	After int `json:"after,omitempty"` // the last line
}

// Comparer compares the lines with the enrolments. Lines of unknown people, and of people who are
// not in the program, fail.
//
//taskkit:executor reconcile_compare batch=500
type Comparer struct{}

// Execute implements [taskkit.Executor].
func (*Comparer) Execute(ctx context.Context, b *taskkit.Batch[RunSpec, CompareState]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	rows, next, err := take(ctx, c, b, caseload.RowLoaded, &b.State.After)
	if err != nil || len(rows) == 0 {
		return next, err
	}
	people, err := students(ctx, c, rows)
	if err != nil {
		return taskkit.More, err
	}
	statuses, err := caseload.Statuses(ctx, c, slices.Collect(maps.Values(people)))
	if err != nil {
		return taskkit.More, err
	}
	lines := make(map[string][]int) // by outcome
	for _, r := range rows {
		person, known := people[r.Student]
		now, enrolled := statuses[person][r.Program]
		var outcome string
		switch {
		case !known:
			outcome = caseload.RowUnknown
			b.Fail(r.Line, taskkit.Permanent("no_such_person", fmt.Errorf("nobody has the number %q", r.Student)))
		case !enrolled:
			outcome = caseload.RowNotEnrolled
			b.Fail(r.Line, taskkit.Permanent("not_enrolled", fmt.Errorf("student %q is not in program %q", r.Student, r.Program)))
		case now == r.Status:
			outcome = caseload.RowUnchanged
		default:
			outcome = caseload.RowDiffers
		}
		lines[outcome] = append(lines[outcome], r.Line)
	}
	for _, outcome := range slices.Sorted(maps.Keys(lines)) {
		if err := caseload.SetRegistrarOutcome(ctx, c, b.Spec.Run, outcome, lines[outcome]); err != nil {
			return taskkit.More, err
		}
	}
	return next, nil
}

// students finds the people of lines, by the school ids or ids in the file.
func students(ctx context.Context, c *ent.Client, rows []caseload.RegistrarRow) (map[string]uuid.UUID, error) {
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Student
	}
	return caseload.Students(ctx, c, names)
}
