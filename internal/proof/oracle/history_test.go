package oracle_test

import (
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/oracle"
)

// runInMemory is a history that violates nothing: one task of four items, of
// which the third fails, in two batches.
func runInMemory() (*oracle.History, *oracle.Task) {
	h := oracle.NewHistory()
	h.Submitted("client", oracle.Submission{Kind: "played", Key: "k"}, "t1", oracle.OutcomeOK)
	t := h.Task("t1")
	t.Kind, t.IdempotencyKey, t.Declared = "played", "k", true
	t.Set = []oracle.Range{{First: 0, Past: 2}, {First: 3, Past: 4}}
	t.Facts.Items = 4
	t.Facts.Plan = []oracle.PlannedItem{{Entity: 0, Touched: true}, {Entity: 1, Touched: true}, {Entity: 2, Outcome: "failed"}, {Entity: 3, Touched: true}}
	t.Facts.Recorded = map[string][]int64{"failed": {2}}
	t.Outcomes = map[string]int64{"failed": 1}
	rows := []oracle.Row{
		{Status: "QUEUED", Total: -1},
		{Status: "SCHEDULING", Total: -1, Fence: 1, Attempts: 1, Process: "w-1"},
		{Status: "EXECUTING", Total: 4, Fence: 1, Seq: 1, Process: "w-1", Started: 1, Done: 2, Cursor: 2, State: "2"},
		{Status: "COMPLETED", Total: 4, Fence: 1, Seq: 2, Started: 1, Stopped: 1, Done: 3, Failed: 1, Cursor: 4, State: "4"},
	}
	for i, r := range rows {
		c := &oracle.Change{ID: int64(i), Tx: int64(i), Op: "UPDATE", By: oracle.Holder, New: r}
		if i == 0 {
			c.Op, c.By = "INSERT", oracle.Submitter
		} else {
			c.Old = rows[i-1]
		}
		if i == 1 {
			c.By = oracle.Other
		}
		t.Changes = append(t.Changes, c)
	}
	for _, b := range [][3]int64{{0, 0, 2}, {0, 1, 2}, {1, 3, 3}} {
		t.Touches = append(t.Touches, oracle.Touches{Fence: 1, Seq: b[0], Tx: b[2], N: 1, First: b[1], Last: b[1]})
	}
	t.Facts.Accepted[oracle.Accepted{Fence: 1, Seq: 1, To: "COMPLETED"}] = 1
	last := rows[3]
	t.Current = &last
	return h, t
}

// begunAnew is a history in which a task gives up after its first checkpoint, is reset by author with its spec as it
// was, and works on all its items again. It violates nothing if author is the submitter.
func begunAnew(author oracle.Author) *oracle.History {
	h, t := runInMemory()
	first := t.Changes[:3]
	waits := first[2].New
	waits.Status, waits.Process, waits.Attempts = "QUEUED", "", 1
	anew := waits
	anew.State, anew.Cursor, anew.Done, anew.Attempts, anew.Started, anew.Total = "{}", 0, 0, 0, 0, -1
	claimed := anew
	claimed.Status, claimed.Fence, claimed.Attempts, claimed.Process = "SCHEDULING", 2, 1, "w-1"
	ended := t.Changes[3].New
	ended.Fence = 2
	t.Changes = first
	for _, c := range []struct {
		by oracle.Author
		to oracle.Row
	}{{oracle.Holder, waits}, {author, anew}, {oracle.Other, claimed}, {oracle.Holder, ended}} {
		i := int64(len(t.Changes))
		t.Changes = append(t.Changes, &oracle.Change{ID: i, Tx: i, Op: "UPDATE", By: c.by, Old: t.Changes[i-1].New, New: c.to})
	}
	t.Touches = t.Touches[:2]
	for _, entity := range []int64{0, 1, 3} {
		t.Touches = append(t.Touches, oracle.Touches{Fence: 2, Seq: 1, Tx: 6, N: 1, First: entity, Last: entity})
	}
	t.Facts.Accepted = map[oracle.Accepted]int64{{Fence: 2, Seq: 1, To: "COMPLETED"}: 1}
	*t.Current = ended
	return h
}

// A submission that is merged into a waiting task lets it begin anew, with the same spec as well. Nothing else
// may do so, and where the author is not known, the same spec is no proof of a submission.
func TestBegunAnew(t *testing.T) {
	t.Parallel()
	opts := oracle.Options{Ended: true, MaxAttempts: 3}
	if r := begunAnew(oracle.Submitter).Check(opts); !r.OK() {
		t.Error(r.Violations)
	}
	for _, other := range []oracle.Author{oracle.Unknown, oracle.Holder, oracle.Other} {
		text := fmt.Sprint(begunAnew(other).Check(opts).Violations)
		for _, want := range []string{"I1: task t1: 2 entities touched more than once", "I4: task t1: a counter goes down", "I6: task t1: the state changes without a checkpoint"} {
			if !strings.Contains(text, want) {
				t.Errorf("begun anew by author %d: found %s, want %q", other, text, want)
			}
		}
	}
}

