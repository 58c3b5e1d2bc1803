package simulation

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

func (t *looseTx) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	t.todo = append(t.todo, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
	return driver.RowsAffected(1), nil
}

func (t *looseTx) Insert(_ context.Context, tasks []store.NewTask, notify bool) error {
	t.todo = append(t.todo, func(ctx context.Context, tx store.Tx) error { return tx.Insert(ctx, tasks, notify) })
	return nil
}

func (t *looseTx) Savepoint(_ context.Context, name string) error {
	t.todo = append(t.todo, func(ctx context.Context, tx store.Tx) error { return tx.Savepoint(ctx, name) })
	return nil
}

func (t *looseTx) RollbackTo(_ context.Context, name string) error {
	t.todo = append(t.todo, func(ctx context.Context, tx store.Tx) error { return tx.RollbackTo(ctx, name) })
	return nil
}

func (t *looseTx) ReleaseSavepoint(_ context.Context, name string) error {
	t.todo = append(t.todo, func(ctx context.Context, tx store.Tx) error { return tx.ReleaseSavepoint(ctx, name) })
	return nil
}

func (t *looseTx) RenewSavepoint(_ context.Context, name string) error {
	t.todo = append(t.todo, func(ctx context.Context, tx store.Tx) error { return tx.RenewSavepoint(ctx, name) })
	return nil
}

// Prepare begins anew under whatever fence the task has now.
func (t *looseTx) Prepare(ctx context.Context, w store.Write) (store.Applied, error) {
	now := current(ctx, t.s, t.hold)
	tx, err := t.s.Begin(ctx, now, t.limits)
	if err != nil {
		return store.Applied{}, err
	}
	own := tx.(*memstore.Tx) //nolint:forcetypeassert,errcheck // that is what it begins
	t.tx.Store(own)
	for _, s := range t.todo {
		if err := s(ctx, tx); err != nil {
			return store.Applied{}, err
		}
	}
	w.Lease = now
	return own.Prepare(ctx, w)
}

func (t *looseTx) Finish() error { return t.tx.Load().Finish() }

func (t *looseTx) Answer(a store.Applied) store.Applied { return t.tx.Load().Answer(a) }

func (t *looseTx) Kill() {
	if tx := t.tx.Load(); tx != nil {
		tx.Kill()
	}
}

func (t *looseTx) Rollback() { t.Kill() }

// writesAlone writes now and then a checkpoint outside the transaction of its
// batch, which is then rolled back.
type writesAlone struct{ *memstore.Store }

func (s writesAlone) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return aloneTx{tx.(*memstore.Tx), s.Store}, nil //nolint:forcetypeassert,errcheck // that is what it begins
}

type aloneTx struct {
	*memstore.Tx
	s *memstore.Store
}

func (t aloneTx) Prepare(ctx context.Context, w store.Write) (store.Applied, error) {
	if w.Seq != 3 {
		return t.Tx.Prepare(ctx, w)
	}
	t.Rollback()
	as, err := t.s.Apply(ctx, "", []*store.Write{&w})
	if err != nil {
		return store.Applied{}, err
	}
	return as[0], nil
}

func (t aloneTx) Finish() error {
	if err := t.Tx.Finish(); err != nil && err != sql.ErrTxDone { //nolint:errorlint // it is not wrapped
		return err
	}
	return nil
}

// tellsNothing keeps requests from who holds the task: they would have to come
// by a signal.
type tellsNothing struct{ *memstore.Store }

func (s tellsNothing) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	got, err := s.Store.Claim(ctx, c)
	for i := range got.Tasks {
		got.Tasks[i].Control = lifecycle.None
	}
	return got, err
}

func (s tellsNothing) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	as, err := s.Store.Apply(ctx, process, writes)
	for i := range as {
		as[i].Control = lifecycle.None
	}
	return as, err
}

func (s tellsNothing) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return muteTx{tx.(*memstore.Tx)}, nil //nolint:forcetypeassert,errcheck // that is what it begins
}

type muteTx struct{ *memstore.Tx }

func (t muteTx) Prepare(ctx context.Context, w store.Write) (store.Applied, error) {
	a, err := t.Tx.Prepare(ctx, w)
	a.Control = lifecycle.None
	return a, err
}

// countsLate does not count a claim as an attempt: who is killed is never
// counted.
type countsLate struct{ *memstore.Store }

func (s countsLate) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	got, err := s.Store.Claim(ctx, c)
	for i := range got.Tasks {
		t := &got.Tasks[i]
		t.Attempts--
		if err == nil {
			err = s.Edit(ctx, t.ID, func(row *memstore.Task) { row.Attempts = t.Attempts })
		}
	}
	return got, err
}

// pausesLate evaluates stop policies and approvals when the checkpoint has been committed.
type pausesLate struct{ *memstore.Store }

func (s pausesLate) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	as, err := s.Store.Apply(ctx, process, changed(writes, func(w *store.Write) { w.Check = false }))
	for i := range as {
		if as[i].OK {
			s.pause(ctx, writes[i])
		}
	}
	return as, err
}

// pause pauses the task of a write that has been made.
func (s pausesLate) pause(ctx context.Context, w *store.Write) {
	o, err := s.TaskOptions(ctx, w.ID)
	reason := o.WithDefault(w.StopAfter).PauseReason(w.Progress)
	if err != nil || !w.Check || reason == "" {
		return
	}
	_ = s.Edit(ctx, w.ID, func(row *memstore.Task) {
		if row.Control == lifecycle.None && !row.Status.Terminal() {
			row.Row = row.Pause(reason)
		}
	})
}

func (s pausesLate) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return &lateTx{Tx: tx.(*memstore.Tx), s: s}, nil //nolint:forcetypeassert,errcheck // that is what it begins
}

type lateTx struct {
	*memstore.Tx
	s pausesLate
	w store.Write
}

func (t *lateTx) Prepare(ctx context.Context, w store.Write) (store.Applied, error) {
	t.w = w
	w.Check = false
	return t.Tx.Prepare(ctx, w)
}

func (t *lateTx) Finish() error {
	err := t.Tx.Finish()
	if err == nil {
		t.s.pause(context.Background(), &t.w)
	}
	return err
}
