package executors_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/targets"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// check reads an exported file back.
func check(t *testing.T, r exportcaseload.Result, people []uuid.UUID) {
	t.Helper()
	f, err := os.Open(r.Where)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != r.Bytes {
		t.Errorf("the file has %d bytes (%v), the result says %d", info.Size(), err, r.Bytes)
	}
	found, err := caseload.AuditFile(f, caseload.ReadCSV, people)
	if err != nil || !found.Clean() || found.Touched != len(people) || r.Rows != len(people) {
		t.Errorf("the file: %v, %v; the result says %d rows; want %d", found, err, r.Rows, len(people))
	}
}

// left fails the test unless the directory holds so many files, hidden ones
// too, and the database no parts.
func left(t *testing.T, c *ent.Client, dir string, files int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != files {
		t.Errorf("%d files are there, %v; want %d", len(entries), err, files)
	}
	if n := c.ExportPart.Query().CountX(t.Context()); n != 0 {
		t.Errorf("%d parts are left in the database", n)
	}
}

// parts returns the parts of exports that are in the database.
func parts(ctx context.Context, db *sql.DB) ([]string, error) {
	return lines(ctx, db, "SELECT 'part', part, rows FROM caseload_export_part")
}

func TestExportUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		var dir string
		tasktest.TestExecutor(t, tasktest.Case[exportcaseload.Spec, exportcaseload.State, exportcaseload.Result]{
			Kind: exportcaseloadtask.Kind, Setup: setup, Limit: limit,
			Open: func(tb testing.TB) *sql.DB {
				dir = tb.TempDir()
				return open0(tb)
			},
			New: func(tb testing.TB, db *sql.DB) taskkit.Executor[exportcaseload.Spec, exportcaseload.State] {
				c, _ := open(tb, db)
				return &exportcaseload.Executor{Caseload: c, Dir: dir, BucketSize: bucketSize}
			},
			Spec: exportcaseload.Spec{Targets: everyone(), Format: exportcaseload.CSV},
			Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
				// The bytes of the one file, and no parts.
				all, err := parts(ctx, db)
				if err != nil {
					return nil, err
				}
				names, err := filepath.Glob(filepath.Join(dir, "*"))
				for _, name := range names {
					data, err := os.ReadFile(name)
					if err != nil {
						return nil, err
					}
					all = append(all, fmt.Sprintf("%s %x", filepath.Ext(name), sha256.Sum256(data)))
				}
				return all, err
			},
			Tables: func(ctx context.Context, db *sql.DB) (any, error) { return parts(ctx, db) },
			// A stopped export is a shorter file, and no parts either.
			Part: func(part, whole any) error {
				some, _ := part.([]string)
				all, _ := whole.([]string)
				if len(some) != 1 || len(all) != 1 || some[0] == all[0] {
					return fmt.Errorf("%v is left of %v, want one other file", part, whole)
				}
				return nil
			},
		})
	})
}

// failing is an export of which each bucket fails for good after a part, and leaves a file
// as a worker does that is killed while it writes one.
type failing struct{ *exportcaseload.Executor }

func (x failing) Execute(ctx context.Context, b *taskkit.Batch[exportcaseload.Spec, exportcaseload.State]) (taskkit.Next, error) {
	if b.State.Parts == 1 {
		if err := os.WriteFile(filepath.Join(x.Dir, "."+b.Parent.String()+"-1"), nil, 0o600); err != nil {
			return taskkit.More, err
		}
		return taskkit.More, taskkit.Permanent("planned", nil)
	}
	return x.Executor.Execute(ctx, b)
}

func TestExportThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, _ := filled(t, open0)
		dir := t.TempDir()
		o := tasktest.Run(t, exportcaseloadtask.Kind, failing{&exportcaseload.Executor{Caseload: c, Dir: dir, BucketSize: bucketSize}},
			exportcaseload.Spec{Targets: everyone(), Format: exportcaseload.CSV}, tasktest.WithDB(db), tasktest.WithLimit(limit))
		if o.Task.Status != taskkit.StatusFailure {
			t.Errorf("ended in %s (%s), want FAILURE", o.Task.Status, o.Task.StatusDetail)
		}
		left(t, c, dir, 0)
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open0)
		// What spreadsheets take for formulas and what CSV must quote.
		c.Person.UpdateOneID(people[0]).SetLastName(`=1+1,"x"` + "\nÅ").ExecX(t.Context())
		dir := t.TempDir()
		x := &exportcaseload.Executor{Caseload: c, Dir: dir, BucketSize: bucketSize}
		if err := os.WriteFile(filepath.Join(dir, "another.csv"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		some := append([]uuid.UUID{uuid.New()}, people...)
		o := tasktest.Run(t, exportcaseloadtask.Kind, x, exportcaseload.Spec{
			Targets: targets.Targets{People: some}, Format: exportcaseload.CSV,
		}, tasktest.WithDB(db), tasktest.WithLimit(limit))
		completed(t, o, len(people), 1, 0)
		r, err := exportcaseloadtask.Fetch(t.Context(), o.Client, o.Task.ID)
		if err != nil {
			t.Fatal(err)
		}
		check(t, r, people)
		left(t, c, dir, 2)
	})
}

// Without a function that writes workbooks an export as one fails at once, and leaves nothing.
func TestExportWithoutWorkbooks(t *testing.T) {
	t.Parallel()
	db, c, _ := filled(t, tasktest.Open)
	dir := t.TempDir()
	o := tasktest.Run(t, exportcaseloadtask.Kind, &exportcaseload.Executor{Caseload: c, Dir: dir, BucketSize: bucketSize},
		exportcaseload.Spec{Targets: everyone(), Format: exportcaseload.XLSX}, tasktest.WithDB(db), tasktest.WithLimit(limit))
	if o.Task.Status != taskkit.StatusFailure || !strings.HasPrefix(o.Task.StatusDetail, "no_workbooks") {
		t.Errorf("ended in %s (%s), want FAILURE with no_workbooks", o.Task.Status, o.Task.StatusDetail)
	}
	left(t, c, dir, 0)
}

// The file of buckets or ranges has everybody once, in the order of their ids, for any order of
// the buckets.
func TestExportInBuckets(t *testing.T) {
	t.Parallel()
	onEachDivision(t, func(t *testing.T, open0 func(testing.TB) *sql.DB, d division) {
		db, c, people := filled(t, open0)
		dir := t.TempDir()
		x := &exportcaseload.Executor{Caseload: c, Dir: dir, BucketSize: d.bucketSize}
		o := tasktest.Run(t, exportcaseloadtask.Kind, x, exportcaseload.Spec{Targets: d.of(people), Format: exportcaseload.CSV},
			tasktest.WithDB(db), tasktest.WithLimit(limit), tasktest.WithSubmitOptions(taskkit.WithMaxParallel(2)))
		completedBuckets(t, o, d.buckets, len(people), 0)
		r, err := exportcaseloadtask.Fetch(t.Context(), o.Client, o.Task.ID)
		if err != nil {
			t.Fatal(err)
		}
		check(t, r, people)
		left(t, c, dir, 1)
		f, err := os.Open(r.Where)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows[1:] {
			if row[0] != people[i].String() {
				t.Fatalf("row %d is of %s, want %s", i, row[0], people[i])
			}
		}
	})
}
