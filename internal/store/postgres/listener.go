package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// listener receives notifications on a connection of its own. It is not safe for concurrent use.
type listener struct {
	*sql.Conn
	own *sql.DB // of which the connection is, if it was opened with ListenDSN; nil: it is one of the pool
}

// newListener connects a listener. Its error wraps [store.ErrNoWatch] where none is possible: when the pool's driver is not
// pgx, or behind a pooler, where a LISTEN would stay on a connection that other clients use.
func (s *Store) newListener(ctx context.Context) (*listener, error) {
	l := new(listener)
	pool := s.db
	if s.ListenDSN != "" {
		var err error
		if l.own, err = sql.Open("pgx", s.ListenDSN); err != nil {
			return nil, fmt.Errorf("the listener's DSN: %w", err)
		}
		pool = l.own
	} else if s.db.Stats().MaxOpenConnections == 1 {
		return nil, fmt.Errorf("%w: the pool has one connection, which cannot listen and work", store.ErrNoWatch)
	}
	var err error
	if l.Conn, err = pool.Conn(ctx); err != nil {
		l.close()
		return nil, fmt.Errorf("a connection to listen on: %w", err)
	}
	if err := l.checkDirect(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// checkDirect compares the process that the server named when the connection was made with the one that serves it: a pooler
// in transaction mode names an invented one.
func (l *listener) checkDirect(ctx context.Context) error {
	var serving uint32
	if err := l.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&serving); err != nil {
		return fmt.Errorf("read the process of the listener's connection: %w", err)
	}
	return l.Raw(func(inner any) error {
		c, ok := inner.(*stdlib.Conn)
		switch {
		case !ok:
			return fmt.Errorf("%w: the driver's connection is %T, not one of pgx", store.ErrNoWatch, inner)
		case c.Conn().PgConn().PID() != serving:
			return fmt.Errorf("%w: a pooler is between this connection and the server: give the listener a DSN of its own", store.ErrNoWatch)
		}
		return nil
	})
}

// wait returns the payload of the next notification. When ctx ends first the connection stays usable.
func (l *listener) wait(ctx context.Context) (payload string, err error) {
	var failed error
	err = l.Raw(func(inner any) error {
		c := inner.(*stdlib.Conn) //nolint:errcheck,forcetypeassert // see checkDirect
		var n *pgconn.Notification
		if n, failed = c.Conn().WaitForNotification(ctx); failed == nil {
			payload = n.Payload
		}
		return nil
	})
	return payload, errors.Join(err, failed)
}

// close closes the connection instead of returning it to the pool.
func (l *listener) close() {
	if l.Conn != nil {
		sqlbase.Discard(l.Conn)
	}
	if l.own != nil {
		_ = l.own.Close()
	}
}
