package reconcile

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
)

// Sample is a registrar's file about the first people of the demonstration. As in real files,
// some lines are wrong.
//
//go:embed registrar.csv
var Sample []byte

// The columns of a file. Each file has one of the two that name the student. The name is for
// people who read the file.
const (
	columnProgram = "program"
	columnNumber  = "student_number"
	columnPerson  = "person_id"
	columnName    = "name"
	columnStatus  = "status"
	columnDate    = "date"
)

// line is a line of a file, and why it is rejected.
type line struct {
	caseload.RegistrarRow
	problem error
}

// header is the first line of a file.
type header struct {
	at     map[string]int // the columns by name
	length int64          // in bytes
	lines  int
}

// codeNoFile is the code of a file that cannot be read as one.
const codeNoFile = "not_a_registrar_file"

// readLines reads the next lines, at most limit, and returns where the file goes on.
func readLines(data []byte, at LoadState, limit int) ([]line, LoadState, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, at, taskkit.Permanent(codeNoFile, err)
	}
	if at.Offset == 0 {
		at = LoadState{Offset: h.length, Lines: h.lines}
	}
	rest := data[at.Offset:]
	r := csv.NewReader(bytes.NewReader(rest))
	r.FieldsPerRecord = -1
	var lines []line
	for len(lines) < limit {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if broken, ok := errors.AsType[*csv.ParseError](err); ok {
			// The following lines cannot be parsed reliably.
			return nil, at, taskkit.Permanent(codeNoFile, fmt.Errorf("line %d: %w: correct it and upload the file again", at.Lines+broken.Line, broken.Err))
		}
		if err != nil {
			return nil, at, err
		}
		begin, _ := r.FieldPos(0)
		lines = append(lines, h.line(at.Lines+begin, cells))
	}
	end := r.InputOffset()
	if len(lines) < limit {
		end = int64(len(rest)) // what follows the last line is empty
	}
	return lines, LoadState{
		Offset: at.Offset + end, Lines: at.Lines + bytes.Count(rest[:end], []byte("\n")), Records: at.Records + len(lines),
	}, nil
}

// readHeader reads the first line.
func readHeader(data []byte) (header, error) {
	body := bytes.TrimPrefix(data, []byte("\ufeff")) // spreadsheets put it there
	r := csv.NewReader(bytes.NewReader(body))
	cells, err := r.Read()
	if errors.Is(err, io.EOF) {
		return header{}, errors.New("the file is empty: the first line names the columns")
	}
	if err != nil {
		return header{}, fmt.Errorf("the first line: %w", err)
	}
	h := header{at: make(map[string]int, len(cells))}
	known := []string{columnProgram, columnNumber, columnPerson, columnName, columnStatus, columnDate}
	for i, cell := range cells {
		name := strings.ToLower(strings.TrimSpace(cell))
		if !slices.Contains(known, name) {
			return header{}, fmt.Errorf("the column %q is unknown: there are %s", name, strings.Join(known, ", "))
		}
		if _, again := h.at[name]; again {
			return header{}, fmt.Errorf("the column %s is there twice: remove one", name)
		}
		h.at[name] = i
	}
	for _, name := range []string{columnProgram, columnStatus, columnDate} {
		if _, ok := h.at[name]; !ok {
			return header{}, fmt.Errorf("the column %s is missing", name)
		}
	}
	_, number := h.at[columnNumber]
	if _, person := h.at[columnPerson]; number == person {
		return header{}, fmt.Errorf("exactly one of the columns %s and %s must be there", columnNumber, columnPerson)
	}
	end := r.InputOffset()
	h.length = int64(len(data)-len(body)) + end
	h.lines = bytes.Count(body[:end], []byte("\n"))
	return h, nil
}

// line checks a line.
func (h header) line(number int, cells []string) line {
	l := line{RegistrarRow: caseload.RegistrarRow{Line: number}}
	reject := func(code, format string, args ...any) line {
		l.problem = taskkit.Permanent(code, fmt.Errorf(format, args...))
		return l
	}
	if len(cells) != len(h.at) {
		return reject("wrong_columns", "it has %d columns and the first line %d", len(cells), len(h.at))
	}
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
		switch {
		case !utf8.ValidString(cell) || strings.ContainsRune(cell, 0):
			return reject("not_utf8", "column %d is not UTF-8: save the file as UTF-8", i+1)
		case utf8.RuneCountInString(cell) > 200:
			return reject("too_long", "column %d has more than 200 characters", i+1)
		}
	}
	l.Program, l.Status, l.Since = cells[h.at[columnProgram]], strings.ToLower(cells[h.at[columnStatus]]), cells[h.at[columnDate]]
	if i, ok := h.at[columnNumber]; ok {
		l.Student = cells[i]
	} else {
		id, err := uuid.Parse(cells[h.at[columnPerson]])
		if err != nil {
			return reject("bad_person", "%q is no id of a person", cells[h.at[columnPerson]])
		}
		l.Student = id.String()
	}
	if l.Student == "" || l.Program == "" {
		return reject("empty", "the student or the program is missing")
	}
	if !slices.Contains([]string{caseload.Active, caseload.Paused, caseload.Exited}, l.Status) {
		return reject("bad_status", "the status %q is none of %s, %s and %s", l.Status, caseload.Active, caseload.Paused, caseload.Exited)
	}
	if _, err := time.Parse(time.DateOnly, l.Since); err != nil {
		return reject("bad_date", "the date %q is not of the form YYYY-MM-DD", l.Since)
	}
	return l
}
