package oracle_test

import (
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/oracle"
)

// history is a run of one task whose row goes through these states, each with its own commit.
func history(rows []oracle.Row) (*oracle.History, *oracle.Task) {
	h := oracle.NewHistory()
	h.Submitted("client", oracle.Submission{Kind: "played", Key: "k"}, "t1", oracle.OutcomeOK)
	t := h.Task("t1")
	t.Kind, t.IdempotencyKey, t.Declared = "played", "k", true
	for i, r := range rows {
		c := &oracle.Change{ID: int64(i), Tx: int64(i), Op: "UPDATE", By: oracle.Holder, New: r}
		switch i {
		case 0:
			c.Op, c.By = "INSERT", oracle.Submitter
		case 1:
			c.By = oracle.Other
		}
		if i > 0 {
			c.Old = rows[i-1]
		}
		t.Changes = append(t.Changes, c)
	}
	last := rows[len(rows)-1]
	t.Current = &last
	return h, t
}

// searchInMemory is a task that finds three targets in two batches, one of them twice, and
// executes them in a third.
func searchInMemory() (*oracle.History, *oracle.Task) {
	h, t := history([]oracle.Row{
		{Status: "QUEUED", Total: -1, State: "{}"},
		{Status: "SCHEDULING", Total: -1, Fence: 1, Attempts: 1, Process: "w-1", State: "{}"},
		{Status: "EXECUTING", Total: -1, Fence: 1, Seq: 1, Process: "w-1", Started: 1, Search: 2, State: "2 found"},
		{Status: "EXECUTING", Total: 3, Fence: 1, Seq: 2, Process: "w-1", Started: 1, State: "{}"},
		{Status: "COMPLETED", Total: 3, Fence: 1, Seq: 3, Started: 1, Stopped: 1, Done: 3, Position: 3, Cursor: 3, State: "done"},
	})
	t.Facts.Items, t.Facts.Search = 3, []int64{0, 1, 2, 2, 3}
	t.Facts.Plan = []oracle.PlannedItem{{Entity: 8}, {Entity: 9}, {Entity: 4}}
	t.Changes[2].Found = &oracle.Found{Set: []int64{8, 9}}
	t.Changes[3].Found = &oracle.Found{Set: []int64{8, 9, 4}, Complete: true}
	t.Facts.Targets, t.Facts.Given = []int64{8, 9, 4}, []int64{3}
	return h, t
}

// walkInMemory is a task without touches that keeps a ledger: in the first of two batches an item
// succeeds and one fails, which succeeds in the second, after another.
func walkInMemory() (*oracle.History, *oracle.Task) {
	h, t := history([]oracle.Row{
		{Status: "QUEUED", Total: -1},
		{Status: "SCHEDULING", Total: -1, Fence: 1, Attempts: 1, Process: "w-1"},
		{Status: "EXECUTING", Total: 4, Fence: 1, Seq: 1, Process: "w-1", Started: 1, Done: 1, Failed: 1, Cursor: 2, State: "2"},
		{Status: "COMPLETED", Total: 4, Fence: 1, Seq: 2, Started: 1, Stopped: 1, Done: 3, Failed: 1, Cursor: 4, State: "4"},
	})
	t.Facts.Items, t.Facts.KeepsLedger = 4, true
	t.Facts.Plan = []oracle.PlannedItem{{Entity: 0}, {Entity: 1, Outcome: "failed"}, {Entity: 2}, {Entity: 1}}
	t.Facts.Ledger = map[int64][]int64{0: {0}, 1: {2, 1}}
	return h, t
}

