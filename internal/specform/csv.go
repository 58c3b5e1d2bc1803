package specform

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"taskkit.dev/internal/csvcell"
)

// The most that is kept of a file. What is beyond is counted and not kept.
const (
	maxRowProblems = 100
	maxListBytes   = 4 << 20 // of a list as JSON: a spec has no more
)

// A RowProblem is what is wrong with a cell of a file.
type RowProblem struct {
	Line   int    // of the file, from 1
	Column string // the field of the cell; "" for the row as a whole
	Value  string // the cell
	Text   string // what is wrong: "must be a UUID, ..."
}

// CSVOptions say how to read a file. The zero value is the default.
type CSVOptions struct {
	// Corrections replace the cells of rows, by line: in the order of Table.Columns. A row of no cells is left out.
	Corrections map[int][]string
	// SkipProblems leaves out the rows that have problems, and counts them.
	SkipProblems bool
}

// A Table is what was read from a file.
type Table struct {
	Columns   []string // the fields that were read, in the order of their cells
	Header    []string // the first line, if it has names and no values; or nil
	Width     int      // cells of the first line
	Separator rune
	Encoding  string // UTF-8 or Windows-1252
	Rows      int    // rows with values, without those that were left out
	Skipped   int    // rows with problems that were left out
	// Problems are the first 100, and More counts the rest. Bad has the cells of their rows, by line, in the order of Columns.
	Problems []RowProblem
	More     int
	Bad      map[int][]string
	// Text is the list for [Values], once there are no problems. Source is the file with all corrections, as UTF-8, with the
	// same lines: to be read again with further corrections.
	Text, Source string
}

// ReadCSV reads a file into a list of the form. The columns are the fields of the objects of the list, by their names in the first line, or
// in their order without such a line; of a list of plain values it is the only column, the column with the name of the list or named item, or the only column whose
// cells fit. The separator is a comma, a semicolon or a tab; the encoding UTF-8 or Windows-1252, with or without a byte order mark; line ends
// are of any system. Cells are texts: what a spreadsheet would take for a formula is a text like others, and is never computed. Rows without text are
// left out, and empty cells are values that are not set.
//
// Memory is bounded: a file that has more rows than the schema allows, or more than a spec can contain, is read to its end to count its rows, and is a
// *[FileError], as are columns that the list does not have. Errors of reading are returned as they are.
func (f *Form) ReadCSV(list *Field, file io.Reader, o CSVOptions) (*Table, error) {
	t, _, err := f.readCSV(list, file, o)
	return t, err
}

// readCSV also returns the elements of the list.
func (f *Form) readCSV(list *Field, file io.Reader, o CSVOptions) (*Table, []any, error) {
	if list.Type != List || list.Item == nil || list.Item.Type > Group || list.Item.Type == JSON {
		return nil, nil, refuse("%s takes no CSV: write it as JSON", list.Name)
	}
	in, err := newRunes(file)
	if err != nil {
		return nil, nil, err
	}
	separator, err := in.separator()
	if err != nil {
		return nil, nil, err
	}
	r := &reading{
		form: f, list: list, options: o, row: &Form{Fields: list.Item.Fields, root: list.Item, defs: f.defs},
		records: &records{runes: in, separator: separator, line: 1}, first: map[string]int{},
		table: &Table{Separator: separator, Bad: map[int][]string{}},
	}
	if list.Item.Type != Group {
		r.row = &Form{root: list.Item, defs: f.defs}
	}
	if err := r.all(); err != nil {
		return nil, nil, err
	}
	r.table.Encoding = in.encoding()
	if r.table.Source = r.source.String(); len(r.table.Problems) == 0 {
		r.table.Text = whole(list, r.elements)
	}
	return r.table, r.elements, nil
}

// reading is the state of reading one file.
type reading struct {
	form    *Form
	list    *Field
	row     *Form // of an element
	options CSVOptions
	records *records
	table   *Table
	cells   []int // where the cells of the columns are in a record
	width   int   // cells of the first line

	elements []any
	bytes    int
	first    map[string]int // lines of elements, if none may be there twice
	source   strings.Builder
	written  int // lines of source
	rows     int // all rows with values
	full     bool
}

func (r *reading) all() error {
	head, err := r.skipBlank()
	if errors.Is(err, io.EOF) {
		return refuse("the file is empty")
	}
	if err != nil {
		return err
	}
	second, err := r.skipBlank()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.width, r.table.Width = len(head.cells), len(head.cells)
	named, colErr := r.columns(head, second)
	if colErr != nil {
		return colErr
	}
	if named {
		r.table.Header = head.cells
		r.writeSource(head.line, head.cells)
	} else {
		r.add(head)
	}
	if errors.Is(err, io.EOF) {
		return r.finish()
	}
	r.add(second)
	for {
		row, err := r.records.next()
		if errors.Is(err, io.EOF) {
			return r.finish()
		}
		if err != nil {
			return err
		}
		if !row.blank() {
			r.add(row)
		}
	}
}

