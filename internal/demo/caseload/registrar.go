package caseload

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/demo/caseload/ent/predicate"
	"taskkit.dev/internal/demo/caseload/ent/registrarrow"
)

// UploadMost is the largest size of an uploaded file in bytes.
const UploadMost = 16 << 20

// PutUpload stores a file for a task that is submitted with its id.
func PutUpload(ctx context.Context, c *ent.Client, name string, data []byte) (uuid.UUID, error) {
	if len(data) > UploadMost {
		return uuid.Nil, fmt.Errorf("caseload: store the file %s: it has %d bytes and may have %d: split it", name, len(data), UploadMost)
	}
	u, err := c.Upload.Create().SetName(name).SetData(data).Save(ctx)
	if err != nil {
		return uuid.Nil, wrap("store the file "+name, err)
	}
	return u.ID, nil
}

// Uploaded reads an uploaded file. Without one the error matches [ent.IsNotFound].
func Uploaded(ctx context.Context, c *ent.Client, id uuid.UUID) ([]byte, error) {
	u, err := c.Upload.Get(ctx, id)
	if err != nil {
		return nil, wrap("read an uploaded file", err)
	}
	return u.Data, nil
}

// The outcomes of a line of a registrar's file.
const (
	RowRejected    = "rejected"     // it is not valid
	RowLoaded      = "loaded"       // it is not compared yet
	RowUnchanged   = "unchanged"    // the status is already set
	RowDiffers     = "differs"      // the status is to be set
	RowChanged     = "changed"      // the status was set
	RowUnknown     = "unknown"      // there is no such person
	RowNotEnrolled = "not_enrolled" // the person is not in the program
)

// RegistrarRow is a line of a registrar's file.
type RegistrarRow struct {
	Line    int
	Student string // the school id, or the id of the person
	Program string
	Status  string
	Since   string // a date as 2006-01-02
	Outcome string
}

// AddRegistrarRows stores lines of the file that a run compares.
func AddRegistrarRows(ctx context.Context, c *ent.Client, run uuid.UUID, rows []RegistrarRow) error {
	for part := range chunks(rows) {
		all := make([]*ent.RegistrarRowCreate, len(part))
		for i, r := range part {
			all[i] = c.RegistrarRow.Create().SetRun(run).SetLine(r.Line).SetStudent(r.Student).SetProgramID(r.Program).
				SetStatus(r.Status).SetSince(r.Since).SetOutcome(r.Outcome)
		}
		if err := c.RegistrarRow.CreateBulk(all...).Exec(ctx); err != nil {
			return wrap("store lines of a registrar's file", err)
		}
	}
	return nil
}

// RegistrarRows returns the next lines of a run with an outcome that match within, in
// their order: at most limit, after a line.
func RegistrarRows(ctx context.Context, c *ent.Client, run uuid.UUID, outcome string, after, limit int, within ...predicate.RegistrarRow) ([]RegistrarRow, error) {
	found, err := c.RegistrarRow.Query().
		Where(registrarrow.Run(run), registrarrow.Outcome(outcome), registrarrow.LineGT(after)).Where(within...).
		Order(ent.Asc(registrarrow.FieldLine)).Limit(limit).All(ctx)
	rows := make([]RegistrarRow, len(found))
	for i, r := range found {
		rows[i] = RegistrarRow{Line: r.Line, Student: r.Student, Program: r.ProgramID, Status: r.Status, Since: r.Since, Outcome: r.Outcome}
	}
	return rows, wrap("read lines of a registrar's file", err)
}

// RegistrarLines returns the lines of a run with one of the students in a program, by student
// and program.
func RegistrarLines(ctx context.Context, c *ent.Client, run uuid.UUID, students []string) (map[[2]string]int, error) {
	lines := make(map[[2]string]int)
	for part := range chunks(students) {
		found, err := c.RegistrarRow.Query().Where(registrarrow.Run(run), registrarrow.StudentIn(part...), registrarrow.OutcomeNEQ(RowRejected)).All(ctx)
		if err != nil {
			return nil, wrap("read lines of a registrar's file", err)
		}
		for _, r := range found {
			lines[[2]string{r.Student, r.ProgramID}] = r.Line
		}
	}
	return lines, nil
}

