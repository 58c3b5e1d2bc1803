package testdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/dialect"
)

// Recording collects the text of every statement that a handle executes.
type Recording struct {
	schema string // of the test, replaced by the default

	mu         sync.Mutex
	statements []string
}

func (r *Recording) add(query string) {
	if r.schema != "" {
		query = strings.ReplaceAll(query, r.schema, dialect.DefaultSchema)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, query)
}

// Take returns the statements since the last call.
func (r *Recording) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.statements
	r.statements = nil
	return s
}

// Recorded opens another handle to a test's database, whose statements are
// recorded.
func Recorded(tb testing.TB, db *DB) (*sql.DB, *Recording) {
	tb.Helper()
	r := &Recording{schema: db.Schema}
	var handle *sql.DB
	if db.Dialect == dialect.Postgres {
		c, err := pgx.ParseConfig(db.DSN)
		if err != nil {
			tb.Fatal(err)
		}
		c.Tracer = tracer{r}
		handle = stdlib.OpenDB(*c)
	} else {
		handle = sql.OpenDB(connector{db.Driver(), db.DSN, r})
	}
	SetConns(handle, 8)
	tb.Cleanup(func() { _ = handle.Close() })
	return handle, r
}

// tracer records the statements of pgx.
type tracer struct{ *Recording }

func (r tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	r.add(d.SQL)
	return ctx
}

func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart records the statements that are sent together.
func (r tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		r.add(q.SQL)
	}
	return ctx
}

func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// connector records the statements of a driver that has no tracer.
type connector struct {
	driver driver.Driver
	dsn    string
	*Recording
}

func (c connector) Driver() driver.Driver { return c.driver }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(fullConn)
	if !ok {
		return nil, fmt.Errorf("%T has not all methods that a recorded connection needs", conn)
	}
	return recordedConn{full, c.Recording}, nil
}

type fullConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type recordedConn struct {
	fullConn
	*Recording
}

func (c recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.add(query)
	return c.fullConn.ExecContext(ctx, query, args)
}

func (c recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.add(query)
	return c.fullConn.QueryContext(ctx, query, args)
}

func (c recordedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.add("BEGIN")
	return c.fullConn.BeginTx(ctx, o)
}

func (c recordedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.fullConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	full, ok := stmt.(fullStmt)
	if !ok {
		return nil, fmt.Errorf("%T has not all methods that a recorded statement needs", stmt)
	}
	return recordedStmt{full, query, c.Recording}, nil
}

type fullStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type recordedStmt struct {
	fullStmt
	query string
	*Recording
}

func (s recordedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.add(s.query)
	return s.fullStmt.ExecContext(ctx, args)
}

func (s recordedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.add(s.query)
	return s.fullStmt.QueryContext(ctx, args)
}
