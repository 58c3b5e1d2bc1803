package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// ReadHealth implements [store.Workers].
func (s *Store) ReadHealth(ctx context.Context, q store.HealthQuery) (store.HealthReading, error) {
	r := store.HealthReading{Unreadable: make(map[store.HealthIndicator]error)}
	for _, i := range []struct {
		name   store.HealthIndicator
		wanted bool
		read   func(context.Context, store.HealthQuery, *store.HealthReading) error
	}{
		{store.HealthVacuum, q.Vacuum, s.readVacuums},
		{store.HealthReplicas, q.Replicas, s.readReplicas},
		{store.HealthWAL, q.WAL, s.readWAL},
		{store.HealthLocks, q.Locks, s.readLockWaits},
	} {
		if !i.wanted {
			continue
		}
		err := i.read(ctx, q, &r)
		switch {
		case unreadable(err):
			r.Unreadable[i.name] = err
		case err != nil:
			return store.HealthReading{}, fmt.Errorf("read the indicator %s: %w", i.name, err)
		}
	}
	return r, nil
}

// errHidden: the rows of a view do not have their columns for this role.
var errHidden = errors.New("this role may not see the statistics of others: GRANT pg_read_all_stats, or pg_monitor, to it")

// unreadable reports whether an error means that a server does not have what was read, that the role may not
// read it, or that the server is in no state for it, and that it will come again.
func unreadable(err error) bool {
	const notSupported, wrongState, accessOrName = "0A000", "55000", "42"
	if errors.Is(err, errHidden) {
		return true
	}
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return false
	}
	code := state.SQLState()
	return code == notSupported || code == wrongState || strings.HasPrefix(code, accessOrName)
}

// above is a recursive table expression: the relations of the one named at, and what they are part
// of: the parent of a partition or of a table that inherits, and the table of a TOAST table.
func above(at string) string {
	return `above(pid, oid) AS (
  SELECT ` + at + `.pid, ` + at + `.oid FROM ` + at + `
  UNION
  SELECT a.pid, p.oid FROM above a CROSS JOIN LATERAL (
    SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = a.oid
    UNION ALL
    SELECT d.refobjid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class c ON c.oid = d.objid AND c.relkind = 't'
    WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = a.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass
  ) p(oid)
)`
}

// touchedTables are the tables of the first parameter, by their number in it. The oid is null if there is
// none of that name. to_regclass fails for a schema that the role may not use, and would hide the indicators of all other
// tables; without a schema it leaves such a one out.
const touchedTables = `touched AS MATERIALIZED (
  SELECT n.number, CASE WHEN strpos(n.name, '.') = 0 THEN pg_catalog.to_regclass(quote_ident(n.name))::oid ELSE (
    SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
    WHERE s.nspname = split_part(n.name, '.', 1)::name AND c.relname = split_part(n.name, '.', 2)::name
  ) END AS oid FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY n(name, number)
)`

// thisDatabase is the oid of the database of the connection.
const thisDatabase = "(SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())"

// vacuumsQuery reads which commands work on the tables of its parameter. A role without rights sees that a
// process runs VACUUM, but not on which table: that process holds a lock on it, which everybody sees. It has
// at least one row for each table.
var vacuumsQuery = `WITH RECURSIVE ` + touchedTables + `, work AS MATERIALIZED (
  SELECT v.pid, r.oid, v.command, v.phase, v.percent FROM (
    SELECT pid, datname, relid, 'VACUUM' AS command, phase, (heap_blks_scanned * 100 / nullif(heap_blks_total, 0))::bigint AS percent
    FROM pg_catalog.pg_stat_progress_vacuum
    UNION ALL
    SELECT pid, datname, relid, command, phase, NULL FROM pg_catalog.pg_stat_progress_cluster
  ) v CROSS JOIN LATERAL (
    SELECT v.relid WHERE v.relid IS NOT NULL
    UNION ALL
    SELECT l.relation FROM pg_catalog.pg_locks l
    WHERE v.relid IS NULL AND l.pid = v.pid AND l.locktype = 'relation' AND l.granted
      AND l.mode IN ('ShareUpdateExclusiveLock', 'AccessExclusiveLock') AND l.database = ` + thisDatabase + `
  ) r(oid)
  WHERE v.datname = current_database()
), ` + above("work") + `
SELECT t.number, t.oid IS NULL, w.pid IS NOT NULL, coalesce(w.command, ''), coalesce(w.phase, ''), coalesce(w.percent, -1),
  coalesce(s.backend_type = 'autovacuum worker', false), coalesce(s.query LIKE '%(to prevent wraparound)%', false)
FROM touched t
LEFT JOIN above a ON a.oid = t.oid
LEFT JOIN work w ON w.pid = a.pid
LEFT JOIN pg_catalog.pg_stat_activity s ON s.pid = w.pid
ORDER BY t.number, w.pid`

