package store

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
)

// sampleOf returns the set of a sampling of the numbers below n, as the database has it.
func sampleOf(t *testing.T, n int, s Sampling) (set []int) {
	t.Helper()
	pages, total, err := numbersBelow(n, s).Pages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		var keys []int
		if err := json.Unmarshal(p.Keys, &keys); err != nil {
			t.Fatal(err)
		}
		set = append(set, keys...)
	}
	if len(set) != int(total) {
		t.Fatalf("%d targets, and a total of %d", len(set), total)
	}
	return set
}

func numbersBelow(n int, s Sampling) *NewTargets {
	return &NewTargets{Sampling: s, Keys: func(yield func([]byte, error) bool) {
		for i := range n {
			if !yield(strconv.AppendInt(nil, int64(i), 10), nil) {
				return
			}
		}
	}}
}

// A regular sample of a size has exactly that size, and intervals that hardly differ, however
// many targets come.
func TestMID36RegularSize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 9, 10, 11, 79, 80, 81, 160, 161, 1000, 1279, 1280, 1281, 99_999} {
		const size = 10
		got := sampleOf(t, n, Sampling{Size: size})
		if len(got) != min(size, n) || got[0] != 0 {
			t.Fatalf("%d targets: %v", n, got)
		}
		mean := float64(n) / float64(len(got))
		for i, at := range append(got[1:], n) {
			if gap := float64(at - got[i]); math.Abs(gap-mean) > max(mean/4, 1) && i < len(got)-1 {
				t.Errorf("%d targets, an interval of %v after %d: %v", n, gap, got[i], got)
			}
		}
	}
	if got := sampleOf(t, 12, Sampling{Size: 3, First: 5}); !slices.Equal(got, []int{0, 4, 8, 1, 2, 3, 5, 6, 7, 9, 10, 11}) {
		t.Errorf("of a canary: %v", got)
	}
}

// Each target is in as many random samples as any other, within what chance allows.
func TestMID36EqualChances(t *testing.T) {
	t.Parallel()
	const (
		n, seeds = 200, 4000
		chance   = 0.1
	)
	for name, s := range map[string]Sampling{
		"size":        {Size: n * chance}, // thinned once
		"small size":  {Size: 2},          // thinned more than once
		"probability": {Probability: chance},
	} {
		times, all := make([]int, n), 0
		for seed := range uint64(seeds) {
			s.Seed = seed + 1
			got := sampleOf(t, n, s)
			if !slices.IsSorted(got) || s.Size > 0 && len(got) != s.Size {
				t.Fatalf("%s, seed %d: %v", name, s.Seed, got)
			}
			for _, target := range got {
				times[target]++
			}
			all += len(got)
		}
		p := chance
		if s.Size > 0 {
			p = float64(s.Size) / n
		}
		mean, deviation := p*seeds, math.Sqrt(seeds*p*(1-p))
		if got := float64(all) / n; math.Abs(got-mean) > mean/50 {
			t.Errorf("%s: a target is in %v samples, want %v", name, got, mean)
		}
		sum := 0.0 // chi square
		for target, k := range times {
			d := (float64(k) - mean) / deviation
			if math.Abs(d) > 5 {
				t.Errorf("%s: %d is in %d samples, want about %v", name, target, k, mean)
			}
			sum += d * d
		}
		if spread := 5 * math.Sqrt(2*n); sum < n-spread || sum > n+spread {
			t.Errorf("%s: chi square is %v for %d targets", name, sum, n)
		}
	}
}

// A random sample is chosen by seed and target alone: the order and the other targets do not
// matter, and a smaller sample is part of a larger one.
func TestMID36RandomSampleIsStable(t *testing.T) {
	t.Parallel()
	const n = 30_000
	large, small := sampleOf(t, n, Sampling{Size: 500, Seed: 7}), sampleOf(t, n, Sampling{Size: 50, Seed: 7})
	for _, target := range small {
		if !slices.Contains(large, target) {
			t.Errorf("%d is in the small sample alone", target)
		}
	}
	if other := sampleOf(t, n, Sampling{Size: 50, Seed: 8}); slices.Equal(other, small) {
		t.Error("two seeds choose the same sample")
	}
	half := sampleOf(t, n/2, Sampling{Probability: 0.01, Seed: 7})
	if whole := sampleOf(t, n, Sampling{Probability: 0.01, Seed: 7}); !slices.Equal(whole[:len(half)], half) {
		t.Errorf("the sample of the first half is %v, and of all %v", half, whole)
	}
	if all := sampleOf(t, 1000, Sampling{Probability: 1, Seed: 7}); len(all) != 1000 {
		t.Errorf("%d of 1000 targets with probability 1", len(all))
	}
	set := sampleOf(t, n, Sampling{Size: 50, First: 50, Seed: 7})
	if !slices.Equal(set[:50], small) || len(set) != n || !slices.IsSorted(set[50:]) {
		t.Errorf("a canary of %v, and a set of %d", set[:50], len(set))
	}
	if set := sampleOf(t, MaxSampled, Sampling{Size: 1, First: 1, Seed: 7}); len(set) != MaxSampled {
		t.Errorf("a set of %d", len(set))
	}
}

// A sampler keeps few targets in memory however many come, and a canary that would need more
// is a typed error.
func TestMID36Memory(t *testing.T) {
	t.Parallel()
	const size = 50
	for _, s := range []Sampling{{Size: size}, {Size: size, Seed: 7}} {
		kept, most := sampler{Sampling: s}, 0
		for i := range 200_000 {
			if _, err := kept.of(i, strconv.AppendInt(nil, int64(i), 10)); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(kept.candidates))
		}
		if most > candidatesPerSampled*size {
			t.Errorf("%+v: %d targets in memory", s, most)
		}
	}
	for _, s := range []Sampling{{Size: 1, First: 1}, {Size: 1, First: 1, Seed: 7}, {Probability: 1e-12, First: 1, Seed: 7}} {
		_, _, err := numbersBelow(MaxSampled+1, s).Pages()
		if _, ok := errors.AsType[*TargetsError](err); !ok {
			t.Errorf("%+v: %v, want a *TargetsError", s, err)
		}
	}
	_, _, err := numbersBelow(9, Sampling{Probability: 1e-12, Seed: 7}).Pages()
	if e, ok := errors.AsType[*TargetsError](err); !ok || e == nil || e.Problem == (&targetPages{}).errNone().Error() {
		t.Errorf("an empty sample: %v", err)
	}
}
