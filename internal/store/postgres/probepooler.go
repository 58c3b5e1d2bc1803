package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/pgtx"
)

// errPooler: prepared statements are on another connection of the server the next time.
var errPooler = &store.RefusedError{
	Problem: "a pooler gives each transaction another connection of the server, and pgx prepares statements on them by name",
	Remedy:  "add default_query_exec_mode=exec to the DSN, or let the pooler keep prepared statements (max_prepared_statements of PgBouncer 1.21 or later)",
}

// notPrepared reports whether a prepared statement exists already, or does not exist, on the connection of the server.
func notPrepared(err error) bool {
	const duplicate, unknown = "42P05", "26000"
	state := pgtx.SQLState(err)
	return state == duplicate || state == unknown
}

// poolerTries is how often two connections are compared.
const poolerTries = 20

// probePooler returns errPooler if pgx prepares statements by name, and two connections share one of the server whose prepared statements
// a pooler does not keep apart. backend is the process of the server that has answered on the connection: a pooler tells
// clients another number.
func (s *Store) probePooler(ctx context.Context, conn *sql.Conn, backend int64) error {
	own, err := preparesBehindPooler(ctx, conn, backend)
	if err != nil || !own {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	other, err := s.db.Conn(ctx)
	if err != nil {
		return nil // the pool has no second connection to compare
	}
	defer other.Close()
	for range poolerTries {
		a, err := backendOf(ctx, conn)
		if err != nil {
			return err
		}
		b, err := backendOf(ctx, other)
		if err != nil {
			return err
		}
		if a == b {
			return errPooler
		}
	}
	return nil
}

// preparesBehindPooler reports whether the connection leads through a pooler that passes the names of prepared statements on, and
// pgx makes some.
func preparesBehindPooler(ctx context.Context, conn *sql.Conn, backend int64) (own bool, err error) {
	err = conn.Raw(func(inner any) error {
		driver, ok := inner.(*stdlib.Conn)
		if !ok {
			return nil
		}
		c := driver.Conn()
		if c.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement || int64(c.PgConn().PID()) == backend {
			return nil
		}
		name := "taskkit_probe_" + rand.Text()
		tx, err := c.Begin(ctx) // all on one connection of the server
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		if _, err := c.PgConn().Prepare(ctx, name, "SELECT 1", nil); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_prepared_statements p WHERE p.name = $1::text)",
			pgx.QueryExecModeExec, name).Scan(&own); err != nil {
			return err
		}
		return c.PgConn().Deallocate(ctx, name)
	})
	if err != nil {
		return false, fmt.Errorf("probe the pooler: %w", err)
	}
	return own, nil
}

// backendOf returns the process of the server that answers on a connection.
func backendOf(ctx context.Context, conn *sql.Conn) (pid int64, err error) {
	if err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return 0, fmt.Errorf("probe the pooler: %w", err)
	}
	return pid, nil
}
