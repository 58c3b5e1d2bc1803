package store

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
)

// A search that is made anew after each batch from what was stored finds the same pages
// as one that was not.
func TestTargetSearch(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var stored []TargetPage
		whole := newTargetPages(&NewTargets{})
		search, _, _ := NewTargetSearch(0)
		for range 5 {
			for range rng.IntN(1500) {
				key := strconv.AppendInt(nil, rng.Int64N(4000), 10)
				if err := errors.Join(whole.add(key), search.Add(key)); err != nil {
					t.Fatal(err)
				}
			}
			found := search.Take(false)
			for _, p := range found.Pages {
				stored = append(stored[:p.Number], p)
			}
			if found.Total != search.Total() {
				t.Fatalf("%d targets, and %d in all", found.Total, search.Total())
			}
			if again := search.Take(true); len(again.Pages) > 0 || !again.Complete {
				t.Fatalf("taken twice: %+v", again)
			}
			var first, last int
			search, first, last = NewTargetSearch(found.Total)
			for _, p := range stored[first : last+1] {
				if err := search.Restore(p); err != nil {
					t.Fatal(err)
				}
			}
		}
		whole.end()
		if len(stored) != len(whole.complete) {
			t.Fatalf("%d pages, want %d", len(stored), len(whole.complete))
		}
		for i, p := range stored {
			if string(p.Keys) != whole.complete[i] {
				t.Errorf("page %d differs", i)
			}
		}
	}
}

// Beyond the targets that may come in any order, a search needs their last page only.
func TestTargetSearchRestoresLastPage(t *testing.T) {
	t.Parallel()
	search, first, last := NewTargetSearch(MaxUnorderedTargets + 3)
	if first != 1000 || last != 1000 {
		t.Fatalf("pages %d to %d, want 1000", first, last)
	}
	if err := search.Restore(TargetPage{Number: 1000, Keys: []byte("[7,8,9]")}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(search.Add([]byte("9")), search.Add([]byte("12"))); err != nil {
		t.Fatal(err)
	}
	found := search.Take(false)
	if found.Total != MaxUnorderedTargets+4 || len(found.Pages) != 1 || string(found.Pages[0].Keys) != "[7,8,9,12]" {
		t.Errorf("found %+v", found)
	}
	if _, ok := errors.AsType[*TargetsError](search.Add([]byte("8"))); !ok {
		t.Error("a target that does not ascend was added")
	}
	missing, _, _ := NewTargetSearch(2500)
	if err := missing.Restore(TargetPage{Number: 1, Keys: []byte("[1]")}); err == nil {
		t.Error("a page is missing, and that was not seen")
	}
}
