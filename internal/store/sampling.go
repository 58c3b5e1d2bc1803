package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

// Sampling chooses which targets of a set come first, or are all of it. The zero value is the
// whole set in its order. Otherwise one of Every, Size and Probability is given. Duplicates do
// not count, and the targets of a sample keep their order.
type Sampling struct {
	// Every is the interval: the sample has the first target and each so many after it.
	Every int
	// Size is how many targets the sample has, MaxSampled at most. Without a Seed they have
	// about equal intervals.
	Size int
	// Probability is the chance of each target, up to 1.
	Probability float64
	// Seed chooses the targets of a random sample by their keys alone, so that it is the same
	// each time. 0: the sample is not random.
	Seed uint64
	// First is how many targets of the sample come first, before all others in their
	// order. 0: the sample is all of the set. Every times First is at most MaxSampled, and
	// Size at most First.
	First int
}

// MaxSampled bounds the size of a sample, and the targets among which those are that come
// first, since the others of them are in memory.
const MaxSampled = 100_000

// candidatesPerSampled is how many targets are in memory at most for each of a sample of a size.
const candidatesPerSampled = 8

// sampleEffect is what becomes of a target.
type sampleEffect int

// The effects of a sampling.
const (
	sampled sampleEffect = iota // it is of the sample, or there is none
	omitted                     // it is not, or the sampler has kept it for release
	after                       // all targets of the sample that come first have come
)

// sampler applies a sample to a set in one pass.
type sampler struct {
	Sampling

	came  int    // targets of the sample that came, with First
	later []byte // targets that come behind
	ends  []int  // where each of them ends

	candidates []candidate // for a sample of a size
	halved     int         // how often each second candidate of a regular sample was dropped
	worst      uint64      // targets of this rank and above are not in a random sample; 0: not known yet
}

// candidate is a target that may be of a sample of a size.
type candidate struct {
	at   int
	rank uint64 // the lowest are the random sample
	key  []byte
}

// of returns what becomes of the target with a number, from 0.
func (s *sampler) of(n int, key []byte) (sampleEffect, error) {
	switch {
	case s.Size > 0:
		return omitted, s.collect(n, key)
	case s.Every == 0 && s.Probability == 0:
		return sampled, nil
	case s.First > 0 && s.came == s.First:
		return after, nil
	case s.Every > 0 && n%s.Every == 0, s.Probability > 0 && (&RandomSample{s.Probability, s.Seed}).Hit(key):
		s.came++
		return sampled, nil
	case s.First == 0:
		return omitted, nil
	case len(s.ends) == MaxSampled:
		return omitted, errSampledLate
	}
	s.later = append(s.later, key...)
	s.ends = append(s.ends, len(s.later))
	return omitted, nil
}

// errSampledLate: a canary would keep too many other targets in memory.
var errSampledLate = &TargetsError{Problem: fmt.Sprintf("the canary of the sample is among more than %d targets: give the sample an interval, Every, or a higher Probability", MaxSampled)}

// RandomSample has each target with a probability, by its key alone.
type RandomSample struct {
	Probability float64 `json:"probability"`
	Seed        uint64  `json:"seed"`
}

// Hit reports whether a target is of the sample.
func (s *RandomSample) Hit(key []byte) bool {
	const bits = 53 // of a float64
	return float64(rank(s.Seed, key)>>(64-bits)) < s.Probability*(1<<bits)
}

// rank is a random number of a target.
func rank(seed uint64, key []byte) uint64 {
	var space [64]byte
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(space[:0], seed), key...))
	return binary.LittleEndian.Uint64(sum[:])
}

// collect keeps a copy of a target that may be of a sample of a size.
func (s *sampler) collect(n int, key []byte) error {
	c := candidate{at: n}
	if s.Seed != 0 {
		c.rank = rank(s.Seed, key)
	}
	switch {
	case s.First > 0 && len(s.candidates) == MaxSampled:
		return errSampledLate
	case s.First > 0:
	case s.worst > 0 && c.rank >= s.worst, n%(1<<s.halved) != 0:
		return nil
	case len(s.candidates) == candidatesPerSampled*s.Size:
		s.thin()
		return s.collect(n, key)
	}
	c.key = bytes.Clone(key)
	s.candidates = append(s.candidates, c)
	return nil
}

// thin drops candidates: those that cannot be of a random sample, and each second one of a
// regular sample.
func (s *sampler) thin() {
	if s.Seed != 0 {
		s.candidates, _ = s.choose()
		s.worst = slices.MaxFunc(s.candidates, byRank).rank
		return
	}
	s.halved++
	s.candidates = slices.DeleteFunc(s.candidates, func(c candidate) bool { return c.at%(1<<s.halved) != 0 })
}

// choose returns the sample of the candidates, and the others, each in their order.
func (s *sampler) choose() (chosen, others []candidate) {
	all := s.candidates
	size := min(s.Size, len(all))
	if s.Seed == 0 {
		for i, c := range all {
			if len(chosen) < size && int64(i) == int64(len(chosen))*int64(len(all))/int64(size) {
				chosen = append(chosen, c)
			} else {
				others = append(others, c)
			}
		}
		return chosen, others
	}
	slices.SortFunc(all, byRank)
	chosen, others = all[:size], all[size:]
	slices.SortFunc(chosen, byPosition)
	slices.SortFunc(others, byPosition)
	return chosen, others
}

func byRank(a, b candidate) int { return cmp.Or(cmp.Compare(a.rank, b.rank), byPosition(a, b)) }

func byPosition(a, b candidate) int { return cmp.Compare(a.at, b.at) }

// release returns the targets that the sampler has kept and that are of the set, in their
// order there, and forgets them.
func (s *sampler) release() iter.Seq[[]byte] {
	if s.Size > 0 {
		return s.releaseSized()
	}
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

// releaseSized is release for a sample of a size.
func (s *sampler) releaseSized() iter.Seq[[]byte] {
	released, others := s.choose()
	if s.First > 0 {
		released = slices.Concat(released, others)
	}
	s.candidates = nil
	return func(yield func([]byte) bool) {
		for _, c := range released {
			if !yield(c.key) {
				return
			}
		}
	}
}
