package adapters_test

import (
	"database/sql"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/xuri/excelize/v2"

	"taskkit.dev/cmd/taskkit/internal/adapters"
	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// An export as a workbook has everybody once.
func TestExportOfWorkbook(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open)
		// What spreadsheets take for formulas and what CSV must quote.
		c.Person.UpdateOneID(people[0]).SetLastName(`=1+1,"x"` + "\nÅ").ExecX(t.Context())
		x := &exportcaseload.Executor{Caseload: c, Dir: t.TempDir(), BucketSize: 2 * limit, Workbook: adapters.WriteWorkbook}
		o := tasktest.Run(t, exportcaseloadtask.Kind, x, exportcaseload.Spec{Targets: everyone(), Format: exportcaseload.XLSX},
			tasktest.WithDB(db), tasktest.WithLimit(limit))
		if o.Task.Status != taskkit.StatusCompleted {
			t.Fatalf("ended in %s (%s)", o.Task.Status, o.Task.StatusDetail)
		}
		r, err := exportcaseloadtask.Fetch(t.Context(), o.Client, o.Task.ID)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(r.Where)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Size() != r.Bytes {
			t.Errorf("the file has %d bytes (%v), the result says %d", info.Size(), err, r.Bytes)
		}
		found, err := caseload.AuditFile(f, readWorkbook, people)
		if err != nil || !found.Clean() || found.Touched != len(people) || r.Rows != len(people) {
			t.Errorf("the file: %v, %v; the result says %d rows; want %d", found, err, r.Rows, len(people))
		}
	})
}

func readWorkbook(r io.Reader, row func([]string)) (err error) {
	book, err := excelize.OpenReader(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	rows, err := book.Rows(book.GetSheetName(0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		row(cells)
	}
	return rows.Error()
}
