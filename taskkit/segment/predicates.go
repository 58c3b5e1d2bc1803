package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/dialect"
)

// MaxPredicates is the largest number of segments of [Predicates], without Rest.
const MaxPredicates = 100

// combinations is how many combinations of predicates a [CoverageError] names.
const combinations = 10

// Predicates divides the rows of a table by conditions. Whether each row meets exactly
// one of them is not seen in the conditions: it is counted, see [Predicates.Prove].
//
// A condition that is NULL is not true. So a row with NULL may meet no condition, not even one
// of a pair such as age < $1 and age >= $1. Add a predicate such as age IS NULL, or set Rest.
type Predicates struct {
	// Table is what stands after FROM: a table, a join, or a query in parentheses with an
	// alias. It is SQL and not escaped: it must not come from a user.
	Table string
	// Where is a [Predicate] of the rows that are counted, as Execute selects them beside its
	// segment. The zero Segment: all rows.
	Where Segment
	// Segments are made by [Predicate]. Their names differ.
	Segments []Segment
	// Rest is the name of one more segment, which has the rows that meet no condition. If it is
	// empty, there must not be such rows, unless Partial is set.
	Rest string
	// Partial states that rows which meet no condition are not meant.
	Partial bool
}

// Prove counts how many rows meet none of the conditions, and how many meet several, and
// returns the plan if there are none. Otherwise it returns a [CoverageError] with both counts and
// the names of the predicates that meet in a row. It returns a [ParameterError] for an invalid
// field, an [UnsupportedError], or an error of the database, for a condition that the
// database does not accept.
//
// The count is one statement that reads the whole table, in the time of a batch. Call Prove in the transaction in
// which the plan is stored, as the method Segments does with b.Tx.
//
// A segment is its condition and not a list of rows. A row that is inserted or changed after the
// count is in the segment whose condition it meets when that is read. With Rest it is in one
// at least; only the conditions can rule out that it is in two.
func (p Predicates) Prove(ctx context.Context, db Querier) (*Plan, error) {
	segments, err := p.all()
	if err != nil {
		return nil, err
	}
	name, err := dialect.Detect(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("segment: count %s: %w", p.Table, err)
	}
	query, args, err := p.count(string(name))
	if err != nil {
		return nil, err
	}
	found, err := p.matches(ctx, db, query, args)
	if err != nil {
		return nil, fmt.Errorf("segment: count %s: %w", p.Table, err)
	}
	if found != nil {
		return nil, found
	}
	return &Plan{
		count: len(segments), partial: p.Partial, at: func(i int) Segment { return segments[i] }, counted: string(name),
	}, nil
}

// Find returns the segment that was read from JSON, such as b.Segment, so that it can be used:
// with the condition of the predicate of its name, and with the arguments that were stored. It
// returns a [ParameterError] if there is no such predicate, or if its condition has been changed
// since the plan was made. [All] is returned as it is.
func (p Predicates) Find(stored Segment) (Segment, error) {
	const typ = "Predicates"
	if stored == All() {
		return stored, nil
	}
	if stored.form != predicate {
		return Segment{}, refuse(typ, "", "the segment %s has no predicate", stored)
	}
	segments, err := p.all()
	if err != nil {
		return Segment{}, err
	}
	for _, s := range segments {
		if s.filter.name != stored.filter.name {
			continue
		}
		if s.filter.condition != stored.filter.condition {
			return Segment{}, refuse(typ, "", "the condition of the predicate %q is %s, and was %s when the segments were made: "+
				"keep conditions while tasks are open, or submit the task again", s.filter.name, s.filter.condition, stored.filter.condition)
		}
		stored.filter.stored = false
		return stored, nil
	}
	return Segment{}, refuse(typ, "", "there is no predicate %q, for which a segment was made: keep predicates while tasks are open, or submit the task again", stored.filter.name)
}

