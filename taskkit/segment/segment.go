package segment

// Segment is one part of a plan: the rows whose value of the column is in an interval,
// has a prefix, or equals a value, and optionally the rows with NULL; or the rows that meet
// the condition of a [Predicate]. Segments can be compared with ==. The zero Segment is not a
// segment.
type Segment struct {
	form form
	// from and to are the ends of an interval, which includes from; a zero Value is an
	// open end. A prefix and an exact value are in from.
	from, to Value
	null     bool   // rows with NULL too
	rule     Rule   // of texts
	filter   filter // of a predicate, which has none of the others
}

// form is the kind of rows of a segment, besides NULL.
type form string

const (
	interval form = "interval"
	prefix   form = "prefix"
	exact    form = "exact"
	nullOnly form = "null"

	predicate form = "predicate"
)

// Below returns the segment of all values less than v.
func Below(v Value) Segment { return Segment{form: interval, to: v} }

// Between returns the segment of the values from the first, which is included, to the
// second, which is not.
func Between(from, to Value) Segment { return Segment{form: interval, from: from, to: to} }

// AtLeast returns the segment of v and all greater values.
func AtLeast(v Value) Segment { return Segment{form: interval, from: v} }

// Prefix returns the segment of all texts that begin with s, which must not be empty.
func Prefix(s string) Segment { return Segment{form: prefix, from: Text(s)} }

// Exactly returns the segment of the rows with this value.
func Exactly(v Value) Segment { return Segment{form: exact, from: v} }

// Null returns the segment of the rows with NULL and no others.
func Null() Segment { return Segment{form: nullOnly, null: true} }

// All returns the segment of all rows, those with NULL too.
func All() Segment { return Segment{form: interval, null: true} }

// OrNull returns the segment with the rows that have NULL in addition. A [Predicate] has it in
// its condition.
func (s Segment) OrNull() Segment {
	s.null = true
	return s
}

// IsZero reports whether s is the zero Segment.
func (s Segment) IsZero() bool { return s == Segment{} }

// HasNull reports whether the rows with NULL are in the segment. It is false for a [Predicate].
func (s Segment) HasNull() bool { return s.null }

// String describes the rows of the segment for people.
func (s Segment) String() string {
	text := s.values()
	switch {
	case s.form == nullOnly || !s.null:
	case text == "all values":
		text += " and NULL"
	default:
		text += " or NULL"
	}
	if s.rule != "" {
		text += ", matching " + string(s.rule)
	}
	return text
}

func (s Segment) values() string {
	switch s.form {
	case interval:
	case prefix:
		return "beginning with " + s.from.String()
	case exact:
		return "equal to " + s.from.String()
	case nullOnly:
		return "NULL"
	case predicate:
		return s.filter.String()
	default:
		return "none"
	}
	switch (Value{}) {
	case s.from:
		if s.to == (Value{}) {
			return "all values"
		}
		return "below " + s.to.String()
	case s.to:
		return s.from.String() + " and above"
	}
	return "from " + s.from.String() + " to below " + s.to.String()
}

// valueType returns the type of the segment's values, and "" without any.
func (s Segment) valueType() Type {
	if s.from.typ != "" {
		return s.from.typ
	}
	return s.to.typ
}

// problem describes what is wrong with the segment itself, and is empty if it is valid.
func (s Segment) problem() string {
	for _, v := range []Value{s.from, s.to} {
		if v.problem != "" {
			return v.problem
		}
	}
	if p := s.rule.problem(); p != "" {
		return p
	}
	if s.rule != "" && s.valueType() != TypeText {
		return "the rule " + string(s.rule) + " is for texts"
	}
	if s.matching(s.rule) != s {
		return "its text is not as the rule " + string(s.rule) + " writes it"
	}
	switch s.form {
	case interval:
		if s.from.typ == "" || s.to.typ == "" {
			return ""
		}
		if s.from.typ != s.to.typ {
			return "it begins with a " + string(s.from.typ) + " and ends with a " + string(s.to.typ)
		}
		if compare(s.from, s.to) >= 0 {
			return "it is empty: its end " + s.to.String() + " must be greater than its begin " + s.from.String()
		}
	case prefix:
		if s.from.typ != TypeText || s.from.text == "" {
			return "a prefix must be a text of at least one character"
		}
	case exact:
		if s.from.typ == "" {
			return "an exact value is missing"
		}
	case nullOnly:
		if !s.null || s.valueType() != "" {
			return "a segment of NULL has no values"
		}
	case predicate:
		if s.null {
			return "a predicate has no column for OrNull: write IS NULL in its condition"
		}
		return s.filter.problem
	default:
		return "it is the zero Segment"
	}
	return ""
}