func (r *reading) skipBlank() (record, error) {
	for {
		row, err := r.records.next()
		if err != nil || !row.blank() {
			return row, err
		}
	}
}

// finish checks the whole.
func (r *reading) finish() error {
	most := r.list.MaxItems
	if r.full && (most == 0 || r.rows <= most) {
		return refuse("the file has %s, which is more than the 4 MiB that a spec may have", counted(r.rows, "row"))
	}
	if r.full || most > 0 && len(r.elements) > most {
		return refuse("the file has %s, and the list may have at most %s", counted(r.rows, "row"), thousands(most))
	}
	if r.rows+r.table.Skipped+len(r.options.Corrections) == 0 {
		return refuse("the file has the names of columns and no rows")
	}
	return nil
}

// add reads a row.
func (r *reading) add(row record) {
	cells := make([]string, len(r.cells))
	for i, at := range r.cells {
		if at < len(row.cells) {
			cells[i] = csvcell.Read(row.cells[at])
		}
	}
	extra := ""
	if n := slices.IndexFunc(row.cells[min(len(row.cells), r.width):], func(c string) bool { return strings.TrimSpace(c) != "" }); n >= 0 {
		extra = "has more cells than there are columns: put texts with separators into quotes"
	}
	if corrected, ok := r.options.Corrections[row.line]; ok {
		if len(corrected) == 0 {
			return
		}
		for i := range min(len(cells), len(corrected)) { // in one line, so that the lines of the rows after it stay
			cells[i] = lineEnds.Replace(corrected[i])
		}
		row.problem, extra = "", ""
	}
	r.rows++
	if r.full = r.full || r.list.MaxItems > 0 && len(r.elements) > r.list.MaxItems || r.bytes > maxListBytes || r.source.Len() > 2*maxListBytes; r.full {
		r.elements, r.first = nil, nil
		r.source.Reset()
		return
	}
	v, problems := r.element(cells)
	if row.problem != "" || extra != "" {
		problems = []RowProblem{{Value: strings.Join(row.cells, string(r.records.separator)), Text: row.problem + extra}}
	}
	key := string(encode(nil, v))
	if line, twice := r.first[key]; twice && len(problems) == 0 && r.list.Unique {
		problems = []RowProblem{{Column: r.table.Columns[0], Value: cells[0], Text: fmt.Sprintf("repeats line %s", thousands(line))}}
	}
	if len(problems) > 0 && r.options.SkipProblems {
		r.table.Skipped++
		r.rows--
		return
	}
	r.bytes += len(key) + 1
	r.writeRow(row, cells)
	r.table.Rows++
	if len(problems) > 0 {
		r.report(row.line, cells, problems)
		return
	}
	r.elements = append(r.elements, v)
	if r.list.Unique {
		r.first[key] = row.line
	}
}

var lineEnds = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

func (r *reading) report(line int, cells []string, problems []RowProblem) {
	for _, p := range problems {
		if len(r.table.Problems) >= maxRowProblems {
			r.table.More++
			continue
		}
		p.Line = line
		r.table.Problems = append(r.table.Problems, p)
		r.table.Bad[line] = cells
	}
}

// element returns the element of a row, and what is wrong with it.
func (r *reading) element(cells []string) (v any, problems []RowProblem) {
	if r.list.Item.Type != Group {
		v, problem := scalar(r.list.Item, strings.TrimSpace(cells[0]))
		if problem == "" {
			c := &checker{defs: r.form.defs, report: func(_ *location, _ any, text string) {
				if problem == "" {
					problem = text
				}
			}}
			c.check(r.list.Item.node, v, nil)
		}
		if problem != "" {
			problems = []RowProblem{{Column: r.table.Columns[0], Value: cells[0], Text: problem}}
		}
		return v, problems
	}
	values := Values{}
	for i, name := range r.table.Columns {
		values[name] = []string{cells[i]}
	}
	p := &parser{form: r.row, values: values, broken: map[string]bool{}}
	if v, _ = p.field(r.row.root, nil); v == nil {
		v = newObject()
	}
	p.check(v)
	for _, one := range p.sorted() {
		problem := RowProblem{Column: one.Field, Text: one.Text}
		if i := slices.Index(r.table.Columns, one.Field); i >= 0 {
			problem.Value = cells[i]
		} else {
			problem.Column, problem.Text = "", strings.TrimSpace(one.Field+" "+one.Text)
		}
		problems = append(problems, problem)
	}
	return v, problems
}

