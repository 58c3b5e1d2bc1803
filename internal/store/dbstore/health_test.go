package dbstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
)

// all asks for everything about these tables.
func all(tables ...string) store.HealthQuery {
	return store.HealthQuery{Tables: tables, Vacuum: true, Replicas: true, Locks: true, WAL: true, LockWait: time.Millisecond}
}

// healthOf opens a migrated store and returns a function that reads its health.
func healthOf(t *testing.T, db *testdb.DB) func(store.HealthQuery) store.HealthReading {
	t.Helper()
	s, err := dbstore.Open(t.Context(), db.DB, db.Schema, dbstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	releaseAtEnd(t, s)
	return func(q store.HealthQuery) store.HealthReading {
		t.Helper()
		r, err := s.ReadHealth(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// execute runs statements.
func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// slowVacuum are the statements before a VACUUM that takes minutes for a table with pages of some hundreds.
var slowVacuum = []string{"SET vacuum_cost_delay = 100", "SET vacuum_cost_limit = 1"}

// unattended are the options of a table that autovacuum leaves alone: beside a VACUUM it would be found too, and a VACUUM
// after it has nothing to do and ends at once.
const unattended = " WITH (autovacuum_enabled = off)"

// pages fills a table with rows of which eight have room on a page.
const pages = "INSERT INTO %s SELECT n, repeat('x', 900) FROM generate_series(1, 8000) n"

// running starts a statement on a session of its own, which ends with the test or by the function that is
// returned.
func running(t *testing.T, db *testdb.DB, before []string, statement string) (end func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range before {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var pid int
	if err := conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), statement)
		done <- err
	}()
	stopped := false
	end = func() {
		t.Helper()
		if stopped {
			return
		}
		stopped = true
		var cancelled bool
		if err := db.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT pg_cancel_backend($1)", pid).Scan(&cancelled); err != nil {
			t.Errorf("cancel %s: %v", statement, err)
		}
		var canceled *pgconn.PgError
		if err := <-done; !errors.As(err, &canceled) || canceled.Code != "57014" {
			t.Errorf("%s: %v, want it to be cancelled", statement, err)
		}
		_ = conn.Raw(func(any) error { return errors.New("its settings differ") }) // the pool closes it
		_ = conn.Close()
	}
	t.Cleanup(end)
	return end
}

// seen polls until a reading satisfies ok.
func seen(t *testing.T, what string, read func() store.HealthReading, ok func(store.HealthReading) bool) store.HealthReading {
	t.Helper()
	deadline := time.After(testdb.Patience(t))
	for {
		r := read()
		if ok(r) {
			return r
		}
		select {
		case <-deadline:
			t.Fatalf("still not so: %s; the last reading is %+v", what, r)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A VACUUM is found on the table, the partition, the child and the long values that it works on, by every role,
// and VACUUM FULL as well. Vacuums of other tables are not.
func TestHealthVacuum(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	role := "plain_" + db.Schema
	execute(t, db.DB,
		"CREATE TABLE plain (n int, s text)"+unattended, fmt.Sprintf(pages, "plain"),
		`CREATE TABLE "Whole" (n int, s text) PARTITION BY RANGE (n)`,
		`CREATE TABLE part PARTITION OF "Whole" FOR VALUES FROM (0) TO (100000) PARTITION BY RANGE (n)`,
		`CREATE TABLE part_of_part PARTITION OF part FOR VALUES FROM (0) TO (100000)`+unattended, fmt.Sprintf(pages, "part_of_part"),
		"CREATE TABLE above (n int, s text)", "CREATE TABLE child () INHERITS (above)"+unattended, fmt.Sprintf(pages, "child"),
		"CREATE TABLE long (n int, s text) WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off)", "ALTER TABLE long ALTER s SET STORAGE EXTERNAL",
		"INSERT INTO long SELECT n, repeat('x', 9000) FROM generate_series(1, 500) n",
		"CREATE TABLE other (n int)",
		"CREATE ROLE "+role+" LOGIN", "GRANT USAGE ON SCHEMA "+db.Schema+" TO "+role, "GRANT ALL ON ALL TABLES IN SCHEMA "+db.Schema+" TO "+role)
	t.Cleanup(func() { execute(t, db.DB, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	read := map[string]func(store.HealthQuery) store.HealthReading{"superuser": healthOf(t, db), "plain": healthOf(t, as(t, db, role))}
	var toast string
	if err := db.QueryRow("SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'long'::regclass").Scan(&toast); err != nil {
		t.Fatal(err)
	}
	q := all("plain", "Whole", "part", "above", db.Schema+".long", "other", "nowhere", "nowhere.at_all")
	q.Replicas, q.Locks = false, false
	for _, c := range []struct{ statement, tables, command string }{
		{"VACUUM plain", "plain", "VACUUM"},
		{"VACUUM part_of_part", "Whole part", "VACUUM"},
		{"VACUUM child", "above", "VACUUM"},
		{"VACUUM " + toast, db.Schema + ".long", "VACUUM"},
	} {
		end := running(t, db, slowVacuum, c.statement)
		for who, read := range read {
			r := seen(t, c.statement+" is seen by "+who, func() store.HealthReading { return read(q) }, func(r store.HealthReading) bool { return len(r.Vacuums) > 0 })
			var tables []string
			for _, v := range r.Vacuums {
				tables = append(tables, v.Table)
				if v.Command != c.command || v.Wraparound || who == "superuser" && (v.Phase == "" || v.Percent < 0) {
					t.Errorf("%s, %s: %+v", c.statement, who, v)
				}
			}
			if got := strings.Join(tables, " "); got != c.tables {
				t.Errorf("%s works on %q for %s, want %q", c.statement, got, who, c.tables)
			}
			if got := fmt.Sprint(r.Missing, r.Unreadable); got != "[nowhere nowhere.at_all] map[]" {
				t.Errorf("%s: %s", who, got)
			}
		}
		end()
		for _, read := range read {
			seen(t, c.statement+" has ended", func() store.HealthReading { return read(q) }, func(r store.HealthReading) bool { return len(r.Vacuums) == 0 })
		}
	}
}

// as opens a database as another role.
func as(t *testing.T, db *testdb.DB, role string) *testdb.DB {
	t.Helper()
	u, err := url.Parse(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	handle, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	other := *db
	other.DB, other.DSN, other.Direct = handle, u.String(), u.String()
	return &other
}

// Autovacuum is found, and that one prevents wraparound. A standby whose replay is paused falls behind, by bytes and,
// as long as it has not replayed, by time; one that only receives WAL does not count. A role without rights cannot see standbys, and says so.
func TestHealthServer(t *testing.T) {
	t.Parallel()
	server, err := cluster.StartPostgres(t.Context(), cluster.Unsynced, "autovacuum_naptime = 1s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	db := testdb.On(t, server)
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	standby, err := server.Standby(t.Context(), "cluster_name = 'second'", "wal_receiver_status_interval = 1s")
	if _, missing := errors.AsType[*cluster.NotInstalledError](err); missing && os.Getenv(cluster.PostgresBinEnv) != "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	replica, err := sql.Open("pgx", standby.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = replica.Close() })
	execute(t, db.DB, "CREATE ROLE plain LOGIN", "GRANT USAGE ON SCHEMA "+db.Schema+" TO plain", "GRANT ALL ON ALL TABLES IN SCHEMA "+db.Schema+" TO plain",
		"CREATE TABLE plain (n int, s text)"+unattended, "CREATE TABLE kept (n int)")
	read := healthOf(t, db)
	q := all("plain", "kept")

	execute(t, replica, "SELECT pg_wal_replay_pause()")
	execute(t, db.DB, fmt.Sprintf(pages, "plain"))
	behind := func(r store.HealthReading) bool {
		return len(r.Replicas) == 1 && r.Replicas[0].Name == "second" && r.Replicas[0].Bytes > 8000*900
	}
	before := seen(t, "the standby is behind", func() store.HealthReading { return read(q) }, behind)
	if r := healthOf(t, as(t, db, "plain"))(q); len(r.Replicas) != 0 || r.Unreadable[store.HealthReplicas] == nil || len(r.Unreadable) != 1 ||
		!strings.Contains(r.Unreadable[store.HealthReplicas].Error(), "pg_monitor") {
		t.Errorf("a role without rights reads %+v", r)
	}
	execute(t, replica, "SELECT pg_wal_replay_resume()")
	after := seen(t, "the standby is not behind any more", func() store.HealthReading {
		execute(t, db.DB, "INSERT INTO kept VALUES (1)")
		return read(q)
	}, func(r store.HealthReading) bool { return len(r.Replicas) == 1 && r.Replicas[0].Bytes < 1<<20 })
	if after.WAL <= before.WAL || !after.At.After(before.At) {
		t.Errorf("WAL went from %d at %v to %d at %v", before.WAL, before.At, after.WAL, after.At)
	}

	execute(t, db.DB, "DO $$ BEGIN FOR i IN 1..110000 LOOP BEGIN INSERT INTO kept VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$",
		"ALTER TABLE plain SET (autovacuum_enabled = on, autovacuum_vacuum_insert_threshold = 1, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)")
	auto := func(wraparound bool) func(r store.HealthReading) bool {
		return func(r store.HealthReading) bool {
			return slices.ContainsFunc(r.Vacuums, func(v store.Vacuum) bool {
				return v.Table == "plain" && v.Command == "autovacuum" && v.Wraparound == wraparound
			})
		}
	}
	seen(t, "autovacuum works", func() store.HealthReading { return read(q) }, auto(false))
	execute(t, db.DB, "ALTER TABLE plain SET (autovacuum_freeze_max_age = 100000)") // which cancels the autovacuum
	seen(t, "autovacuum prevents wraparound", func() store.HealthReading { return read(q) }, auto(true))
	execute(t, db.DB, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'", "DROP TABLE plain")
}

// A long wait for a lock is found on the table that it is for, whoever blocks it, and anywhere else if a batch blocks
// it.
func TestHealthLocks(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	execute(t, db.DB, "CREATE TABLE people (n int PRIMARY KEY)", "INSERT INTO people VALUES (1)", "CREATE TABLE other (n int PRIMARY KEY)", "INSERT INTO other VALUES (1)")
	read := healthOf(t, db)
	q := all("people")
	q.LockWait = 10 * time.Millisecond
	for _, c := range []struct{ name, blocks, waits, want string }{
		{"a row", "UPDATE people SET n = n", "UPDATE people SET n = n", "people"},
		{"the table", "SELECT FROM people", "ALTER TABLE people ADD COLUMN s text", "people"},
		{"a row of another table", "UPDATE other SET n = n", "UPDATE other SET n = n", ""},
		{"behind a batch", "SELECT FROM taskkit_queued_task FOR KEY SHARE; UPDATE other SET n = n", "UPDATE other SET n = n", "batch"},
	} {
		blocker, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for s := range strings.SplitSeq(c.blocks, "; ") {
			if _, err := blocker.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		end := running(t, db, nil, c.waits)
		waitsLong := func() (long bool) {
			err := db.QueryRow(`SELECT count(*) > 0 FROM pg_locks l JOIN pg_stat_activity a USING (pid)
				WHERE NOT l.granted AND a.application_name = $1 AND l.waitstart < clock_timestamp() - interval '20 milliseconds'`, db.Schema).Scan(&long)
			if err != nil {
				t.Fatal(err)
			}
			return long
		}
		r := seen(t, c.waits+" waits", func() store.HealthReading {
			if !waitsLong() {
				return store.HealthReading{Missing: []string{"not yet"}}
			}
			return read(q)
		}, func(r store.HealthReading) bool { return len(r.Missing) == 0 })
		got := ""
		for _, w := range r.LockWaits {
			if w.For < q.LockWait {
				t.Errorf("%s: has waited for %v", c.name, w.For)
			}
			got += w.Table
			if w.Table == "" {
				got += "batch"
			}
		}
		if got != c.want || len(r.Unreadable) > 0 {
			t.Errorf("%s: waits on %q, want %q; unreadable %v", c.name, got, c.want, r.Unreadable)
		}
		end()
		if err := blocker.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

// A table in a schema that the role may not use is found all the same, and keeps nobody from reading the indicators of
// the others.
func TestHealthOfForbiddenSchema(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	role, closed := "plain_"+db.Schema, db.Schema+"_closed"
	execute(t, db.DB, "CREATE SCHEMA "+closed, "CREATE TABLE "+closed+".people (n int, s text)"+unattended, "CREATE TABLE own (n int, s text)"+unattended,
		"CREATE ROLE "+role+" LOGIN", "GRANT USAGE ON SCHEMA "+db.Schema+" TO "+role, "GRANT ALL ON ALL TABLES IN SCHEMA "+db.Schema+" TO "+role)
	t.Cleanup(func() { execute(t, db.DB, "DROP SCHEMA "+closed+" CASCADE", "DROP OWNED BY "+role, "DROP ROLE "+role) })
	execute(t, db.DB, fmt.Sprintf(pages, "own"), fmt.Sprintf(pages, closed+".people"))
	read := healthOf(t, as(t, db, role))
	q := all("own", closed+".people")
	q.Replicas = false
	for _, table := range q.Tables {
		end := running(t, db, slowVacuum, "VACUUM "+table)
		r := seen(t, "VACUUM of "+table, func() store.HealthReading { return read(q) }, func(r store.HealthReading) bool { return len(r.Vacuums) > 0 || len(r.Unreadable) > 0 })
		if len(r.Unreadable)+len(r.Missing) > 0 || len(r.Vacuums) != 1 || r.Vacuums[0].Table != table {
			t.Errorf("read %+v", r)
		}
		end()
	}
}
