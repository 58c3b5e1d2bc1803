package segment_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/shadow"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/segment"
)

// evenRows is more than the default of Reads, so that SQLite takes a sample.
const evenRows = 20_000

// evenTable makes a table with a skewed column of each type, and one with NULL in half of
// the rows.
func evenTable(t *testing.T, db *testdb.DB) {
	t.Helper()
	// The square of a number is skewed. On both databases a row is wide enough to make
	// hundreds of pages.
	exec := func(query string) {
		if _, err := db.ExecContext(testdb.Within(t), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if db.Dialect == dialect.Postgres {
		exec(`CREATE TABLE even (n numeric, x bigint, s text COLLATE "de-x-icu", u uuid, at timestamptz, same text, filler text)`)
		exec(fmt.Sprintf(`INSERT INTO even SELECT i::numeric * i, CASE WHEN i %% 2 = 0 THEN i END,
			chr(65 + (i * i / 7) %% 50) || md5(i::text), md5(i::text)::uuid, timestamptz '1900-01-01Z' + i * i * interval '1 second', 'same', repeat('x', 200)
			FROM generate_series(1, %d) i`, evenRows))
		return
	}
	exec("CREATE TABLE even (n integer, x integer, s text COLLATE NOCASE, u uuid, at datetime, same text, filler text)")
	exec(fmt.Sprintf(`WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < %d)
		INSERT INTO even SELECT i * i, CASE WHEN i %% 2 = 0 THEN i END, char(65 + (i * i / 7) %% 50) || lower(hex(randomblob(8))),
		lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))),
		strftime('%%Y-%%m-%%d %%H:%%M:%%f', '1900-01-01', '+' || (i * i) || ' seconds') || ' +0000 UTC', 'same', hex(randomblob(100)) FROM g`, evenRows))
}

func TestEven(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		evenTable(t, db)
		for _, e := range []segment.Even{
			{Column: "n", Type: segment.TypeNumber, Count: 16},
			{Column: "n", Type: segment.TypeNumber, Count: 7, Reads: 100},
			{Column: "x", Type: segment.TypeNumber, Count: 4},
			{Column: "s", Type: segment.TypeText, Count: 16},
			{Column: "u", Type: segment.TypeUUID, Count: 16},
			{Column: "at", Type: segment.TypeTime, Count: 16},
		} {
			e.Table = "even"
			d := sampled(t, db, e)
			if got, most := len(d.Segments), e.Count; got > most || got < most/2 || got < most && e.Column != "x" {
				t.Errorf("%+v makes %d segments", e, got)
			}
			sum := 0
			p := plan(t, d)
			for i, s := range p.All() {
				n := evenCount(t, db, s, e.Column)
				sum += n
				share := evenRows / e.Count
				// Half of the rows have NULL, all in the first segment. A small sample is not
				// precise: it must still be far from the skew.
				if tooMany := n > 3*share; tooMany && (e.Column != "x" || i > 0) {
					t.Errorf("%+v: segment %d, %s, has %d rows, its share is %d", e, i, s, n, share)
				}
			}
			if sum != evenRows {
				t.Errorf("%+v: the segments have %d rows, the table has %d", e, sum, evenRows)
			}
		}
		// Equal values are in one segment.
		d := sampled(t, db, segment.Even{Table: "even", Column: "same", Type: segment.TypeText, Count: 8})
		if got := describe(plan(t, d)); got != `below "same" or NULL; "same" and above` {
			t.Error(got)
		}
	})
}

// TestEvenShadowed shows that no other role's function or operator is called for a sample.
func TestEvenShadowed(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("even.go")
	if err != nil {
		t.Fatal(err)
	}
	db := testdb.On(t, testdb.OwnDatabase(t), testdb.And("public"))
	evenTable(t, db)
	if _, err := shadow.Create(t.Context(), db.DB, "public", string(source)); err != nil {
		t.Fatal(err)
	}
	for column, typ := range map[string]segment.Type{"n": segment.TypeNumber, "s": segment.TypeText, "u": segment.TypeUUID, "at": segment.TypeTime} {
		sampled(t, db, segment.Even{Table: "even", Column: column, Type: typ, Count: 4})
	}
}

// sampled samples and proves what it returns, also after it was stored.
func sampled(t *testing.T, db *testdb.DB, e segment.Even) segment.Explicit {
	t.Helper()
	d, err := e.Sample(testdb.Within(t), db)
	if err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
	if err := plan(t, d).Verify(string(db.Dialect)); err != nil {
		t.Fatalf("%+v: %v", e, err)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var back segment.Explicit
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, d) {
		t.Errorf("%s comes back as %+v, %v", raw, back, err)
	}
	return d
}