// writeRow writes a row with its corrections into the source, in the line that it had.
func (r *reading) writeRow(row record, cells []string) {
	all := slices.Clone(row.cells)
	for len(all) < r.width {
		all = append(all, "")
	}
	for i, at := range r.cells {
		all[at] = csvcell.Write(cells[i])
	}
	if _, corrected := r.options.Corrections[row.line]; corrected {
		all = all[:r.width]
	}
	r.writeSource(row.line, all)
}

// writeSource writes a row into the source, so that it begins in a line.
func (r *reading) writeSource(line int, cells []string) {
	for ; r.written < line-1; r.written++ {
		r.source.WriteByte('\n')
	}
	for i, cell := range cells {
		if i > 0 {
			r.source.WriteRune(r.records.separator)
		}
		if strings.ContainsAny(cell, "\"\n,;\t") || strings.TrimSpace(cell) != cell {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		r.source.WriteString(cell)
		r.written += strings.Count(cell, "\n")
	}
	r.source.WriteByte('\n')
	r.written++
}

// columns finds out which fields the cells of the rows are, and whether the first row has their names.
func (r *reading) columns(head, second record) (named bool, err error) {
	if r.list.Item.Type != Group {
		return r.column(head, second)
	}
	var fields []*Field
	for f := range r.row.All() {
		if f.Type != Group {
			fields = append(fields, f)
		}
	}
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.Name
	}
	var unknown []string
	for at, cell := range head.cells {
		if strings.TrimSpace(cell) == "" {
			continue
		}
		i := slices.IndexFunc(fields, func(f *Field) bool { return plain(cell) == plain(f.Name) || plain(cell) == plain(f.Label) })
		if i < 0 {
			unknown = append(unknown, quoted(strings.TrimSpace(cell)))
			continue
		}
		if slices.Contains(r.table.Columns, known[i]) {
			return false, refuse("the column %s is there twice", known[i])
		}
		r.table.Columns, r.cells = append(r.table.Columns, known[i]), append(r.cells, at)
	}
	if len(r.cells) == 0 && len(head.cells) == len(fields) {
		r.table.Columns = known
		for i := range fields {
			r.cells = append(r.cells, i)
		}
		return false, nil
	}
	if len(unknown) > 0 {
		if n := len(unknown); n > 10 {
			unknown = append(unknown[:10], fmt.Sprintf("and %s more", thousands(n-10)))
		}
		return false, refuse("the columns %s are unknown: known are %s; the first line must have their names", strings.Join(unknown, ", "), strings.Join(known, ", "))
	}
	for _, f := range fields {
		if f.Required && !slices.Contains(r.table.Columns, f.Name) && !strings.Contains(f.Name, ".") {
			return false, refuse("the column %s is missing: the file has %s", f.Name, strings.Join(r.table.Columns, ", "))
		}
	}
	return true, nil
}

// column finds out which cells are the elements of a list of plain values.
func (r *reading) column(head, second record) (named bool, err error) {
	r.table.Columns = []string{r.list.Name}
	if len(head.cells) == 1 {
		r.cells = []int{0}
		return r.isName(head.cells[0]), nil
	}
	names := []string{plain(r.list.Name), plain(r.list.Label), strings.TrimSuffix(plain(r.list.Label), "s"), "item", "id"}
	for _, name := range names {
		if i := slices.IndexFunc(head.cells, func(c string) bool { return plain(c) == name }); i >= 0 {
			r.cells = []int{i}
			return true, nil
		}
	}
	named = !slices.ContainsFunc(head.cells, func(c string) bool { return !r.isName(c) && strings.TrimSpace(c) != "" })
	if sample := head; r.list.Item.Type != Text {
		if named {
			sample = second
		}
		for i, c := range sample.cells {
			if r.fits(c) {
				r.cells = append(r.cells, i)
			}
		}
	}
	if len(r.cells) != 1 {
		return false, refuse("the file has %d columns, and %s takes one: keep that, or name it %q in the first line", len(head.cells), r.list.Name, strings.ToLower(r.list.Label))
	}
	return named, nil
}

// isName reports whether a cell of the first line is the name of a column: it has letters and spaces alone, and is no value, or it is the name of the list.
func (r *reading) isName(cell string) bool {
	if p := plain(cell); p == plain(r.list.Label) || p == plain(r.list.Name) || p == "item" || p == strings.TrimSuffix(plain(r.list.Label), "s") {
		return true
	}
	if r.list.Item.Type == Text || strings.TrimSpace(cell) == "" || len(cell) > 40 {
		return false
	}
	return !strings.ContainsFunc(cell, func(c rune) bool { return !unicode.IsLetter(c) && c != ' ' && c != '_' }) && !r.fits(cell)
}

func (r *reading) fits(cell string) bool {
	v, problem := scalar(r.list.Item, strings.TrimSpace(cell))
	return problem == "" && (&checker{defs: r.form.defs}).fits(r.list.Item.node, v)
}

// plain returns a name without what people write in different ways: case, spaces, underscores, dots.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return -1
	}, name)
}
