package specform_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"taskkit.dev/internal/specform"
)

const lists = `{"type": "object", "additionalProperties": false, "properties": {
  "people": {"type": ["array", "null"], "items": {"type": "string", "anyOf": [{"format": "uuid", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}, {"pattern": "^[0-9a-f]{32}$"}]}, "maxItems": 1000, "uniqueItems": true},
  "names": {"type": ["array", "null"], "items": {"type": "string", "maxLength": 20}},
  "numbers": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}},
  "nested": {"type": ["array", "null"], "items": {"type": "array", "items": {"type": "string"}}},
  "rows": {"type": ["array", "null"], "maxItems": 3, "items": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
    "id": {"type": "integer", "minimum": 1, "maximum": 99},
    "first_name": {"type": "string", "maxLength": 10},
    "active": {"type": "boolean"},
    "address": {"type": "object", "additionalProperties": false, "properties": {"street": {"type": "string", "minLength": 1}, "zip": {"type": "string"}}},
    "tags": {"type": ["array", "null"], "items": {"type": "string"}}
  }}}
}}`

const (
	ada   = "0190b3a1-7c3e-7000-8000-000000000001"
	grace = "0190b3a1-7c3e-7000-8000-000000000002"
)

func TestReadCSV(t *testing.T) {
	t.Parallel()
	f := newForm(t, lists)
	for _, c := range []struct {
		name, list, file string
		want             string // the list as JSON, problems, or an error
	}{
		{"one column", "people", ada + "\n" + grace + "\n", `["` + ada + `","` + grace + `"]`},
		{"a name for it", "people", "Person\r\n" + ada + "\r\n", `["` + ada + `"]`},
		{"any name for it", "people", "student\n" + ada, `["` + ada + `"]`},
		{"a mistake in the first line is no name", "people", "0190b3a1-7c3e\n" + ada, `1 people "0190b3a1-7c3e": must be a UUID, such as 0190b3a1-7c3e-7000-8000-000000000001`},
		{"BOM, CRLF, blank lines, no line end", "people", "\ufeffid\r\n\r\n" + ada + "\r\n,\r\n \r\n" + grace, `["` + ada + `","` + grace + `"]`},
		{"line ends of old systems", "people", ada + "\r" + grace + "\r", `["` + ada + `","` + grace + `"]`},
		{"the column that fits", "people", "Name;Id of student;Course\nLovelace;" + ada + ";A\nHopper;" + grace + ";B\n", `["` + ada + `","` + grace + `"]`},
		{"the column that fits, without names", "people", "1;" + ada + "\n2;" + grace + "\n", `["` + ada + `","` + grace + `"]`},
		{"the column with the name", "people", "id,people\nx," + ada + "\n", `["` + ada + `"]`},
		{"items as the command writes them", "people", "item,code\n" + ada + "," + grace + "\n", `["` + ada + `"]`},
		{"two columns that fit", "people", "a,b\n" + ada + "," + grace + "\n", `the file has 2 columns, and people takes one: keep that, or name it "people" in the first line`},
		{"wrong columns", "people", "name,course\nLovelace,A\n", `the file has 2 columns, and people takes one: keep that, or name it "people" in the first line`},
		{"twice", "people", ada + "\n" + grace + "\n" + ada + "\n", `3 people "` + ada + `": repeats line 1`},
		{"nothing", "people", "", "the file is empty"},
		{"blank", "people", "\n\n ; \n", "the file is empty"},
		{"names alone", "people", "people\n", "the file has the names of columns and no rows"},
		{"a spreadsheet", "people", "PK\x03\x04...", "the file is a spreadsheet or an archive: save it as CSV"},
		{"UTF-16", "people", "\xff\xfea\x00", "the file is in UTF-16: save it as CSV in UTF-8"},
		{"a list of lists", "nested", "a\n", "nested takes no CSV: write it as JSON"},
		{"Windows-1252", "names", "Zo\xeb\n\x80 5\x85\n", `["Zoë","€ 5…"]`},
		{"UTF-8", "names", "Zoë\n\u202e<b>\n", "[\"Zoë\",\"\u202e<b>\"]"},
		{"UTF-8 and then not", "names", "Zoë\nZo\xeb\n", `2  "Zo�": has bytes that are not UTF-8`},
		{"NUL", "names", "a\x00b\n", `1 names "a` + "\x00" + `b": has a NUL character`},
		{"quotes", "names", "\"Lovelace, Ada\"\n\"a \"\"b\"\"\"\n\"two\nlines\"\nan \"inch\"\n", `["Lovelace, Ada","a \"b\"","two\nlines","an \"inch\""]`},
		{"text after a quote", "names", "\"a\"b\nc\n", `1  "ab": has text after the end of a quote: write a quote within quotes twice`},
		{"a quote that is open", "names", "a\n\"b\nc\n", "2  \"b\nc\n\": has a quote that is not closed"},
		{"a cell without end", "names", "a\n\"" + strings.Repeat("b", 1<<20) + "\n", "the cell that begins near line 2 is longer than 1 MiB: is its quote closed?"},
		{"formulas are texts", "names", "=1+1\n@SUM(A1)\n'=1+2\n", `["=1+1","@SUM(A1)","=1+2"]`},
		{"formulas are no numbers", "numbers", "numbers\n=1+1\n", `2 numbers "=1+1": must be a whole number in digits, such as 1500`},
		{"large numbers", "numbers", "9007199254740993\n18446744073709551615\n18446744073709551616\n", `3 numbers "18446744073709551616": must be at most 18446744073709551615`},
		{"a named separator", "numbers", "sep=;\r\nnumbers;x\r\n5;6\r\n", `[5]`},
		{"objects", "rows", "ID\tFirst name\taddress.street\tactive\ttags\n7\tAda\tDorset St\tyes\t\"[\"\"a\"\"]\"\n8\t\t\t\t\n", `[{"id":7,"first_name":"Ada","active":true,"address":{"street":"Dorset St"},"tags":["a"]},{"id":8}]`},
		{"objects without names", "rows", "7;Ada;;Dorset St;;a\n", `[{"id":7,"first_name":"Ada","address":{"street":"Dorset St"},"tags":["a"]}]`},
		{"unknown columns", "rows", "id,mail,road\n1,a,b\n", `the columns "mail", "road" are unknown: known are id, first_name, active, address.street, address.zip, tags; the first line must have their names`},
		{"a column that is missing", "rows", "first_name\nAda\n", "the column id is missing: the file has first_name"},
		{"a column twice", "rows", "id,ID\n1,2\n", "the column id is there twice"},
		{"cells that are wrong", "rows", "id,first_name,active\n0,Ada,yes\n,Ada,\n5,Augusta Ada King,maybe\n", `2 id "0": must be at least 1; 3 id "": is required; 4 first_name "Augusta Ada King": must have at most 10 characters; it has 16; 4 active "maybe": must be true or false`},
		{"too many cells", "rows", "id,first_name\n1,Lovelace, Ada\n2,a,\n", `2  "1,Lovelace, Ada": has more cells than there are columns: put texts with separators into quotes`},
		{"too many rows", "rows", "id\n1\n2\n3\n4\n5\n", "the file has 5 rows, and the list may have at most 3"},
	} {
		var got string
		table, err := f.ReadCSV(f.Field(c.list), strings.NewReader(c.file), specform.CSVOptions{})
		if err != nil {
			got = err.Error()
			if _, ok := errors.AsType[*specform.FileError](err); !ok {
				t.Errorf("%s: %T", c.name, err)
			}
		} else if got = rowProblems(table); got == "" {
			spec, problems := f.Parse(specform.Values{c.list: {table.Text}})
			if len(problems) > 0 {
				t.Errorf("%s: %v", c.name, problems)
			}
			got = strings.TrimSuffix(strings.TrimPrefix(string(spec), `{"`+c.list+`":`), "}")
		}
		if got != c.want {
			t.Errorf("%s: %.200q: got\n%s\nwant\n%s", c.name, c.file, got, c.want)
		}
	}
}

