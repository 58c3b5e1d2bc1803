package schedules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/netresearch/go-cron"

	"taskkit.dev/internal/cronline"
)

// TestParserAgrees compares our parser with go-cron's, on expressions drawn at random: what both
// accept they understand in the same way. That one is laxer: it takes 22-2 for a range over
// midnight, and *-3, 1-0 and +1 for something.
func TestParserAgrees(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	theirs := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom)
	both, refused := 0, 0
	for range 20_000 {
		expr := drawn(rng)
		ours, err := cronline.Parse(expr, "name")
		other, otherErr := theirs.Parse(expr)
		if err == nil && otherErr != nil && !strings.Contains(otherErr.Error(), "must be less than range size") {
			t.Fatalf("%q is accepted here, and there: %v", expr, otherErr)
		}
		if err != nil || otherErr != nil {
			refused++
			continue
		}
		both++
		at := time.Date(2024+rng.IntN(5), time.Month(1+rng.IntN(12)), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), 0, 0, time.UTC)
		for range 5 {
			want := other.Next(at)
			got, ok := ours.Next(at)
			if want.IsZero() && (!ok || got.Year() > at.Year()+4) {
				break // it looks for five years
			}
			if !ok || !got.Equal(want) {
				t.Fatalf("%q after %v: %v, %t, want %v", expr, at, got, ok, want)
			}
			at = got
		}
	}
	if both < 3000 || refused < 1000 {
		t.Errorf("%d expressions were accepted by both and %d refused by one", both, refused)
	}
}

// drawn returns an expression that may be wrong.
func drawn(rng *rand.Rand) string {
	part := func(low, high int, star bool) string {
		value := func() int {
			if rng.IntN(60) == 0 {
				return high + 1 + rng.IntN(3)
			}
			return low + rng.IntN(high-low+1)
		}
		switch n := rng.IntN(10); {
		case n < 4:
			return "*"
		case n < 6:
			return fmt.Sprint(value())
		case n < 7:
			a, b := value(), value()
			return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
		case n < 8 && star: // with a step the star of a day is read differently
			return fmt.Sprintf("*/%d", 1+rng.IntN(high))
		case n < 9:
			a, b := value(), value()
			return fmt.Sprintf("%d,%d", a, b)
		default:
			a, b := value(), value()
			return fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), 1+rng.IntN(5))
		}
	}
	return strings.Join([]string{part(0, 59, true), part(0, 23, true), part(1, 31, false), part(1, 12, true), part(0, 6, false)}, " ")
}
