package segment

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// SQL returns the predicate of the segment as SQL, and its arguments. It is one operand of
// an AND: it has parentheses where it needs them.
//
// The dialect is "postgres" or "sqlite3", as ent calls them. The column is SQL, such as
// p.last_name, and is not escaped: it must not come from a user. Parameters are numbered
// from first, which is 1 plus the number of arguments before: $1 on PostgreSQL, ?1 on
// SQLite. A [Predicate] has no column, and takes an empty one.
//
// It returns an [UnsupportedError] if the database cannot represent the predicate, and a
// [ParameterError] for an invalid segment.
func (s Segment) SQL(dialect, column string, first int) (text string, args []any, err error) {
	if strings.TrimSpace(column) == "" && s.form != predicate {
		return "", nil, refuse("Segment", "", "its predicate needs a column")
	}
	if first < 1 {
		return "", nil, refuse("Segment", "", "its first parameter is number %d: it must be at least 1", first)
	}
	tokens, err := s.tokens(dialect, bare(column))
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	for _, t := range tokens {
		if t.arg == nil {
			b.WriteString(t.sql)
			continue
		}
		b.WriteString(sigil(dialect) + strconv.Itoa(first+len(args)))
		args = append(args, t.arg)
	}
	return b.String(), args, nil
}

// Where returns the predicate of the segment for a query or a change of ent, given the
// name of the column:
//
//	client.Person.Query().Where(predicate.Person(s.Where(person.FieldLastName)))
//
// An error of [Segment.SQL] becomes the error of the query. ent keeps only its text.
func (s Segment) Where(column string) func(*entsql.Selector) {
	return func(sel *entsql.Selector) {
		tokens, err := s.tokens(sel.Dialect(), sel.C(column))
		if err != nil {
			sel.AddError(err)
			return
		}
		sel.Where(entsql.P(func(b *entsql.Builder) {
			for _, t := range tokens {
				if t.arg == nil {
					b.WriteString(t.sql)
				} else {
					b.Arg(t.arg)
				}
			}
		}))
	}
}

// A token is a piece of a predicate: SQL, or an argument.
type token struct {
	sql string
	arg any
}

// supported returns an error if the segment is invalid, or if the database cannot
// represent its predicate.
func (s Segment) supported(database string) error {
	if p := s.problem(); p != "" {
		return refuse("Segment", "", "%s", p)
	}
	switch database {
	case dialect.Postgres:
	case dialect.SQLite:
		for _, v := range append([]Value{s.from, s.to}, s.filter.values()...) {
			if _, fits := v.int64(); v.typ == TypeNumber && !fits {
				return &UnsupportedError{database, s, "SQLite has integers of 64 bits, and " + brief(v.number()) +
					" is outside of them: keep the numbers within -2^63 to 2^63-1"}
			}
		}
	default:
		return &UnsupportedError{database, s, `the dialect is unknown: it must be "postgres" or "sqlite3"`}
	}
	return nil
}

// tokens returns the predicate of the segment.
func (s Segment) tokens(database, column string) ([]token, error) {
	if err := s.supported(database); err != nil {
		return nil, err
	}
	w := writer{database: database, column: column, text: column}
	if s.rule != "" {
		w.text = s.rule.sql(database, column)
	}
	switch s.form {
	case interval:
		w.between(s.from, s.to)
	case prefix:
		var end Value
		if next, ok := afterPrefix(s.from.text); ok {
			end = Text(next)
		}
		w.between(s.from, end)
	case exact:
		// The text of a time in SQLite may go on after the digits.
		if end := s.from.time().Add(time.Microsecond); s.from.typ == TypeTime {
			if timeProblem(end) != "" {
				w.between(s.from, Value{})
			} else {
				w.between(s.from, Instant(end))
			}
		} else {
			w.compare("=", s.from)
		}
	case predicate:
		if s.filter.stored {
			return nil, refuse("Segment", "", "the predicate %q was read from JSON: Predicates.Find returns it with the condition of the code", s.filter.name)
		}
		w.condition(s.filter)
	case nullOnly:
	}
	isNull := token{sql: column + " IS NULL"}
	switch {
	case s.form == nullOnly:
		return []token{isNull}, nil
	case len(w.tokens) == 0 && s.null:
		return []token{{sql: "1 = 1"}}, nil
	case len(w.tokens) == 0:
		return []token{{sql: column + " IS NOT NULL"}}, nil
	case s.null:
		out := append([]token{{sql: "("}}, w.tokens...)
		return append(out, token{sql: " OR "}, isNull, token{sql: ")"}), nil
	}
	return w.tokens, nil
}

// A writer writes comparisons of a column with values.
type writer struct {
	database, column string
	text             string // what is compared with a text
	tokens           []token
}

// condition writes the condition of a predicate with its arguments.
func (w *writer) condition(f filter) {
	args := f.values()
	pieces, _ := parseCondition(f.condition, len(args)) // it is valid
	w.sql("(")
	for _, p := range pieces {
		if p.arg == 0 {
			w.sql(p.sql)
		} else {
			w.value(args[p.arg-1])
		}
	}
	w.sql(")")
}

func (w *writer) between(from, to Value) {
	both := from != Value{} && to != Value{}
	if both {
		w.sql("(")
	}
	if from != (Value{}) {
		w.compare(">=", from)
	}
	if both {
		w.sql(" AND ")
	}
	if to != (Value{}) {
		w.compare("<", to)
	}
	if both {
		w.sql(")")
	}
}

func (w *writer) sql(text string) { w.tokens = append(w.tokens, token{sql: text}) }

// compare writes a comparison such that both databases have the order of [compare].
func (w *writer) compare(op string, v Value) {
	left := w.column
	if v.typ == TypeText {
		left = w.text + bytewise(w.database)
	}
	w.sql(left + " " + op + " ")
	w.value(v)
}

// value writes a value.
func (w *writer) value(v Value) {
	onPostgres := w.database == dialect.Postgres
	before, after := "", ""
	var arg any = v.text
	switch v.typ {
	case TypeNumber:
		// A cast to the smallest type that fits keeps an index on a column of another
		// integer type. On SQLite it converts a column with numbers as text.
		n, fits := v.int64()
		if fits {
			arg = n
		}
		switch {
		case !onPostgres:
			before, after = "CAST(", " AS INTEGER)"
		case fits:
			after = "::bigint"
		default:
			after = "::numeric"
		}
	case TypeText:
	case TypeUUID:
		if onPostgres {
			after = "::uuid"
		}
	case TypeTime:
		arg = v.time()
		if !onPostgres {
			arg = v.time().Format(sqliteLayout)
		}
	}
	if before != "" {
		w.sql(before)
	}
	w.tokens = append(w.tokens, token{arg: arg})
	if after != "" {
		w.sql(after)
	}
}

// bytewise is the collation that compares text as bytes.
func bytewise(database string) string {
	if database == dialect.Postgres {
		return ` COLLATE "C"`
	}
	return " COLLATE BINARY"
}

func sigil(database string) string {
	if database == dialect.Postgres {
		return "$"
	}
	return "?"
}

// bare returns an expression in parentheses, and a column unchanged.
func bare(column string) string {
	for _, r := range column {
		if r == ' ' || r == '(' || strings.ContainsRune("+-*/|:<>=,", r) {
			return "(" + column + ")"
		}
	}
	return column
}

// brief is a number for a text.
func brief(n *big.Int) string {
	s := n.String()
	if len(s) > 40 {
		return s[:20] + "... (" + strconv.Itoa(len(s)) + " digits)"
	}
	return s
}
