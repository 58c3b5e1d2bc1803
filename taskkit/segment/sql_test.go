package segment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"taskkit.dev/taskkit/segment"
)

// TestSQL has the text of the predicates for both databases.
func TestSQL(t *testing.T) {
	t.Parallel()
	at := time.Date(1969, 12, 31, 23, 59, 59, 500_000_000, time.FixedZone("", 3600))
	id := [16]byte{0xab, 15: 1}
	for _, c := range []struct {
		segment          segment.Segment
		postgres, sqlite string
	}{
		{segment.Below(segment.Int(5)), "c < $3::bigint [5]", "c < CAST(?3 AS INTEGER) [5]"},
		{segment.AtLeast(segment.Int(-5)).OrNull(), "(c >= $3::bigint OR c IS NULL) [-5]", "(c >= CAST(?3 AS INTEGER) OR c IS NULL) [-5]"},
		{
			segment.Between(segment.Int(1), segment.BigInt(pow2(63, 0))), "(c >= $3::bigint AND c < $4::numeric) [1 9223372036854775808]",
			"segment: the segment from 1 to below 9223372036854775808 on sqlite3: SQLite has integers of 64 bits, and 9223372036854775808 is outside of them: keep the numbers within -2^63 to 2^63-1",
		},
		{segment.Exactly(segment.BigInt(pow2(63, -1))), "c = $3::bigint [9223372036854775807]", "c = CAST(?3 AS INTEGER) [9223372036854775807]"},
		{segment.Between(segment.Text("a"), segment.Text("b")), `(c COLLATE "C" >= $3 AND c COLLATE "C" < $4) [a b]`, "(c COLLATE BINARY >= ?3 AND c COLLATE BINARY < ?4) [a b]"},
		{
			segment.Between(segment.Text("a"), segment.Text("b")).OrNull(), `((c COLLATE "C" >= $3 AND c COLLATE "C" < $4) OR c IS NULL) [a b]`,
			"((c COLLATE BINARY >= ?3 AND c COLLATE BINARY < ?4) OR c IS NULL) [a b]",
		},
		{segment.Prefix("az"), `(c COLLATE "C" >= $3 AND c COLLATE "C" < $4) [az a{]`, "(c COLLATE BINARY >= ?3 AND c COLLATE BINARY < ?4) [az a{]"},
		{segment.Prefix("a\U0010FFFF"), `(c COLLATE "C" >= $3 AND c COLLATE "C" < $4) [a` + "\U0010FFFF b]", "(c COLLATE BINARY >= ?3 AND c COLLATE BINARY < ?4) [a\U0010FFFF b]"},
		{segment.Prefix("\U0010FFFF"), `c COLLATE "C" >= $3 [` + "\U0010FFFF]", "c COLLATE BINARY >= ?3 [\U0010FFFF]"},
		{segment.Prefix("\uD7FF"), `(c COLLATE "C" >= $3 AND c COLLATE "C" < $4) [` + "\uD7FF \uE000]", "(c COLLATE BINARY >= ?3 AND c COLLATE BINARY < ?4) [\uD7FF \uE000]"},
		{segment.Exactly(segment.Text("")), `c COLLATE "C" = $3 []`, "c COLLATE BINARY = ?3 []"},
		{segment.AtLeast(segment.ID(id)), "c >= $3::uuid [ab000000-0000-0000-0000-000000000001]", "c >= ?3 [ab000000-0000-0000-0000-000000000001]"},
		{segment.Below(segment.Instant(at)), "c < $3 [1969-12-31 22:59:59.5 +0000 UTC]", "c < ?3 [1969-12-31 22:59:59.5]"},
		{
			segment.Exactly(segment.Instant(at)), "(c >= $3 AND c < $4) [1969-12-31 22:59:59.5 +0000 UTC 1969-12-31 22:59:59.500001 +0000 UTC]",
			"(c >= ?3 AND c < ?4) [1969-12-31 22:59:59.5 1969-12-31 22:59:59.500001]",
		},
		{segment.Null(), "c IS NULL []", "c IS NULL []"},
		{segment.Segment{}, "segment: Segment: it is the zero Segment", "segment: Segment: it is the zero Segment"},
		{segment.Exactly(segment.Text("\xff")), `segment: Segment: the text "\xff" is not valid UTF-8`, `segment: Segment: the text "\xff" is not valid UTF-8`},
		{plan(t, segment.Numeric{Size: pow2(1, 0), Count: 1}).At(0), "1 = 1 []", "1 = 1 []"},
	} {
		for dialect, want := range map[string]string{"postgres": c.postgres, "sqlite3": c.sqlite} {
			text, args, err := c.segment.SQL(dialect, "c", 3)
			got := fmt.Sprint(text, " ", args)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s on %s:\n%s\nwant %s", c.segment, dialect, got, want)
			}
		}
	}
}

