package sqlite

import (
	"context"
	"database/sql"
	"sync"

	"taskkit.dev/internal/store/sqlbase"
)

const (
	// maxCached is how many statements a connection keeps: more than this
	// package has for it and an executor is likely to have.
	maxCached = 128
	// maxCachedLength is the longest text of one that is kept.
	maxCachedLength = 8 << 10
)

// writeConn is the connection on which a store on SQLite writes. It is kept from
// one transaction to the next, with the statements that ran on it: SQLite
// takes several times as long to compile a statement as to change a row by it.
// Only the current writer uses it.
type writeConn struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	order []string // the queries of stmts, the oldest first
}

// prepared returns the prepared statement of a query. A query that has an effect when
// it is compiled, as a pragma may, must not be cached.
func (c *writeConn) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := c.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if len(c.order) >= maxCached {
		_ = c.stmts[c.order[0]].Close()
		delete(c.stmts, c.order[0])
		c.order = c.order[1:]
	}
	c.stmts[query] = stmt
	c.order = append(c.order, query)
	return stmt, nil
}

// ExecContext implements [store.Querier].
func (c *writeConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := c.prepared(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext implements [store.Querier]. The rows must be closed before the same statement
// runs again: it is prepared once.
func (c *writeConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := c.prepared(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// close closes the connection. It does not go back to the pool: its settings are
// not the pool's.
func (c *writeConn) close() {
	for _, stmt := range c.stmts {
		_ = stmt.Close() // database/sql does not do it for a *sql.Conn's
	}
	sqlbase.Discard(c.conn)
}

// readCache are prepared statements of queries that are repeated, on any connection of
// the pool, which prepares each once.
type readCache struct {
	db *sql.DB

	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

// QueryContext runs a query. There must be only a few different ones.
func (k *readCache) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := k.prepared(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (k *readCache) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stmt := k.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := k.db.PrepareContext(ctx, query) //nolint:sqlclosecheck // close does
	if err != nil {
		return nil, err
	}
	if k.stmts == nil {
		k.stmts = make(map[string]*sql.Stmt)
	}
	k.stmts[query] = stmt
	return stmt, nil
}

func (k *readCache) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, stmt := range k.stmts {
		_ = stmt.Close()
	}
	clear(k.stmts)
}
