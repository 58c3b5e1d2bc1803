package adapters

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"github.com/xuri/excelize/v2"
)

// sheet is the one sheet of a workbook.
const sheet = "Sheet1"

// WriteWorkbook writes the rows that a function hands over as a workbook, in memory that does not grow with it. excelize
// keeps rows in a temporary file once they are more than 16 MiB, but would collect the compressed workbook in a buffer,
// and so it is given a zip writer that goes to w. It compresses fast rather than well: this is one batch, and a batch has
// a time limit.
func WriteWorkbook(w io.Writer, rows func(row func(cells []string) error) error) (err error) {
	book := excelize.NewFile()
	defer func() { err = errors.Join(err, book.Close()) }()
	book.SetZipWriter(func(io.Writer) excelize.ZipWriter {
		z := zip.NewWriter(w)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
			return flate.NewWriter(w, flate.BestSpeed)
		})
		return z
	})
	s, err := book.NewStreamWriter(sheet)
	if err != nil {
		return err
	}
	line := 0
	err = rows(func(cells []string) error {
		line++
		values := make([]any, len(cells))
		for i, c := range cells {
			values[i] = c
		}
		return s.SetRow(fmt.Sprint("A", line), values)
	})
	if err != nil {
		return err
	}
	if err := s.Flush(); err != nil {
		return err
	}
	return book.Write(io.Discard) // its buffer, which stays empty
}
