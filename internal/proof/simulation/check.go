package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// check hands the run to the oracle and returns the violations that it finds.
func (w *env) check(ctx context.Context) (bad []string) {
	h, err := w.history(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	r := h.Check(oracle.Options{Ended: true, MaxAttempts: maxAttempts})
	for _, v := range r.Violations {
		bad = append(bad, v.String())
	}
	w.counted("paused by its stop policy", r.Counts.Limits)
	w.counted("paused for approval", r.Counts.Approvals)
	w.counted("preview", r.Counts.Previews)
	bad = append(bad, w.checkReports(ctx)...)
	bad = append(bad, w.checkDerived(ctx)...)
	bad = append(bad, w.checkRates(ctx)...)
	bad = append(bad, w.checkParents()...)
	bad = append(bad, w.checkLimits()...)
	bad = append(bad, w.checkTimes(ctx)...)
	bad = append(bad, w.checkQueues()...)
	bad = append(bad, w.checkThrottled()...)
	bad = append(bad, w.checkSchedules()...)
	return append(bad, w.checkReferences(ctx)...)
}

// history is the run as the oracle reads it: the store's log of changes, the rows
// that executors wrote, and what clients and executors know.
func (w *env) history(ctx context.Context) (*oracle.History, error) {
	h := oracle.NewHistory()
	h.Resubmits = true // a client tries again, and an operator may have deleted the task meanwhile
	log, rows := w.mem.Log(), w.mem.Rows()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.facts.submits {
		of := oracle.Submission{Kind: s.task.Kind, Key: s.task.ID.String(), UniqueKey: s.task.Key}
		if s.task.Reference != "" {
			of.Key = "" // the task that has it may be another's, see checkReferences
		}
		h.Submitted("the client", of, s.id.String(), s.outcome)
	}
	for _, s := range w.facts.derived {
		h.Submitted("the operator", oracle.Submission{Kind: s.task.Kind, Key: s.key, UniqueKey: s.task.Key}, s.id.String(), s.outcome)
	}
	sets := make(searched)
	for i, c := range log {
		row := c.After
		if row == nil {
			row = c.Before
		}
		t := h.Task(row.ID.String())
		if c.Before == nil && row.Parent != uuid.Nil {
			h.Submitted("its parent", oracle.Submission{Kind: row.Kind}, row.ID.String(), oracle.OutcomeOK)
		}
		if c.Before == nil && strings.HasPrefix(row.Reason, "schedule ") {
			h.Submitted("its schedule", oracle.Submission{Kind: row.Kind, Key: row.IdempotencyKey}, row.ID.String(), oracle.OutcomeOK)
		}
		if len(t.Changes) == 0 {
			t.Kind, t.UniqueKey, t.IdempotencyKey = row.Kind, row.UniqueKey, row.IdempotencyKey
			if plan := w.byID[row.ID]; plan != nil {
				t.Declared, t.Facts.Plan = true, plan.items()
				t.Set = touches(t.Facts.Plan)
				t.Facts.Items, t.Facts.Unreadable = int64(plan.Items), !plan.Spec
				t.Facts.KeepsLedger = keepsLedger(plan.Kind)
				if plan.Search > 0 {
					t.Facts.Search = plan.found()
				}
			}
		}
		t.Changes = append(t.Changes, change(int64(i), c))
		if t.Facts.Search != nil {
			sets.during(c, w.seen)
		}
		if err := sets.follow(t, c); err != nil {
			return nil, err
		}
	}
	for _, r := range rows {
		first, _ := r.Values[0].(int)
		last, _ := r.Values[1].(int)
		t := h.Task(r.Lease.ID.String())
		t.Touches = append(t.Touches, oracle.Touches{Fence: r.Lease.Fence, Seq: r.Lease.Seq, Tx: r.Commit, N: int64(last - first + 1), First: int64(first), Last: int64(last)})
	}
	for a, n := range w.facts.accepted {
		h.Task(a.ID.String()).Facts.Accepted[oracle.Accepted{Fence: a.Fence, Seq: a.Seq, To: a.to}] = int64(n)
	}
	for id := range w.byID {
		t := h.Task(id.String())
		t.Facts.Permanent, t.Facts.Attempt = w.facts.permanent[id], w.facts.tooOften[id]
		if w.byID[id].Times.ends() {
			t.Facts.Permanent = true // by its times
		}
		if f := w.byID[id].Family; f != nil && f.OnFailure == store.FailureFails {
			t.Facts.Permanent = true // by a child
		}
		for _, of := range append(w.ancestors(id), id) { // a request reaches all children
			for action, n := range w.facts.asked[of] {
				t.Events[string(action)] += int64(n)
			}
			for _, p := range w.byID[of].Policies { // pause and stop are requests too
				t.Events[string(p.Do)]++
			}
		}
		if now, err := w.mem.Read(ctx, id); err == nil {
			r := row(&now)
			t.Current = &r
		}
		attempts, err := w.mem.Attempts(ctx, id, 1<<20)
		if err != nil {
			return nil, fmt.Errorf("read the attempts of %s: %w", id, err)
		}
		t.Facts.Given = w.facts.given[id]
		if err := w.outcomes(ctx, id, t); err != nil {
			return nil, err
		}
		if err := w.targetsAndLedger(ctx, id, t); err != nil {
			return nil, err
		}
		for _, a := range attempts {
			t.Attempts = append(t.Attempts, oracle.Attempt{Fence: a.Fence, Seq: a.Seq, Number: int64(a.Attempt), Class: a.Class, Code: a.Code, Detail: a.Detail})
		}
	}
	return h, nil
}

// outcomes reads the outcomes of the items of a task.
func (w *env) outcomes(ctx context.Context, id uuid.UUID, t *oracle.Task) error {
	t.Outcomes, t.Facts.Recorded = make(map[string]int64), make(map[string][]int64)
	for _, o := range []store.Outcome{store.ItemFailed, store.ItemSkipped, store.ItemDeferred} {
		items, err := w.mem.Items(ctx, id, o, store.ItemCursor{}, 1<<20)
		if err != nil {
			return fmt.Errorf("read the %s items of %s: %w", o, id, err)
		}
		t.Outcomes[string(o)] = int64(len(items))
		for _, i := range items {
			var item int64
			if err := json.Unmarshal([]byte(i.Key), &item); err != nil {
				return fmt.Errorf("item %s of %s: %w", i.Key, id, err)
			}
			t.Facts.Recorded[string(o)] = append(t.Facts.Recorded[string(o)], item)
		}
	}
	return nil
}

// items are what must become of the items of a task, by position. The executor writes a row
// for those that succeed, but for a task that writes nothing and for a preview.
func (t *Task) items() []oracle.PlannedItem {
	items := make([]oracle.PlannedItem, t.Items)
	for at := range items {
		i := t.value(at)
		o, pass := t.outcomeAt(at)
		items[at] = oracle.PlannedItem{
			Entity: int64(i), Outcome: string(o), Pass: int64(pass), Touched: o == "" && t.Kind != kindCount && t.Kind != kindParent && !t.Preview,
		}
	}
	return items
}

// value is the item at a position.
func (t *Task) value(at int) int {
	if t.Values != nil {
		return t.Values[at]
	}
	return at
}

// touches are the entities that a task touches.
func touches(items []oracle.PlannedItem) (set []oracle.Range) {
	for _, p := range items {
		switch n := len(set); {
		case !p.Touched:
		case n > 0 && set[n-1].Past == p.Entity:
			set[n-1].Past++
		default:
			set = append(set, oracle.Range{First: p.Entity, Past: p.Entity + 1})
		}
	}
	return set
}

// change is a change of the store's log as the oracle reads it.
func change(id int64, c memstore.Change) *oracle.Change {
	h := &oracle.Change{ID: id, At: c.At.UnixMicro(), Tx: c.Commit, By: oracle.Other, Op: "UPDATE"}
	switch {
	case c.Before == nil:
		h.Op = "INSERT"
	case c.After == nil:
		h.Op = "DELETE"
	}
	switch c.By {
	case "Apply", "Commit":
		h.By = oracle.Holder
	case "Insert":
		h.By = oracle.Submitter
	}
	o := c.Options.Conditions
	if c.After != nil {
		o = o.WithDefault(stopAfter[c.After.Kind])
	}
	h.Conditions = oracle.Conditions{
		StopAfter: oracle.StopPolicy(o.StopAfter), Canary: o.Canary, Approval: o.Approval, Approved: o.Approved, Preview: c.Options.Preview,
	}
	if c.Before != nil {
		h.Old = row(c.Before)
	}
	if c.After != nil {
		h.New = row(c.After)
	}
	return h
}

// row is a row of the store as the oracle reads it.
func row(t *memstore.Task) oracle.Row {
	is := map[bool]int64{true: 1}
	return oracle.Row{
		Status: string(t.Status), Fence: t.Fence, Seq: t.Seq, Attempts: int64(t.Attempts), Control: string(t.Control), Process: t.Process,
		State: string(t.State), Spec: string(t.Spec),
		Total: t.Progress.Total, Position: t.Progress.Position, Round: int64(t.Progress.Round), Done: t.Progress.Done, Failed: t.Progress.Failed, Skipped: t.Progress.Skipped,
		Started: is[t.Started != nil], Stopped: is[t.Stopped != nil], Due: t.NotBefore.UnixMicro(), Reason: t.WaitingReason, Partial: is[t.Partial],
		Cursor: int64(stateOf(t.State).At), Search: int64(stateOf(t.State).Search),
	}
}

// stateOf reads a state.
func stateOf(raw json.RawMessage) (s state) {
	if json.Unmarshal(raw, &s) != nil {
		return state{At: -1}
	}
	return s
}

// takenForPoison counts the tasks that ended in ERROR although no item of theirs
// kills a worker: their workers died by chance.
func (w *env) takenForPoison(ctx context.Context) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, plan := range w.byID {
		if t, err := w.mem.Task(ctx, id); err == nil && t.Status == lifecycle.Error && plan.Spec && plan.Killer < 0 {
			n++
		}
	}
	return n
}
