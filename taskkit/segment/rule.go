package segment

import (
	"fmt"
	"strings"

	"entgo.io/ent/dialect"
)

// Rule is how [Strings], [Explicit] and [Even] match text. The column and the boundaries go
// through the same function, and the results are compared as bytes. So every value is in
// exactly one segment, and values that the rule makes equal are in the same one. The zero
// Rule changes nothing.
//
// The rules are those that PostgreSQL, SQLite and Go compute alike. They do not fold other
// letters than A to Z, nor accents and Unicode normal forms, for that depends on the database,
// its version and its settings: keep a column with the normalised text for these. SQLite
// must not replace its function lower by the one of its ICU extension.
//
// An index serves a rule only if it is an index on the expression that [Segment.SQL] writes:
// CREATE INDEX ON t (lower(c COLLATE "C") COLLATE "C") on PostgreSQL for [Lower], and
// CREATE INDEX i ON t (lower(c)) on SQLite.
type Rule string

// The rules.
const (
	// Lower makes the letters A to Z equal to a to z.
	Lower Rule = "lower"
	// Norm is Lower without white space at the ends, and with one space for each white space
	// between words. White space is space, tab, line feed, vertical tab, form feed and carriage
	// return.
	Norm Rule = "norm"
)

// problem describes what is wrong with the rule, and is empty for a valid one.
func (r Rule) problem() string {
	switch r {
	case "", Lower, Norm:
		return ""
	}
	return fmt.Sprintf("the rule %q is unknown: it must be lower or norm. PostgreSQL, SQLite and Go do not compute others alike: divide by a column with the normalised text", string(r))
}

// apply is the function of the rule.
func (r Rule) apply(text string) string {
	if r == Norm {
		text = strings.Join(strings.FieldsFunc(text, isSpace), " ")
	}
	if r == "" {
		return text
	}
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}, text)
}

// isSpace reports whether c is white space for [Norm].
func isSpace(c rune) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// prefix returns the prefix of the results whose values begin with a text. White space at its
// end is followed by a word.
func (r Rule) prefix(text string) string { return strings.TrimSuffix(r.apply(text+"x"), "x") }

// sql returns the function of the rule in SQL.
func (r Rule) sql(database, column string) string {
	char := "char"
	if database == dialect.Postgres {
		// With the collation "C" lower changes no letters but A to Z.
		char = "chr"
		column += bytewise(database)
	}
	if r == Norm {
		for c := '\t'; c <= '\r'; c++ {
			column = fmt.Sprintf("replace(%s, %s(%d), ' ')", column, char, c)
		}
		// There is no tab and no line feed left. A pair of them is put for each space, what is
		// within a run of pairs is removed, and the remaining pair becomes the space.
		pair, within := fmt.Sprintf("%[1]s(9) || %[1]s(10)", char), fmt.Sprintf("%[1]s(10) || %[1]s(9)", char)
		column = fmt.Sprintf("trim(replace(replace(replace(%s, ' ', %s), %s, ''), %s, ' '))", column, pair, within, pair)
	}
	return "lower(" + column + ")"
}

// matching returns the segment with its texts as a rule writes them. Without texts it has no rule.
func (s Segment) matching(r Rule) Segment {
	if r == "" || s.valueType() != TypeText {
		return s
	}
	s.rule = r
	if s.form == prefix {
		s.from = Text(r.prefix(s.from.text))
		return s
	}
	for _, v := range []*Value{&s.from, &s.to} {
		if *v != (Value{}) && v.typ == TypeText {
			*v = Text(r.apply(v.text))
		}
	}
	return s
}
