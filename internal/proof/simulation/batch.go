package simulation

import (
	"context"
	"database/sql"
	"time"

	"taskkit.dev/internal/store"
)

// serverTx is a transaction as the server sees it: what it can do without its
// client.
type serverTx interface {
	store.Tx
	Prepare(ctx context.Context, w store.Write) (store.Applied, error)
	Finish() error
	Answer(a store.Applied) store.Applied // after Finish
	Kill()
}

// nodeTx is a batch's transaction through a node. When a statement of it is
// lost, its connection is gone.
type nodeTx struct {
	n    *node
	tx   serverTx
	gone bool // guarded by the node's mutex
}

// Begin implements [store.Sessions]. A transaction whose begin is not answered is
// ended by the server some time.
func (n *node) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	var begun *nodeTx
	_, err := do(ctx, n, "Begin", func(ctx context.Context) (nothing, error) {
		tx, err := n.db.Begin(ctx, h, l)
		if err != nil {
			return nothing{}, err
		}
		t := &nodeTx{n: n, tx: tx.(serverTx)} //nolint:forcetypeassert,errcheck // all stores here begin such
		if !n.keep(t) {
			t.abandon()
			return nothing{}, errNetwork
		}
		if begun == nil {
			begun = t
		}
		return nothing{}, nil
	})
	if err != nil {
		return nil, err
	}
	return begun, nil
}

// keep remembers a transaction for the case that the machine ends.
func (n *node) keep(t *nodeTx) bool {
	n.state.Lock()
	defer n.state.Unlock()
	if !n.dead {
		n.txs[t] = true
	}
	return !n.dead
}

func (n *node) forget(t *nodeTx) {
	n.state.Lock()
	defer n.state.Unlock()
	delete(n.txs, t)
}

// abandon is a connection that goes: the server notices soon, or not before the
// transaction has been silent for too long.
func (t *nodeTx) abandon() {
	if t.n.chance(0.3) {
		t.n.count("transaction left to its limit")
		return
	}
	wait := t.n.between(0, 200*time.Millisecond)
	go func() {
		pass(wait)
		t.tx.Kill()
	}()
}

// cut ends the connection, once.
func (t *nodeTx) cut() {
	t.n.state.Lock()
	gone := t.gone
	t.gone = true
	t.n.state.Unlock()
	if !gone {
		t.n.forget(t)
		t.abandon()
	}
}

func (t *nodeTx) isGone() bool {
	t.n.state.Lock()
	defer t.n.state.Unlock()
	return t.gone || t.n.dead
}

// ready waits while the machine stands still and returns an error when the
// connection is gone.
func (t *nodeTx) ready(ctx context.Context) (context.Context, error) {
	ctx, err := t.n.gate(ctx, false)
	if err == nil && t.isGone() {
		err = errNetwork
	}
	return ctx, err
}

// Dialect returns ent's name of the database.
func (t *nodeTx) Dialect() string { return string(t.n.Dialect()) }

// Handle implements [store.Tx].
func (t *nodeTx) Handle(string) (store.Querier, error) { return t, nil }

// ExecContext implements [store.Querier].
func (t *nodeTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := t.send(ctx)
	if err != nil {
		return nil, err
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// send lets a statement travel to the server.
func (t *nodeTx) send(ctx context.Context) (context.Context, error) {
	f, there, _ := t.n.fated()
	err := sleep(ctx, there)
	if err == nil {
		ctx, err = t.ready(ctx)
	}
	if err != nil {
		t.cut()
		return nil, err
	}
	// One in ten of the faults of a call: a batch has many statements.
	if f != arrives && t.n.pick(10) == 0 {
		t.n.count("statement lost")
		t.cut()
		return nil, errNetwork
	}
	return ctx, nil
}

// Savepoint implements [store.Tx].
func (t *nodeTx) Savepoint(ctx context.Context, name string) error {
	ctx, err := t.send(ctx)
	if err != nil {
		return err
	}
	return t.tx.Savepoint(ctx, name)
}

// RollbackTo implements [store.Tx].
func (t *nodeTx) RollbackTo(ctx context.Context, name string) error {
	ctx, err := t.send(ctx)
	if err != nil {
		return err
	}
	return t.tx.RollbackTo(ctx, name)
}

// ReleaseSavepoint implements [store.Tx].
func (t *nodeTx) ReleaseSavepoint(ctx context.Context, name string) error {
	ctx, err := t.send(ctx)
	if err != nil {
		return err
	}
	return t.tx.ReleaseSavepoint(ctx, name)
}

// RenewSavepoint implements [store.Tx].
func (t *nodeTx) RenewSavepoint(ctx context.Context, name string) error {
	ctx, err := t.send(ctx)
	if err != nil {
		return err
	}
	return t.tx.RenewSavepoint(ctx, name)
}

// QueryContext implements [store.Querier].
func (t *nodeTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, query, args...)
}

// Rollback implements [store.Tx].
func (t *nodeTx) Rollback() {
	if t.isGone() {
		return // there is nobody to tell
	}
	t.n.forget(t)
	t.tx.Rollback()
}

// Commit implements [store.Tx]. What was written last is either lost, a plain
// error, or waits for the COMMIT, whose error is an unknown outcome.
func (t *nodeTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	n := t.n
	f, there, back := n.fated()
	if n.plan.Freeze > 0 && n.chance(0.15) {
		n.count("stands still before a commit")
		go n.freeze(n.between(deadAfter, 3*deadAfter))
	}
	err := sleep(ctx, there/2)
	if err == nil {
		ctx, err = t.ready(ctx)
	}
	if err == nil && f == lost && n.chance(0.3) {
		err = errNetwork
	}
	if err != nil {
		n.count("last write lost")
		t.cut()
		return store.Applied{}, err
	}
	a, err := t.tx.Prepare(ctx, w)
	n.say("%s writes last of %s at %d/%d to %s: %v, %s", n.label, n.name(w.ID), w.Fence, w.Seq, w.To, a, outcome(err))
	if err != nil || !a.OK {
		n.forget(t)
		return a, err
	}
	// A COMMIT has a deadline of its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	pass(there / 2)
	if _, err := n.gate(ctx, false); err != nil {
		return store.Applied{}, &store.UnknownError{Err: err}
	}
	switch f {
	case lost:
		n.count("commit lost")
		t.cut()
		return store.Applied{}, &store.UnknownError{Err: errNetwork}
	case late:
		n.count("commit late")
		n.forget(t)
		wait := n.between(0, 3*time.Second)
		go func() {
			pass(wait)
			err := t.tx.Finish()
			n.accepts(w, store.Applied{OK: err == nil, Control: a.Control})
			n.say("%s COMMIT of %s arrives late: %s", n.label, n.name(w.ID), outcome(err))
		}()
		return store.Applied{}, &store.UnknownError{Err: errNetwork}
	case silent, arrives:
	}
	n.forget(t)
	err = t.tx.Finish()
	n.say("%s COMMIT of %s: %s", n.label, n.name(w.ID), outcome(err))
	n.accepts(w, store.Applied{OK: err == nil, Control: a.Control})
	if err != nil {
		return store.Applied{}, &store.UnknownError{Err: err}
	}
	a = t.tx.Answer(a)
	pass(back)
	if _, err := n.gate(ctx, false); err != nil || f == silent {
		n.count("commit unanswered")
		return store.Applied{}, &store.UnknownError{Err: errNetwork}
	}
	return a, nil
}
