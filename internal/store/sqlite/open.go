package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Open returns the store of a file. It refuses settings under which it could not
// keep its promises. The pool stays the caller's.
func Open(ctx context.Context, db *sql.DB) (*Store, error) {
	busy, err := checkSettings(ctx, db)
	if err != nil {
		return nil, err
	}
	return New(db, busy), nil
}

// checkSettings refuses settings that lose data or fail at random, and returns
// the busy_timeout. It checks two connections: a setting made by a statement
// instead of in the DSN holds for one only.
func checkSettings(ctx context.Context, db *sql.DB) (time.Duration, error) {
	if n := db.Stats().MaxOpenConnections; n == 1 {
		return 0, fmt.Errorf("SQLite with one connection would wait for itself: call db.SetMaxOpenConns with 4 or more, or 0")
	}
	var busy int64
	for range 2 {
		conn, err := db.Conn(ctx)
		if err != nil {
			return 0, fmt.Errorf("read SQLite's settings: %w", err)
		}
		defer conn.Close()
		var journal string
		for _, setting := range []struct {
			query string
			to    any
		}{{"PRAGMA journal_mode", &journal}, {"PRAGMA busy_timeout", &busy}} {
			if err := conn.QueryRowContext(ctx, setting.query).Scan(setting.to); err != nil {
				return 0, fmt.Errorf("read SQLite's settings: %s: %w", setting.query, err)
			}
		}
		var wrong []string
		if journal != "wal" && journal != "memory" {
			wrong = append(wrong, fmt.Sprintf("journal_mode is %s: readers would block the writer", journal))
		}
		if busy <= 0 {
			wrong = append(wrong, "busy_timeout is 0: a second process would fail instead of wait")
		}
		if len(wrong) > 0 {
			return 0, fmt.Errorf("SQLite is not set up for taskkit (%s): open it with file:NAME?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(ON)&_pragma=synchronous(FULL)",
				strings.Join(wrong, "; "))
		}
	}
	return time.Duration(busy) * time.Millisecond, nil
}
