package segment_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/segment"
)

// A table has each value in several columns, which differ in type or collation.
type table struct {
	db      *testdb.DB
	columns []string // their names and types
	values  []stored
}

// create makes the table, which is called t and has the number of the value as id. arg
// turns a value into an argument; nil is the text.
func (b table) create(t *testing.T, arg func(column int, v string) any) {
	t.Helper()
	ctx := testdb.Within(t)
	if _, err := b.db.ExecContext(ctx, "CREATE TABLE t (id integer PRIMARY KEY, "+strings.Join(b.columns, ", ")+")"); err != nil {
		t.Fatal(err)
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var places []string
	for i := range len(b.columns) + 1 {
		places = append(places, fmt.Sprintf("$%d", i+1))
	}
	for id, v := range b.values {
		args := []any{id}
		for i := range b.columns {
			switch {
			case v.text == nil:
				args = append(args, nil)
			case arg == nil:
				args = append(args, *v.text)
			default:
				args = append(args, arg(i, *v.text))
			}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO t VALUES ("+strings.Join(places, ", ")+")", args...); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// check lets the database say which rows each segment has, by SQL and by ent, and compares it
// with the second implementation.
func (b table) check(t *testing.T, d planner) {
	t.Helper()
	p := plan(t, d)
	if err := p.Verify(string(b.db.Dialect)); err != nil {
		t.Fatal(err)
	}
	want, ref := make([]int, len(b.values)), refer(t, p)
	for id, v := range b.values {
		want[id] = ref.segmentOf(t, v)
	}
	for _, definition := range b.columns {
		column, _, _ := strings.Cut(definition, " ")
		got := make([]int, len(b.values))
		for id := range got {
			got[id] = -1
		}
		rows := 0
		for i, s := range p.All() {
			for _, id := range b.ids(t, s, column, i%2 == 0) {
				rows++
				if got[id] >= 0 {
					t.Errorf("%s: the database has %s in segment %d, %s, and in segment %d, %s", definition, b.values[id], got[id], p.At(got[id]), i, s)
				}
				got[id] = i
			}
		}
		if rows != len(b.values) && !p.Partial() {
			t.Errorf("%s: the segments have %d rows, the table has %d", definition, rows, len(b.values))
		}
		for id, v := range b.values {
			if got[id] != want[id] {
				t.Errorf("%s: the database has %s in segment %d, want %d of %s", definition, v, got[id], want[id], describe(p))
			}
		}
	}
}

// ids returns the rows of a segment, by ent or by SQL.
func (b table) ids(t *testing.T, s segment.Segment, column string, ent bool) []int {
	t.Helper()
	var (
		query string
		args  []any
	)
	if ent {
		sel := entsql.Dialect(string(b.db.Dialect)).Select("id").From(entsql.Table("t"))
		sel.Where(entsql.GTE(sel.C("id"), 0))
		s.Where(column)(sel)
		query, args = sel.Query()
	} else {
		text, more, err := s.SQL(string(b.db.Dialect), column, 2)
		if err != nil {
			t.Fatal(err)
		}
		query, args = "SELECT id FROM t WHERE id >= $1 AND "+text, append([]any{0}, more...)
	}
	return selectInts(t, b.db.DB, query, args...)
}

func selectInts(t *testing.T, db *sql.DB, query string, args ...any) []int {
	t.Helper()
	rows, err := db.QueryContext(testdb.Within(t), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var out []int
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// TestTextInDatabases has text under several collations, also such in which other texts
// are equal or other letters greater.
func TestTextInDatabases(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		values := []stored{{}, {}, val("q000"), val("q0005"), val("x999"), val("teacher"), val("Teacher"), val("student ")}
		for _, s := range []string{
			"", " ", "A", "a", "B", "b", "Z", "z", "M\u00fcller", "Mu\u0308ller", "Mueller", "M\u00dcLLER", "m\u00fcller", "Muller", "Stra\u00dfe", "STRASSE",
			"\u00e9mile", "e\u0301mile", "Emile", "\u0141ukasz", "\u00c5ngstr\u00f6m", "\u00c4", "\u00e4", "\U0001F600", "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\u97d3", "\U0010FFFF", "\U0010FFFF\U0010FFFF", "\uE000", "\uD7FF", "\uFFFD",
			"it's", "a%b", "a_b", `a\b`, `"`, "1", "10", "9", "-1", "1e3", "0x10", "\n", "\x7f", "null", "NULL",
		} {
			values = append(values, val(s))
		}
		r := rand.New(rand.NewPCG(3, 3))
		for range 150 {
			values = append(values, val(randomText(r)))
		}
		tab := table{db: db, values: values}
		if db.Dialect == dialect.Postgres {
			if _, err := db.ExecContext(testdb.Within(t), `CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`); err != nil {
				t.Fatal(err)
			}
			tab.columns = []string{
				"plain text", `bytes text COLLATE "C"`, `icu text COLLATE "de-x-icu"`, `short varchar(40) COLLATE "und-x-icu"`, "equal text COLLATE caseless",
			}
		} else {
			tab.columns = []string{"plain text", "short varchar(40)", "nocase text COLLATE NOCASE", "trim text COLLATE RTRIM"}
		}
		tab.create(t, nil)
		tab.check(t, segment.Strings{Characters: []string{segment.Range('A', 'Z') + segment.Range('a', 'z')}})
		tab.check(t, segment.Strings{Characters: []string{"Aa\u00e4\U0001F600\U0010FFFF", "0z\u0301\U0010FFFF"}})
		tab.check(t, segment.Strings{Characters: []string{"qx", "09", "09", "09"}})
		tab.check(t, segment.Strings{Characters: []string{"AMZa\u00e4\u00e9\uD7FF\uFFFD\U0001F600\U0010FFFF"}, Method: segment.Prefixes, Partial: true})
		tab.check(t, segment.Strings{Characters: []string{"AZa\u00df\U0001F600"}, Depth: 2, Method: segment.Exact, Partial: true})
		tab.check(t, segment.Explicit{Partial: true, Segments: []segment.Segment{
			segment.Exactly(segment.Text("teacher")), segment.Exactly(segment.Text("student")), segment.Exactly(segment.Text("")),
			segment.Exactly(segment.Text("m\u00fcller")), segment.Exactly(segment.Text("Mu\u0308ller")), segment.Null(),
		}})
		for seed := range uint64(4) {
			d, _ := randomStrings(rand.New(rand.NewPCG(seed, 4)))
			tab.check(t, d)
		}
	})
}

// TestNumbersInDatabases has integers, fractions, and numbers beyond 64 bits. What SQLite cannot
// hold exactly, it has as a floating-point number.
func TestNumbersInDatabases(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		values := []stored{{}, {}, val("0.5"), val("-0.5"), val("99.5"), val("1e30"), val("-1e30")}
		for _, n := range []int64{-1000, -11, -10, -9, -1, 0, 1, 9, 10, 11, 99, 100, 999, 1000, 100_000, 1 << 32} {
			values = append(values, val(fmt.Sprint(n)))
		}
		for _, bits := range []uint{31, 32, 53, 62, 63} {
			for add := int64(-2); add <= 1; add++ {
				n := pow2(bits, add)
				if n.IsInt64() {
					values = append(values, val(n.String()), val(n.Neg(n).String()))
				}
			}
		}
		values = append(values, val(pow2(63, 0).String()), val(pow2(64, 0).String()), val("-"+pow2(63, 0).String()))
		tab := table{db: db, values: values, columns: []string{"n numeric"}}
		if db.Dialect == dialect.Postgres {
			for add := int64(-2); add <= 2; add++ {
				tab.values = append(tab.values, val(pow2(63, add).String()), val(pow2(64, add).String()), val("-"+pow2(63, add).String()), val("-"+pow2(64, add).String()))
			}
		} else {
			tab.columns = append(tab.columns, "i integer", "words text")
		}
		tab.create(t, nil)
		inside := []planner{
			segment.Numeric{To: pow2(10, 0), Count: 100},
			segment.Numeric{From: pow2(62, 0), To: pow2(63, -1), Count: 4},
			segment.Numeric{From: pow2(3, -18), Size: pow2(1, -1), Count: 20, Partial: true},
			segment.Explicit{Segments: []segment.Segment{
				segment.Below(segment.Int(9)), segment.Between(segment.Int(9), segment.Int(10)), segment.Between(segment.Int(10), segment.Int(1000)),
				segment.AtLeast(segment.Int(1000)), segment.Null(),
			}},
			segment.Explicit{Partial: true, Segments: []segment.Segment{
				segment.Exactly(segment.Int(0)), segment.Exactly(segment.Int(-9)), segment.Exactly(segment.BigInt(pow2(63, -1))), segment.Exactly(segment.Int(99)).OrNull(),
			}},
		}
		for _, d := range inside {
			tab.check(t, d)
		}
		if db.Dialect == dialect.Postgres {
			tab.check(t, segment.Numeric{To: pow2(64, 0), Count: 128})
			tab.check(t, segment.Numeric{From: pow2(63, -2), Size: pow2(0, 0), Count: 4})
			tab.check(t, segment.Explicit{Partial: true, Segments: []segment.Segment{segment.Exactly(segment.BigInt(pow2(64, 0))), segment.Exactly(segment.BigInt(pow2(63, 0)))}})
		}
	})
}

// TestSmallIntegersInPostgres has columns of the types that are smaller than a boundary.
func TestSmallIntegersInPostgres(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	tab := table{db: db, columns: []string{"two smallint", "four integer", "eight bigint", "real8 double precision"}, values: []stored{{}, val("-32768"), val("-1"), val("0"), val("1"), val("32767")}}
	tab.create(t, nil)
	tab.check(t, segment.Numeric{From: pow2(15, -40_000), Size: pow2(15, 0), Count: 4})
	tab.check(t, segment.Numeric{To: pow2(64, 0), Count: 128})
	tab.check(t, segment.Numeric{From: pow2(64, -1), Size: pow2(0, 0), Count: 4})
}

func TestIDsInDatabases(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		_, values := randomUUID(rand.New(rand.NewPCG(5, 5)))
		r := rand.New(rand.NewPCG(6, 6))
		for range 300 {
			values = append(values, val(randomID(r)))
		}
		tab := table{db: db, columns: []string{"u uuid"}, values: append(values, stored{})}
		tab.create(t, nil)
		tab.check(t, segment.UUID{Depth: 1})
		tab.check(t, segment.UUID{Depth: 2})
		tab.check(t, segment.Explicit{Partial: true, Segments: []segment.Segment{segment.Exactly(segment.ID([16]byte{})), segment.Null()}})
	})
}

