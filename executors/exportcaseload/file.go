package exportcaseload

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
)

// path returns the path of a task's file. It never changes, so a repetition replaces the
// file.
func (x *Executor) path(b *taskkit.Batch[Spec, State]) string {
	return filepath.Join(x.Dir, b.Task.String()+"."+b.Spec.Format)
}

// file is a file that has no name yet.
type file struct {
	*os.File
	size int64
	rows int
}

// assemble writes the parts of a task, one after another, into a new file.
func (x *Executor) assemble(ctx context.Context, b *taskkit.Batch[Spec, State]) (_ *file, err error) {
	f, err := os.CreateTemp(x.Dir, unnamed(b.Task))
	if err != nil {
		return nil, fmt.Errorf("begin the file of an export: %w", err)
	}
	defer func() {
		if err != nil {
			(&file{File: f}).discard()
		}
	}()
	write := writeCSV
	if b.Spec.Format == XLSX {
		write = x.writeXLSX
	}
	parts, rows := 0, 0
	err = write(f, func(each func([]byte) error) error {
		return caseload.EachPart(ctx, x.Caseload, b.Task, func(n int, data []byte) error {
			parts, rows = parts+1, rows+n
			return each(data)
		})
	})
	// After a stop the states of the buckets were not merged, and the parts are counted.
	if err == nil && parts != b.State.Parts && b.EndReason() == taskkit.EndDone {
		err = taskkit.Permanent("parts_removed", fmt.Errorf("there are %d parts of %d: another worker has finished this task, or it has failed before, which removed them; submit the export again",
			parts, b.State.Parts))
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("write the file of an export: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("write the file of an export: %w", err)
	}
	return &file{f, info.Size(), rows}, nil
}

// rename gives the file its name, and replaces an older file.
func (f *file) rename(name string) error {
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("finish the file of an export: %w", err)
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("finish the file of an export: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("finish the file of an export: %w", err)
	}
	return nil
}

// discard closes the file, and removes it if it has no name by now.
func (f *file) discard() {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// unnamed is the pattern of the names of a task's files that are being written.
func unnamed(task taskkit.ID) string { return "." + task.String() + "-*" }

// sweep removes unfinished files of a task, which killed workers have left. A worker
// that has lost the task loses its file too, which it could not have finished.
func (x *Executor) sweep(b *taskkit.Batch[Spec, State]) error {
	left, err := filepath.Glob(filepath.Join(x.Dir, unnamed(b.Task)))
	for _, name := range left {
		err = errors.Join(err, remove(name))
	}
	return err
}

// remove removes a file if it is there.
func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the file of an export: %w", err)
	}
	return nil
}

// encode returns rows as CSV.
func encode(rows [][]string) ([]byte, error) {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = defuse(cell)
		}
	}
	err := w.WriteAll(rows)
	return buf.Bytes(), err
}

// defuse keeps a spreadsheet from interpreting a text as a formula, as OWASP advises for
// CSV.
func defuse(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return "'" + cell
	}
	return cell
}

// each calls a function with the parts, in order.
type each = func(func(part []byte) error) error

// writeCSV writes a header and the parts as they are.
func writeCSV(w io.Writer, parts each) error {
	head, err := encode([][]string{caseload.ExportHeader()})
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return parts(func(part []byte) error {
		_, err := w.Write(part)
		return err
	})
}

// writeXLSX writes the header and the rows of the parts as a workbook.
func (x *Executor) writeXLSX(w io.Writer, parts each) error {
	if x.Workbook == nil {
		return taskkit.Permanent("no_workbooks", errors.New("this worker writes no workbooks: set Executor.Workbook"))
	}
	return x.Workbook(w, func(row func(cells []string) error) error {
		if err := row(caseload.ExportHeader()); err != nil {
			return err
		}
		return parts(func(part []byte) error {
			r := csv.NewReader(bytes.NewReader(part))
			r.ReuseRecord = true
			for {
				cells, err := r.Read()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err == nil {
					err = row(cells)
				}
				if err != nil {
					return err
				}
			}
		})
	})
}
