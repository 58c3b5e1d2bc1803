package taskkit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"taskkit.dev/internal/store"
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
},
) Execer {
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
	t, ok := tx.(batchTx)
	if !ok {
		panic(fmt.Sprintf("taskkit: EntDriver wants the Tx of a Batch, not %T", tx))
	}
	return entDriver{t}
}

// batchTx is what EntDriver needs of a batch's transaction.
type batchTx interface {
	ExecQuerier
	Dialect() string
	Raw(ctx context.Context, query string) (store.Querier, error)
}

// entDriver is an ent driver over a batch's transaction.
type entDriver struct{ tx batchTx }

// Exec implements [dialect.Driver].
func (d entDriver) Exec(ctx context.Context, query string, args, v any) error {
	conn, err := d.conn(ctx, query)
	if err != nil {
		return err
	}
	return conn.Exec(ctx, query, args, v)
}

// Query implements [dialect.Driver].
func (d entDriver) Query(ctx context.Context, query string, args, v any) error {
	conn, err := d.conn(ctx, query)
	if err != nil {
		return err
	}
	return conn.Query(ctx, query, args, v)
}

// conn returns ent's view of the handle beneath the transaction, which begins
// here at the latest: ent's session variables (entsql.WithVar) are set on a
// *sql.Tx and on nothing that wraps one.
func (d entDriver) conn(ctx context.Context, query string) (entsql.Conn, error) {
	q, err := d.tx.Raw(ctx, query)
	return entsql.Conn{ExecQuerier: q}, err
}

// ExecContext is what ent clients with the sql/execquery feature call.
func (d entDriver) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return d.tx.ExecContext(ctx, query, args...)
}

// QueryContext is what ent clients with the sql/execquery feature call.
func (d entDriver) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.tx.QueryContext(ctx, query, args...)
}

// Dialect implements [dialect.Driver].
func (d entDriver) Dialect() string { return d.tx.Dialect() }

// Tx implements [dialect.Driver]: the same transaction, which cannot end.
func (d entDriver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

// BeginTx is what an ent client calls for a transaction with options.
func (d entDriver) BeginTx(ctx context.Context, _ *entsql.TxOptions) (dialect.Tx, error) {
	return d.Tx(ctx)
}

// Close implements [dialect.Driver]. The transaction is not the client's.
func (entDriver) Close() error { return nil }
