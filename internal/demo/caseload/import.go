package caseload

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	// importMost is the largest number of people in a file.
	importMost = 1_000_000
	// problemsMost is the largest number of reported problems of a file.
	problemsMost = 100
)

// Problem describes an invalid field of a file.
type Problem struct {
	Line   int    // in the file, from 1
	Column string // its name, or "" for the line as a whole
	What   string
}

// String returns "line 7, email: ...".
func (p Problem) String() string {
	if p.Column == "" {
		return fmt.Sprintf("line %d: %s", p.Line, p.What)
	}
	return fmt.Sprintf("line %d, %s: %s", p.Line, p.Column, p.What)
}

// ImportError reports the problems of a file, of which nothing was imported.
type ImportError struct {
	Problems []Problem // at most 100
	More     int       // number of problems that are not listed
}

// Error lists the problems, one a line.
func (e *ImportError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "nothing was imported; problems in the file: %d", len(e.Problems)+e.More)
	for _, p := range e.Problems {
		b.WriteString("\n\t" + p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n\tand %d more", e.More)
	}
	return b.String()
}

// columns are the columns that a file may have.
var columns = []struct {
	name     string
	field    func(*row) *string
	required bool
	most     int // characters
}{
	{"school_id", func(r *row) *string { return &r.SchoolID }, true, 100},
	{"first_name", func(r *row) *string { return &r.FirstName }, true, 200},
	{"last_name", func(r *row) *string { return &r.LastName }, true, 200},
	{"email", func(r *row) *string { return &r.Email }, false, 320},
	{"coach", func(r *row) *string { return &r.Coach }, true, 200},
	{"program", func(r *row) *string { return &r.Program }, false, 100},
	{"status", func(r *row) *string { return &r.Status }, false, 20},
}

// row is one line of a file.
type row struct {
	SchoolID, FirstName, LastName, Email, Coach, Program, Status string
}

// Import enters the people of a CSV file with the columns school_id, first_name,
// last_name and coach, and, if wanted, email, program and status, in any order.
// A person may be on several lines with a program on each; without a program
// they are enrolled in [Success], without a status as [Active].
//
// The whole file is read and checked first, and imported in one transaction: after an
// error nothing is imported. Problems of the file are an *[ImportError] with line and
// column.
func Import(ctx context.Context, db *sql.DB, r io.Reader) (people int, err error) {
	m := &importer{bySchoolID: map[string]*Person{}, firstLine: map[string]int{}, now: time.Now().UTC()}
	if err := m.read(ctx, r); err != nil {
		return 0, err
	}
	if err := m.taken(ctx, db); err != nil {
		return 0, err
	}
	if len(m.err.Problems) > 0 {
		return 0, &m.err
	}
	var programs [][2]string
	for _, code := range slices.Sorted(maps.Keys(m.programs())) {
		programs = append(programs, [2]string{code, code})
	}
	return len(m.people), wrap("import people", load(ctx, db, programs, m.all()))
}

// importer has the contents of a file that were read so far.
type importer struct {
	people     []*Person
	bySchoolID map[string]*Person
	firstLine  map[string]int
	now        time.Time
	err        ImportError
}

// problem notes what is wrong with a field.
func (m *importer) problem(line int, column, format string, args ...any) {
	if len(m.err.Problems) == problemsMost {
		m.err.More++
		return
	}
	m.err.Problems = append(m.err.Problems, Problem{line, column, fmt.Sprintf(format, args...)})
}

// read reads and checks the file. It returns the errors after which the file cannot be
// read further.
func (m *importer) read(ctx context.Context, r io.Reader) error {
	b := bufio.NewReader(r)
	if bom, err := b.Peek(3); err == nil && string(bom) == "\ufeff" {
		_, _ = b.Discard(3) // spreadsheets put it there
	}
	lines := csv.NewReader(b)
	header, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return &ImportError{Problems: []Problem{{Line: 1, What: "the file is empty: the first line names the columns"}}}
	}
	if err != nil {
		return fileError(err)
	}
	for i, column := range header {
		header[i] = strings.ToLower(strings.TrimSpace(column))
	}
	if err := checkHeader(header); err != nil {
		return err
	}
	for {
		cells, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) && !errors.Is(err, csv.ErrFieldCount) {
			return m.broken(err) // an unescaped quote: the following lines cannot be parsed reliably
		}
		line, _ := lines.FieldPos(0)
		if err != nil {
			m.problem(line, "", "%v", unwrapAll(err))
			continue
		}
		if len(m.people) == importMost {
			return &ImportError{Problems: []Problem{{Line: line, What: fmt.Sprintf("more than %d people: split the file", importMost)}}}
		}
		var w row
		for _, c := range columns {
			if i := slices.Index(header, c.name); i >= 0 {
				*c.field(&w) = cells[i]
			}
		}
		m.add(line, w)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if len(m.people) == 0 && len(m.err.Problems) == 0 {
		m.problem(1, "", "the file names columns and nobody")
	}
	return nil
}

