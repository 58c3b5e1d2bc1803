package segment

import (
	"fmt"
	"strings"
)

// ParameterError reports an invalid division or segment.
type ParameterError struct {
	Type    string // Numeric, Strings, UUID, Time, Explicit, Even, Predicates, Segment or Plan
	Field   string // such as Characters[1]; empty for several fields together
	Problem string // and what to do
}

func (e *ParameterError) Error() string {
	where := e.Type
	if e.Field != "" {
		where += "." + e.Field
	}
	return "segment: " + where + ": " + e.Problem
}

func refuse(typ, field, format string, args ...any) error {
	return &ParameterError{Type: typ, Field: field, Problem: fmt.Sprintf(format, args...)}
}

// UnsupportedError reports a segment whose predicate a database cannot represent.
type UnsupportedError struct {
	Dialect string
	Segment Segment
	Problem string // and what to do
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("segment: the segment %s on %s: %s", e.Segment, e.Dialect, e.Problem)
}

// CoverageError reports values that are in no segment or in two segments of a plan, or, of
// [Predicates], rows.
type CoverageError struct {
	// Overlap: the values are in two segments. If false, they are in none.
	Overlap bool
	// Null: the error concerns NULL, and From and To are not set.
	Null bool
	// From and To are the values; a zero Value is an open end. From is included unless
	// FromExcluded, and To is excluded unless ToIncluded.
	From, To                 Value
	FromExcluded, ToIncluded bool
	// Segments are the numbers, for [Plan.At], of the two segments that overlap or that
	// are beside the gap.
	Segments []int
	// Unmatched and Repeated are how many rows meet none and several of the conditions of
	// Predicates. Of the fields above, Overlap alone is set then.
	Unmatched, Repeated int64
	// Combinations are the predicates that meet in a row, by the number of rows: the first ten.
	Combinations []Combination
}

// Combination is predicates whose conditions the same rows meet.
type Combination struct {
	Names []string
	Rows  int64
}

func (e *CoverageError) Error() string {
	if e.Unmatched > 0 || e.Repeated > 0 {
		return e.counts()
	}
	var b strings.Builder
	b.WriteString("segment: ")
	if e.Null {
		b.WriteString("NULL")
	} else {
		b.WriteString(e.values())
	}
	if e.Overlap {
		fmt.Fprintf(&b, " in segment %d and in segment %d: let one of them end where the other begins", e.Segments[0], e.Segments[1])
		return b.String()
	}
	b.WriteString(" in no segment")
	switch len(e.Segments) {
	case 1:
		fmt.Fprintf(&b, ", beside segment %d", e.Segments[0])
	case 2:
		fmt.Fprintf(&b, ", between segments %d and %d", e.Segments[0], e.Segments[1])
	}
	b.WriteString(": add a segment, or state with Partial that the rows outside of all segments are not meant")
	return b.String()
}

// counts is the text of an error of [Predicates].
func (e *CoverageError) counts() string {
	var parts []string
	if e.Unmatched > 0 {
		parts = append(parts, fmt.Sprintf("rows that meet none of the conditions: %d. Add a predicate, name a segment for them with Rest, or state with Partial that they are not meant", e.Unmatched))
	}
	if e.Repeated > 0 {
		list := make([]string, len(e.Combinations))
		for i, c := range e.Combinations {
			list[i] = fmt.Sprintf("%s: %d", strings.Join(c.Names, " and "), c.Rows)
		}
		parts = append(parts, fmt.Sprintf("rows that meet several conditions: %d (%s). Let one of them exclude the other", e.Repeated, strings.Join(list, ", ")))
	}
	return "segment: " + strings.Join(parts, "; ")
}

func (e *CoverageError) values() string {
	from, below, to := "values from ", " to below ", "values below "
	if e.FromExcluded {
		from = "values above "
	}
	if e.ToIncluded {
		below, to = " to ", "values up to "
	}
	switch {
	case e.From == Value{} && e.To == Value{}:
		return "all values"
	case e.From == Value{}:
		return to + e.To.String()
	case e.To == Value{} && e.FromExcluded:
		return from + e.From.String()
	case e.To == Value{}:
		return "values of " + e.From.String() + " and above"
	case e.From == e.To:
		return "the value " + e.From.String()
	}
	return from + e.From.String() + below + e.To.String()
}
