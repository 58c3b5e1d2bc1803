package segment

import (
	"fmt"
	"iter"
)

// MaxSegments is the largest number of segments of a plan.
const MaxSegments = 1_000_000

// Plan is the segments of a division. It computes each segment when it is read. The method
// Plan of a division returns it, or Prove of [Predicates]. A plan does not change, and is safe for concurrent use. The
// zero Plan has no segments.
type Plan struct {
	count   int
	at      func(i int) Segment
	partial bool
	// order returns the numbers of the segments by their begin; nil if they are in order.
	order func() []int
	// counted is the dialect of the database in which Predicates.Prove has counted the rows.
	counted string
}

// Len returns the number of segments.
func (p *Plan) Len() int { return p.count }

// At returns segment i, which must be at least 0 and less than Len.
func (p *Plan) At(i int) Segment {
	if i < 0 || i >= p.count {
		panic(fmt.Sprintf("segment: the plan has %d segments and none of number %d", p.count, i))
	}
	return p.at(i)
}

// All returns all segments with their numbers from 0.
func (p *Plan) All() iter.Seq2[int, Segment] {
	return func(yield func(int, Segment) bool) {
		for i := range p.count {
			if !yield(i, p.at(i)) {
				return
			}
		}
	}
}

// Partial reports whether rows outside of all segments are not meant.
func (p *Plan) Partial() bool { return p.partial }

// matching returns the plan with a rule for its texts.
func (p *Plan) matching(r Rule) *Plan {
	if at := p.at; r != "" {
		p.at = func(i int) Segment { return at(i).matching(r) }
	}
	return p
}

// boundaries returns the plan of the intervals between boundaries: the first is open
// below and has NULL, the last is open above. There is one more interval than
// boundaries.
func boundaries(count int, at func(i int) Value) *Plan {
	return &Plan{count: count + 1, at: func(i int) Segment {
		s := Segment{form: interval, null: i == 0}
		if i > 0 {
			s.from = at(i - 1)
		}
		if i < count {
			s.to = at(i)
		}
		return s
	}}
}

// ranges returns the plan of count intervals, where interval i is from at(i) to below
// at(i+1).
func ranges(count int, partial bool, at func(i int) Value) *Plan {
	if partial {
		return &Plan{count: count, partial: true, at: func(i int) Segment { return Between(at(i), at(i+1)) }}
	}
	return boundaries(count-1, func(i int) Value { return at(i + 1) })
}
