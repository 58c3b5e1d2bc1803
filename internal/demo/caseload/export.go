package caseload

import (
	"context"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/internal/demo/caseload/ent/exportpart"
)

// ExportHeader returns the columns of an exported file.
func ExportHeader() []string {
	return []string{"id", "school_id", "last_name", "first_name", "email", "coach", "programs"}
}

// ExportRows returns one row for each of the people, in their order, and the people who
// do not exist.
func ExportRows(ctx context.Context, c *ent.Client, people []uuid.UUID) (rows [][]string, missing []uuid.UUID, err error) {
	for part := range chunks(people) {
		found, err := Find(ctx, c, part)
		if err != nil {
			return nil, nil, err
		}
		enrolments, err := c.Enrolment.Query().Where(enrolment.PersonIDIn(part...)).
			Order(ent.Asc(enrolment.FieldProgramID)).All(ctx)
		if err != nil {
			return nil, nil, wrap("read enrolments", err)
		}
		programs := make(map[uuid.UUID][]string, len(part))
		for _, e := range enrolments {
			programs[e.PersonID] = append(programs[e.PersonID], e.ProgramID+": "+e.Status)
		}
		for _, id := range part {
			p, ok := found[id]
			if !ok {
				missing = append(missing, id)
				continue
			}
			email := ""
			if p.Email != nil {
				email = *p.Email
			}
			rows = append(rows, []string{
				id.String(), p.SchoolID, p.LastName, p.FirstName, email, p.Coach,
				strings.Join(programs[id], "; "),
			})
		}
	}
	return rows, missing, nil
}

// Part is a part of a file. Parts are put together by their First, and those with the same
// First by their Number, from 1. So several workers can write parts of one file, each from
// another First.
type Part struct {
	First  uuid.UUID
	Number int
	Rows   int
	Data   []byte
}

// PutPart writes a part of a task's file. A part that exists is replaced.
func PutPart(ctx context.Context, c *ent.Client, task uuid.UUID, p Part) error {
	err := c.ExportPart.Create().SetTask(task).SetFirst(p.First).SetPart(p.Number).SetRows(p.Rows).SetData(p.Data).
		OnConflict(sql.ConflictColumns(exportpart.FieldTask, exportpart.FieldFirst, exportpart.FieldPart), sql.ResolveWithNewValues()).
		Update(func(u *ent.ExportPartUpsert) { u.UpdateRows().UpdateData() }).Exec(ctx)
	return wrap("write a part of an export", err)
}

// EachPart hands the parts of a task's file to f, in order and one at a time,
// and stops at f's first error. Only one part is in memory.
func EachPart(ctx context.Context, c *ent.Client, task uuid.UUID, f func(rows int, data []byte) error) error {
	var at Part
	for {
		p, err := c.ExportPart.Query().Where(exportpart.Task(task), exportpart.Or(
			exportpart.FirstGT(at.First), exportpart.And(exportpart.First(at.First), exportpart.PartGT(at.Number)))).
			Order(ent.Asc(exportpart.FieldFirst, exportpart.FieldPart)).First(ctx)
		if ent.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return wrap("read a part of an export", err)
		}
		if err := f(p.Rows, p.Data); err != nil {
			return err
		}
		at.First, at.Number = p.First, p.Part
	}
}

// DropParts removes all parts of a task's file.
func DropParts(ctx context.Context, c *ent.Client, task uuid.UUID) error {
	_, err := c.ExportPart.Delete().Where(exportpart.Task(task)).Exec(ctx)
	return wrap("remove the parts of an export", err)
}

// chunks cuts a list into parts that fit one statement.
func chunks[T any](all []T) func(func([]T) bool) { return slices.Chunk(all, chunk) }
