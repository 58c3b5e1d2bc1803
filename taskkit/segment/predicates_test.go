package segment_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/segment"
)

// peopleTable makes a table of people, also with NULL.
func peopleTable(t *testing.T, db *testdb.DB) {
	t.Helper()
	for _, query := range []string{
		"CREATE TABLE person (id integer PRIMARY KEY, role text, age bigint, born timestamp, code uuid)",
		`INSERT INTO person VALUES (0, 'teacher', 40, '1980-01-01 00:00:00', '00000000-0000-0000-0000-000000000001'), (1, 'student', 20, NULL, NULL),
			(2, 'student', 17, '2003-01-01 00:00:00', NULL), (3, 'administrative', NULL, NULL, NULL), (4, NULL, 15, NULL, NULL), (5, NULL, NULL, NULL, NULL)`,
	} {
		if _, err := db.ExecContext(testdb.Within(t), query); err != nil {
			t.Fatal(err)
		}
	}
}

// found returns the ids of each segment, by SQL and by ent, after the segments were stored
// as JSON and read again.
func found(t *testing.T, db *testdb.DB, of segment.Predicates, p *segment.Plan) map[string][]int {
	t.Helper()
	out := map[string][]int{}
	for _, s := range p.All() {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var stored segment.Segment
		if err := json.Unmarshal(raw, &stored); err != nil {
			t.Fatal(err)
		}
		back, err := of.Find(stored)
		if err != nil || back != s {
			t.Fatalf("%s comes back as %s, %v; want %s", raw, back, err, s)
		}
		rows := table{db: db}
		rename := func(query string) string { return strings.NewReplacer(`"t"`, "person", "`t`", "person").Replace(query) }
		text, more, err := back.SQL(string(db.Dialect), "", 2)
		if err != nil {
			t.Fatal(err)
		}
		bySQL := selectInts(t, db.DB, "SELECT id FROM person WHERE id >= $1 AND "+text+" ORDER BY id", append([]any{0}, more...)...)
		sel := entsql.Dialect(string(rows.db.Dialect)).Select("id").From(entsql.Table("t")).OrderBy("id")
		sel.Where(entsql.GTE("id", 0))
		back.Where("")(sel)
		sel.Where(entsql.LT("id", 1000))
		query, args := sel.Query()
		if byEnt := selectInts(t, db.DB, rename(query), args...); !slices.Equal(byEnt, bySQL) {
			t.Errorf("%s has %v by SQL and %v by ent", s, bySQL, byEnt)
		}
		name, _, _ := strings.Cut(back.String(), ":")
		out[name] = bySQL
	}
	return out
}