func rowProblems(table *specform.Table) string {
	var all []string
	for _, p := range table.Problems {
		all = append(all, fmt.Sprintf("%d %s \"%s\": %s", p.Line, p.Column, p.Value, p.Text))
	}
	return strings.Join(all, "; ")
}

// Rows are corrected in place: what is read again has the same lines, with the corrections.
func TestCorrectRows(t *testing.T) {
	t.Parallel()
	f := newForm(t, lists)
	list := f.Field("rows")
	file := "\ufeffname of no one;id;first_name\r\n"
	if _, err := f.ReadCSV(list, strings.NewReader(file+"x;1;a\r\n"), specform.CSVOptions{}); err == nil {
		t.Error("a column that is unknown is left out")
	}
	file = "id;first_name\r\n1;\"two\r\nlines\"\r\n\r\nx;=1+1\r\n0;a;b\r\n3;c\r\n"
	table, err := f.ReadCSV(list, strings.NewReader(file), specform.CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowProblems(table), `5 id "x": must be a whole number in digits, such as 1500; 6  "0;a;b": has more cells than there are columns: put texts with separators into quotes`; got != want {
		t.Fatalf("problems are %s, want %s", got, want)
	}
	if want := map[int][]string{5: {"x", "=1+1"}, 6: {"0", "a"}}; !reflect.DeepEqual(table.Bad, want) || table.Rows != 4 || table.Text != "" {
		t.Errorf("bad rows are %v, want %v, of %d; text %q", table.Bad, want, table.Rows, table.Text)
	}
	again, err := f.ReadCSV(list, strings.NewReader(table.Source), specform.CSVOptions{Corrections: map[int][]string{5: {"2", "=1+1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowProblems(again), `6  "0;a;b": has more cells than there are columns: put texts with separators into quotes`; got != want {
		t.Fatalf("problems are %s, want %s", got, want)
	}
	lines, err := f.ReadCSV(list, strings.NewReader(table.Source), specform.CSVOptions{Corrections: map[int][]string{5: {"x", "a\r\nb\rc\nd"}}})
	if err != nil {
		t.Fatal(err)
	}
	lines, err = f.ReadCSV(list, strings.NewReader(lines.Source), specform.CSVOptions{})
	if err != nil || len(lines.Bad[6]) == 0 || lines.Bad[6][0] != "0" {
		t.Errorf("a correction with line ends moves the rows after it: %v, %v", lines.Bad, err)
	}
	last, err := f.ReadCSV(list, strings.NewReader(again.Source), specform.CSVOptions{Corrections: map[int][]string{6: nil}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "[{\"id\":1,\"first_name\":\"two\\nlines\"},\n{\"id\":2,\"first_name\":\"=1+1\"},\n{\"id\":3,\"first_name\":\"c\"}]"; last.Text != want || last.Rows != 3 {
		t.Errorf("%d rows, %s, want %s", last.Rows, last.Text, want)
	}
	skipped, err := f.ReadCSV(list, strings.NewReader(file), specform.CSVOptions{SkipProblems: true})
	if err != nil || skipped.Rows != 2 || skipped.Skipped != 2 || len(skipped.Problems) > 0 {
		t.Errorf("%+v, %v", skipped, err)
	}
}

// generated is a file of many rows that is never in memory as a whole.
type generated struct {
	rows, next int
	line       func(i int) string
	rest       string
	ended      func()
}

func (g *generated) Read(b []byte) (int, error) {
	if g.rest == "" {
		if g.next == g.rows {
			g.ended()
			return 0, io.EOF
		}
		g.rest = g.line(g.next)
		g.next++
	}
	n := copy(b, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// A million rows are counted, in memory that is bounded.
func TestReadCSVWithAMillionRows(t *testing.T) { //nolint:paralleltest // it measures the heap
	f := newForm(t, lists)
	id := func(i int) string { return fmt.Sprintf("0190b3a1-7c3e-7000-8000-%012x\n", i) }
	for _, c := range []struct {
		list string
		rows int
		line func(i int) string
		want string
	}{
		{"people", 1_000_000, id, "the file has 1,000,000 rows, and the list may have at most 1,000"},
		{"names", 500_000, func(i int) string { return fmt.Sprintf("name %d\n", i) }, "the file has 500,000 rows, which is more than the 4 MiB that a spec may have"},
		{"numbers", 500_000, func(int) string { return "no number but 1 text\n" }, "the file has 500,000 rows, which is more than the 4 MiB that a spec may have"},
	} {
		var memory runtime.MemStats
		file := &generated{rows: c.rows, line: c.line, ended: func() {
			runtime.GC()
			runtime.ReadMemStats(&memory)
		}}
		_, err := f.ReadCSV(f.Field(c.list), file, specform.CSVOptions{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.list, err, c.want)
		}
		if memory.HeapAlloc > 64<<20 {
			t.Errorf("%s: the heap has %d bytes", c.list, memory.HeapAlloc)
		}
	}
	table, err := f.ReadCSV(f.Field("people"), &generated{rows: 1000, line: func(int) string { return "no id 1\n" }, ended: func() {}}, specform.CSVOptions{})
	if err != nil || len(table.Problems) != 100 || table.More != 900 || len(table.Bad) != 100 || table.Rows != 1000 {
		t.Errorf("%d problems and %d more, %v", len(table.Problems), table.More, err)
	}
}

// A row of any length takes bounded memory.
func TestReadCSVWithManyColumns(t *testing.T) {
	t.Parallel()
	f := newForm(t, lists)
	for _, c := range []struct{ name, line, want string }{
		{"empty cells", strings.Repeat(",", 1000), "the row at line 1 has more than 16,384 cells or 4 MiB: are its line ends missing?"},
		{"long cells", strings.Repeat("x", 1<<19) + ",", "the row at line 1 has more than 16,384 cells or 4 MiB: are its line ends missing?"},
		{"a quote", `"` + strings.Repeat("x", 1<<19), "the cell that begins near line 1 is longer than 1 MiB: is its quote closed?"},
	} {
		read := 0
		file := &generated{rows: 100, line: func(int) string { read++; return c.line }, ended: func() {}}
		_, err := f.ReadCSV(f.Field("rows"), file, specform.CSVOptions{})
		if err == nil || err.Error() != c.want || read == 100 {
			t.Errorf("%s: %v after %d reads, want %s", c.name, err, read, c.want)
		}
	}
	_, err := f.ReadCSV(f.Field("rows"), strings.NewReader(strings.Repeat("odd,", 10_000)+"\n1"), specform.CSVOptions{})
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), `"odd", and 9,990 more are unknown`) {
		t.Errorf("unknown columns: %.300s", err)
	}
}

// An error of reading, as of a client that is gone, is returned as it is.
func TestReadCSVReturnsErrorsOfReading(t *testing.T) {
	t.Parallel()
	f := newForm(t, lists)
	_, err := f.ReadCSV(f.Field("people"), io.MultiReader(strings.NewReader(ada+"\n"), broken{}), specform.CSVOptions{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the error is %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
