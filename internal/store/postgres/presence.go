package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/pgtx"
	"taskkit.dev/internal/store/sqlbase"
)

// heldLocks are the advisory locks that sessions of this database hold. A lock whose
// number is a bigint is shown in two halves, and with 1 as its objsubid. pg_locks
// is read after the snapshot of the statement was taken: a row that this sees
// with a lock was written after that lock was taken.
var heldLocks = sqlbase.FreeLocks{
	With: `WITH held AS MATERIALIZED (
  SELECT (l.classid::bigint << 32) | l.objid::bigint AS lock FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
)
`,
	Free: "NOT EXISTS (SELECT 1 FROM held WHERE held.lock = p.presence_lock)",
}

// ReadPresence implements [store.Workers]. A role that may not read pg_locks
// cannot tell.
func (s *Store) ReadPresence(ctx context.Context, process string) (store.PresenceReading, error) {
	r, err := s.ReadLocks(ctx, process, heldLocks)
	if denied(err) {
		err = fmt.Errorf("%w: this role may not read pg_locks: %w", store.ErrNoPresence, err)
	}
	return r, err
}

// denied reports whether the role lacks a right.
func denied(err error) bool {
	const insufficientPrivilege = "42501"
	return pgtx.SQLState(err) == insufficientPrivilege
}

// takePresence takes a presence lock on the connection of the listener, which must not
// lead through a pooler, and names it in the row of the process, on the same connection: a
// connection that is lost in between names none. The session holds the lock until its
// connection ends.
func (s *Store) takePresence(ctx context.Context, conn *sql.Conn, process string) (lock int64, err error) {
	// A statement that is cancelled costs a connection.
	ctx, cancel := sqlbase.Detached(ctx, probeWithin)
	defer cancel()
	lock = sqlbase.NewPresenceLock()
	var taken bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_try_advisory_lock($1)", lock).Scan(&taken); denied(err) {
		return 0, fmt.Errorf("%w: this role may not take advisory locks: %w", store.ErrNoPresence, err)
	} else if err != nil {
		return 0, fmt.Errorf("take advisory lock %d: %w", lock, err)
	}
	if !taken {
		return 0, fmt.Errorf("%w: another session holds advisory lock %d", store.ErrNoPresence, lock)
	}
	if err := s.NamePresence(ctx, conn, process, lock); err != nil {
		s.LosePresence(process, lock) // it may have been named
		return 0, err
	}
	return lock, nil
}