// all returns the segments and the rest, or a [ParameterError].
func (p Predicates) all() ([]Segment, error) {
	const typ = "Predicates"
	if strings.TrimSpace(p.Table) == "" {
		return nil, refuse(typ, "Table", "it is empty: name the table")
	}
	if !p.Where.IsZero() {
		if problem := p.Where.predicateProblem(); problem != "" {
			return nil, refuse(typ, "Where", "%s", problem)
		}
	}
	if n := len(p.Segments); n == 0 || n > MaxPredicates {
		return nil, refuse(typ, "Segments", "there are %d and must be 1 to %d", n, MaxPredicates)
	}
	names := map[string]bool{}
	for i, s := range p.Segments {
		field := fmt.Sprintf("Segments[%d]", i)
		if problem := s.predicateProblem(); problem != "" {
			return nil, refuse(typ, field, "%s", problem)
		}
		if names[s.filter.name] {
			return nil, refuse(typ, field, "the name %q is there twice", s.filter.name)
		}
		names[s.filter.name] = true
	}
	if p.Rest == "" {
		return slices.Clone(p.Segments), nil
	}
	rest := p.rest()
	switch problem := rest.predicateProblem(); {
	case problem != "":
		return nil, refuse(typ, "Rest", "%s", problem)
	case names[p.Rest]:
		return nil, refuse(typ, "Rest", "the name %q is there twice", p.Rest)
	case p.Partial:
		return nil, refuse(typ, "Partial", "the segment %q has all other rows: leave Partial out", p.Rest)
	}
	return append(slices.Clip(p.Segments), rest), nil
}

// predicateProblem describes why the segment cannot be one of a plan of predicates.
func (s Segment) predicateProblem() string {
	switch {
	case s.form != predicate:
		return "the segment " + s.String() + " is not made by Predicate"
	case s.filter.stored:
		return "the predicate " + strconv.Quote(s.filter.name) + " was read from JSON: write its condition in code"
	}
	return s.problem()
}

// rest returns the segment of the rows for which no condition is true.
func (p Predicates) rest() Segment {
	var (
		condition strings.Builder
		args      []Value
	)
	for i, s := range p.Segments {
		if i > 0 {
			condition.WriteString(" AND ")
		}
		values := s.filter.values()
		pieces, _ := parseCondition(s.filter.condition, len(values)) // it is valid
		condition.WriteString("(")
		for _, part := range pieces {
			if condition.WriteString(part.sql); part.arg > 0 {
				condition.WriteString("$" + strconv.Itoa(len(args)+part.arg))
			}
		}
		condition.WriteString(") IS NOT TRUE")
		args = append(args, values...)
	}
	return Predicate(p.Rest, condition.String(), args...)
}

// count returns the statement that counts the rows of each wrong combination of predicates. A
// combination is a text with a 1 for each predicate that the rows meet, and a 0 for the others.
func (p Predicates) count(database string) (query string, args []any, err error) {
	write := func(s Segment) string {
		text, more, failure := s.SQL(database, "", 1+len(args))
		err = errors.Join(err, failure)
		args = append(args, more...)
		return text
	}
	digits := make([]string, len(p.Segments))
	for i, s := range p.Segments {
		digits[i] = "CASE WHEN " + write(s) + " THEN '1' ELSE '0' END"
	}
	where := ""
	if !p.Where.IsZero() {
		where = " WHERE " + write(p.Where)
	}
	wrong := "<> 1"
	if p.Rest != "" || p.Partial {
		wrong = "> 1"
	}
	const ones = "LENGTH(REPLACE(met, '0', ''))"
	return fmt.Sprintf(`SELECT met, COUNT(*), CAST(SUM(COUNT(*)) OVER () AS bigint) FROM (SELECT %[1]s AS met FROM %[2]s%[3]s) AS counted
		GROUP BY met HAVING %[4]s %[5]s ORDER BY %[4]s > 0, COUNT(*) DESC, met LIMIT %[6]d`,
		strings.Join(digits, " || "), p.Table, where, ones, wrong, 1+combinations), args, err
}

// matches runs the count. It returns nil if every row meets one condition.
func (p Predicates) matches(ctx context.Context, db Querier, query string, args []any) (found *CoverageError, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			met    string
			n, sum int64
		)
		if err := rows.Scan(&met, &n, &sum); err != nil {
			return nil, err
		}
		if found == nil {
			found = &CoverageError{Overlap: true, Repeated: sum}
		}
		c := Combination{Rows: n}
		for i, digit := range met {
			if digit == '1' {
				c.Names = append(c.Names, p.Segments[i].filter.name)
			}
		}
		switch {
		case len(c.Names) == 0:
			found.Unmatched, found.Repeated = n, sum-n
			found.Overlap = found.Repeated > 0
		case len(found.Combinations) < combinations:
			found.Combinations = append(found.Combinations, c)
		}
	}
	return found, rows.Err()
}
