package storetest

import (
	"context"

	"taskkit.dev/internal/store"
)

// Bare is a store without a database/sql handle: the DB of its [Open] has the
// dialect it behaves as and no handle. What cases do past the store they do
// through these, in the few forms of SQL that it reads. Cases that are about
// SQL itself do not apply to it, see sqlOnly.
type Bare interface {
	Insert(ctx context.Context, tasks []store.NewTask, notify bool) error
	Exec(ctx context.Context, query string, args ...any) error
	Count(ctx context.Context, query string, args ...any) (int, error)
}

// sqlOnly are the cases that do not apply to a [Bare] store, and why.
var sqlOnly = map[string]string{
	"InsertExecerOnly":     "there are no handles of several kinds",
	"InsertRollback":       "a caller has no transaction to submit in",
	"RequestInTransaction": "a caller has no transaction to ask in",
	"BatchLeaksRows":       "there are no rows to leave open",
	"AttackBySQL":          "nobody has a prompt",
	"AttackImmutables":     "nobody has a prompt",
}

// submit stores tasks.
func (b *bed) submit(tasks []store.NewTask, notify bool) error {
	if bare, ok := b.s.(Bare); ok {
		return bare.Insert(b.ctx(), tasks, notify)
	}
	return store.Insert(b.ctx(), b.db.DB, b.db.Schema, tasks, notify)
}

// together calls f with a way to store tasks in one transaction, and commits it.
func (b *bed) together(f func(submit func([]store.NewTask, bool) error)) {
	b.Helper()
	if _, ok := b.s.(Bare); ok {
		f(b.submit)
		return
	}
	tx, err := b.db.BeginTx(b.ctx(), nil)
	b.ok(err)
	f(func(tasks []store.NewTask, notify bool) error {
		return store.Insert(b.ctx(), tx, b.db.Schema, tasks, notify)
	})
	b.ok(tx.Commit())
}