func evenCount(t *testing.T, db *testdb.DB, s segment.Segment, column string) int {
	t.Helper()
	where, args, err := s.SQL(string(db.Dialect), column, 1)
	if err != nil {
		t.Fatal(err)
	}
	return selectInts(t, db.DB, "SELECT COUNT(*) FROM even WHERE "+where, args...)[0]
}

// TestEvenOfSmallTables has what a sample can meet: no rows, NULL alone, values that are no
// boundaries, and partitions.
func TestEvenOfSmallTables(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		float, times := "double precision", "timestamp"
		if db.Dialect == dialect.SQLite {
			float, times = "real", "datetime"
		}
		long := strings.Repeat("ä", 150)
		for i, c := range []struct {
			column string
			typ    segment.Type
			rows   []any
			want   string
		}{
			{"text", segment.TypeText, nil, "all values and NULL"},
			{"text", segment.TypeText, []any{nil, nil, nil}, "all values and NULL"},
			{"text", segment.TypeText, []any{"b", "a", "Z", "é"}, `below "a" or NULL; from "a" to below "b"; from "b" to below "é"; "é" and above`},
			{"text", segment.TypeText, []any{"a", "b", "c", long}, `below "b" or NULL; from "b" to below "c"; from "c" to below "` + long[:200] + `"; "` + long[:200] + `" and above`},
			{float, segment.TypeNumber, []any{-2.5, 1.5, 2.5, 1e17}, "below 1 or NULL; from 1 to below 2; from 2 to below 100000000000000000; 100000000000000000 and above"},
			{float, segment.TypeNumber, []any{0.1, 0.2, 0.3, 0.4}, "below 0 or NULL; 0 and above"},
			{times, segment.TypeTime, []any{year1969, year1969.Add(1000), year1969.Add(day), year1969.Add(2 * day)}, "below 1969-01-01T00:00:00.000001Z or NULL; from 1969-01-01T00:00:00.000001Z to below 1969-01-02T00:00:00Z; from 1969-01-02T00:00:00Z to below 1969-01-03T00:00:00Z; 1969-01-03T00:00:00Z and above"},
		} {
			name := fmt.Sprintf("small%d", i)
			if _, err := db.ExecContext(testdb.Within(t), "CREATE TABLE "+name+" (c "+c.column+")"); err != nil {
				t.Fatal(err)
			}
			for _, v := range c.rows {
				if _, err := db.ExecContext(testdb.Within(t), "INSERT INTO "+name+" VALUES ($1)", v); err != nil {
					t.Fatal(err)
				}
			}
			if got := describe(plan(t, sampled(t, db, segment.Even{Table: name, Column: "c", Type: c.typ, Count: 4}))); got != c.want {
				t.Errorf("%v: %s\nwant %s", c.rows, got, c.want)
			}
		}
	})
}

func TestEvenOfPartitions(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	for _, query := range []string{
		"CREATE TABLE parts (n bigint, filler text) PARTITION BY RANGE (n)",
		"CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (5000)",
		"CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (5000) TO (20000)",
		"INSERT INTO parts SELECT i, repeat('x', 500) FROM generate_series(0, 19999) i",
	} {
		if _, err := db.ExecContext(testdb.Within(t), query); err != nil {
			t.Fatal(err)
		}
	}
	d := sampled(t, db, segment.Even{Table: "parts", Column: "n", Type: segment.TypeNumber, Count: 4, Reads: 200})
	if len(d.Segments) != 4 {
		t.Errorf("%d segments", len(d.Segments))
	}
}

// recorder has the last query that was sent.
type recorder struct {
	segment.Querier
	query string
}

func (r *recorder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.query = query
	return r.Querier.QueryContext(ctx, query, args...)
}

// TestEvenReadsNoMoreThanAsked lets the databases say what the sample of a large table
// reads.
func TestEvenReadsNoMoreThanAsked(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		evenTable(t, db)
		r := &recorder{Querier: db}
		if _, err := (segment.Even{Table: "even", Column: "n", Type: segment.TypeNumber, Count: 4, Reads: 100}).Sample(testdb.Within(t), r); err != nil {
			t.Fatal(err)
		}
		if db.Dialect == dialect.SQLite {
			steps := strings.Join(selectTexts(t, db, "EXPLAIN QUERY PLAN "+r.query), "\n")
			if strings.Contains(steps, "SCAN even") || !strings.Contains(steps, "SEARCH even USING INTEGER PRIMARY KEY") {
				t.Errorf("the sample scans the table:\n%s", steps)
			}
			return
		}
		pages := selectInts(t, db.DB, "SELECT pg_relation_size('even') / current_setting('block_size')::bigint")[0]
		read := -1
		steps := selectTexts(t, db, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF) "+r.query)
		for i, line := range steps {
			if at := strings.Index(line, "shared hit="); at >= 0 && strings.Contains(steps[i-1]+steps[max(i-2, 0)], "Sample Scan") {
				_, _ = fmt.Sscanf(line[at:], "shared hit=%d", &read)
			}
		}
		// Each page is read with a probability, so that the number varies.
		if pages < 400 || read < 0 || read > pages/2 {
			t.Errorf("a sample of 100 pages reads %d of %d:\n%s", read, pages, strings.Join(steps, "\n"))
		}
	})
}

