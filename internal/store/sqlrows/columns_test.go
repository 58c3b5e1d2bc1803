package sqlrows_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"taskkit.dev/internal/store/sqlrows"
)

type row struct {
	name string
	n    int64
}

func nameOf(r *row) string { return r.name }

func numberOf(r *row) int64 { return r.n }

var (
	text         = sqlrows.Text("name", nameOf)
	textOrNull   = sqlrows.Text("name", nameOf).As("uuid").OrNull()
	number       = sqlrows.Number("n", numberOf)
	numberOrNull = sqlrows.Number("n", numberOf).As("smallint").OrNull()
)

// A column gives the value of a row as a parameter and as JSON, and those of all rows
// as an array.
func TestColumn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		column    sqlrows.Column[row]
		row       row
		arg       any
		array     any
		arrayType string
		json      string
	}{
		"text":                   {text, row{name: "x"}, "x", []string{"x"}, "text[]", `[["x"]]`},
		"empty text":             {text, row{}, "", []string{""}, "text[]", `[[""]]`},
		"text or null":           {textOrNull, row{name: "x"}, "x", []string{"x"}, "text[]", `[["x"]]`},
		"null for an empty text": {textOrNull, row{}, nil, []string{""}, "text[]", `[[null]]`},
		"number":                 {number, row{n: 7}, int64(7), []int64{7}, "bigint[]", `[[7]]`},
		"negative number":        {number, row{n: -7}, int64(-7), []int64{-7}, "bigint[]", `[[-7]]`},
		"zero or null":           {numberOrNull, row{}, int64(0), []int64{0}, "bigint[]", `[[0]]`},
		"null for a negative":    {numberOrNull, row{n: -1}, nil, []int64{-1}, "bigint[]", `[[null]]`},
		"special characters": {
			text,
			row{name: "a\"b\\c\x00\n\x1f\x7fé\u2028"},
			"a\"b\\c\x00\n\x1f\x7fé\u2028",
			[]string{"a\"b\\c\x00\n\x1f\x7fé\u2028"},
			"text[]",
			`[["a\"b\\c\u0000\u000a\u001f` + "\x7fé\u2028" + `"]]`,
		},
		"not UTF-8": {text, row{name: "a\xffb"}, "a\xffb", []string{"a\xffb"}, "text[]", "[[\"a\xffb\"]]"},
	} {
		rows := []*row{&tc.row}
		if got := tc.column.Arg(&tc.row); got != tc.arg {
			t.Errorf("%s: the parameter is %#v, want %#v", name, got, tc.arg)
		}
		if got := tc.column.Array(rows); !reflect.DeepEqual(got, tc.array) {
			t.Errorf("%s: the array is %#v, want %#v", name, got, tc.array)
		}
		if got := tc.column.ArrayType(); got != tc.arrayType {
			t.Errorf("%s: the array has the type %s, want %s", name, got, tc.arrayType)
		}
		got := sqlrows.JSONRows([]*sqlrows.Column[row]{&tc.column}, rows)
		if got != tc.json {
			t.Errorf("%s: the JSON is %s, want %s", name, got, tc.json)
		}
		if name != "not UTF-8" && !json.Valid([]byte(got)) {
			t.Errorf("%s: %s is not valid JSON", name, got)
		}
	}
}

// A column is the same for all rows when their values are equal.
func TestSame(t *testing.T) {
	t.Parallel()
	a, b, c := &row{"x", 1}, &row{"x", 2}, &row{"y", 2}
	for name, tc := range map[string]struct {
		rows         []*row
		text, number bool
	}{
		"none":       {nil, true, true},
		"one":        {[]*row{a}, true, true},
		"equal text": {[]*row{a, b}, true, false},
		"equal n":    {[]*row{b, c}, false, true},
		"last":       {[]*row{a, a, a, c}, false, false},
	} {
		byText, byNumber := text, number
		if got := byText.Same(tc.rows); got != tc.text {
			t.Errorf("%s: the texts are the same: %t", name, got)
		}
		if got := byNumber.Same(tc.rows); got != tc.number {
			t.Errorf("%s: the numbers are the same: %t", name, got)
		}
	}
}

// The texts of statements name the columns in their order, and cast those that have
// another type than their array.
func TestStatements(t *testing.T) {
	t.Parallel()
	columns := []sqlrows.Column[row]{textOrNull, number}
	for want, got := range map[string]string{
		"INSERT INTO t (name, n) VALUES ($1, $2)": sqlrows.InsertOne("t", columns),
		"INSERT INTO t (name, n)\nSELECT nullif(name, '')::uuid, n\nFROM unnest($1::text[], $2::bigint[]) AS r(name, n)": sqlrows.InsertArrays("t", columns),
		"unnest($1, $2) AS x(a, b)": sqlrows.Unnest("x", []string{"$1", "$2"}, []string{"a", "b"}),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	a, b := &row{"x", 1}, &row{"", 2}
	if got, want := sqlrows.Args(columns, b), []any{nil, int64(2)}; !reflect.DeepEqual(got, want) {
		t.Errorf("the parameters of a row are %#v, want %#v", got, want)
	}
	if got, want := sqlrows.Arrays(columns, []*row{a, b}), []any{[]string{"x", ""}, []int64{1, 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the parameters of all rows are %#v, want %#v", got, want)
	}
	pointers := []*sqlrows.Column[row]{&columns[0], &columns[1]}
	for want, rows := range map[string][]*row{`[]`: nil, `[["x",1],[null,2]]`: {a, b}} {
		if got := sqlrows.JSONRows(pointers, rows); got != want {
			t.Errorf("the JSON is %s, want %s", got, want)
		}
	}
}