// TestMID23PredicateContent has midPoint's example of filters: teacher, student,
// administrative, and a fourth for no value.
func TestMID23PredicateContent(t *testing.T) {
	t.Parallel()
	role := func(name string) segment.Segment {
		return segment.Predicate(name, "role = $1", segment.Text(name))
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		peopleTable(t, db)
		day := segment.Instant(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		for name, c := range map[string]struct {
			of   segment.Predicates
			want string
		}{
			"no value as a predicate": {
				segment.Predicates{Segments: []segment.Segment{role("teacher"), role("student"), role("administrative"), segment.Predicate("none", "role IS NULL")}},
				"map[administrative:[3] none:[4 5] student:[1 2] teacher:[0]]",
			},
			"no value in the rest": {
				segment.Predicates{Segments: []segment.Segment{role("teacher"), role("student")}, Rest: "others"},
				"map[others:[3 4 5] student:[1 2] teacher:[0]]",
			},
			"others are not meant": {
				segment.Predicates{Segments: []segment.Segment{role("teacher"), role("student")}, Partial: true},
				"map[student:[1 2] teacher:[0]]",
			},
			"of some rows": {
				segment.Predicates{
					Segments: []segment.Segment{role("student"), role("administrative")},
					Where:    segment.Predicate("not teachers", "role <> $1 AND role <> $2", segment.Text("teacher"), segment.Text("x'; --")),
				},
				"map[administrative:[3] student:[1 2]]",
			},
			"arguments of all types, and one that is used twice": {
				segment.Predicates{Segments: []segment.Segment{
					segment.Predicate("old", "age >= $1 OR born < $2 AND (age > $1 OR age <= $1) OR code = $3", segment.Int(30), day, segment.ID([16]byte{15: 2})),
					segment.Predicate("young", "(age < $1 AND age >= 0) AND (born >= $2 OR born IS NULL)", segment.Int(30), day),
				}, Rest: "unknown"},
				"map[old:[0] unknown:[3 5] young:[1 2 4]]",
			},
			"quoted text": {
				segment.Predicates{Segments: []segment.Segment{
					segment.Predicate("quoted", `"role" IN ('$1', ';)--', 'it''s', 'teacher') OR role = $1`, segment.Text("student")),
				}, Rest: "rest"},
				"map[quoted:[0 1 2] rest:[3 4 5]]",
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.of.Table = "person"
				p, err := c.of.Prove(testdb.Within(t), db.DB)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Verify(string(db.Dialect)); err != nil || p.Partial() != c.of.Partial {
					t.Errorf("partial %t, %v", p.Partial(), err)
				}
				if got := fmt.Sprint(found(t, db, c.of, p)); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		}
	})
}

// TestMID3PredicatesAreCounted has conditions that leave rows out, also those with NULL, and
// conditions that overlap.
func TestMID3PredicatesAreCounted(t *testing.T) {
	t.Parallel()
	minor := segment.Predicate("minor", "age < $1", segment.Int(18))
	adult := segment.Predicate("adult", "age >= $1", segment.Int(18))
	student := segment.Predicate("student", "role = 'student'")
	const (
		none    = "rows that meet none of the conditions: %d. Add a predicate, name a segment for them with Rest, or state with Partial that they are not meant"
		several = "rows that meet several conditions: %d (%s). Let one of them exclude the other"
	)
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		peopleTable(t, db)
		for name, c := range map[string]struct {
			of   segment.Predicates
			want string
		}{
			"NULL meets neither of two conditions": {segment.Predicates{Segments: []segment.Segment{minor, adult}}, fmt.Sprintf(none, 2)},
			"overlap":                              {segment.Predicates{Segments: []segment.Segment{minor, adult, student}, Rest: "rest"}, fmt.Sprintf(several, 2, "adult and student: 1, minor and student: 1")},
			"overlap of partial ones":              {segment.Predicates{Segments: []segment.Segment{adult, student}, Partial: true}, fmt.Sprintf(several, 1, "adult and student: 1")},
			"both":                                 {segment.Predicates{Segments: []segment.Segment{adult, student}}, fmt.Sprintf(none, 3) + "; " + fmt.Sprintf(several, 1, "adult and student: 1")},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.of.Table = "person"
				p, err := c.of.Prove(testdb.Within(t), db.DB)
				var coverage *segment.CoverageError
				if !errors.As(err, &coverage) || err.Error() != "segment: "+c.want || p != nil {
					t.Fatalf("%v\nwant segment: %s", err, c.want)
				}
				if coverage.Overlap != (coverage.Repeated > 0) || len(coverage.Combinations) == 0 == coverage.Overlap {
					t.Errorf("%+v", coverage)
				}
			})
		}
		t.Run("many combinations", func(t *testing.T) {
			t.Parallel()
			var of segment.Predicates
			of.Table = "(SELECT n.id AS a, m.id AS b FROM person AS n, person AS m) AS pairs"
			for i := range 6 {
				of.Segments = append(of.Segments, segment.Predicate(fmt.Sprint("p", i), "a = $1 OR b = $1", segment.Int(int64(i))))
			}
			var coverage *segment.CoverageError
			if _, err := of.Prove(testdb.Within(t), db.DB); !errors.As(err, &coverage) ||
				coverage.Unmatched != 0 || coverage.Repeated != 30 || len(coverage.Combinations) != 10 || coverage.Combinations[0].Rows != 2 {
				t.Errorf("%+v", coverage)
			}
		})
		t.Run("a condition that the database refuses", func(t *testing.T) {
			t.Parallel()
			of := segment.Predicates{Table: "person", Segments: []segment.Segment{segment.Predicate("x", "missing = 1")}, Rest: "rest"}
			if _, err := of.Prove(testdb.Within(t), db.DB); err == nil || !strings.HasPrefix(err.Error(), "segment: count person: ") {
				t.Error(err)
			}
		})
	})
}