// Each violation that only a run in memory can show is found in it.
func TestHistory(t *testing.T) {
	t.Parallel()
	opts := oracle.Options{Ended: true, MaxAttempts: 3}
	h, _ := runInMemory()
	if r := h.Check(opts); !r.OK() || r.Counts.Tasks != 1 || r.Counts.Touches != 3 || r.Counts.Batches != 2 {
		t.Fatalf("a clean run: %+v, %v", r.Counts, r.Violations)
	}
	ends := func(k *oracle.Task, status string) {
		k.Changes[3].New.Status, k.Current.Status = status, status
	}
	for name, c := range map[string]struct {
		want   string
		damage func(h *oracle.History, k *oracle.Task)
	}{
		"a write that did not happen": {"I5: task t1: fence 1 was told", func(_ *oracle.History, k *oracle.Task) {
			k.Facts.Accepted[oracle.Accepted{Fence: 1, Seq: 7, To: "QUEUED"}] = 1
		}},
		"a cursor that goes back": {"I4: task t1: the cursor goes back from 2 to 1", func(_ *oracle.History, k *oracle.Task) {
			k.Changes[3].New.Cursor, k.Current.Cursor = 1, 1
		}},
		"a failing item that was touched": {"I6: task t1: the cursor moves from 2 to 4, and [2 3] were touched, not [3]", func(_ *oracle.History, k *oracle.Task) {
			k.Touches = append(k.Touches, oracle.Touches{Fence: 1, Seq: 1, Tx: 3, N: 1, First: 2, Last: 2})
		}},
		"an item left out": {"I6: task t1: the cursor moves from 2 to 4, and [] were touched, not [3]", func(_ *oracle.History, k *oracle.Task) {
			k.Touches = k.Touches[:2]
		}},
		"an outcome that was lost": {"I6: task t1: counts 1 items that were failed, and has 0 rows of them", func(_ *oracle.History, k *oracle.Task) {
			k.Outcomes, k.Facts.Recorded = nil, nil
		}},
		"the outcome of another item": {"I6: task t1: its cursor is at 4, and the rows of failed items are those of [3], not [2]", func(_ *oracle.History, k *oracle.Task) {
			k.Facts.Recorded = map[string][]int64{"failed": {3}}
		}},
		"an outcome that was not committed": {"I6: task t1: its cursor is at 2, and the rows of failed items are those of [2], not []", func(_ *oracle.History, k *oracle.Task) {
			k.Changes, k.Facts.Accepted = k.Changes[:3], nil
		}},
		"an outcome twice": {"I6: task t1: counts 1 items that were failed, and has 2 rows of them", func(_ *oracle.History, k *oracle.Task) {
			k.Outcomes["failed"] = 2
		}},
		"completed before the last item": {"I1: task t1: completed with its cursor at 3 of 4", func(_ *oracle.History, k *oracle.Task) {
			k.Changes[3].New.Cursor, k.Current.Cursor = 3, 3
		}},
		"a wrong total": {"I4: task t1: completed with 3 items done, 1 failed, 0 skipped and a total of 4, and it has 5", func(_ *oracle.History, k *oracle.Task) {
			k.Facts.Items = 5
		}},
		"too many attempts": {"I10: task t1: executed for attempt 4 of at most 3", func(_ *oracle.History, k *oracle.Task) { k.Facts.Attempt = 4 }},
		"failed early": {"I10: task t1: failed after 1 claims of checkpoint 1", func(_ *oracle.History, k *oracle.Task) {
			ends(k, "FAILURE")
		}},
		"taken for a poison task": {"I11: task t1: taken for a poison task after 1 claims", func(_ *oracle.History, k *oracle.Task) {
			ends(k, "ERROR")
		}},
		"a spec that cannot be decoded": {"I3: task t1: completed with a spec that cannot be decoded", func(_ *oracle.History, k *oracle.Task) { k.Facts.Unreadable = true }},
		"removed by somebody else": {"I8: task t1: removed while a worker held it, and not by that worker", func(_ *oracle.History, k *oracle.Task) {
			k.Events["delete"] = 1
			k.Changes[3] = &oracle.Change{ID: 3, Tx: 9, Op: "DELETE", By: oracle.Other, Old: k.Changes[2].New}
			k.Current = nil
		}},
		"never submitted": {"I2: task t2: was never submitted", func(h *oracle.History, k *oracle.Task) {
			two := h.Task("t2")
			two.Kind, two.Changes = "played", k.Changes[:1]
		}},
		"touched after the next claim": {"I5: task t1: 1 touches from 0 under fence 0, after fence 1 was committed", func(_ *oracle.History, k *oracle.Task) {
			k.Touches[0].Fence = 0
		}},
		"a key twice": {"I13: task t2: exists beside t1 with the idempotency key", func(h *oracle.History, k *oracle.Task) {
			h.Resubmits = true
			h.Submitted("client", oracle.Submission{Kind: "played", Key: "k"}, "t2", oracle.OutcomeUnknown)
			two := h.Task("t2")
			two.Kind, two.IdempotencyKey, two.Changes = "played", "k", []*oracle.Change{{ID: 1, Tx: 1, Op: "INSERT", New: k.Changes[0].New}}
		}},
		"a delete that was forgotten": {"I8: task t1: the run is over, and the task is COMPLETED although its deletion was accepted", func(_ *oracle.History, k *oracle.Task) {
			k.Changes[3].New.Control, k.Current.Control = "DELETE", "DELETE"
		}},
		"no row": {"I2: task t1: its row is gone", func(_ *oracle.History, k *oracle.Task) { k.Current = nil }},
	} {
		h, k := runInMemory()
		c.damage(h, k)
		var found []string
		for _, v := range h.Check(opts).Violations {
			found = append(found, v.String())
		}
		if !strings.Contains(strings.Join(found, "\n"), c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
	}
}