// TestTimesInDatabases stores times as the drivers do, also before 1970 and with parts of a
// second.
func TestTimesInDatabases(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		_, values := randomTime(rand.New(rand.NewPCG(7, 7)))
		for _, at := range []time.Time{
			year1969, year1969.Add(day), year1969.Add(-time.Microsecond), year1969.Add(time.Microsecond), year1969.Add(time.Second / 2), year1969.Add(time.Second * 45 / 100),
			time.Unix(0, 0), time.Unix(-1, 0), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
			time.Date(1066, 10, 14, 9, 0, 0, 0, time.UTC),
		} {
			values = append(values, val(at.UTC().Format(time.RFC3339Nano)))
		}
		tab := table{db: db, columns: []string{"zoned timestamptz", "bare timestamp"}, values: append(values, stored{})}
		if db.Dialect == dialect.SQLite {
			// By both drivers, and with digits of a fixed width.
			tab.columns = []string{"modernc datetime", "mattn datetime", "fixed text"}
		}
		tab.create(t, func(column int, text string) any {
			at := instant(t, text).UTC()
			switch {
			case db.Dialect == dialect.Postgres || column == 0:
				return at
			case column == 1:
				return at.Format("2006-01-02 15:04:05.999999999-07:00")
			}
			return at.Format("2006-01-02 15:04:05.000000")
		})
		tab.check(t, segment.Time{From: year1969.AddDate(-100, 0, 0), To: year1969.AddDate(100, 0, 0), Step: 1000 * day})
		tab.check(t, segment.Time{From: year1969.Add(-time.Second), To: year1969.Add(2 * time.Second), Step: 50 * time.Millisecond})
		tab.check(t, segment.Time{From: year1969.Add(-3 * time.Microsecond), To: year1969.Add(3 * time.Microsecond), Step: time.Microsecond, Partial: true})
		tab.check(t, segment.Explicit{Partial: true, Segments: []segment.Segment{
			segment.Exactly(segment.Instant(year1969)), segment.Exactly(segment.Instant(year1969.Add(time.Second / 2))),
			segment.Exactly(segment.Instant(time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC))), segment.Null(),
		}})
	})
}
