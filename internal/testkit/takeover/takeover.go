// Package takeover declares worker processes dead that a test has killed or
// stopped. Tests give their workers a DeadAfter of a minute, so that a live worker
// on a busy machine is never taken for a dead one; with this package they do not
// have to wait for that minute.
package takeover

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/testkit/testdb"
)

// of is the condition that a process belongs to a system: its ID begins with that.
const of = "substr(id, 1, length(CAST($1 AS text)) + 1) = CAST($1 AS text) || '-'"

// Silence makes the heartbeats of all processes of a system (Config.SystemID) so old
// that the next reaper declares them dead, also one that lives. schema is ignored on
// SQLite.
func Silence(ctx context.Context, db *testdb.DB, schema, system string) error {
	_, err := silence(ctx, db, schema, system)
	return err
}

// silence is [Silence], and returns the processes.
func silence(ctx context.Context, db *testdb.DB, schema, system string) (ids []string, err error) {
	past := "strftime('%Y-%m-%d %H:%M:%f', last_heartbeat_date, printf('-%d seconds', 3600 + dead_after_ms / 1000))"
	if db.Dialect == dialect.Postgres {
		past = "last_heartbeat_date - interval '1 hour' - dead_after_ms * interval '1 millisecond'"
	}
	_, err = sqlrows.Query(ctx, db, "UPDATE "+table(db, schema, "taskkit_task_process")+" SET last_heartbeat_date = "+past+" WHERE ended_date IS NULL AND "+of+" RETURNING id", []any{system}, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make the heartbeats of %s old: %w", system, err)
	}
	return ids, nil
}

// Declare declares all processes of a system dead, as a reaper does when they were
// silent, and returns when none of their tasks is in flight. A worker that lives finds
// out, and registers as another process, which is left alone.
func Declare(ctx context.Context, db *testdb.DB, schema, system string) error {
	silenced, err := silence(ctx, db, schema, system)
	if err != nil {
		return err
	}
	s, err := dbstore.Open(ctx, db.DB, schema, dbstore.Options{})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	defer s.Release(context.WithoutCancel(ctx))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := s.Reap(ctx, nil); err != nil {
			return fmt.Errorf("declare the processes of %s dead: %w", system, err)
		}
		left := 0
		_, err := sqlrows.Query(ctx, db, "SELECT p.id, p.ended_date IS NULL FROM "+table(db, schema, "taskkit_task_process")+" p WHERE "+of+" AND (p.ended_date IS NULL OR EXISTS (SELECT 1 FROM "+
			table(db, schema, "taskkit_queued_task")+" q WHERE q.workflow_status IN ('SCHEDULING', 'EXECUTING') AND q.scheduled_by_process = p.id))", []any{system}, func(rows *sql.Rows) error {
			var id string
			var lives bool
			err := rows.Scan(&id, &lives)
			if !lives || slices.Contains(silenced, id) {
				left++
			}
			return err
		})
		if err != nil || left == 0 {
			return err
		}
		// A transaction of the process has not ended, and its rows were stepped over.
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d processes of %s live or have tasks in flight: %w", left, system, context.Cause(ctx))
		}
	}
}

// table returns the name of a table in SQL.
func table(db *testdb.DB, schema, name string) string {
	if db.Dialect == dialect.Postgres {
		return `"` + schema + `".` + name
	}
	return name
}
