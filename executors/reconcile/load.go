package reconcile

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
)

// LoadSpec is the spec of the first stage.
type LoadSpec struct {
	// Run is the composite task, under whose id the lines are stored.
	Run uuid.UUID `json:"run"`
	// Upload is the file.
	Upload uuid.UUID `json:"upload"`
}

// LoadState is how far the file has been read.
type LoadState struct {
	// Offset is the byte at which the next line begins; 0 is before the header.
	Offset int64 `json:"offset,omitempty"`
	// Lines is the number of lines before Offset.
	Lines int `json:"lines,omitempty"`
	// Records is the number of records before Offset.
	Records int `json:"records,omitempty"`
}

// Loader reads a file into the table. Invalid lines fail. Of several lines with the same student
// and program the first is loaded, and the others fail.
//
//taskkit:executor reconcile_load batch=500
type Loader struct{}

// Execute implements [taskkit.Executor].
func (*Loader) Execute(ctx context.Context, b *taskkit.Batch[LoadSpec, LoadState]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	data, err := caseload.Uploaded(ctx, c, b.Spec.Upload)
	if ent.IsNotFound(err) {
		return taskkit.More, taskkit.Permanent("no_such_upload", err)
	}
	if err != nil {
		return taskkit.More, err
	}
	lines, at, err := readLines(data, b.State, b.Limit)
	if err != nil {
		return taskkit.More, err
	}
	if err := rejectRepeats(ctx, c, b.Spec.Run, lines); err != nil {
		return taskkit.More, err
	}
	rows := make([]caseload.RegistrarRow, len(lines))
	for i, l := range lines {
		rows[i] = l.RegistrarRow
		rows[i].Outcome = caseload.RowLoaded
		if l.problem != nil {
			rows[i] = caseload.RegistrarRow{Line: l.Line, Outcome: caseload.RowRejected}
			b.Fail(l.Line, l.problem)
		}
	}
	b.Advance(len(lines))
	b.State = at
	next := taskkit.More
	if at.Offset == int64(len(data)) {
		next = taskkit.Done
		b.Total(at.Records)
	}
	return next, caseload.AddRegistrarRows(ctx, c, b.Spec.Run, rows)
}

// rejectRepeats gives a problem to each valid line whose student and program are on an
// earlier one.
func rejectRepeats(ctx context.Context, c *ent.Client, run uuid.UUID, lines []line) error {
	students := make([]string, len(lines))
	for i, l := range lines {
		students[i] = l.Student
	}
	earlier, err := caseload.RegistrarLines(ctx, c, run, students)
	if err != nil {
		return err
	}
	for i := range lines {
		l := &lines[i]
		if l.problem != nil {
			continue
		}
		key := [2]string{l.Student, l.Program}
		if first, again := earlier[key]; again {
			l.problem = taskkit.Permanent("duplicate", fmt.Errorf("student %q in program %q is on line %d already", l.Student, l.Program, first))
			continue
		}
		earlier[key] = l.Line
	}
	return nil
}
