package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
)

// Option changes how a store is opened.
type Option func(*options)

type options struct {
	listen string
	probe  time.Duration
}

// ListenDSN names a connection of its own for the listener on PostgreSQL,
// opened with the pool's driver: past a pooler, which delivers no
// notifications. "" listens on a connection of the pool.
func ListenDSN(dsn string) Option { return func(o *options) { o.listen = dsn } }

// ProbeEvery is how long the listener on PostgreSQL believes in silence before it
// sends a notification to itself. Defaults to 30 s.
func ProbeEvery(d time.Duration) Option { return func(o *options) { o.probe = d } }

// Open returns the store of a database. It asks which database it is, and
// refuses settings under which it could not keep its promises; it does not look
// at the schema's version (see [CheckSchema]). The pool stays the caller's.
func Open(ctx context.Context, db *sql.DB, schema string, opts ...Option) (Store, error) {
	var o options
	for _, f := range opts {
		f(&o)
	}
	name, err := dialect.Detect(ctx, db)
	if err != nil {
		return nil, err
	}
	if schema, err = migrate.Schema(name, schema); err != nil {
		return nil, err
	}
	if name == dialect.Postgres {
		s := newPostgres(db, schema, o.listen)
		if o.probe > 0 {
			s.probeEvery = o.probe
		}
		return s, nil
	}
	busy, err := checkSQLite(ctx, db)
	if err != nil {
		return nil, err
	}
	return newSQLite(db, busy), nil
}

// checkSQLite refuses settings that lose data or fail at random. It looks at two
// connections, for what is set by a statement and not in the DSN holds for one.
// It returns the busy_timeout.
func checkSQLite(ctx context.Context, db *sql.DB) (time.Duration, error) {
	if n := db.Stats().MaxOpenConnections; n == 1 {
		return 0, fmt.Errorf("SQLite with one connection would wait for itself: call db.SetMaxOpenConns with 4 or more, or 0")
	}
	var busy int64
	for range 2 {
		conn, err := db.Conn(ctx)
		if err != nil {
			return 0, fmt.Errorf("look at SQLite's settings: %w", err)
		}
		defer conn.Close()
		var (
			journal string
			foreign int64
		)
		for query, to := range map[string]any{"PRAGMA journal_mode": &journal, "PRAGMA busy_timeout": &busy, "PRAGMA foreign_keys": &foreign} {
			if err := conn.QueryRowContext(ctx, query).Scan(to); err != nil {
				return 0, fmt.Errorf("look at SQLite's settings: %s: %w", query, err)
			}
		}
		var wrong []string
		if journal != "wal" && journal != "memory" {
			wrong = append(wrong, fmt.Sprintf("journal_mode is %s: readers would block the writer", journal))
		}
		if busy <= 0 {
			wrong = append(wrong, "busy_timeout is 0: a second process would fail instead of wait")
		}
		if foreign == 0 {
			wrong = append(wrong, "foreign_keys is off: what belongs to a task would outlive it")
		}
		if len(wrong) > 0 {
			return 0, fmt.Errorf("SQLite is not set up for taskkit (%s): open it with file:NAME?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(ON)&_pragma=synchronous(FULL)",
				strings.Join(wrong, "; "))
		}
	}
	return time.Duration(busy) * time.Millisecond, nil
}
