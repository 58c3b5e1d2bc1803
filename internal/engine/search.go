package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// search is the part of a session that finds the targets of its task, before the
// first batch of Execute. Its batches have checkpoints like all others, with the targets
// that were found.
type search struct {
	// targets are those that were found, as committed. It is nil when that is not known:
	// at the beginning, and after a batch that failed or whose commit was uncertain.
	targets *store.TargetSearch
	next    *store.TargetSearch // with those of the batch whose checkpoint is being written
}

// errFinding: a task that ends before it has found its targets has none to take.
var errFinding = errors.New("the targets of the task have not been found")

// openSearch begins a search if the targets of the task are not all found.
func (s *session) openSearch() error {
	if !s.frozen.Finding {
		return nil
	}
	if !s.kind.FindsTargets {
		return fmt.Errorf("the task finds its targets when it starts, and this worker's executor of kind %s has no method Targets: put it back", s.task.Kind)
	}
	s.search = &search{}
	// An item can kill its worker, and be taken alone; what a search asks for cannot.
	s.limit = newBatchSizer(s.searchKind(), false, min(s.stored, 2), s.config)
	s.limit.max = s.limit.normal
	return nil
}

// searchKind is the kind with the limit of a search: a page for each batch, so that a
// page is mostly written once.
func (s *session) searchKind() *Kind {
	k := *s.kind
	if !s.config.FixedLimit {
		k.Limit = store.TargetsPerPage
	}
	return &k
}

// restoreSearch reads the targets that were found and committed, if the session does
// not know them. It ends the search if they are all there.
func (s *session) restoreSearch() error {
	err := s.refreshSearch()
	if err != nil || s.search == nil || s.search.targets != nil {
		return err
	}
	s.search.targets, err = s.storedTargets(s.frozen.Total)
	return err
}

// refreshSearch reads how far the search of the session is, if that is not known: a commit
// of unknown outcome may have been that of its last batch. It ends the search then.
func (s *session) refreshSearch() error {
	if s.search == nil || s.search.targets != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
	defer cancel()
	plan, err := s.store.Plan(ctx, s.task.ID)
	switch {
	case err != nil:
		return err
	case plan.Frozen == nil:
		return unreadable("the plan of the task has no targets")
	}
	s.frozen.FrozenTargets = *plan.Frozen
	if !plan.Frozen.Finding {
		s.endSearch()
	}
	return nil
}

// storedTargets reads the targets that a task has found.
func (s *session) storedTargets(total int64) (*store.TargetSearch, error) {
	found, next, last := store.NewTargetSearch(total)
	for next <= last {
		const most = 100 // pages of a statement
		ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
		pages, err := s.store.Targets(ctx, s.task.ID, next, min(next+most-1, last))
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

// endSearch begins the batches of Execute: all targets are known.
func (s *session) endSearch() {
	s.search, s.idle = nil, idleGuard{}
	s.limit = newBatchSizer(s.kind, false, 1, s.config)
	s.restartMeasure()
}

// initialState is the state of a task that has not been executed.
var initialState = json.RawMessage("{}")

// find runs one batch of the search, and writes its checkpoint. A task without targets is
// done with it.
func (s *session) find() flow {
	err := s.restoreSearch()
	if err == nil {
		err = s.refreshReport()
	}
	if err != nil {
		return s.failed(s.ctx, err)
	}
	if s.search == nil {
		return continueSession
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.config.BatchTimeout, classify.ErrBatchTimeout)
	defer cancel()
	started, tx, limit := time.Now(), s.newTx(), s.limit.size
	step := newStep(s.task, Env{Tx: tx, Limit: limit, Attempt: s.tries, Log: s.log, Preview: s.preview != nil}, s.progress)
	var (
		keys          [][]byte
		next          Next
		state, result json.RawMessage
		none          = s.search.targets.Total() == 0
	)
	err = s.callExecutor(ctx, step, func(ctx context.Context) (err error) {
		targeter, ok := s.call.(Targeter)
		if !ok {
			return unreadable("the executor finds no targets")
		}
		keys, next, state, err = targeter.Targets(ctx, step, s.frozen.Field, s.state)
		if err == nil {
			err = step.searched()
		}
		if err == nil && next.Done {
			state = initialState
		}
		if err == nil && next.Done && none && len(keys) == 0 && s.kind.HasReport {
			step.Ending, step.Task.Revision, step.Targets = EndDone, s.kind.Revision, &Targets{}
			result, err = s.call.Report(ctx, step, state)
		}
		return err
	})
	var w store.Write
	if err == nil { // else an executor that did not return may still write what it finds
		w, err = s.searchWrite(step, keys, next, state, result, time.Since(started))
	}
	if err != nil {
		s.discard(ctx, tx, step, started, err)
		s.search.targets = nil
		return s.react(ctx, err, limit)
	}
	s.reportBatch(step, time.Since(started), w.Progress, classify.Classification{})
	after := next
	if next.Done {
		if !s.kind.TargetsAreParts {
			w.Progress.Total = w.Found.Total
		}
		after = Next{Done: w.Found.Total == 0}
	}
	then := s.next(&w, after, false, w.Found != nil)
	s.measure(&w)
	s.limit.record(len(keys), time.Since(started))
	s.search.targets, s.search.next = nil, s.search.targets
	return s.orFailed(s.commit(tx, &w, then))
}

// searchWrite returns the write of a batch that found the targets keys.
func (s *session) searchWrite(step *Step, keys [][]byte, next Next, state, result json.RawMessage, took time.Duration) (store.Write, error) {
	found, err := s.add(keys, next)
	if err == nil && next == (Next{}) {
		err = s.idle.checked(found != nil, false, s.state, state)
	}
	if err != nil {
		return store.Write{}, err
	}
	w := s.checkpoint(state, result)
	w.Progress, w.Found = s.progress, found
	return w, s.reportPreview(&w, step, took)
}

// add adds what a batch has found to the targets of the task. It returns nil if that
// changes nothing.
func (s *session) add(keys [][]byte, next Next) (*store.Found, error) {
	targets := s.search.targets
	before := targets.Total()
	for _, key := range keys {
		if err := targets.Add(key); err != nil {
			return nil, unreadable("%w", err)
		}
	}
	if targets.Total() == before && !next.Done {
		return nil, nil //nolint:nilnil // nothing was found
	}
	return targets.Take(next.Done), nil
}

// advanceSearch makes the targets of a committed checkpoint the session's own.
func (s *session) advanceSearch(w *store.Write) {
	if s.search == nil {
		return
	}
	s.search.targets = s.search.next
	if w.Found == nil {
		return
	}
	s.frozen.Total, s.frozen.Finding = w.Found.Total, !w.Found.Complete
	if w.Found.Complete {
		s.endSearch()
	}
}

// errProcessed is the error of a search that did the work of Execute.
var errProcessed = errors.New("Targets finds the targets of the task and processes none: leave Take, Fail, Skip, Defer, Advance and Total to Execute")

// searched returns the error of a search that counted or recorded items.
func (s *Step) searched() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misuse == nil && s.key == nil && len(s.outcomes.items) == 0 && s.processed == 0 && s.total == s.before.Total {
		return nil
	}
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMisuse, Err: errProcessed}
}
