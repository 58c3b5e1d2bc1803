package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/store"
)

// How an operator makes a task from another.
const (
	actRetryFailed = "retry of failed items"
	actContinue    = "continuation"
	actApply       = "application of a preview"
)

// unlimited is a stop policy that no task reaches.
var unlimited = lifecycle.StopPolicy{Failed: 1 << 40}

// approver is a person other than the owner of the tasks.
var approver = uuid.UUID{15: 1}

// asks makes an operator's requests until ctx ends.
func (w *env) asks(ctx context.Context) {
	if w.plan.RequestEvery == 0 {
		_ = sleep(ctx, w.plan.Chaos)
		return
	}
	n := w.node("operator")
	actions := []lifecycle.Action{
		lifecycle.ActStop, lifecycle.ActPause, lifecycle.ActResume, lifecycle.ActRetry, lifecycle.ActDelete, lifecycle.ActPause, lifecycle.ActResume,
		lifecycle.ActChange, lifecycle.ActApprove,
	}
	for sleep(ctx, w.wait(w.plan.RequestEvery*7/11)) == nil {
		of := w.known()
		id, what := of[w.pick(len(of))], w.pick(len(actions)+2)
		if found := w.searching(of); len(found) > 0 && w.pick(6) == 0 {
			id = found[w.pick(len(found))] // or few would be asked of
		}
		id = w.requestOfFamily(id)
		if what >= len(actions) {
			if ended := w.ended(of); len(ended) > 0 {
				n.derive(ended[w.pick(len(ended))])
			}
			continue
		}
		q := store.Request{Action: actions[what]}
		switch q.Action {
		case lifecycle.ActChange:
			q.StopAfter = []lifecycle.StopPolicy{{Failed: int64(1 + w.pick(6))}, {Percent: float64(1 + w.pick(50))}, unlimited}[w.pick(3)]
		case lifecycle.ActResume:
			if w.pick(2) == 0 {
				q.StopAfter = unlimited
			}
		case lifecycle.ActApprove:
			q.Actor = []uuid.UUID{approver, approver, uuid.Max}[w.pick(3)]
		case lifecycle.ActStop, lifecycle.ActPause, lifecycle.ActRetry, lifecycle.ActDelete, lifecycle.ActNotify, lifecycle.ActLost:
		}
		n.request(id, q)
	}
}

// known are the tasks of which an operator knows: those of the plan, as they were called
// last, and those that were made from them.
func (w *env) known() (ids []uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.plan.Tasks {
		ids = append(ids, w.ids[&w.plan.Tasks[i]])
	}
	for _, d := range w.facts.derived {
		ids = append(ids, d.id)
	}
	return ids
}

// deriveAtEnd makes tasks from others when all have ended and there are no faults. Failed searches
// go on.
func (w *env) deriveAtEnd() {
	n := w.node("operator")
	for _, id := range w.ended(w.known()) {
		switch t, err := w.mem.Task(context.Background(), id); {
		case w.pick(2) == 0:
		case err == nil && t.Found != nil && t.Status == lifecycle.Failure:
			n.request(id, store.Request{Action: lifecycle.ActRetry})
		default:
			n.derive(id)
		}
	}
}

// ended are those of these tasks that another can be made from.
func (w *env) ended(of []uuid.UUID) (ids []uuid.UUID) {
	for _, id := range of {
		plan := w.task(id)
		if plan == nil || plan.Kind != kindFrozen || plan.Part {
			continue
		}
		if t, err := w.mem.Task(context.Background(), id); err == nil && t.Status.Terminal() {
			ids = append(ids, id)
		}
	}
	return ids
}

func (n *node) request(id uuid.UUID, q store.Request) {
	n.know(func(f *facts) { f.requested(id, q.Action) })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if t, err := n.Request(ctx, id, q); err == nil { // refusals are answers too
		n.afterRequest(ctx, t)
	}
}

func (f *facts) requested(id uuid.UUID, a lifecycle.Action) {
	if f.asked[id] == nil {
		f.asked[id] = make(map[lifecycle.Action]int)
	}
	f.asked[id][a]++
}

// letGoOn lets a paused task go on, whatever it waits for.
func (n *node) letGoOn(t store.Task) {
	q := store.Request{Action: lifecycle.ActResume}
	o, err := n.db.TaskOptions(context.Background(), t.ID)
	if err == nil && o.AwaitsApproval(t.Progress) {
		q = store.Request{Action: lifecycle.ActApprove, Actor: approver}
	}
	if err == nil && o.StopAfter != (lifecycle.StopPolicy{}) {
		q.StopAfter = unlimited
	}
	n.request(t.ID, q)
}

// errNothing is why no task is made from another.
var errNothing = errors.New("simulated: there is nothing to retry or to continue")

