package segment

// A point is a place between values: just before or just after one, or an open end.
type point struct {
	at    Value
	after bool // just after the value
	open  int  // -1 is below all values, 1 is above all
}

func comparePoints(a, b point) int {
	if a.open != 0 || b.open != 0 {
		return a.open - b.open
	}
	if c := compare(a.at, b.at); c != 0 || a.after == b.after {
		return c
	}
	if a.after {
		return 1
	}
	return -1
}

// begin returns the lower end of the values of the segment.
func (s Segment) begin() point {
	if s.from == (Value{}) {
		return point{open: -1}
	}
	return point{at: s.from}
}

// end returns the upper end of the values of the segment.
func (s Segment) end() point {
	switch s.form {
	case exact:
		return point{at: s.from, after: true}
	case prefix:
		if next, ok := afterPrefix(s.from.text); ok {
			return point{at: Text(next)}
		}
		return point{open: 1}
	case interval, nullOnly, predicate:
	}
	if s.to == (Value{}) {
		return point{open: 1}
	}
	return point{at: s.to}
}

// Verify proves that every row is in exactly one segment of the plan, and that the
// database of the dialect, "postgres" or "sqlite3", can represent all predicates. It
// reads every segment once, about 1 µs each, so call it once, before the plan is used.
//
// It returns a [CoverageError] with the first gap or overlap. A partial plan may have
// gaps. It returns an [UnsupportedError] for a predicate that the database cannot represent.
//
// The plan of [Predicates] has been proved by Prove, in the database in which it counted:
// Verify refuses it for the other one.
func (p *Plan) Verify(dialect string) error {
	if p.count == 0 {
		return refuse("Plan", "", "it has no segments")
	}
	v := verifier{end: point{open: -1}, last: -1, null: -1, partial: p.partial}
	if p.counted != "" && p.counted != dialect {
		return &UnsupportedError{dialect, p.at(0), "its rows were counted on " + p.counted + ": call Prove with the database that is used"}
	}
	number := func(i int) int { return i }
	if p.order != nil {
		order := p.order()
		number = func(i int) int { return order[i] }
	}
	for i := range p.count {
		s := p.at(number(i))
		if err := s.supported(dialect); err != nil {
			return err
		}
		if p.counted != "" {
			continue
		}
		if err := v.add(number(i), s); err != nil {
			return err
		}
	}
	if p.counted != "" {
		return nil
	}
	return v.finish()
}

// A verifier takes segments in the order of their begin.
type verifier struct {
	partial bool
	end     point // how far all values are covered
	last    int   // the number of the segment that covers them so far; -1 before the first
	null    int   // the number of the segment with NULL; -1 before it
}

func (v *verifier) add(number int, s Segment) error {
	if s.null {
		if v.null >= 0 {
			return &CoverageError{Overlap: true, Null: true, Segments: []int{v.null, number}}
		}
		v.null = number
	}
	if s.form == nullOnly {
		return nil
	}
	begin, end := s.begin(), s.end()
	switch c := comparePoints(v.end, begin); {
	case v.last >= 0 && c > 0:
		if comparePoints(end, v.end) > 0 {
			end = v.end
		}
		return coverage(true, begin, end, v.last, number)
	case c < 0 && !v.partial:
		return coverage(false, v.end, begin, v.last, number)
	}
	v.end, v.last = end, number
	return nil
}

func (v *verifier) finish() error {
	if v.partial {
		return nil
	}
	if above := (point{open: 1}); v.end != above {
		return coverage(false, v.end, above, v.last)
	}
	if v.null < 0 {
		return &CoverageError{Null: true}
	}
	return nil
}

// coverage returns the error for the values between two points.
func coverage(overlap bool, from, to point, segments ...int) error {
	e := &CoverageError{
		Overlap: overlap, From: from.at, FromExcluded: from.after, To: to.at, ToIncluded: to.after,
	}
	for _, n := range segments {
		if n >= 0 {
			e.Segments = append(e.Segments, n)
		}
	}
	return e
}