func (s *Store) readVacuums(ctx context.Context, q store.HealthQuery, r *store.HealthReading) error {
	_, err := sqlrows.Query(ctx, s.db, s.Fixed(vacuumsQuery), []any{q.Tables}, func(rows *sql.Rows) error {
		var (
			v                    store.Vacuum
			number               int
			missing, works, auto bool
		)
		if err := rows.Scan(&number, &missing, &works, &v.Command, &v.Phase, &v.Percent, &auto, &v.Wraparound); err != nil {
			return err
		}
		v.Table = q.Tables[number-1]
		switch {
		case missing:
			r.Missing = append(r.Missing, v.Table)
		case works:
			if auto {
				v.Command = "autovacuum"
			}
			r.Vacuums = append(r.Vacuums, v)
		}
		return nil
	})
	return err
}

// replicasQuery reads how far standbys are behind. One that has replayed all is not behind, though the server
// still shows the delay that it measured last. Those who read WAL and do not replay it, base backups and
// logical subscribers among them, are no standbys. A role without rights sees no columns but the pid.
const replicasQuery = `SELECT coalesce(nullif(r.application_name, ''), 'of process ' || r.pid::text), r.state IS NULL,
  CASE WHEN r.replay_lsn < w.lsn THEN coalesce(extract(epoch FROM r.replay_lag) * 1000.0, 0)::bigint ELSE 0 END,
  coalesce(greatest(pg_catalog.pg_wal_lsn_diff(w.lsn, r.replay_lsn), 0)::bigint, 0)
FROM pg_catalog.pg_stat_replication r CROSS JOIN (SELECT pg_catalog.pg_current_wal_lsn() AS lsn OFFSET 0) w
WHERE (r.state IS NULL OR r.state IN ('streaming', 'catchup') AND r.replay_lsn IS NOT NULL)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_replication_slots l WHERE l.active_pid = r.pid AND l.slot_type = 'logical')
ORDER BY 1`

func (s *Store) readReplicas(ctx context.Context, _ store.HealthQuery, r *store.HealthReading) error {
	_, err := sqlrows.Query(ctx, s.db, replicasQuery, nil, func(rows *sql.Rows) error {
		var (
			standby store.Replica
			hidden  bool
			behind  int64
		)
		if err := rows.Scan(&standby.Name, &hidden, &behind, &standby.Bytes); err != nil {
			return err
		}
		if hidden {
			return errHidden
		}
		standby.Behind = sqlbase.FromMillis(behind)
		r.Replicas = append(r.Replicas, standby)
		return nil
	})
	return err
}

// walQuery reads how much WAL has been written.
const walQuery = "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')::bigint, clock_timestamp()"

func (s *Store) readWAL(ctx context.Context, _ store.HealthQuery, r *store.HealthReading) error {
	_, err := sqlrows.Query(ctx, s.db, walQuery, nil, func(rows *sql.Rows) error {
		return rows.Scan(&r.WAL, sqlrows.Time(&r.At))
	})
	return err
}

// lockWaitsQuery reads the waits for locks that have taken longer than the second parameter, in
// milliseconds: those on the tables of the first one, by the longest, and the longest of those that a batch
// blocks. A session that waits for a row waits for a transaction, and holds or waits for a lock on the tuple. A batch is
// known by the lock on the table of tasks that it holds from its first statement. Everybody may read pg_locks.
var lockWaitsQuery = `WITH RECURSIVE ` + touchedTables + `, waits AS MATERIALIZED (
  SELECT l.pid, (extract(epoch FROM clock_timestamp() - min(l.waitstart)) * 1000.0)::bigint AS waited
  FROM pg_catalog.pg_locks l WHERE NOT l.granted AND l.pid IS NOT NULL
  GROUP BY l.pid HAVING min(l.waitstart) < clock_timestamp() - $2::bigint::float8 * interval '1 millisecond'
), waited AS MATERIALIZED (
  SELECT w.pid, l.relation AS oid FROM waits w JOIN pg_catalog.pg_locks l ON l.pid = w.pid
  WHERE l.locktype IN ('relation', 'tuple', 'extend', 'page') AND (NOT l.granted OR l.locktype = 'tuple') AND l.database = ` + thisDatabase + `
), ` + above("waited") + `
SELECT t.number, max(w.waited) FROM touched t JOIN above a ON a.oid = t.oid JOIN waits w ON w.pid = a.pid GROUP BY t.number
UNION ALL
SELECT 0, max(w.waited) FROM waits w WHERE EXISTS (
  SELECT FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(w.pid)) b(pid) JOIN pg_catalog.pg_locks h ON h.pid = b.pid
  WHERE h.locktype = 'relation' AND h.granted AND h.mode = 'RowShareLock' AND h.database = ` + thisDatabase + `
    AND h.relation = '{s}taskkit_queued_task'::regclass
) HAVING max(w.waited) IS NOT NULL
ORDER BY 1`

func (s *Store) readLockWaits(ctx context.Context, q store.HealthQuery, r *store.HealthReading) error {
	args := []any{q.Tables, sqlbase.Millis(q.LockWait)}
	_, err := sqlrows.Query(ctx, s.db, s.Fixed(lockWaitsQuery), args, func(rows *sql.Rows) error {
		var (
			number int
			waited int64
			wait   store.LockWait
		)
		if err := rows.Scan(&number, &waited); err != nil {
			return err
		}
		if number > 0 {
			wait.Table = q.Tables[number-1]
		}
		wait.For = time.Duration(waited) * time.Millisecond
		r.LockWaits = append(r.LockWaits, wait)
		return nil
	})
	return err
}
