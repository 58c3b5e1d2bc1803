package taskkit_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// samples are the ways to sample seats, with the size that each has of n seats, about.
func samples(n int) map[string]struct {
	sample taskkit.Sample
	size   float64
	exact  bool
} {
	type of = struct {
		sample taskkit.Sample
		size   float64
		exact  bool
	}
	return map[string]of{
		"interval":       {taskkit.Sample{Every: 100}, float64(n) / 100, true},
		"size":           {taskkit.Sample{Size: 500}, 500, true},
		"random size":    {taskkit.Sample{Size: 500, Seed: 42}, 500, true},
		"random share":   {taskkit.Sample{Probability: 0.02, Seed: 42}, 0.02 * float64(n), false},
		"more than all":  {taskkit.Sample{Size: 100_000}, float64(n), true},
		"all, at random": {taskkit.Sample{Probability: 1, Seed: 42}, float64(n), true},
	}
}

// Of each sample, a list and a sequence of unknown length have the same targets, a second
// submission has them again, and Apply is over those that the preview has seen.
func TestMID36Samples(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		const n = 25_000
		seats := upTo(n)
		slices.Reverse(seats)
		c, k := clientOf(db), sampleKind()
		for name, tc := range samples(n) {
			t.Run(name, func(t *testing.T) {
				x := &applier{}
				list := submitSeats(t, db, false, seats, taskkit.WithPreview(), taskkit.WithSample(tc.sample))
				frozen := submitSeats(t, db, true, seats, taskkit.WithPreview(), taskkit.WithSample(tc.sample))
				again := submitSeats(t, db, true, seats, taskkit.WithPreview(), taskkit.WithSample(tc.sample))
				want := unprocessed(t, db, list)
				for _, id := range []taskkit.ID{frozen, again} {
					if got := unprocessed(t, db, id); !slices.Equal(got, want) {
						t.Errorf("%d other seats, %v, than those of the list, %d, %v", len(got), head(got), len(want), head(want))
					}
				}
				if size := float64(len(want)); tc.exact && size != tc.size || math.Abs(size-tc.size) > tc.size/4 {
					t.Errorf("%v seats, want %v", size, tc.size)
				}
				if !slices.IsSortedFunc(want, func(a, b int) int { return b - a }) {
					t.Errorf("the seats %v are not in the order of the set", head(want))
				}
				if task := runSeats(t, db, k, x, frozen)[0]; task.Progress.Done != int64(len(want)) || len(x.taken) != 0 {
					t.Errorf("%s: the preview has %+v, and took %d seats", task.StatusDetail, task.Progress, len(x.taken))
				}
				id, err := c.Apply(t.Context(), frozen)
				if err != nil {
					t.Fatal(err)
				}
				runSeats(t, db, k, x, id)
				if !slices.Equal(x.taken, want) {
					t.Errorf("the task took %d seats, %v, want %d, %v", len(x.taken), head(x.taken), len(want), head(want))
				}
			})
		}
	})
}

// unprocessed returns the seats that a task has before it begins.
func unprocessed(t *testing.T, db *testdb.DB, id taskkit.ID) (seats []int) {
	t.Helper()
	for _, i := range listed(t, db, id, taskkit.OutcomeUnprocessed) {
		seat, err := strconv.Atoi(i.Text())
		if err != nil {
			t.Fatal(err)
		}
		seats = append(seats, seat)
	}
	return seats
}

// The canary of each sample comes first, and all others follow in their order, when a task is
// submitted and when a preview of all is applied with the same sample.
func TestMID36Canary(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		const n, canary = 20_500, 20
		seats, c := upTo(n), clientOf(db)
		preview := submitSeats(t, db, frozen, seats, taskkit.WithPreview())
		runSeats(t, db, sampleKind(), &applier{}, preview)
		for name, sample := range map[string]taskkit.Sample{
			"size":         {Size: 500},
			"random size":  {Size: 500, Seed: 42},
			"random share": {Probability: 0.01, Seed: 42},
		} {
			id := submitSeats(t, db, frozen, seats, taskkit.WithCanary(canary), taskkit.WithSample(sample))
			got := unprocessed(t, db, id)
			first, rest := got[:canary], got[canary:]
			if !slices.IsSorted(first) || !slices.IsSorted(rest) || slices.IsSorted(got) || !slices.Equal(slices.Sorted(slices.Values(got)), seats) {
				t.Errorf("%s: %d seats, the first are %v", name, len(got), head(got))
			}
			if sample.Size > 0 && first[canary-1] < n/2 {
				t.Errorf("%s: the canary is of the first half alone: %v", name, first)
			}
			if name != "random share" {
				continue
			}
			applied, err := c.Apply(t.Context(), preview, taskkit.WithCanary(canary), taskkit.WithSample(sample))
			if err != nil {
				t.Fatal(err)
			}
			if set := unprocessed(t, db, applied); !slices.Equal(set, got) {
				t.Errorf("%s: Apply begins with %v, want %v", name, head(set), head(got))
			}
		}
	})
}

