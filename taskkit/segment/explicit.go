package segment

import (
	"fmt"
	"slices"
)

// Explicit lists its segments, in any order. Rows with NULL are in the segment that is
// open below, unless one of the segments has them: see [Null] and [Segment.OrNull].
type Explicit struct {
	Segments []Segment `json:"segments"`
	// Matching is the rule by which text is compared, as bytes if it is empty. The texts of
	// the segments need not be as the rule writes them.
	Matching Rule `json:"matching,omitempty"`
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
	if p := e.Matching.problem(); p != "" {
		return nil, refuse(typ, "Matching", "%s", p)
	}
	segments := slices.Clone(e.Segments)
	var (
		first   Segment // with a value
		hasNull bool
	)
	seen := map[Segment]int{}
	for i, given := range e.Segments {
		field := fmt.Sprintf("Segments[%d]", i)
		s := given.matching(e.Matching)
		if p := s.problem(); p != "" {
			if given != s {
				p = fmt.Sprintf("with the rule %s %s", e.Matching, p)
			}
			return nil, refuse(typ, field, "%s", p)
		}
		switch t, of := s.valueType(), first.valueType(); {
		case s.form == predicate:
			return nil, refuse(typ, field, "the predicate %q can only be proved by counting: use Predicates", s.filter.name)
		case t == "":
		case given.rule != "" && given.rule != s.rule || of != "" && s.rule != first.rule:
			return nil, refuse(typ, field, "it has another rule: all segments of a plan have one")
		case e.Matching != "" && t != TypeText:
			return nil, refuse(typ, "Matching", "the rule %s is for texts, and segment %d has a %s", e.Matching, i, t)
		case of == "":
			first = s
		case t != of:
			return nil, refuse(typ, field, "it has a %s, but the segments before have a %s: all values of a plan have one type", t, of)
		}
		if before, twice := seen[s]; twice && e.Segments[before] != given {
			return nil, refuse(typ, field, "with the rule %s it is the same as segment %d: remove one of them", e.Matching, before)
		}
		if e.Matching != "" {
			seen[s] = i
		}
		segments[i] = s
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
