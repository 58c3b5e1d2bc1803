package store

import "iter"

// Sampling chooses which targets of a set come first, or are all of it. The zero value is the
// whole set in its order.
type Sampling struct {
	// Every is the interval: the sample has the first target and each so many after it.
	// Duplicates do not count. 0: there is no sample.
	Every int
	// First is how many targets of the sample come first, before all others in their
	// order. 0: the sample is all of the set. Every times First is at most MaxSampled.
	First int
}

// MaxSampled bounds the targets among which those are that come first, since the others
// of them are in memory.
const MaxSampled = 100_000

// sampleEffect is what becomes of a target.
type sampleEffect int

// The effects of a sampling.
const (
	sampled sampleEffect = iota // it is of the sample, or there is none
	omitted                     // it is not
	behind                      // it comes after targets of the sample that are still to come
	after                       // all targets of the sample that come first have come
)

// sampler applies a sample to a set.
type sampler struct {
	Sampling

	later []byte // targets that come behind
	ends  []int  // where each of them ends
}

// of returns what becomes of the target with a number, from 0.
func (s *sampler) of(n int) sampleEffect {
	switch {
	case s.Every == 0:
		return sampled
	case s.First > 0 && n/s.Every >= s.First:
		return after
	case n%s.Every == 0:
		return sampled
	case s.First == 0:
		return omitted
	case n/s.Every == s.First-1:
		return after
	default:
		return behind
	}
}

// postpone keeps a copy of a target that comes behind.
func (s *sampler) postpone(key []byte) {
	s.later = append(s.later, key...)
	s.ends = append(s.ends, len(s.later))
}

// release returns the targets that come behind, and forgets them.
func (s *sampler) release() iter.Seq[[]byte] {
	later, ends := s.later, s.ends
	s.later, s.ends = nil, nil
	return func(yield func([]byte) bool) {
		from := 0
		for _, to := range ends {
			if !yield(later[from:to]) {
				return
			}
			from = to
		}
	}
}
