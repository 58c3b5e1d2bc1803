package session

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// bisected runs bisect over n items and returns the number of calls. It fails the
// test unless each good item was kept once, in order, and each bad one failed alone.
func bisected(t *testing.T, n int, bad func(i int) bool) int {
	t.Helper()
	calls, at := 0, 0
	err := bisect(n, func(from, to int) (bool, error) {
		calls++
		if from != at || to <= from || to > n {
			t.Fatalf("%d items: part [%d, %d) after %d items", n, from, to, at)
		}
		for i := from; i < to; i++ {
			if bad(i) {
				if to-from == 1 {
					at = to
				}
				return false, nil
			}
		}
		at = to
		return true, nil
	})
	if err != nil || at != n {
		t.Fatalf("%d items: ended at %d, %v", n, at, err)
	}
	return calls
}

func TestBisectCalls(t *testing.T) {
	t.Parallel()
	if got := bisected(t, 0, nil); got != 0 {
		t.Errorf("%d calls for no items", got)
	}
	none := func(int) bool { return false }
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 31, 100, 500, 512, 5000} {
		if got := bisected(t, n, none); got != 1 {
			t.Errorf("%d calls for %d good items, want 1", got, n)
		}
		most := 0
		for at := range n {
			most = max(most, bisected(t, n, func(i int) bool { return i == at }))
		}
		if want := bits.Len(uint(n-1)) + 3; most > want {
			t.Errorf("%d calls for one bad item of %d, want at most %d", most, n, want)
		}
		if n == 500 && most != 12 {
			t.Errorf("%d calls for one bad item of 500, want 12", most)
		}
	}
}

// Whatever the bad items are, there are few more calls than items.
func TestBisectIsBounded(t *testing.T) {
	t.Parallel()
	bound := func(n int) int { return n + n/16 + 3*bits.Len(uint(n)) + 3 }
	patterns := map[string]func(n, i int) bool{
		"all":            func(_, _ int) bool { return true },
		"every second":   func(_, i int) bool { return i%2 == 0 },
		"every third":    func(_, i int) bool { return i%3 == 0 },
		"pairs":          func(_, i int) bool { return i%4 > 1 },
		"the first half": func(n, i int) bool { return i < n/2 },
		"the last half":  func(n, i int) bool { return i >= n/2 },
		"grows":          func(_, i int) bool { return i&(i-1) == 0 },
	}
	for name, bad := range patterns {
		for _, n := range []int{1, 2, 3, 10, 64, 500, 5000} {
			if got := bisected(t, n, func(i int) bool { return bad(n, i) }); got > bound(n) {
				t.Errorf("%s: %d calls for %d items, want at most %d", name, got, n, bound(n))
			}
		}
	}
	for range 2000 {
		n := 1 + rand.IntN(600)
		items := make([]bool, n)
		for i, share := 0, rand.Float64(); i < n; i++ {
			items[i] = rand.Float64() < share
		}
		if got := bisected(t, n, func(i int) bool { return items[i] }); got > bound(n) {
			t.Errorf("%d calls for %d items, want at most %d: %v", got, n, bound(n), items)
		}
	}
	for _, k := range []int{3, 50} {
		most := 0
		for range 200 {
			chosen := rand.Perm(500)[:k]
			most = max(most, bisected(t, 500, func(i int) bool { return slices.Contains(chosen, i) }))
		}
		t.Logf("%d bad items of 500: at most %d calls", k, most)
		if want := map[int]int{3: 50, 50: 400}[k]; most > want {
			t.Errorf("%d calls for %d bad items of 500, want at most %d", most, k, want)
		}
	}
}

// A part whose items succeed alone, such as one that is refused for its length, loses
// nothing, and an error ends it.
func TestBisectOfGoodItems(t *testing.T) {
	t.Parallel()
	at := 0
	if err := bisect(100, func(from, to int) (bool, error) {
		if to-from > 7 {
			return false, nil
		}
		if from != at {
			t.Fatalf("part [%d, %d) after %d items", from, to, at)
		}
		at = to
		return true, nil
	}); err != nil || at != 100 {
		t.Errorf("ended at %d, %v", at, err)
	}
	for stop := 1; stop <= 11; stop++ {
		calls := 0
		err := bisect(500, func(from, to int) (bool, error) {
			if calls++; calls == stop {
				return false, errStop
			}
			return from > 255 || to <= 255, nil
		})
		if !errors.Is(err, errStop) || calls != stop {
			t.Errorf("an error of call %d: %v after %d calls", stop, err, calls)
		}
	}
}

var errStop = errors.New("stop")
