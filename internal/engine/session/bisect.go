package session

import "math/bits"

// bisect runs n items in their order, in as few calls of run as it can. Run gets
// a part of them, from position from up to to. It returns false when the part has a
// bad item; then nothing of the part counts as done, unless it was that item alone.
// An error of run ends bisect.
//
// One bad item costs at most log2(n) + 3 calls: one of all items, log2(n) that find
// the first bad item, since a part whose first half succeeds must have it in its
// second half, one of that item alone, and one of all items after it. An item is
// never given up on the evidence of a call that had others in it.
//
// From the second bad item on, the next part is at least as long as the mean distance of
// the bad items so far, and a part that succeeds doubles the next. Where bad items are so
// frequent that this takes more calls than items, the items are run one at a time, so that
// n items take at most n + n/16 + 3 log2(n) + 3 calls, whatever their order.
//
// Most parts are as long as a power of two, so that the statements of a caller who makes
// their text from the number of items repeat, and are prepared once.
func bisect(n int, run func(from, to int) (bool, error)) error {
	b := bisection{n: n, run: run}
	size := n
	found := 0 // bad items
	for from := 0; from < n; {
		to := from + b.bound(from, size)
		ok, err := b.call(from, to)
		if err != nil {
			return err
		}
		if ok {
			size, from = 2*(to-from), to
			continue
		}
		if from, err = b.passBad(from, to); err != nil {
			return err
		}
		if found++; found > 1 {
			size = 1 << bits.Len(uint(from/found-1))
		}
	}
	return nil
}

// bisection is one run of bisect.
type bisection struct {
	n     int
	run   func(from, to int) (bool, error)
	calls int
}

func (b *bisection) call(from, to int) (bool, error) {
	b.calls++
	return b.run(from, to)
}

// bound returns how many items from a position on to run at once, at most size.
func (b *bisection) bound(from, size int) int {
	if b.calls > from+from/16+2*bits.Len(uint(b.n)) {
		return 1
	}
	return min(size, b.n-from)
}

// passBad finds the first bad item of a part that failed, runs what is before it,
// and returns the position after it.
func (b *bisection) passBad(from, to int) (int, error) {
	alone := to-from == 1 // the last call that failed had the bad item alone
	for to-from > 1 {
		middle := from + 1<<(bits.Len(uint(to-from-1))-1) // at least the half
		ok, err := b.call(from, middle)
		if err != nil {
			return from, err
		}
		if ok {
			from = middle
		} else {
			to = middle
		}
		alone = !ok && to-from == 1
	}
	if !alone {
		if _, err := b.call(from, to); err != nil {
			return from, err
		}
	}
	return to, nil
}
