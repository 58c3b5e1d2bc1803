package segment

import "time"

// Time divides by a time into steps of one length. The last one has the remainder. A step
// is a duration; list months and years, which differ in length, in [Explicit].
//
// From and To are the range of the expected times. Unless Partial is set, the first
// segment also has all earlier times and NULL, and the last one all later times.
type Time struct {
	From time.Time     `json:"from"` // included
	To   time.Time     `json:"to"`   // not included
	Step time.Duration `json:"step"` // a whole number of microseconds
	// Partial states that rows outside of From and To, and those with NULL, are not
	// meant.
	Partial bool `json:"partial,omitempty"`
}

// Plan computes the segments, or returns a [ParameterError].
func (t Time) Plan() (*Plan, error) {
	const typ = "Time"
	for _, end := range []struct {
		field string
		at    time.Time
	}{{"From", t.From}, {"To", t.To}} {
		if p := timeProblem(end.at); p != "" {
			return nil, refuse(typ, end.field, "%s", p)
		}
	}
	if !t.To.After(t.From) {
		return nil, refuse(typ, "To", "it is %s and must be after From, which is %s", Instant(t.To), Instant(t.From))
	}
	if t.Step < time.Microsecond || t.Step%time.Microsecond != 0 {
		return nil, refuse(typ, "Step", "it is %s and must be a whole number of microseconds, and at least one", t.Step)
	}
	from, to, step := t.From.UnixMicro(), t.To.UnixMicro(), t.Step.Microseconds()
	count := (to-from-1)/step + 1
	if count > MaxSegments {
		return nil, refuse(typ, "Step", "it is %s, which makes %d segments: %d are the most", t.Step, count, MaxSegments)
	}
	return ranges(int(count), t.Partial, func(i int) Value {
		if i == int(count) {
			return Instant(t.To)
		}
		return Instant(time.UnixMicro(from + int64(i)*step))
	}), nil
}