// What has no set to sample, and a sample that is not valid, is refused by name before anything
// is stored.
func TestMID36Refused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		opts := func(more ...taskkit.SubmitOption) []taskkit.SubmitOption {
			return append(more, taskkit.System(), taskkit.WithSchema(schemaOf(db)))
		}
		preview, canary := taskkit.WithPreview(), taskkit.WithCanary(10)
		random := taskkit.WithSample(taskkit.Sample{Size: 5, Seed: 1})
		seats := func(o ...taskkit.SubmitOption) error {
			_, err := taskkit.Submit(t.Context(), db.DB, sampleKind(), upToSeats(9), opts(o...)...)
			return err
		}
		sampled := func(s taskkit.Sample, o taskkit.SubmitOption) error { return seats(taskkit.WithSample(s), o) }
		_, walk := taskkit.Submit(t.Context(), db.DB, newKind[countSpec, countState]("walk", 10), countSpec{Items: 9}, opts(random, canary)...)
		_, buckets := taskkit.Submit(t.Context(), db.DB, rowsKind("rows"), rowsSpec{Rows: 9, Buckets: 3}, opts(random)...)
		_, bucketsCanary := taskkit.Submit(t.Context(), db.DB, rowsKind("rows"), rowsSpec{Rows: 9, Buckets: 3}, opts(random, canary)...)
		_, finding := taskkit.Submit(t.Context(), db.DB, huntKind("hunt"), huntSpec{Below: 9}, opts(random, preview)...)
		for name, tc := range map[string]struct {
			err  error
			says string
		}{
			"live walk":             {walk, "targets=FIELD"},
			"buckets":               {buckets, "put the sample into its spec"},
			"canary of buckets":     {bucketsCanary, "put the sample into its spec"},
			"targets that it finds": {finding, "give WithPreview and a Probability"},
			"neither":               {seats(random), "add WithPreview() or WithCanary(items)"},
			"nothing":               {sampled(taskkit.Sample{Seed: 1}, preview), "has 0 of Every, Size and Probability"},
			"two":                   {sampled(taskkit.Sample{Size: 1, Every: 1}, preview), "has 2 of Every, Size and Probability"},
			"negative interval":     {sampled(taskkit.Sample{Every: -1}, preview), "-1 is no interval"},
			"negative size":         {sampled(taskkit.Sample{Size: -1}, preview), "-1 is no size"},
			"large size":            {sampled(taskkit.Sample{Size: 100_001}, preview), "from 1 to 100000"},
			"above 1":               {sampled(taskkit.Sample{Probability: 1.1, Seed: 1}, preview), "1.1 is no probability"},
			"no number":             {sampled(taskkit.Sample{Probability: math.NaN(), Seed: 1}, preview), "NaN is no probability"},
			"no seed":               {sampled(taskkit.Sample{Probability: 0.5}, preview), "no Seed"},
			"random interval":       {sampled(taskkit.Sample{Every: 2, Seed: 1}, preview), "leave out Seed"},
			"rare canary":           {sampled(taskkit.Sample{Probability: 0.00001, Seed: 1}, canary), "a higher probability"},
		} {
			e, ok := errors.AsType[*taskkit.OptionError](tc.err)
			if !ok || e.Option != "WithSample" || !strings.Contains(tc.err.Error(), tc.says) {
				t.Errorf("%s: %v, want an *OptionError that says %q", name, tc.err, tc.says)
			}
		}
		for says, err := range map[string]error{
			"none of the 9 targets":     sampled(taskkit.Sample{Probability: 1e-12, Seed: 1}, preview),
			"among more than 100000":    overMany(t.Context(), db, opts(canary, random)),
			"there are no targets: sub": overNone(t.Context(), db, opts(canary, random)),
		} {
			if _, ok := errors.AsType[*taskkit.TargetsError](err); !ok || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want a *TargetsError that says %q", err, says)
			}
		}
		checkStored(t, db, 0, 0)
	})
}

// overMany submits a task over more seats than a canary of a size can be chosen from.
func overMany(ctx context.Context, db *testdb.DB, opts []taskkit.SubmitOption) error {
	_, err := taskkit.Submit(ctx, db.DB, sampleKind(), seatSpec{}, append(opts, taskkit.WithTargets(slices.Values(upTo(100_001))))...)
	return err
}

// overNone submits a task over no seat.
func overNone(ctx context.Context, db *testdb.DB, opts []taskkit.SubmitOption) error {
	_, err := taskkit.Submit(ctx, db.DB, sampleKind(), seatSpec{}, append(opts, taskkit.WithTargets(slices.Values([]int(nil))))...)
	return err
}
