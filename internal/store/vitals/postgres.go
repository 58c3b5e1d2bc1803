package vitals

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// ErrHidden: the server does not show this role what other sessions do.
var ErrHidden = errors.New("this role may not see what other sessions do: GRANT pg_read_all_stats, or pg_monitor, to it")

// Server is what a PostgreSQL server says about itself.
type Server struct {
	Now               time.Time
	Standby           bool // it replays what another server writes
	ReadOnly          bool // transactions of this role are read-only unless they say otherwise
	Sync              bool // fsync
	SynchronousCommit string
	Autovacuum        bool
	FreezeMax         int64 // autovacuum_freeze_max_age
	// MayLock: this role may take advisory locks and read who holds them.
	MayLock bool
	Backend int64 // the process of the server that has answered
}

const serverQuery = `SELECT pg_catalog.clock_timestamp(), pg_catalog.pg_is_in_recovery(),
  pg_catalog.current_setting('default_transaction_read_only'::text) = 'on'::text, pg_catalog.current_setting('fsync'::text) = 'on'::text,
  pg_catalog.current_setting('synchronous_commit'::text), pg_catalog.current_setting('autovacuum'::text) = 'on'::text,
  pg_catalog.current_setting('autovacuum_freeze_max_age'::text)::bigint,
  pg_catalog.has_function_privilege('pg_catalog.pg_try_advisory_lock(bigint)'::text, 'EXECUTE'::text)
    AND pg_catalog.has_table_privilege('pg_catalog.pg_locks'::text, 'SELECT'::text),
  pg_catalog.pg_backend_pid()::bigint`

// ReadServer reads a server.
func ReadServer(ctx context.Context, q store.Querier) (s Server, err error) {
	_, err = sqlrows.Query(ctx, q, serverQuery, nil, func(rows *sql.Rows) error {
		return rows.Scan(sqlrows.Time(&s.Now), &s.Standby, &s.ReadOnly, &s.Sync, &s.SynchronousCommit, &s.Autovacuum, &s.FreezeMax, &s.MayLock, &s.Backend)
	})
	if err != nil {
		return s, fmt.Errorf("read the settings of the server: %w", err)
	}
	return s, nil
}

// Connections are how many connections are open, and how many may be.
type Connections struct {
	Server, ServerMost     int64 // without those that are reserved for superusers
	Database, DatabaseMost int64 // DatabaseMost -1: the database has no limit of its own
}

const connectionsQuery = `SELECT (SELECT coalesce(sum(s.numbackends), 0)::bigint FROM pg_catalog.pg_stat_database s),
  pg_catalog.current_setting('max_connections'::text)::bigint - pg_catalog.current_setting('superuser_reserved_connections'::text)::bigint
    - coalesce(pg_catalog.current_setting('reserved_connections'::text, true)::bigint, 0),
  coalesce((SELECT s.numbackends::bigint FROM pg_catalog.pg_stat_database s WHERE s.datid = d.oid), 0), d.datconnlimit::bigint
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()`

// ReadConnections counts the connections of a server.
func ReadConnections(ctx context.Context, q store.Querier) (c Connections, err error) {
	_, err = sqlrows.Query(ctx, q, connectionsQuery, nil, func(rows *sql.Rows) error {
		return rows.Scan(&c.Server, &c.ServerMost, &c.Database, &c.DatabaseMost)
	})
	if err != nil {
		return c, fmt.Errorf("count the connections of the server: %w", err)
	}
	return c, nil
}

// Transaction is a transaction of this database whose snapshot or whose number keeps VACUUM from removing rows.
type Transaction struct {
	PID         int64  // 0: it is prepared
	Prepared    string // its name, if it is prepared
	Application string
	User        string
	State       string
	Query       string // the first 200 characters
	Since, Now  time.Time
}

const transactionsQuery = `SELECT n.pid, n.prepared, n.application, n.usename, n.state, n.query, n.since, pg_catalog.clock_timestamp() FROM (
  SELECT s.pid::bigint AS pid, ''::text AS prepared, coalesce(s.application_name, ''::text) AS application, coalesce(s.usename::text, ''::text) AS usename,
    coalesce(s.state, ''::text) AS state, coalesce(pg_catalog.left(s.query, 200), ''::text) AS query, s.xact_start AS since
  FROM pg_catalog.pg_stat_activity s
  WHERE s.datname = pg_catalog.current_database() AND s.pid <> pg_catalog.pg_backend_pid()
    AND (s.backend_xmin IS NOT NULL OR s.backend_xid IS NOT NULL) AND s.xact_start IS NOT NULL
  UNION ALL
  SELECT 0::bigint, p.gid, ''::text, p.owner::text, 'prepared'::text, ''::text, p.prepared
  FROM pg_catalog.pg_prepared_xacts p WHERE p.database = pg_catalog.current_database()
) n WHERE pg_catalog.date_part('epoch'::text, pg_catalog.clock_timestamp() - n.since) > $1::float8 ORDER BY n.since LIMIT 20`

