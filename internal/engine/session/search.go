package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// searching is the work of a session that finds the targets of its task, before the first batch of Execute. Its batches have
// checkpoints like all others, with the targets that were found. It is a [feature] too, and does nothing once the
// targets are complete.
type searching struct {
	noFeature
	c      *current
	frozen *frozenTargets
	done   func() // the session executes the task next
	idle   idleGuard

	// targets are the committed targets. It is nil when they are not known: at the beginning, and after a batch that
	// failed or whose commit was uncertain.
	targets *store.TargetSearch
	next    *store.TargetSearch // with the batch whose checkpoint is being written
}

// errFinding: a task that ends before it has found its targets has none to take.
var errFinding = errors.New("the targets of the task have not been found")

func newSearching(c *current, frozen *frozenTargets, done func()) (*searching, error) {
	if !c.kind.FindsTargets {
		return nil, fmt.Errorf("the task finds its targets when it starts, and this worker's executor of kind %s has no method Targets: put it back", c.task.Kind)
	}
	// A batch writes a page, so that most pages are written once.
	k := *c.kind
	if !c.Config.FixedLimit {
		k.Limit = store.TargetsPerPage
	}
	// An item can kill its worker, and be taken alone; the number of targets to find cannot.
	c.limit = newBatchSizer(&k, false, min(c.stored, 2), c.Config)
	c.limit.max = c.limit.normal
	return &searching{c: c, frozen: frozen, done: done}, nil
}

// begin prepares an ending. A commit of unknown outcome may have completed the targets.
func (f *searching) begin(step *Step) error {
	if step.Ending == NotEnding {
		return nil
	}
	return f.refresh()
}

// refresh reads how far the search is, if the session does not know that.
func (f *searching) refresh() error {
	if !f.frozen.Finding || f.targets != nil {
		return nil
	}
	plan, err := f.c.readPlan()
	switch {
	case err != nil:
		return err
	case plan.Frozen == nil:
		return unreadable("the plan of the task has no targets")
	}
	f.frozen.FrozenTargets = *plan.Frozen
	if !plan.Frozen.Finding {
		f.end()
	}
	return nil
}

// stored reads the targets that the task has found.
func (f *searching) stored(total int64) (*store.TargetSearch, error) {
	found, next, last := store.NewTargetSearch(total)
	for next <= last {
		const most = 100 // pages of a statement
		ctx, cancel := f.c.short()
		pages, err := f.c.Store.Targets(ctx, f.c.task.ID, next, min(next+most-1, last))
		cancel()
		if err != nil {
			return nil, err
		}
		if len(pages) == 0 {
			break
		}
		for _, p := range pages {
			if err := found.Restore(p); err != nil {
				return nil, unreadable("%w", err)
			}
		}
		next += len(pages)
	}
	if found.Total() != total {
		return nil, unreadable("%d targets were found, and %d are stored", total, found.Total())
	}
	return found, nil
}

// end begins the batches of Execute: all targets are known.
func (f *searching) end() {
	f.c.limit = newBatchSizer(f.c.kind, false, 1, f.c.Config)
	f.done()
}

// initialState is the state of a task that has not been executed.
var initialState = json.RawMessage("{}")

// search is one batch of Targets.
type search struct {
	*searching

	none          bool // no target was found before
	keys          [][]byte
	next          Next // what the call returned
	state, report json.RawMessage
}

// batch implements [work].
func (f *searching) batch(step *Step) (batch, error) {
	step.searching = true
	if err := f.refresh(); err != nil {
		return nil, err
	}
	if !f.frozen.Finding {
		return nil, nil //nolint:nilnil // it has ended
	}
	if f.targets == nil {
		var err error
		if f.targets, err = f.stored(f.frozen.Total); err != nil {
			return nil, err
		}
	}
	return &search{searching: f, none: f.targets.Total() == 0}, nil
}

// call implements [batch]. A task without targets is done with it.
func (b *search) call(ctx context.Context, step *Step) (err error) {
	targeter, ok := b.c.call.(Targeter)
	if !ok {
		return unreadable("the executor finds no targets")
	}
	b.keys, b.next, b.state, err = targeter.Targets(ctx, step, b.frozen.Field, b.c.state)
	if o := b.c.options; o != nil && o.Sample != nil {
		b.keys = slices.DeleteFunc(b.keys, func(key []byte) bool { return !o.Sample.Hit(key) })
	}
	if err == nil {
		err = step.searched(b.frozen.AreParts())
	}
	if err == nil {
		err = checkNext(b.next, step.Tx)
	}
	if err == nil && b.next.Done {
		b.state = initialState
	}
	if err == nil && b.next.Done && b.none && len(b.keys) == 0 && b.c.hasReport() {
		step.Ending, step.Task.Revision, step.Targets = EndDone, b.c.kind.Revision, &Targets{}
		b.report, err = b.c.call.Report(ctx, step, b.state)
	}
	return err
}

// result implements [batch].
func (b *search) result(step *Step) (*result, error) {
	found, err := b.add()
	if err == nil && b.next == (Next{}) {
		err = b.idle.checked(found != nil, false, b.c.state, b.state)
	}
	if err != nil {
		return nil, err
	}
	r := &result{Write: b.c.checkpoint(b.state, b.report), next: b.next, progressed: found != nil, items: len(b.keys)}
	r.Progress, r.Found = b.c.progress, found
	if b.next.Done {
		r.Progress.Total = found.Total
		if b.frozen.AreParts() {
			r.Progress.Total = step.total
		}
		r.next = Next{Done: found.Total == 0}
	}
	b.searching.targets, b.searching.next = nil, b.searching.targets
	return r, nil
}

// add adds what the batch has found to the targets of the task. It returns nil if that
// changes nothing.
func (b *search) add() (*store.Found, error) {
	before := b.targets.Total()
	for _, key := range b.keys {
		if err := b.targets.Add(key); err != nil {
			return nil, unreadable("%w", err)
		}
	}
	if b.targets.Total() == before && !b.next.Done {
		return nil, nil //nolint:nilnil // nothing was found
	}
	return b.targets.Take(b.next.Done), nil
}

// discarded implements [feature].
func (f *searching) discarded(time.Duration) { f.targets = nil }

// committed makes the targets of a committed checkpoint the session's own.
func (f *searching) committed(w *store.Write, _ store.Applied) {
	if !w.Checkpoint || !f.frozen.Finding {
		return
	}
	f.targets = f.next
	if w.Found == nil {
		return
	}
	f.frozen.Total, f.frozen.Finding = w.Found.Total, !w.Found.Complete
	if w.Found.Complete {
		f.end()
	}
}

// errProcessed is the error of a search that did the work of Execute.
var errProcessed = errors.New("Targets finds the targets of the task and processes none: leave Take, Fail, Skip, Defer, Advance and Total to Execute")

// searched returns the error of a search that counted or recorded items. One for parts may set the total of their items.
func (s *Step) searched(parts bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misuse == nil && s.key == nil && len(s.outcomes.items) == 0 && s.processed == 0 && (parts || s.total == s.before.Total) {
		return nil
	}
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMisuse, Err: errProcessed}
}