// derive makes a task from another that has ended: over its failed items, or over those
// that it has not processed. It does what taskkit's client does.
func (n *node) derive(from uuid.UUID) {
	parent := n.task(from)
	action, key := actRetryFailed, "retry "+from.String()
	if parent.Preview {
		action, key = actApply, store.ApplyKey(from)
	} else if n.pick(2) == 0 {
		action, key = actContinue, store.ContinuationKey(from)
	}
	var id uuid.UUID
	for b := range id {
		id[b] = byte(n.pick(256))
	}
	id[0], id[6], id[8] = parent.ID[0], id[6]&0x0f|0x70, id[8]&0x3f|0x80
	child := *parent
	child.Times = Times{Window: parent.Times.Window}
	child.ID, child.Parent, child.Action, child.Reference = id, from, action, ""
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	made, err := n.Derive(ctx, from, true, func(o store.Origin) (store.NewTask, error) {
		next := o.Follow()
		next.ID, next.IdempotencyKey = id, key
		values, err := derivedItems(context.Background(), &o, action)
		if err == nil && len(values) == 0 {
			err = errNothing
		}
		if err != nil {
			return next, err
		}
		next.Targets = &store.NewTargets{Field: "items", Keys: keys(values)}
		n.register(&child, values, o.Task.Status)
		return next, nil
	})
	var dup *store.DuplicateError
	s := derivation{submit{&child, id, oracle.OutcomeUnknown}, key}
	switch {
	case err == nil:
		n.count(action)
		s.id, s.outcome = made, oracle.OutcomeOK
	case errors.As(err, &dup) && dup.Column == "unique_key":
		s.outcome = oracle.OutcomeDuplicate
	case errors.As(err, &dup):
		s.id, s.outcome = dup.ID, oracle.OutcomeOK
	case errors.Is(err, errNothing), errors.Is(err, store.ErrNotFound):
		return
	}
	n.know(func(f *facts) { f.derived = append(f.derived, s) })
}

// register makes a task known that is about to be stored.
func (w *env) register(t *Task, values []int, from lifecycle.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Values, t.Items, t.Search, t.Preview = values, len(values), 0, false
	t.From = from
	if t.Action == actRetryFailed { // its items are corrected
		t.Fails, t.Defers = 0, 0
	}
	w.byID[t.ID] = t
}

// derivedItems returns the items of a task that is made from another.
func derivedItems(ctx context.Context, o *store.Origin, action string) (values []int, err error) {
	t := &o.Task
	if o.Plan.Frozen == nil || o.Plan.Frozen.Finding {
		return nil, errNothing
	}
	at := t.Progress
	if action == actApply && (t.Status != lifecycle.Completed || t.Partial) ||
		action == actContinue && (!t.Status.Continuable(t.Partial) || at.Deferred || at.Round > 0) || !t.Status.Terminal() {
		return nil, errNothing
	}
	pages, err := o.Targets(ctx, t.ID, 0, int(o.Plan.Frozen.Total)/store.TargetsPerPage)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, p := range pages {
		var page []int
		if err := json.Unmarshal(p.Keys, &page); err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	switch action {
	case actApply:
		return all, nil
	case actContinue:
		return all[at.Position:], nil
	}
	failed, err := o.Items(ctx, t.ID, store.ItemFailed, store.ItemCursor{}, len(all)+1)
	for _, i := range failed {
		values = append(values, all[i.Position-1])
	}
	return values, err
}

// keys yields a frozen set.
func keys(values []int) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for _, i := range values {
			if !yield(strconv.AppendInt(nil, int64(i), 10), nil) {
				return
			}
		}
	}
}

// checkDerived checks the items of tasks that were made from others: of a retry all that
// have failed, of a continuation all that have not been processed, of an application all, in their order.
func (w *env) checkDerived(ctx context.Context) (bad []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, t := range w.byID {
		parent := w.byID[t.Parent]
		if parent == nil {
			continue
		}
		was, err := w.mem.Task(ctx, t.Parent)
		_, gone := w.mem.Task(ctx, id)
		if err != nil || gone != nil || t.From != lifecycle.Completed && t.Action == actRetryFailed {
			continue // nobody knows any more, or it may have been retried and have gone on since
		}
		var want []int
		for at := range parent.Items {
			o, _ := parent.outcomeAt(at)
			reached := at < stateOf(was.State).At
			if t.Action == actApply || t.Action == actContinue && !reached || t.Action == actRetryFailed && reached && o == store.ItemFailed {
				want = append(want, parent.value(at))
			}
		}
		if t.Action == actRetryFailed && was.Partial && was.Progress.Round <= lastPass && parent.Defers > 0 {
			continue // those that were deferred have not failed yet
		}
		if !slices.Equal(t.Values, want) {
			bad = append(bad, fmt.Sprintf("I1: the %s %s of %s is over %v, not %v", t.Action, id, t.Parent, t.Values, want))
		}
	}
	slices.Sort(bad)
	return bad
}

// checkReports checks the reports of previews that have come to their end.
func (w *env) checkReports(ctx context.Context) (bad []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, t := range w.byID {
		now, err := w.mem.Task(ctx, id)
		if err != nil || !t.Preview || t.Kind == kindCount || now.Status != lifecycle.Completed || now.Partial {
			continue
		}
		p, err := w.mem.Plan(ctx, id)
		var r store.Report
		if err == nil {
			r, err = store.DecodeReport(p.Report)
		}
		var want, got int64
		for at := range t.Items {
			if o, _ := t.outcomeAt(at); o == "" {
				want++
			}
		}
		for _, n := range r.Notes {
			got += n.Items
		}
		if err != nil || got != want {
			bad = append(bad, fmt.Sprintf("I27: the preview %s notes %d items of %d (%v)", id, got, want, err))
		}
	}
	slices.Sort(bad)
	return bad
}
