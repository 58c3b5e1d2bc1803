package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pagesOf adds keys to pages that allow n in any order, and m at most.
func pagesOf(n, m int, keys ...string) (string, error) {
	p := newTargetPages(&NewTargets{})
	p.unordered, p.most = n, m
	for _, k := range keys {
		if err := p.add([]byte(k)); err != nil {
			return "", err
		}
	}
	p.finish()
	return strings.Join(p.complete, ""), nil
}

// Duplicates are left out in any order up to a bound, and beyond it the targets must
// have ascended from the first.
func TestTargetPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keys []string
		want string
	}{
		"any order":       {[]string{"3", "1", "3", "2", "1"}, "[3,1,2]"},
		"ascending":       {[]string{"1", "2", "2", "3", "4", "4", "10"}, "[1,2,3,4,10]"},
		"ascending first": {[]string{"1", "2", "2", "1", "3", "2"}, "[1,2,3]"},
		"of two types":    {[]string{"10", "9.5", "95", "100", "9.5"}, "[10,9.5,95,100]"},
		"of one value":    {[]string{`"a"`, `"\u0061"`, `"a"`}, `["a","\u0061"]`},
		"strings":         {[]string{`"a"`, `"a b"`, `"a\"b"`, `"ab"`, `"b"`}, `["a","a b","a\"b","ab","b"]`},
		"negative":        {[]string{"-10", "-2", "0", "7", "12"}, "[-10,-2,0,7,12]"},
		"at the bound":    {[]string{"3", "2", "1", "1", "2", "3"}, "[3,2,1]"},
		"objects ascend":  {[]string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`}, `[{"n":1},{"n":2},{"n":3},{"n":4}]`},
	} {
		got, err := pagesOf(4, 10, tc.keys...)
		if err != nil || got != tc.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		keys      []string
		positions []int
		named     []string
	}{
		"before the bound": {[]string{"1", "3", "2", "4"}, []int{1, 2}, []string{"3", "2"}},
		"after the bound":  {[]string{"1", "2", "3", "9", "10", "9"}, []int{4, 5}, []string{"10", "9"}},
		"too many":         {[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}, nil, nil},
	} {
		_, err := pagesOf(3, 10, tc.keys...)
		e, ok := errors.AsType[*TargetsError](err)
		if !ok || !slices.Equal(e.Positions, tc.positions) || !slices.Equal(e.Keys, tc.named) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// Whatever the order is, each target is kept once, where it came first.
func TestTargetsAreDistinct(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var keys, want []string
		value, falls := 0, dice.IntN(3)
		for range dice.IntN(10_000) {
			if value += dice.IntN(3); dice.IntN(1000) < falls {
				value = dice.IntN(value + 1)
			}
			keys = append(keys, strconv.Itoa(value))
		}
		seen := make(map[string]bool)
		for _, k := range keys {
			if !seen[k] {
				want = append(want, k)
			}
			seen[k] = true
		}
		if got, err := pagesOf(10_000, 10_000, keys...); err != nil || got != strings.Join(pages(want), "") {
			t.Fatalf("%d targets of %d are kept otherwise (%v), with a fall at %d of 1000", len(want), len(keys), err, falls)
		}
	}
}

// pages are the pages of targets.
func pages(keys []string) (all []string) {
	for page := range slices.Chunk(keys, TargetsPerPage) {
		all = append(all, "["+strings.Join(page, ",")+"]")
	}
	return all
}

// A sample is each n-th distinct target. If it comes first, the others follow in their
// order.
func TestSampling(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		keys     string
		sampling Sampling
		want     string
	}{
		"none":                       {"1 2 2 3", Sampling{}, "[1,2,3]"},
		"every one":                  {"1 2 2 3", Sampling{Every: 1}, "[1,2,3]"},
		"every second":               {"5 4 4 3 2 2 1", Sampling{Every: 2}, "[5,3,1]"},
		"more than there are":        {"5 4 3", Sampling{Every: 9}, "[5]"},
		"first ones":                 {"1 2 3 4 5 6 7 8", Sampling{Every: 3, First: 2}, "[1,4,2,3,5,6,7,8]"},
		"first of duplicates":        {"1 1 2 2 3 3 4", Sampling{Every: 2, First: 2}, "[1,3,2,4]"},
		"one first":                  {"1 2 3", Sampling{Every: 2, First: 1}, "[1,2,3]"},
		"more first than there are":  {"1 2 3 4 5", Sampling{Every: 2, First: 9}, "[1,3,5,2,4]"},
		"the last is the last first": {"1 2 3 4 5", Sampling{Every: 2, First: 3}, "[1,3,5,2,4]"},
		"every one first":            {"1 2 3", Sampling{Every: 1, First: 2}, "[1,2,3]"},
	} {
		for _, distinct := range []bool{false, true} {
			keys := strings.Fields(tc.keys)
			if distinct {
				keys = slices.Compact(keys)
			}
			n := &NewTargets{Sampling: tc.sampling, Distinct: distinct, Keys: func(yield func([]byte, error) bool) {
				for _, k := range keys {
					if !yield([]byte(k), nil) {
						return
					}
				}
			}}
			pages, total, err := n.Pages()
			if err != nil || len(pages) != 1 || string(pages[0].Keys) != tc.want || int(total) != strings.Count(tc.want, ",")+1 {
				t.Errorf("%s: %v (%d, %v), want %s", name, pages, total, err, tc.want)
			}
		}
	}
}