// broken adds the line at which the file cannot be read any further.
func (m *importer) broken(err error) error {
	var e *ImportError
	if !errors.As(fileError(err), &e) {
		return err
	}
	m.err.Problems = append(m.err.Problems, e.Problems...)
	return &m.err
}

// fileError returns the *ImportError of a file that is not CSV.
func fileError(err error) error {
	if broken, ok := errors.AsType[*csv.ParseError](err); ok {
		return &ImportError{Problems: []Problem{{Line: broken.Line, What: broken.Err.Error()}}}
	}
	return wrap("read the file", err)
}

// unwrapAll returns the root of an error.
func unwrapAll(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// checkHeader finds missing, unknown and repeated columns.
func checkHeader(header []string) error {
	e := &ImportError{}
	var known []string
	for _, c := range columns {
		known = append(known, c.name)
	}
	for i, column := range header {
		switch {
		case !slices.Contains(known, column):
			e.Problems = append(e.Problems, Problem{1, column, "unknown column; there are " + strings.Join(known, ", ")})
		case slices.Contains(header[:i], column):
			e.Problems = append(e.Problems, Problem{1, column, "there twice"})
		}
	}
	for _, c := range columns {
		if c.required && !slices.Contains(header, c.name) {
			e.Problems = append(e.Problems, Problem{1, c.name, "this column is missing"})
		}
	}
	if len(e.Problems) > 0 {
		return e
	}
	return nil
}

// add checks a line and adds its person, or a program of an existing person.
func (m *importer) add(line int, w row) {
	before := len(m.err.Problems) + m.err.More
	for _, c := range columns {
		value := c.field(&w)
		*value = strings.TrimSpace(*value)
		switch v := *value; {
		case v == "" && c.required:
			m.problem(line, c.name, "empty")
		case !utf8.ValidString(v) || strings.ContainsRune(v, 0):
			m.problem(line, c.name, "not UTF-8: save the file as UTF-8")
		case utf8.RuneCountInString(v) > c.most:
			m.problem(line, c.name, "longer than %d characters", c.most)
		}
	}
	if w.Email != "" {
		if a, err := mail.ParseAddress(w.Email); err != nil || a.Address != w.Email {
			m.problem(line, "email", "%q is no mail address", w.Email)
		}
	}
	if w.Status == "" {
		w.Status = Active
	}
	if w.Program == "" {
		w.Program = Success
	}
	if !slices.Contains([]string{Active, Paused, Exited}, w.Status) {
		m.problem(line, "status", "%q is none of active, paused and exited", w.Status)
	}
	first, again := m.bySchoolID[w.SchoolID]
	switch {
	case again && (first.FirstName != w.FirstName || first.LastName != w.LastName || first.Email != w.Email || first.Coach != w.Coach):
		m.problem(line, "school_id", "%q is somebody else on line %d", w.SchoolID, m.firstLine[w.SchoolID])
	case again && first.Enrolled[w.Program] != "":
		m.problem(line, "program", "%q is in %q already, on line %d or below", w.SchoolID, w.Program, m.firstLine[w.SchoolID])
	}
	if before != len(m.err.Problems)+m.err.More {
		return
	}
	if again {
		first.Enrolled[w.Program] = w.Status
		return
	}
	p := &Person{
		ID: uuid.Must(uuid.NewV7()), SchoolID: w.SchoolID, FirstName: w.FirstName, LastName: w.LastName,
		Email: w.Email, Coach: w.Coach, Created: m.now, Enrolled: map[string]string{w.Program: w.Status},
	}
	m.people = append(m.people, p)
	m.bySchoolID[w.SchoolID], m.firstLine[w.SchoolID] = p, line
}

// taken finds school ids that exist already.
func (m *importer) taken(ctx context.Context, db *sql.DB) error {
	c, err := Open(ctx, db)
	if err != nil {
		return err
	}
	for part := range chunks(m.people) {
		ids := make([]string, len(part))
		for i, p := range part {
			ids[i] = p.SchoolID
		}
		taken, err := existing(ctx, c, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if taken[id] {
				m.problem(m.firstLine[id], "school_id", "%q is in the database already", id)
			}
		}
	}
	return nil
}

// programs returns the codes of all programs in the file.
func (m *importer) programs() map[string]bool {
	codes := map[string]bool{}
	for _, p := range m.people {
		for code := range p.Enrolled {
			codes[code] = true
		}
	}
	return codes
}

func (m *importer) all() iter.Seq[Person] {
	return func(yield func(Person) bool) {
		for _, p := range m.people {
			if !yield(*p) {
				return
			}
		}
	}
}
