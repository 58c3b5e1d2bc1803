package taskkit

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/engine/session"
)

// Execer is what [Submit] needs of a database. *sql.DB, *sql.Conn, *sql.Tx and
// every ent client or transaction generated with the sql/execquery feature
// implement it.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ExecQuerier is an [Execer] that can also query. A batch's Tx is one. An error that
// ends the rows, which only their method Err tells, is an error of the statement.
type ExecQuerier interface {
	Execer
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// PgxTx adapts a pgx.Tx, *pgx.Conn or *pgxpool.Pool to [Execer]:
//
//	taskkit.Submit(ctx, taskkit.PgxTx(tx), kind, spec, taskkit.OwnedBy(person))
func PgxTx(tx interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
},
) Execer {
	if isNil(tx) {
		return nil // Submit refuses it
	}
	return pgxExecer{tx.Exec}
}

// pgxExecer is an Execer made of the method Exec of pgx.
type pgxExecer struct {
	exec func(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}

// ExecContext implements [Execer].
func (e pgxExecer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := e.exec(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}

// EntDriver returns an ent driver that works inside the batch's transaction:
//
//	client := ent.NewClient(ent.Driver(b.EntDriver()))
//
// Such a client cannot commit the batch: its Tx method returns a client of the
// same transaction, whose Commit and Rollback do nothing.
func (b *Batch[Spec, State]) EntDriver() dialect.Driver {
	return entDriver{b.runtime().Tx}
}

// entDriver is an ent driver over a batch's transaction.
type entDriver struct{ tx *session.LazyTx }

// Exec implements [dialect.Driver].
func (d entDriver) Exec(ctx context.Context, query string, args, v any) error {
	conn, err := d.conn(ctx, query)
	if err != nil {
		return err
	}
	var unused sql.Result
	if v == nil {
		v = &unused
	}
	err = conn.Exec(ctx, query, args, v)
	d.tx.Record(query, err)
	if r, ok := v.(*sql.Result); ok && err == nil {
		d.tx.Executed(query, *r)
	}
	return err
}

// Query implements [dialect.Driver].
func (d entDriver) Query(ctx context.Context, query string, args, v any) error {
	conn, err := d.conn(ctx, query)
	if err != nil {
		return err
	}
	err = conn.Query(ctx, query, args, v)
	d.tx.Record(query, err)
	if rows, ok := v.(*entsql.Rows); ok && err == nil {
		d.tx.Reads(query, rows.ColumnScanner)
		if read := d.tx.Queried(query); read != nil {
			rows.ColumnScanner = countedRows{rows.ColumnScanner, read}
		}
	}
	return err
}

// countedRows calls read for each row.
type countedRows struct {
	entsql.ColumnScanner
	read func()
}

// Next implements [entsql.ColumnScanner].
func (r countedRows) Next() bool {
	if !r.ColumnScanner.Next() {
		return false
	}
	r.read()
	return true
}

// conn returns ent's view of the handle beneath the transaction, which begins
// here at the latest: ent's session variables (entsql.WithVar) are set on a
// *sql.Tx and on nothing that wraps one.
func (d entDriver) conn(ctx context.Context, query string) (entsql.Conn, error) {
	q, err := d.tx.Handle(ctx, query)
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
