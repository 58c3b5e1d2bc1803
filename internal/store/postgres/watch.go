package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// probePrefix begins the notifications that listeners send to themselves.
const probePrefix = "probe "

// probeWithin is how long a notification to itself may take.
const probeWithin = 2 * time.Second

// connectWithin is how long it may take until the connection of the listener listens.
const connectWithin = 10 * time.Second

// Watch implements [store.Workers]. The listener has a connection of its own, from the
// pool or from a DSN that bypasses a pooler. It tests
// itself by a notification that it sends on another connection, and on its own after
// each half minute of silence. The session of the listener holds the presence lock of
// the process.
func (s *Store) Watch(ctx context.Context, process string, w store.Watcher) error {
	connecting, connected := context.WithTimeout(ctx, connectWithin)
	defer connected()
	l, err := s.newListener(connecting)
	if err != nil {
		return err
	}
	defer l.close()
	channel := store.NotifyChannel(s.Schema())
	defer func() {
		// The connection is closed afterwards; this is for a server that has
		// not noticed yet.
		ctx, cancel := sqlbase.Detached(ctx, probeWithin)
		defer cancel()
		_, _ = l.ExecContext(ctx, "UNLISTEN *")
	}()
	if _, err := l.ExecContext(connecting, `LISTEN "`+channel+`"`); err != nil {
		return fmt.Errorf("listen on %s: %w", channel, err)
	}
	if err := s.probe(connecting, s.db, l, channel, w); err != nil {
		return err
	}
	connected()
	w.Ready()
	w.Wake() // for what came before
	switch lock, err := s.takePresence(ctx, l.Conn, process); {
	case err == nil:
		defer s.LosePresence(process, lock)
		w.Present(nil)
	case errors.Is(err, store.ErrNoPresence):
		w.Present(err)
	default:
		return err
	}
	for {
		quiet, cancel := context.WithTimeout(ctx, s.ProbeEvery)
		payload, err := l.wait(quiet)
		silent := quiet.Err() != nil
		cancel()
		switch {
		case err == nil:
			notified(payload, w)
		case ctx.Err() != nil:
			return ctx.Err()
		case silent:
			// On the connection itself: the pool may be exhausted. It worked once, so
			// that another connection is worth an attempt.
			if err := s.probe(ctx, l, l, channel, w); errors.Is(err, store.ErrNoWatch) {
				return fmt.Errorf("%v", err) //nolint:errorlint // see above
			} else if err != nil {
				return err
			}
		default:
			return fmt.Errorf("wait for a notification: %w", err)
		}
	}
}

// probe proves that notifications arrive that are sent on a connection. Others that come
// meanwhile are passed on.
func (s *Store) probe(ctx context.Context, on store.Execer, l *listener, channel string, w store.Watcher) error {
	within, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	word := probePrefix + uuid.NewString()
	if _, err := on.ExecContext(within, "SELECT pg_notify($1, $2)", channel, word); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("send a notification to itself: %w", err)
	}
	for {
		payload, err := l.wait(within)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && within.Err() != nil:
			return fmt.Errorf("%w: a notification to itself has not come back within %v", store.ErrNoWatch, probeWithin)
		case err != nil:
			return fmt.Errorf("wait for a notification to itself: %w", err)
		case payload == word:
			return nil
		default:
			notified(payload, w)
		}
	}
}

// notified passes a notification on.
func notified(payload string, w store.Watcher) {
	switch {
	case strings.HasPrefix(payload, probePrefix): // of a listener
	case payload == store.WorkerPresent:
		w.Joined()
	default:
		w.Wake()
	}
}
