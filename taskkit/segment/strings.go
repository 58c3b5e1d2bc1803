package segment

import (
	"fmt"
	"unicode/utf8"
)

// Method is how the boundaries of [Strings] divide.
type Method string

// The methods.
const (
	Intervals Method = "interval" // from one boundary to the next; covers everything
	Prefixes  Method = "prefix"   // what begins with a boundary
	Exact     Method = "exact"    // what equals a boundary
)

// Strings divides by a text. The boundaries are all combinations of a character of each
// position: {"qx", "0123456789"} makes q0, q1, ... q9, x0, ... x9.
//
// With [Intervals], n boundaries make n+1 segments: the first has all texts below the first
// boundary, the empty text and NULL. Text is compared as bytes: Z is below a, and ä is
// above z.
type Strings struct {
	// Characters has the characters of each position, in the order of their bytes and
	// without repetition. [Range] helps.
	Characters []string `json:"characters"`
	// Depth repeats all positions so many times. 0 is 1.
	Depth int `json:"depth,omitempty"`
	// Method is Intervals if empty.
	Method Method `json:"method,omitempty"`
	// Partial states that NULL, and texts that match none of the boundaries, are not meant.
	// [Prefixes] and [Exact] require it, [Intervals] excludes it.
	Partial bool `json:"partial,omitempty"`
	// Matching is the rule by which text is compared, as bytes if it is empty. The characters
	// are in the order of what the rule makes of them, none is white space, and a letter is
	// not there in both cases.
	Matching Rule `json:"matching,omitempty"`
}

// Range returns the characters from the first to the last one.
func Range(first, last rune) string {
	var out []rune
	for r := first; r <= last; r++ {
		if utf8.ValidRune(r) {
			out = append(out, r)
		}
	}
	return string(out)
}

// Plan computes the segments, or returns a [ParameterError].
func (s Strings) Plan() (*Plan, error) {
	const typ = "Strings"
	positions, err := s.positions()
	if err != nil {
		return nil, err
	}
	method := s.Method
	if method == "" {
		method = Intervals
	}
	switch method {
	case Intervals:
		if s.Partial {
			return nil, refuse(typ, "Partial", "intervals cover everything: leave it out")
		}
	case Prefixes, Exact:
		if !s.Partial {
			return nil, refuse(typ, "Partial", "the method %q leaves out every other text and NULL: set Partial to state that they are not meant, or use intervals", method)
		}
	default:
		return nil, refuse(typ, "Method", "%q is unknown: it must be interval, prefix or exact", method)
	}
	depth := max(s.Depth, 1)
	// Each step at least keeps the product, so it cannot overflow before it is refused.
	// Positions of one character do not raise it, so their number is bounded too.
	if len(positions) > maxPositions/depth {
		return nil, refuse(typ, "Depth", "it makes boundaries of %d times %d characters: %d are the most", depth, len(positions), maxPositions)
	}
	most := MaxSegments
	if method == Intervals {
		most--
	}
	count := 1
	for range depth {
		for _, characters := range positions {
			if count *= len(characters); count > most {
				return nil, refuse(typ, "", "Characters and Depth make more than %d segments", MaxSegments)
			}
		}
	}
	boundary := func(i int) string {
		places := make([]rune, depth*len(positions))
		for at := len(places) - 1; at >= 0; at-- {
			characters := positions[at%len(positions)]
			places[at] = characters[i%len(characters)]
			i /= len(characters)
		}
		return string(places)
	}
	switch method {
	case Intervals:
		return boundaries(count, func(i int) Value { return Text(boundary(i)) }).matching(s.Matching), nil
	case Prefixes:
		return (&Plan{count: count, partial: true, at: func(i int) Segment { return Prefix(boundary(i)) }}).matching(s.Matching), nil
	case Exact:
	}
	return (&Plan{count: count, partial: true, at: func(i int) Segment { return Exactly(Text(boundary(i))) }}).matching(s.Matching), nil
}

// maxPositions is the largest number of characters of a boundary.
const maxPositions = 1000

// positions returns the characters of each position, and refuses characters that would
// make empty or overlapping segments.
func (s Strings) positions() ([][]rune, error) {
	const typ = "Strings"
	if len(s.Characters) == 0 {
		return nil, refuse(typ, "Characters", "it is empty: give the characters of at least one position")
	}
	if s.Depth < 0 {
		return nil, refuse(typ, "Depth", "it is %d and must be at least 1", s.Depth)
	}
	if p := s.Matching.problem(); p != "" {
		return nil, refuse(typ, "Matching", "%s", p)
	}
	with := ""
	if s.Matching != "" {
		with = " with the rule " + string(s.Matching)
	}
	positions := make([][]rune, len(s.Characters))
	for i, characters := range s.Characters {
		field := fmt.Sprintf("Characters[%d]", i)
		if p := textProblem(characters); p != "" {
			return nil, refuse(typ, field, "%s", p)
		}
		if characters == "" {
			return nil, refuse(typ, field, "it is empty: give at least one character")
		}
		for _, r := range characters {
			if s.Matching == Norm && isSpace(r) {
				return nil, refuse(typ, field, "the rule norm removes the character %q: leave it out", r)
			}
		}
		positions[i] = []rune(s.Matching.apply(characters))
		for at := 1; at < len(positions[i]); at++ {
			switch before, r := positions[i][at-1], positions[i][at]; {
			case r == before:
				return nil, refuse(typ, field, "the character %q is there twice%s", r, with)
			case r < before:
				return nil, refuse(typ, field, "the character %q comes after %q, which is greater as bytes%s: sort them", r, before, with)
			}
		}
	}
	return positions, nil
}