// hiddenQuery counts the sessions of this database of which the role sees only that they exist.
const hiddenQuery = `SELECT count(*) FROM pg_catalog.pg_stat_activity s
WHERE s.datname = pg_catalog.current_database() AND s.query = '<insufficient privilege>'::text`

// ReadTransactions returns the transactions that are older than this, the oldest first, at most 20. Its error is ErrHidden if the
// role may not see the sessions of others; what it sees is returned too.
func ReadTransactions(ctx context.Context, q store.Querier, age time.Duration) (found []Transaction, err error) {
	_, err = sqlrows.Query(ctx, q, transactionsQuery, []any{age.Seconds()}, func(rows *sql.Rows) error {
		var t Transaction
		err := rows.Scan(&t.PID, &t.Prepared, &t.Application, &t.User, &t.State, &t.Query, sqlrows.Time(&t.Since), sqlrows.Time(&t.Now))
		found = append(found, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the transactions of the database: %w", err)
	}
	var hidden int64
	_, err = sqlrows.Query(ctx, q, hiddenQuery, nil, func(rows *sql.Rows) error { return rows.Scan(&hidden) })
	switch {
	case err != nil:
		return found, fmt.Errorf("count the sessions of the database: %w", err)
	case hidden > 0:
		return found, fmt.Errorf("%w; sessions hidden: %d", ErrHidden, hidden)
	}
	return found, nil
}

// Table is what PostgreSQL's statistics say about one of taskkit's tables.
type Table struct {
	Name       string
	Live, Dead int64     // rows, by estimate
	Vacuumed   time.Time // last, by whomever; zero: never since the statistics were reset
	Age        int64     // transactions since its oldest row was frozen
	Unattended bool      // autovacuum is switched off for it
	Now        time.Time
}

const tablesQuery = `SELECT c.relname::text, coalesce(s.n_live_tup, 0::bigint), coalesce(s.n_dead_tup, 0::bigint), greatest(s.last_vacuum, s.last_autovacuum),
  pg_catalog.age(c.relfrozenxid)::bigint,
  EXISTS (SELECT FROM pg_catalog.pg_options_to_table(c.reloptions) o WHERE o.option_name = 'autovacuum_enabled'::text AND NOT o.option_value::boolean),
  pg_catalog.clock_timestamp()
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid
WHERE n.nspname = $1::text::name AND c.relkind = 'r'::"char" AND pg_catalog.starts_with(c.relname::text, 'taskkit_'::text)
ORDER BY c.relname`

// ReadTables reads taskkit's tables in a schema, by name.
func ReadTables(ctx context.Context, q store.Querier, schema string) (found []Table, err error) {
	_, err = sqlrows.Query(ctx, q, tablesQuery, []any{schema}, func(rows *sql.Rows) error {
		var t Table
		err := rows.Scan(&t.Name, &t.Live, &t.Dead, sqlrows.Time(&t.Vacuumed), &t.Age, &t.Unattended, sqlrows.Time(&t.Now))
		found = append(found, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the statistics of the tables: %w", err)
	}
	return found, nil
}

const indexesQuery = `SELECT c.relname::text, i.indisvalid AND i.indisready
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text::name ORDER BY c.relname`

// ReadIndexes returns the names of the indexes in a schema, and whether each is valid.
func ReadIndexes(ctx context.Context, q store.Querier, schema string) (map[string]bool, error) {
	return readIndexes(ctx, q, indexesQuery, schema)
}

// readIndexes runs a query of names of indexes and whether they are valid.
func readIndexes(ctx context.Context, q store.Querier, query string, args ...any) (map[string]bool, error) {
	found := make(map[string]bool)
	_, err := sqlrows.Query(ctx, q, query, args, func(rows *sql.Rows) error {
		var (
			name  string
			valid bool
		)
		err := rows.Scan(&name, &valid)
		found[name] = valid
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the indexes: %w", err)
	}
	return found, nil
}

// Slot is a replication slot that nothing reads.
type Slot struct {
	Name     string
	Kind     string // physical or logical
	Retained int64  // bytes of WAL that the server keeps for it
}

const slotsQuery = `SELECT s.slot_name::text, s.slot_type, coalesce(pg_catalog.pg_wal_lsn_diff(
  CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END, s.restart_lsn)::bigint, 0::bigint)
FROM pg_catalog.pg_replication_slots s WHERE NOT s.active AND NOT s.temporary AND s.restart_lsn IS NOT NULL ORDER BY s.slot_name LIMIT 20`

// ReadSlots returns the replication slots of a server for which it keeps WAL and that nothing reads, at most 20.
func ReadSlots(ctx context.Context, q store.Querier) (found []Slot, err error) {
	_, err = sqlrows.Query(ctx, q, slotsQuery, nil, func(rows *sql.Rows) error {
		var s Slot
		err := rows.Scan(&s.Name, &s.Kind, &s.Retained)
		found = append(found, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the replication slots: %w", err)
	}
	return found, nil
}
