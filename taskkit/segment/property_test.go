package segment_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit/segment"
)

// TestEveryValueIsInOneSegment makes random divisions and random values, also near the
// boundaries, and looks for each value with the second implementation.
func TestEveryValueIsInOneSegment(t *testing.T) {
	t.Parallel()
	for name, random := range map[string]func(r *rand.Rand) (planner, []stored){
		"numeric": randomNumeric, "strings": randomStrings, "UUID": randomUUID, "time": randomTime, "explicit": randomExplicit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(150) {
				r := rand.New(rand.NewPCG(seed, 1))
				d, values := random(r)
				p := plan(t, d)
				if err := p.Verify("postgres"); err != nil {
					t.Fatalf("seed %d: %+v: %v", seed, d, err)
				}
				ref := refer(t, p)
				for _, v := range append(values, stored{}) {
					if ref.segmentOf(t, v) < 0 && !p.Partial() {
						t.Fatalf("seed %d: %s is in no segment of %+v", seed, v, d)
					}
				}
			}
		})
	}
}

// TestVerifyFindsRandomChanges removes a segment from a complete plan, or moves one of
// its ends: Verify must find it.
func TestVerifyFindsRandomChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		cuts := sortedCuts(r)
		segments := between(cuts)
		i := r.IntN(len(segments))
		what := "without " + segments[i].String()
		if i > 0 && r.IntN(2) == 0 { // one boundary by one
			cuts[i-1]--
			segments[i] = between(cuts)[i]
			what = "with an overlap at " + segments[i].String()
		} else {
			segments = slices.Delete(segments, i, i+1)
		}
		r.Shuffle(len(segments), func(a, b int) { segments[a], segments[b] = segments[b], segments[a] })
		if err := plan(t, segment.Explicit{Segments: segments}).Verify("sqlite3"); err == nil {
			t.Errorf("seed %d: %s is accepted", seed, what)
		}
	}
}

func sortedCuts(r *rand.Rand) []int64 {
	cuts := make([]int64, 1+r.IntN(8))
	for i := range cuts {
		cuts[i] = r.Int64N(100)*10 - 500
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// between returns the complete intervals between numbers.
func between(cuts []int64) []segment.Segment {
	out := []segment.Segment{segment.Below(segment.Int(cuts[0]))}
	for i := 1; i < len(cuts); i++ {
		out = append(out, segment.Between(segment.Int(cuts[i-1]), segment.Int(cuts[i])))
	}
	return append(out, segment.AtLeast(segment.Int(cuts[len(cuts)-1])))
}

func randomBig(r *rand.Rand) *big.Int {
	n := pow2(uint(r.IntN(70)), r.Int64N(5)-2)
	if r.IntN(2) == 0 {
		n.Neg(n)
	}
	return n
}

func randomNumeric(r *rand.Rand) (planner, []stored) {
	from, size := randomBig(r), new(big.Int).Abs(randomBig(r))
	size.Add(size, big.NewInt(1))
	count := 1 + r.IntN(40)
	d := segment.Numeric{From: from, Size: size, Count: count, Partial: r.IntN(4) == 0}
	to := new(big.Int).Mul(size, big.NewInt(int64(count)))
	to.Add(to, from)
	switch r.IntN(3) {
	case 0:
		d.To, d.Count = to, 0
	case 1:
		d.To, d.Size = to.Add(to, big.NewInt(r.Int64N(3))), nil
	}
	var values []stored
	for range 30 {
		n := new(big.Int).Mul(size, big.NewInt(r.Int64N(int64(count)+4)-2))
		n.Add(n, from).Add(n, big.NewInt(r.Int64N(3)-1))
		values = append(values, val(n.String()), val(n.String()+".5"), val(randomBig(r).String()))
	}
	return d, values
}

// letters are characters of one to four bytes, in the order of their bytes.
var letters = slices.Sorted(slices.Values([]rune("09AMZaßäz\u0301é한\uFFFD\U0001F600\U0010FFFF")))

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteRune(letters[r.IntN(len(letters))])
	}
	return b.String()
}

func randomStrings(r *rand.Rand) (planner, []stored) {
	d := segment.Strings{Depth: r.IntN(3)}
	for range 1 + r.IntN(2) {
		var some []rune
		for _, c := range letters {
			if r.IntN(4) == 0 || len(some) == 0 {
				some = append(some, c)
			}
		}
		d.Characters = append(d.Characters, string(some[:min(len(some), 4)]))
	}
	d.Method = []segment.Method{"", segment.Intervals, segment.Prefixes, segment.Exact}[r.IntN(4)]
	d.Partial = d.Method == segment.Prefixes || d.Method == segment.Exact
	var values []stored
	for range 30 {
		values = append(values, val(randomText(r)))
	}
	return d, values
}

func randomID(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16), r.Int64N(1<<48))
}

func randomUUID(r *rand.Rand) (planner, []stored) {
	values := []stored{val("00000000-0000-0000-0000-000000000000"), val("ffffffff-ffff-ffff-ffff-ffffffffffff")}
	for range 10 {
		values = append(values, val(randomID(r)), val(randomID(r)[:2]+"000000-0000-0000-0000-000000000000"))
	}
	return segment.UUID{Depth: 1 + r.IntN(2)}, values
}

func randomTime(r *rand.Rand) (planner, []stored) {
	from := time.UnixMicro(r.Int64N(4e15) - 3e15)
	step := time.Duration(1+r.Int64N(1e12)) * time.Microsecond
	count := 1 + r.IntN(40)
	d := segment.Time{From: from, To: from.Add(step*time.Duration(count-1) + step/2 + 1000).Truncate(time.Microsecond), Step: step, Partial: r.IntN(4) == 0}
	var values []stored
	for range 30 {
		at := from.Add(step * time.Duration(r.IntN(count+4)-2)).Add(time.Duration(r.IntN(3)-1) * time.Microsecond)
		values = append(values, val(at.UTC().Format(time.RFC3339Nano)))
	}
	return d, values
}

func randomExplicit(r *rand.Rand) (planner, []stored) {
	cuts := sortedCuts(r)
	segments := between(cuts)
	r.Shuffle(len(segments), func(a, b int) { segments[a], segments[b] = segments[b], segments[a] })
	switch r.IntN(3) {
	case 0:
		segments = append(segments, segment.Null())
	case 1:
		segments[0] = segments[0].OrNull()
	}
	var values []stored
	for _, c := range cuts {
		values = append(values, val(fmt.Sprint(c)), val(fmt.Sprint(c-1)), val(fmt.Sprintf("%d.5", c)))
	}
	return segment.Explicit{Segments: segments}, values
}