// RegistrarSpan returns the first and the last line of a run with an outcome that match
// within, and their number.
func RegistrarSpan(ctx context.Context, c *ent.Client, run uuid.UUID, outcome string, within ...predicate.RegistrarRow) (first, last, n int, err error) {
	of := c.RegistrarRow.Query().Where(registrarrow.Run(run), registrarrow.Outcome(outcome)).Where(within...)
	if n, err = of.Clone().Count(ctx); err != nil || n == 0 {
		return 0, 0, 0, wrap("count lines of a registrar's file", err)
	}
	from, err := of.Clone().Order(ent.Asc(registrarrow.FieldLine)).First(ctx)
	if err != nil {
		return 0, 0, 0, wrap("find the first line", err)
	}
	to, err := of.Order(ent.Desc(registrarrow.FieldLine)).First(ctx)
	if err != nil {
		return 0, 0, 0, wrap("find the last line", err)
	}
	return from.Line, to.Line, n, nil
}

// SetRegistrarOutcome writes the outcome of lines of a run.
func SetRegistrarOutcome(ctx context.Context, c *ent.Client, run uuid.UUID, outcome string, lines []int) error {
	for part := range chunks(lines) {
		err := c.RegistrarRow.Update().Where(registrarrow.Run(run), registrarrow.LineIn(part...)).SetOutcome(outcome).Exec(ctx)
		if err != nil {
			return wrap("write what became of lines", err)
		}
	}
	return nil
}

// RegistrarOutcomes counts the lines of a run by outcome.
func RegistrarOutcomes(ctx context.Context, c *ent.Client, run uuid.UUID) (map[string]int, error) {
	var rows []struct {
		Outcome string `sql:"outcome"`
		Count   int    `sql:"count"`
	}
	err := c.RegistrarRow.Query().Where(registrarrow.Run(run)).
		GroupBy(registrarrow.FieldOutcome).Aggregate(ent.Count()).Scan(ctx, &rows)
	counts := make(map[string]int, len(rows))
	for _, r := range rows {
		counts[r.Outcome] = r.Count
	}
	return counts, wrap("count lines of a registrar's file", err)
}

// DropRegistrarRows removes all lines of a run.
func DropRegistrarRows(ctx context.Context, c *ent.Client, run uuid.UUID) error {
	_, err := c.RegistrarRow.Delete().Where(registrarrow.Run(run)).Exec(ctx)
	return wrap("remove the lines of a registrar's file", err)
}

// Students finds people by school ids, or by their ids. It omits people who do not exist.
func Students(ctx context.Context, c *ent.Client, students []string) (map[string]uuid.UUID, error) {
	found := make(map[string]uuid.UUID, len(students))
	for part := range chunks(students) {
		var ids []uuid.UUID
		var numbers []string
		for _, s := range part {
			if id, err := uuid.Parse(s); err == nil {
				ids = append(ids, id)
			} else {
				numbers = append(numbers, s)
			}
		}
		people, err := c.Person.Query().Where(person.Or(person.IDIn(ids...), person.SchoolIDIn(numbers...))).
			Select(person.FieldID, person.FieldSchoolID).All(ctx)
		if err != nil {
			return nil, wrap("look for students", err)
		}
		for _, p := range people {
			found[p.SchoolID], found[p.ID.String()] = p.ID, p.ID
		}
	}
	return found, nil
}

// Statuses returns the statuses of people by program.
func Statuses(ctx context.Context, c *ent.Client, people []uuid.UUID) (map[uuid.UUID]map[string]string, error) {
	found := make(map[uuid.UUID]map[string]string, len(people))
	for part := range slices.Chunk(people, chunk) {
		rows, err := c.Enrolment.Query().Where(enrolment.PersonIDIn(part...)).All(ctx)
		if err != nil {
			return nil, wrap("read enrolments", err)
		}
		for _, e := range rows {
			if found[e.PersonID] == nil {
				found[e.PersonID] = make(map[string]string)
			}
			found[e.PersonID][e.ProgramID] = e.Status
		}
	}
	return found, nil
}