// Each violation by a search for targets, or by a ledger, is found.
func TestHistoryOfTargets(t *testing.T) {
	t.Parallel()
	found := func(run func() (*oracle.History, *oracle.Task), damage func(k *oracle.Task)) string {
		h, k := run()
		damage(k)
		var all []string
		for _, v := range h.Check(oracle.Options{Ended: true, MaxAttempts: 3}).Violations {
			all = append(all, v.String())
		}
		return strings.Join(all, "\n")
	}
	for _, run := range []func() (*oracle.History, *oracle.Task){searchInMemory, walkInMemory} {
		if all := found(run, func(*oracle.Task) {}); all != "" {
			t.Fatalf("a clean run: %s", all)
		}
	}
	for name, c := range map[string]struct {
		want   string
		run    func() (*oracle.History, *oracle.Task)
		damage func(k *oracle.Task)
	}{
		"targets apart from the checkpoint": {"I28: task t1: targets are stored without a checkpoint (change 1)", searchInMemory, func(k *oracle.Task) {
			k.Changes[1].Found, k.Changes[2].Found = k.Changes[2].Found, nil
		}},
		"targets of a lost batch": {"I28: task t1: its search is at 2, where it has found 2 targets, and 3 are stored (change 2)", searchInMemory, func(k *oracle.Task) {
			k.Changes[2].Found.Set = []int64{8, 9, 4}
		}},
		"targets that were lost": {"I28: task t1: its search is at 2, where it has found 2 targets, and 0 are stored (change 2)", searchInMemory, func(k *oracle.Task) {
			k.Changes[2].Found = nil
		}},
		"a duplicate": {"I28: task t1: the targets [8 9 8] are stored, which are not the first of [8 9 4] (change 3)", searchInMemory, func(k *oracle.Task) {
			k.Changes[3].Found.Set = []int64{8, 9, 8}
		}},
		"another order": {"I28: task t1: the targets [9 8] are stored, which are not the first of [8 9 4] (change 2)", searchInMemory, func(k *oracle.Task) {
			slices.Reverse(k.Changes[2].Found.Set)
		}},
		"a set that shrinks": {"I28: task t1: the targets [8] are stored, which are not the first of [8 9 4] (change 3)", searchInMemory, func(k *oracle.Task) {
			k.Changes[3].Found.Set = []int64{8}
		}},
		"complete too early": {"I28: task t1: its targets are complete, and it has found 2 of 3 (change 2)", searchInMemory, func(k *oracle.Task) {
			k.Changes[2].Found.Complete = true
		}},
		"a change of a complete set": {"I28: task t1: its targets change after they were complete (change 4)", searchInMemory, func(k *oracle.Task) {
			k.Changes[4].Found = k.Changes[3].Found
		}},
		"a state that is not cleared": {"I28: task t1: its targets are complete, and its state is that of the search (change 4)", searchInMemory, func(k *oracle.Task) {
			k.Changes[4].New.Search, k.Current.Search = 4, 4
		}},
		"executed before it is complete": {"I28: task t1: 3 items are processed, and it has not found all its targets (change 4)", searchInMemory, func(k *oracle.Task) {
			k.Changes[3].Found.Complete = false
		}},
		"completed before it is complete": {"I28: task t1: completed without having found all its targets (change 4)", searchInMemory, func(k *oracle.Task) {
			k.Changes[3].Found.Complete = false
			r := &k.Changes[4].New
			r.Done, r.Position, r.Cursor, r.Total = 0, 0, 0, -1
			*k.Current = *r
		}},
		"another set at the end": {"I28: task t1: its targets are [8 4], and its last batch that found some left [8 9 4]", searchInMemory, func(k *oracle.Task) {
			k.Facts.Targets = []int64{8, 4}
		}},
		"an executor with a part of the set": {"I28: task t1: its executor was given 2 targets of 3", searchInMemory, func(k *oracle.Task) {
			k.Facts.Given = []int64{3, 2}
		}},

		"an item that is missing in the ledger": {"I29: task t1: [2 1] succeeded in its batch 1, and its ledger has [2]", walkInMemory, func(k *oracle.Task) {
			k.Facts.Ledger[1] = []int64{2}
		}},
		"an item in the ledger twice": {"I29: task t1: [0] succeeded in its batch 0, and its ledger has [0 0]", walkInMemory, func(k *oracle.Task) {
			k.Facts.Ledger[0] = []int64{0, 0}
		}},
		"a failed item in the ledger": {"I29: task t1: [0] succeeded in its batch 0, and its ledger has [0 1]", walkInMemory, func(k *oracle.Task) {
			k.Facts.Ledger[0] = []int64{0, 1}
		}},
		"the ledger of a batch that was not committed": {"I29: task t1: its ledger has [7] of batch 2, in which nothing succeeded", walkInMemory, func(k *oracle.Task) {
			k.Facts.Ledger[2] = []int64{7}
		}},
		"the ledger of a task that keeps none": {"I29: task t1: its ledger has [0] of batch 0, in which nothing succeeded", walkInMemory, func(k *oracle.Task) {
			k.Facts.KeepsLedger = false
		}},
		"a failed item that succeeded later": {"I6: task t1: counts 0 items that were failed, and has 1 rows of them", walkInMemory, func(k *oracle.Task) {
			k.Outcomes, k.Facts.Recorded = map[string]int64{"failed": 1}, map[string][]int64{"failed": {1}}
		}},
	} {
		if all := found(c.run, c.damage); !strings.Contains(all, c.want) {
			t.Errorf("%s: found %q, want %q", name, all, c.want)
		}
	}
}
