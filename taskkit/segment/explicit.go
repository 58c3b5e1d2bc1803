package segment

import (
	"fmt"
	"slices"
)

// Explicit lists its segments, in any order. Rows with NULL are in the segment that is
// open below, unless one of the segments has them: see [Null] and [Segment.OrNull].
type Explicit struct {
	Segments []Segment `json:"segments"`
	// Partial states that rows outside of all segments are not meant.
	Partial bool `json:"partial,omitempty"`
}

// Plan returns the plan of the listed segments, or a [ParameterError]. Whether they
// overlap or leave a gap is found by [Plan.Verify].
func (e Explicit) Plan() (*Plan, error) {
	const typ = "Explicit"
	if len(e.Segments) == 0 {
		return nil, refuse(typ, "Segments", "it is empty: give at least one segment")
	}
	if len(e.Segments) > MaxSegments {
		return nil, refuse(typ, "Segments", "there are %d: %d are the most", len(e.Segments), MaxSegments)
	}
	segments := slices.Clone(e.Segments)
	var of Type
	hasNull := false
	for i, s := range segments {
		field := fmt.Sprintf("Segments[%d]", i)
		if p := s.problem(); p != "" {
			return nil, refuse(typ, field, "%s", p)
		}
		switch t := s.valueType(); {
		case t == "":
		case of == "":
			of = t
		case t != of:
			return nil, refuse(typ, field, "it has a %s, but the segments before have a %s: all values of a plan have one type", t, of)
		}
		hasNull = hasNull || s.null
	}
	if !hasNull && !e.Partial {
		open := func(s Segment) bool { return s.form == interval && s.from == Value{} }
		if i := slices.IndexFunc(segments, open); i >= 0 {
			segments[i] = segments[i].OrNull()
		}
	}
	return &Plan{
		count: len(segments), partial: e.Partial, at: func(i int) Segment { return segments[i] },
		order: func() []int { return byBegin(segments) },
	}, nil
}

// byBegin returns the numbers of segments in the order of their begin.
func byBegin(segments []Segment) []int {
	order := make([]int, len(segments))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return comparePoints(segments[a].begin(), segments[b].begin())
	})
	return order
}