func TestSQLRefuses(t *testing.T) {
	t.Parallel()
	s := segment.Below(segment.Int(5))
	var (
		refused     *segment.ParameterError
		unsupported *segment.UnsupportedError
	)
	if _, _, err := s.SQL("mysql", "c", 1); !errors.As(err, &unsupported) ||
		err.Error() != `segment: the segment below 5 on mysql: the dialect is unknown: it must be "postgres" or "sqlite3"` {
		t.Error(err)
	}
	if _, _, err := s.SQL("postgres", " ", 1); !errors.As(err, &refused) || err.Error() != "segment: Segment: its predicate needs a column" {
		t.Error(err)
	}
	if _, _, err := s.SQL("postgres", "c", 0); !errors.As(err, &refused) || err.Error() != "segment: Segment: its first parameter is number 0: it must be at least 1" {
		t.Error(err)
	}
	if err := plan(t, segment.UUID{Depth: 1}).Verify("mysql"); !errors.As(err, &unsupported) {
		t.Error(err)
	}
}

func TestSQLOfExpression(t *testing.T) {
	t.Parallel()
	for column, want := range map[string]string{
		"lower(name)":            `(lower(name)) COLLATE "C" < $1`,
		"p.name":                 `p.name COLLATE "C" < $1`,
		`"group"`:                `"group" COLLATE "C" < $1`,
		"family || ', ' || name": `(family || ', ' || name) COLLATE "C" < $1`,
	} {
		if got, _, err := segment.Below(segment.Text("m")).SQL("postgres", column, 1); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", column, got, err, want)
		}
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	s := segment.Between(segment.Text("a"), segment.Text("b")).OrNull()
	for dialect, want := range map[string]string{
		"postgres": `SELECT * FROM "person" WHERE ("person"."coach" = $1 AND (("person"."group" COLLATE "C" >= $2 AND "person"."group" COLLATE "C" < $3) OR "person"."group" IS NULL)) AND "person"."id" > $4`,
		"sqlite3":  "SELECT * FROM `person` WHERE (`person`.`coach` = ? AND ((`person`.`group` COLLATE BINARY >= ? AND `person`.`group` COLLATE BINARY < ?) OR `person`.`group` IS NULL)) AND `person`.`id` > ?",
	} {
		sel := entsql.Dialect(dialect).Select("*").From(entsql.Table("person"))
		sel.Where(entsql.EQ(sel.C("coach"), "x"))
		s.Where("group")(sel)
		sel.Where(entsql.GT(sel.C("id"), 7))
		query, args := sel.Query()
		if query != want || fmt.Sprint(args) != "[x a b 7]" || sel.Err() != nil {
			t.Errorf("%s %v %v\nwant %s", query, args, sel.Err(), want)
		}
	}
	sel := entsql.Dialect("sqlite3").Select("*").From(entsql.Table("person"))
	segment.Below(segment.BigInt(pow2(64, 0))).Where("id")(sel)
	if err := sel.Err(); err == nil || !strings.Contains(err.Error(), "SQLite has integers of 64 bits") {
		t.Errorf("the query has no error of the segment: %v", err)
	}
}
