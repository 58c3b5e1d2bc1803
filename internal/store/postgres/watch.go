package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/notify"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// probeWithin is how long a notification to itself may take.
const probeWithin = 2 * time.Second

// Watch implements [store.Store]. The listener has a connection of its own, from the
// pool or from a DSN that bypasses a pooler. Behind a pooler a LISTEN would remain
// on a connection that others use, so the listener first checks for one. It tests
// itself by a notification that it sends on another connection, and again after
// each half minute of silence.
func (s *Store) Watch(ctx context.Context, ready, wake func()) error {
	conn, closing, err := s.listener(ctx)
	if err != nil {
		return err
	}
	defer closing()
	l, err := notify.On(ctx, conn)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrNoWatch, err)
	}
	channel := store.NotifyChannel(s.Schema())
	defer func() {
		// The connection is closed afterwards; this is for a server that has
		// not noticed yet.
		ctx, cancel := sqlbase.Detached(ctx, probeWithin)
		defer cancel()
		_, _ = conn.ExecContext(ctx, "UNLISTEN *")
	}()
	if _, err := conn.ExecContext(ctx, `LISTEN "`+channel+`"`); err != nil {
		return fmt.Errorf("listen on %s: %w", channel, err)
	}
	if err := s.probe(ctx, l, channel, wake); err != nil {
		return err
	}
	ready()
	wake() // for what came before
	for {
		quiet, cancel := context.WithTimeout(ctx, s.ProbeEvery)
		payload, err := l.Wait(quiet)
		silent := quiet.Err() != nil
		cancel()
		switch {
		case err == nil && isProbe(payload):
		case err == nil:
			wake()
		case ctx.Err() != nil:
			return ctx.Err()
		case silent:
			if err := s.probe(ctx, l, channel, wake); err != nil {
				return err
			}
		default:
			return fmt.Errorf("wait for a notification: %w", err)
		}
	}
}

// listener returns a connection to listen on, and how to be rid of it: closed,
// not returned to the pool.
func (s *Store) listener(ctx context.Context) (*sql.Conn, func(), error) {
	if s.ListenDSN == "" {
		if s.db.Stats().MaxOpenConnections == 1 {
			return nil, nil, fmt.Errorf("%w: the pool has one connection, which cannot listen and work", store.ErrNoWatch)
		}
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("a connection to listen on: %w", err)
		}
		return conn, func() { sqlbase.Discard(conn) }, nil
	}
	d, ok := s.db.Driver().(driver.DriverContext)
	if !ok {
		return nil, nil, fmt.Errorf("%w: driver %T opens no DSN", store.ErrNoWatch, s.db.Driver())
	}
	connector, err := d.OpenConnector(s.ListenDSN)
	if err != nil {
		return nil, nil, fmt.Errorf("the listener's DSN: %w", err)
	}
	own := sql.OpenDB(connector)
	conn, err := own.Conn(ctx)
	if err != nil {
		_ = own.Close()
		return nil, nil, fmt.Errorf("a connection to listen on: %w", err)
	}
	return conn, func() { sqlbase.Discard(conn); _ = own.Close() }, nil
}

// probe proves that notifications arrive. Others that come meanwhile are passed
// on.
func (s *Store) probe(ctx context.Context, l *notify.Listener, channel string, wake func()) error {
	within, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	word := "probe " + uuid.NewString()
	if _, err := s.db.ExecContext(within, "SELECT pg_notify($1, $2)", channel, word); err != nil {
		return fmt.Errorf("send a notification to itself: %w", err)
	}
	for {
		payload, err := l.Wait(within)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && within.Err() != nil:
			return fmt.Errorf("%w: a notification to itself has not come back within %v", store.ErrNoWatch, probeWithin)
		case err != nil:
			return fmt.Errorf("wait for a notification to itself: %w", err)
		case payload == word:
			return nil
		case !isProbe(payload):
			wake()
		}
	}
}

// isProbe reports whether a notification is the probe of a listener, not a wake-up.
func isProbe(payload string) bool { return len(payload) > 6 && payload[:6] == "probe " }