// TestMID3CountSeesTransaction counts what the transaction sees, in one statement.
func TestMID3CountSeesTransaction(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		peopleTable(t, db)
		ctx := testdb.Within(t)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		of := segment.Predicates{Table: "person", Segments: []segment.Segment{
			segment.Predicate("few", "id < $1", segment.Int(3)), segment.Predicate("more", "id BETWEEN 3 AND 5"),
		}}
		if _, err := of.Prove(ctx, tx); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO person (id) VALUES (6)"); err != nil {
			t.Fatal(err)
		}
		calls := &counted{tx: tx}
		var coverage *segment.CoverageError
		if _, err := of.Prove(ctx, calls); !errors.As(err, &coverage) || coverage.Unmatched != 1 || calls.n != 2 {
			t.Errorf("%v after %d statements, of which the first finds the dialect", err, calls.n)
		}
	})
}

// counted counts queries.
type counted struct {
	tx *sql.Tx
	n  int
}

func (c *counted) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n++
	return c.tx.QueryContext(ctx, query, args...)
}

// TestMID3CountAgrees makes random conditions over random rows: Prove accepts them exactly if
// each row is in one segment.
func TestMID3CountAgrees(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		ctx := testdb.Within(t)
		r := rand.New(rand.NewPCG(9, 9))
		var insert []string
		for id := range 60 {
			age := "NULL"
			if id%7 > 0 {
				age = fmt.Sprint(r.IntN(20))
			}
			insert = append(insert, fmt.Sprintf("(%d, %s)", id, age))
		}
		for _, query := range []string{"CREATE TABLE person (id integer PRIMARY KEY, age bigint)", "INSERT INTO person VALUES " + strings.Join(insert, ", ")} {
			if _, err := db.ExecContext(ctx, query); err != nil {
				t.Fatal(err)
			}
		}
		outcomes := map[string]int{}
		for range 150 {
			cut, step := segment.Int(r.Int64N(21)), segment.Int(r.Int64N(21))
			conditions := []segment.Segment{
				segment.Predicate("low", []string{"age < $1", "age <= $1", "NOT age >= $1"}[r.IntN(3)], cut),
				segment.Predicate("high", []string{"age >= $1", "NOT (age < $1)", "age > $1"}[r.IntN(3)], []segment.Value{cut, cut, step}[r.IntN(3)]),
			}
			if r.IntN(2) == 0 {
				conditions = append(conditions, segment.Predicate("none", "age IS NULL"))
			}
			of := segment.Predicates{Table: "person", Segments: conditions}
			if r.IntN(3) == 0 {
				of.Rest = "rest"
			}
			times := make([]int, 60)
			for _, s := range conditions {
				where, args, err := s.SQL(string(db.Dialect), "", 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range selectInts(t, db.DB, "SELECT id FROM person WHERE "+where, args...) {
					times[id]++
				}
			}
			var none, several int64
			for _, n := range times {
				if n == 0 && of.Rest == "" {
					none++
				}
				if n > 1 {
					several++
				}
			}
			p, err := of.Prove(ctx, db.DB)
			var coverage *segment.CoverageError
			switch errors.As(err, &coverage) {
			case true:
				outcomes["refused"]++
				if coverage.Unmatched != none || coverage.Repeated != several {
					t.Errorf("%v: %v; %d rows meet none and %d several", conditions, err, none, several)
				}
			case false:
				outcomes["accepted"]++
				if err != nil || none+several > 0 {
					t.Fatalf("%v: %v; %d rows meet none and %d several", conditions, err, none, several)
				}
				all := 0
				for _, ids := range found(t, db, of, p) {
					all += len(ids)
				}
				if all != 60 {
					t.Errorf("%v: the segments have %d rows", conditions, all)
				}
			}
		}
		if outcomes["refused"] < 20 || outcomes["accepted"] < 20 {
			t.Error(outcomes)
		}
	})
}
