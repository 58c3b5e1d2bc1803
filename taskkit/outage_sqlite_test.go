package taskkit_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"modernc.org/sqlite"

	"taskkit.dev/internal/testkit/testdb"
)

// A file that takes no writes for a while, or in which a table is missing, ends no task either.
func TestOutageOfSQLite(t *testing.T) {
	t.Parallel()
	t.Run("table renamed", func(t *testing.T) {
		t.Parallel()
		db := migrated(t, testdb.SQLite(t))
		makeTouch(t, db.DB)
		meetFault(t, db, db, fault{
			begin: statements(db, "ALTER TABLE taskkit_task_item RENAME TO gone"),
			mend:  statements(db, "ALTER TABLE gone RENAME TO taskkit_task_item"),
		})
	})
	for name, pragma := range map[string]struct{ begin, mend string }{
		"read-only": {"PRAGMA query_only = on", "PRAGMA query_only = off"},
		"full":      {"PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000"}, // not less than it has
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner := migrated(t, testdb.SQLite(t))
			makeTouch(t, owner.DB)
			inner, err := sqlite.NewConnector(owner.DSN)
			if err != nil {
				t.Fatal(err)
			}
			c := &faultyConnector{Connector: inner}
			set := func(s string) func(*testing.T) { return func(*testing.T) { c.pragma.Store(&s) } }
			worker := *owner
			worker.DB = sql.OpenDB(c)
			t.Cleanup(func() { _ = worker.Close() })
			testdb.SetConns(worker.DB, 16)
			meetFault(t, owner, &worker, fault{begin: set(pragma.begin), mend: set(pragma.mend)})
		})
	}
}

// faultyConnector makes connections that execute a pragma at the begin of each transaction that writes.
type faultyConnector struct {
	driver.Connector

	pragma atomic.Pointer[string]
}

func (c *faultyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, ok := conn.(sqliteConn)
	if !ok {
		return nil, fmt.Errorf("wrap a connection of type %T: it is not one of SQLite's", conn)
	}
	return &faultyConn{all, c}, nil
}

// sqliteConn is what a connection of the driver can do.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type faultyConn struct {
	sqliteConn

	by *faultyConnector
}

// PrepareContext implements [driver.ConnPrepareContext].
func (c *faultyConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.sqliteConn.PrepareContext(ctx, query)
	if all, ok := s.(sqliteStmt); ok && strings.HasPrefix(query, "BEGIN") {
		return &faultyBegin{all, c}, err
	}
	return s, err
}

// sqliteStmt is what a statement of the driver can do.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type faultyBegin struct {
	sqliteStmt

	conn *faultyConn
}

// ExecContext implements [driver.StmtExecContext].
func (s *faultyBegin) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if pragma := s.conn.by.pragma.Load(); pragma != nil {
		if _, err := s.conn.ExecContext(ctx, *pragma, nil); err != nil {
			return nil, err
		}
	}
	return s.sqliteStmt.ExecContext(ctx, args)
}
