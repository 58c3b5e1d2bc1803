package doctor_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
)

// tablePlants are findings about the tables.
var tablePlants = []plant{
	{id: "schema_behind", plant: func(*env, *plant) {}},
	{id: "schema_ahead", plant: func(b *env, _ *plant) {
		b.exec("INSERT INTO taskkit_goose_version (version_id, is_applied) VALUES (999, true)")
	}, mend: func(b *env, _ *taskdoctor.Finding) {
		b.exec("DELETE FROM taskkit_goose_version WHERE version_id = 999")
	}},
	{id: "index_missing", plant: func(b *env, _ *plant) { b.exec("DROP INDEX taskkit_item_history") }},
	{id: "index_invalid", on: dialect.Postgres, plant: func(b *env, _ *plant) {
		b.exec("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'taskkit_item_history'::regclass")
	}},
	{id: "autovacuum_off", on: dialect.Postgres, about: "taskkit_queued_task", plant: func(b *env, _ *plant) {
		b.exec("ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = off)")
	}},
	{id: "clock_skew", on: dialect.Postgres, plant: func(b *env, _ *plant) {
		b.worker(func(p *store.Process) {
			p.ID = "ahead-" + time.Now().UTC().Add(time.Hour).Format("20060102T150405.000Z") + "-0123456789abcdef"
		})
	}, mend: endWorkers},
}

// settingPlants are findings about a database of a server, or one of its sessions.
var settingPlants = []plant{
	{id: "read_only", on: dialect.Postgres, plant: func(b *env, _ *plant) {
		b.own("SET default_transaction_read_only = on")
	}},
	{id: "synchronous_commit_off", on: dialect.Postgres, plant: func(b *env, _ *plant) { b.own("SET synchronous_commit = off") }},
	{id: "connections", on: dialect.Postgres, plant: func(b *env, p *plant) {
		p.about = b.own("CONNECTION LIMIT 5")
		held := b.open()
		held.SetMaxOpenConns(0)
		b.Cleanup(func() { _ = held.Close() })
		for range 4 {
			conn, err := held.Conn(b.Context())
			b.must(err)
			b.Cleanup(func() { _ = conn.Close() })
		}
	}},
	{id: "old_transaction", on: dialect.Postgres, plant: func(b *env, p *plant) {
		b.options.Transaction, b.flags = time.Millisecond, []string{"--transaction", "1ms"}
		conn, err := b.DB.Conn(b.Context())
		b.must(err)
		tx, err := conn.BeginTx(b.Context(), nil)
		b.must(err)
		b.Cleanup(func() { _ = tx.Rollback(); _ = conn.Close() })
		var pid int
		b.must(tx.QueryRowContext(b.Context(), "SELECT pg_backend_pid() FROM pg_current_xact_id()").Scan(&pid))
		p.about = fmt.Sprint(pid)
	}},
}

// own gives the test a database of its own on the same server, changes it by ALTER DATABASE, and returns its name.
func (b *env) own(change string) (name string) {
	b.Helper()
	name = "own_" + b.schema
	b.exec("CREATE DATABASE " + name)
	b.Cleanup(func() { b.exec("DROP DATABASE " + name + " WITH (FORCE)") })
	at, err := url.Parse(b.dsn)
	b.must(err)
	at.Path = "/" + name
	b.dsn = at.String()
	db := b.open()
	defer db.Close()
	b.must(taskkit.Migrate(b.Context(), db, b.schema))
	b.exec("ALTER DATABASE " + name + " " + change)
	return name
}

// filePlants are findings about a file of SQLite.
var filePlants = []plant{
	{id: "sqlite_journal", on: dialect.SQLite, plant: func(b *env, _ *plant) { b.file("DELETE") }, mend: func(b *env, _ *taskdoctor.Finding) {
		b.dsn = strings.ReplaceAll(b.dsn, "journal_mode(DELETE)", "journal_mode(WAL)")
	}},
	{id: "sqlite_synchronous", on: dialect.SQLite, plant: func(b *env, _ *plant) {
		b.dsn = strings.ReplaceAll(b.dsn, "synchronous(FULL)", "synchronous(NORMAL)")
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.dsn = b.DSN }},
	{id: "sqlite_busy_timeout", on: dialect.SQLite, plant: func(b *env, _ *plant) {
		b.dsn = strings.ReplaceAll(b.dsn, "busy_timeout(60000)", "busy_timeout(0)")
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.dsn = b.DSN }},
	{id: "sqlite_wal", on: dialect.SQLite, plant: func(b *env, _ *plant) {
		var path string
		b.must(b.DB.QueryRowContext(b.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path))
		b.must(os.Truncate(path+"-wal", 1<<30+1)) // what follows the frames is not read, and takes no room on the disk
	}},
}

// file gives the test a file of its own with a journal mode.
func (b *env) file(journal string) {
	b.Helper()
	b.dsn = "file:" + (&url.URL{Path: filepath.ToSlash(filepath.Join(b.TempDir(), "own.db"))}).EscapedPath() +
		"?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(" + journal + ")&_pragma=foreign_keys(ON)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", b.dsn)
	b.must(err)
	defer db.Close()
	b.must(taskkit.Migrate(b.Context(), db, b.schema))
}

// serverPlants are findings about a whole server.
var serverPlants = []plant{
	{id: "fsync_off", plant: func(b *env, _ *plant) {
		b.exec("ALTER SYSTEM SET fsync = off")
		b.reload()
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.reload() }},
	{id: "autovacuum_off", about: "the server", plant: func(b *env, _ *plant) {
		b.exec("ALTER SYSTEM SET autovacuum = off")
		b.reload()
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.reload() }},
	{id: "slot_inactive", about: "left_alone", plant: func(b *env, _ *plant) {
		b.exec("SELECT pg_create_physical_replication_slot('left_alone', true)")
	}},
	{id: "vacuum_behind", about: "taskkit_limit", uncommanded: "it would take a million rows", plant: func(b *env, _ *plant) {
		b.options.DeadRows = 100
		b.exec("ALTER TABLE taskkit_limit SET (autovacuum_enabled = off)")
		b.exec("INSERT INTO taskkit_limit (id, limit_key) SELECT gen_random_uuid(), 'key ' || g FROM generate_series(1, 300) g")
		b.exec("DELETE FROM taskkit_limit")
	}},
	{id: "wraparound", about: "taskkit_limit", uncommanded: "it would take a billion transactions", plant: func(b *env, _ *plant) {
		b.options.FrozenAge = 1000
		b.exec(`DO $$ BEGIN
  CREATE TEMP TABLE burnt (n int);
  FOR n IN 1..1100 LOOP
    BEGIN INSERT INTO burnt VALUES (n); EXCEPTION WHEN division_by_zero THEN NULL; END; -- a subtransaction has a number
  END LOOP;
END $$`)
	}},
}

// reload lets the server read its configuration, and waits until it has.
func (b *env) reload() {
	b.Helper()
	b.exec("SELECT pg_reload_conf()")
}

// at returns the env examined at another address.
func (b *env) at(dsn string) *env {
	other := *b
	other.dsn = dsn
	return &other
}

// session opens a connection of the test's own.
func session(b *env, dsn string) *sql.Conn {
	b.Helper()
	db, err := sql.Open("pgx", dsn)
	b.must(err)
	b.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(testdb.Within(b))
	b.must(err)
	b.Cleanup(func() { _ = conn.Close() })
	return conn
}
