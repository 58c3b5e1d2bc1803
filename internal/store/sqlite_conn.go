package store

import (
	"context"
	"database/sql"
	"sync"
)

const (
	// keptMost is how many statements a connection keeps: more than this
	// package has for it and an executor is likely to have.
	keptMost = 128
	// keptLength is the longest text of one that is kept.
	keptLength = 8 << 10
)

// liteConn is the connection on which a store on SQLite writes. It is kept from
// one transaction to the next, with the statements that ran on it: SQLite
// takes several times as long to compile a statement as to change a row by it.
// It is used by whoever has the turn to write and by nobody else.
type liteConn struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	texts []string // of stmts, the oldest first
}

// prepared returns the statement of a text. That it is compiled once must make no
// difference: a pragma may be carried out by its compilation.
func (c *liteConn) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := c.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := c.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if len(c.texts) >= keptMost {
		_ = c.stmts[c.texts[0]].Close()
		delete(c.stmts, c.texts[0])
		c.texts = c.texts[1:]
	}
	c.stmts[query] = stmt
	c.texts = append(c.texts, query)
	return stmt, nil
}

// ExecContext implements [Querier].
func (c *liteConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := c.prepared(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

// QueryContext implements [Querier]. The rows must be closed before the same text
// is asked again: there is one statement of it.
func (c *liteConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := c.prepared(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// close closes the connection. It does not go back to the pool: its settings are
// not the pool's.
func (c *liteConn) close() {
	for _, stmt := range c.stmts {
		_ = stmt.Close() // database/sql does not do it for a *sql.Conn's
	}
	discard(c.conn)
}

// keptReads are questions that are asked again and again, on any connection of
// the pool, which prepares each once.
type keptReads struct {
	db *sql.DB

	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

// QueryContext asks a question. There may be but a few texts.
func (k *keptReads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := k.prepared(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (k *keptReads) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
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

func (k *keptReads) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, stmt := range k.stmts {
		_ = stmt.Close()
	}
	clear(k.stmts)
}
