package session

import (
	"context"
	"errors"
	"fmt"

	"taskkit.dev/internal/store/txguard"
)

// savepoint is an open savepoint of a batch's transaction.
type savepoint struct {
	tx        *LazyTx
	name      string
	submitted bool // the batch had submitted children when it was opened
	closed    bool
}

// openSavepoint opens a savepoint within those that are open.
func (s *Step) openSavepoint(ctx context.Context) (*savepoint, error) {
	s.mu.Lock()
	s.savepoint++
	name := fmt.Sprintf("taskkit_try_%d", s.savepoint)
	s.mu.Unlock()

	if err := s.Tx.savepoint(ctx, name); err != nil {
		return nil, fmt.Errorf("begin savepoint: %w", err)
	}
	return &savepoint{tx: s.Tx, name: name, submitted: s.Tx.submittedChildren()}, nil
}

// try calls f inside a savepoint. The first error is the error of f, or of a statement
// that f ignored, and what f wrote is undone. The second is the error of the savepoint
// itself, and the transaction cannot be used any more.
func (s *Step) try(ctx context.Context, f func() error) (failed, broken error) {
	p, err := s.openSavepoint(ctx)
	if err != nil {
		return nil, err
	}
	if failed, broken = p.call(ctx, f, p.release); failed != nil && broken == nil {
		broken = p.release(ctx)
	}
	return failed, broken
}

// call calls f. If f succeeds, it calls keep, which is release or renew. Otherwise what f
// wrote is undone, and the savepoint stays open. The errors are as in [Step.try].
func (p *savepoint) call(ctx context.Context, f func() error, keep func(context.Context) error) (failed, broken error) {
	finished := false
	defer func() {
		if !finished { // a panic, which continues
			_ = p.undo(ctx)
			p.abandon()
		}
	}()
	failed = f()
	finished = true
	if failed == nil {
		err := keep(ctx)
		spoiled, ok := errors.AsType[*txguard.SpoiledError](err)
		if !ok {
			return nil, err
		}
		failed = spoiled.First // of a statement that f ignored
	}
	if err := p.undo(ctx); err != nil {
		p.abandon()
		return failed, fmt.Errorf("undo savepoint: %w", err)
	}
	return failed, nil
}

// undo undoes what was done in the savepoint, which stays open. The caller's context may
// have ended; the transaction must be usable all the same, or be known not to be.
func (p *savepoint) undo(ctx context.Context) error {
	p.tx.noteChildren(p.submitted)
	return p.tx.rollbackTo(context.WithoutCancel(ctx), p.name)
}

// renew keeps what was done in the savepoint: undo undoes only what follows.
func (p *savepoint) renew(ctx context.Context) error {
	if err := p.tx.renewSavepoint(ctx, p.name); err != nil {
		return p.notReleased(err)
	}
	p.submitted = p.tx.submittedChildren()
	return nil
}

// release keeps what was done in the savepoint and closes it.
func (p *savepoint) release(ctx context.Context) error {
	if err := p.tx.releaseSavepoint(ctx, p.name); err != nil {
		return p.notReleased(err)
	}
	p.closed = true
	return nil
}

// notReleased abandons a savepoint that could not be released. One in which a statement has failed
// can still be rolled back to.
func (p *savepoint) notReleased(err error) error {
	if _, ok := errors.AsType[*txguard.SpoiledError](err); !ok {
		p.abandon()
	}
	return fmt.Errorf("release savepoint: %w", err)
}

// abandon leaves a savepoint that cannot be used any more.
func (p *savepoint) abandon() {
	p.tx.closeSavepoint()
	p.closed = true
}
