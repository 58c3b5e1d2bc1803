package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// pagesOf adds keys to pages that allow n in any order, and m at most.
func pagesOf(n, m int, keys ...string) (string, error) {
	p := newTargetPages(false)
	p.unordered, p.most = n, m
	for _, k := range keys {
		if err := p.add([]byte(k)); err != nil {
			return "", err
		}
	}
	p.end()
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
		"any order":      {[]string{"3", "1", "3", "2", "1"}, "[3,1,2]"},
		"ascending":      {[]string{"1", "2", "2", "3", "4", "4", "10"}, "[1,2,3,4,10]"},
		"strings":        {[]string{`"a"`, `"a b"`, `"a\"b"`, `"ab"`, `"b"`}, `["a","a b","a\"b","ab","b"]`},
		"negative":       {[]string{"-10", "-2", "0", "7", "12"}, "[-10,-2,0,7,12]"},
		"at the bound":   {[]string{"3", "2", "1", "1", "2", "3"}, "[3,2,1]"},
		"objects ascend": {[]string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`}, `[{"n":1},{"n":2},{"n":3},{"n":4}]`},
	} {
		got, err := pagesOf(3, 10, tc.keys...)
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