func selectTexts(t *testing.T, db *testdb.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.QueryContext(testdb.Within(t), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var columns [4]any
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		into := []any{&columns[0], &columns[1], &columns[2], &columns[3]}
		if err := rows.Scan(into[:len(names)]...); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(columns[len(names)-1]))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEvenRefuses(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		good := segment.Even{Table: "t", Column: "c", Type: segment.TypeText, Count: 2}
		for want, change := range map[string]func(e *segment.Even){
			"Table: it is empty: name the table":                                func(e *segment.Even) { e.Table = "" },
			"Column: it is empty: name the column":                              func(e *segment.Even) { e.Column = " " },
			`Type: "" is unknown: it must be number, text, uuid or time`:        func(e *segment.Even) { e.Type = "" },
			"Count: it is 0 and must be 1 to 10000":                             func(e *segment.Even) { e.Count = 0 },
			"Count: it is 10001 and must be 1 to 10000":                         func(e *segment.Even) { e.Count = 10_001 },
			"Reads: it is -1 and must be 1 to 100000, or 0 for the default":     func(e *segment.Even) { e.Reads = -1 },
			"Reads: it is 100001 and must be 1 to 100000, or 0 for the default": func(e *segment.Even) { e.Reads = 100_001 },
		} {
			e := good
			change(&e)
			_, err := e.Sample(testdb.Within(t), db)
			var refused *segment.ParameterError
			if !errors.As(err, &refused) || err.Error() != "segment: Even."+want {
				t.Errorf("%v\nwant segment: Even.%s", err, want)
			}
		}
		if _, err := good.Sample(testdb.Within(t), db); err == nil || !strings.HasPrefix(err.Error(), "segment: sample t: ") {
			t.Errorf("a table that is missing: %v", err)
		}
	})
}

// TestPredicatesUseIndexes checks the plans of both databases.
func TestPredicatesUseIndexes(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		types := []string{"n bigint", "s text", "u uuid", "at timestamp"}
		indexed := []string{"n", `s COLLATE "C"`, "u", "at"}
		if db.Dialect == dialect.SQLite {
			indexed[1] = "s"
		}
		exec := func(query string) {
			if _, err := db.ExecContext(testdb.Within(t), query); err != nil {
				t.Fatal(err)
			}
		}
		exec("CREATE TABLE t (" + strings.Join(types, ", ") + ")")
		for i, column := range indexed {
			exec(fmt.Sprintf("CREATE INDEX t_%d ON t (%s)", i, column))
		}
		explain := "EXPLAIN QUERY PLAN "
		if db.Dialect == dialect.Postgres {
			db.SetMaxOpenConns(1) // for the setting
			exec("SET enable_seqscan = off")
			explain = "EXPLAIN "
		}
		at, id := segment.Instant(year1969), segment.ID([16]byte{1})
		for column, segments := range map[string][]segment.Segment{
			"n":  {segment.Below(segment.Int(5)), segment.Between(segment.Int(5), segment.Int(9)).OrNull(), segment.Exactly(segment.Int(5)), segment.Null()},
			"s":  {segment.AtLeast(segment.Text("a")), segment.Prefix("a"), segment.Exactly(segment.Text("a")).OrNull()},
			"u":  {segment.Below(id).OrNull(), segment.Exactly(id)},
			"at": {segment.AtLeast(at), segment.Exactly(at)},
		} {
			if column == "s" && db.Dialect == dialect.SQLite {
				// SQLite does not divide an OR between indexes if a side has a collation.
				segments = slices.DeleteFunc(segments, segment.Segment.HasNull)
			}
			of := fmt.Sprintf("t_%d", slices.IndexFunc(types, func(s string) bool { return strings.HasPrefix(s, column+" ") }))
			for _, s := range segments {
				where, args, err := s.SQL(string(db.Dialect), column, 1)
				if err != nil {
					t.Fatal(err)
				}
				steps := strings.Join(selectTexts(t, db, explain+"SELECT n FROM t WHERE "+where, args...), "\n")
				if !strings.Contains(steps, of) || !strings.Contains(steps, "Index Cond") && !strings.Contains(steps, "SEARCH t USING") {
					t.Errorf("%s does not use the index:\n%s", where, steps)
				}
			}
		}
	})
}
