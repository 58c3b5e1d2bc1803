package taskkit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// Execer is what [Submit] needs of a database: *sql.DB, *sql.Conn, *sql.Tx and
// every ent client or transaction generated with the sql/execquery feature are
// one as they are. What is submitted through a transaction exists if that
// transaction commits.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ExecQuerier is an [Execer] that can also ask. A batch's Tx is one.
type ExecQuerier interface {
	Execer
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// PgxTx adapts a pgx.Tx, *pgx.Conn or *pgxpool.Pool to [Execer]:
//
//	taskkit.Submit(ctx, taskkit.PgxTx(tx), kind, spec)
//
// The type argument is inferred.
func PgxTx[Tag interface{ RowsAffected() int64 }](tx interface {
	Exec(ctx context.Context, query string, args ...any) (Tag, error)
}) Execer {
	return execFunc(func(ctx context.Context, query string, args ...any) (sql.Result, error) {
		tag, err := tx.Exec(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		return driver.RowsAffected(tag.RowsAffected()), nil
	})
}

// execFunc is an Execer made of a function.
type execFunc func(ctx context.Context, query string, args ...any) (sql.Result, error)

// ExecContext implements [Execer].
func (f execFunc) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return f(ctx, query, args...)
}

// EntDriver returns an ent driver that works inside a batch's transaction:
//
//	client := ent.NewClient(ent.Driver(taskkit.EntDriver(b.Tx)))
//
// Such a client takes part in the batch and cannot commit it: Tx on it returns
// a client of the same transaction whose Commit and Rollback do nothing. It
// panics when tx is not the Tx of a [Batch]; for other handles ent's own
// drivers exist.
func EntDriver(tx ExecQuerier) dialect.Driver {
	d, ok := tx.(interface{ Dialect() string })
	if !ok {
		panic(fmt.Sprintf("taskkit: EntDriver wants the Tx of a Batch, not %T", tx))
	}
	return entDriver{entsql.NewDriver(d.Dialect(), entsql.Conn{ExecQuerier: tx})}
}

// entDriver is ent's driver without the parts that need a *sql.DB.
type entDriver struct{ *entsql.Driver }

// Tx implements [dialect.Driver]: the same transaction, which cannot end.
func (d entDriver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

// BeginTx is what an ent client calls for a transaction with options.
func (d entDriver) BeginTx(ctx context.Context, _ *entsql.TxOptions) (dialect.Tx, error) {
	return d.Tx(ctx)
}

// Close implements [dialect.Driver]. The transaction is not the client's.
func (entDriver) Close() error { return nil }
