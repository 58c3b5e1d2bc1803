package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/migrations"
)

// laterIndex is a migration that comes after a release: an index on the table of tasks.
var laterIndex = map[string]string{
	"postgres/00900_later.sql": `-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS "taskkit_later" ON "{schema}"."taskkit_queued_task" ("created_by", "id") WHERE workflow_status = 'QUEUED';
DROP INDEX CONCURRENTLY IF EXISTS "{schema}"."taskkit_follows";
`,
	"sqlite/00900_later.sql": "-- +goose Up\nCREATE INDEX `taskkit_later` ON `taskkit_queued_task` (`created_by`, `id`) WHERE workflow_status = 'QUEUED';\nDROP INDEX `taskkit_follows`;\n",
}

// withLater are the files of a release that has a later migration.
func withLater(t *testing.T, later map[string]string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	for _, dir := range []string{"postgres", "sqlite"} {
		names, err := fs.Glob(migrations.FS, dir+"/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(migrations.FS, name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = &fstest.MapFile{Data: text}
		}
	}
	for name, text := range later {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// insertTask inserts a waiting task.
func insertTask(ctx context.Context, db *sql.DB, d dialect.Name) error {
	table := "taskkit_queued_task"
	_, err := db.ExecContext(ctx, "INSERT INTO "+table+` (id, owner_id, run_as_id, created_by, modified_by, execution_component_name, execution_spec)
VALUES ($1, $1, $1, $1, $1, 'tiny', '{}')`, argument(d, uuid.Must(uuid.NewV7())))
	return err
}

// argument is an id as a driver takes it.
func argument(d dialect.Name, id uuid.UUID) any {
	if d == dialect.SQLite {
		return id.String()
	}
	return id
}

// validity returns whether the index is there and valid: "absent", "invalid" or "valid".
func validity(t *testing.T, db *testdb.DB, index string) string {
	t.Helper()
	query := "SELECT CASE WHEN i.indisvalid THEN 'valid' ELSE 'invalid' END FROM pg_index i WHERE i.indexrelid = to_regclass('" + db.Schema + "." + index + "')"
	if db.Dialect == dialect.SQLite {
		query = "SELECT 'valid' FROM sqlite_master WHERE name = '" + index + "'"
	}
	found := "absent"
	if err := db.QueryRowContext(t.Context(), query).Scan(&found); err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return found
}

// await polls until the condition holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for every := time.NewTicker(20 * time.Millisecond); ; {
		if ok() {
			every.Stop()
			return
		}
		select {
		case <-every.C:
		case <-deadline.C:
			t.Fatalf("waited for a minute until %s", what)
		}
	}
}

// waits reports whether an index is being made that waits for a transaction.
func waits(t *testing.T, db *testdb.DB) bool {
	t.Helper()
	return count(t, db, "SELECT count(*) FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting for old snapshots%' AND datname = current_database()") > 0
}

// old begins a transaction that has a snapshot. On a database of the test's own, it is all that an index waits for.
func old(t *testing.T, db *testdb.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_class").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return tx
}

// A later migration makes an index while tasks are submitted. When it is interrupted it leaves an invalid index. The next one drops
// that and makes it again, also when it loses its connection meanwhile, and another one waits for it.
func TestIndexIsMadeBesideInserts(t *testing.T) {
	t.Parallel()
	db := testdb.On(t, testdb.OwnDatabase(t))
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	files := withLater(t, laterIndex)
	apply := func(ctx context.Context) <-chan error {
		ended := make(chan error, 1)
		go func() { ended <- migrate.Apply(ctx, db.DB, db.Schema, files) }()
		return ended
	}
	tx := old(t, db)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	first := apply(ctx)
	await(t, "the index waits for the old transaction", func() bool { return waits(t, db) })
	for range 10 {
		if err := insertTask(t.Context(), db.DB, db.Dialect); err != nil {
			t.Fatal(err)
		}
	}
	if got := validity(t, db, "taskkit_later"); got != "invalid" || !waits(t, db) {
		t.Fatalf("the index is %s, and not made beside the inserts", got)
	}
	interrupt()
	if err := <-first; err == nil {
		t.Fatal("a migrator that was interrupted has succeeded")
	}
	await(t, "the server has ended the statement", func() bool { return !waits(t, db) })
	if got := validity(t, db, "taskkit_later"); got != "invalid" {
		t.Fatalf("the interrupted index is %s", got)
	}
	if err := migrate.Check(t.Context(), db, db.Schema); err != nil {
		t.Fatalf("the interrupted migration was recorded: %v", err)
	}

	second := apply(t.Context())
	await(t, "the index is made again", func() bool { return waits(t, db) })
	third := apply(t.Context())
	await(t, "the third migrator has tried the lock", func() bool {
		return count(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query LIKE '%pg_try_advisory_lock%'") > 0
	})
	if _, err := db.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index WHERE datname = current_database()"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for _, ended := range []<-chan error{second, third} {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if a, b := validity(t, db, "taskkit_later"), validity(t, db, "taskkit_follows"); a != "valid" || b != "absent" {
		t.Fatalf("the new index is %s, and the dropped one %s", a, b)
	}
	if n := count(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n != 0 {
		t.Errorf("%d locks are left", n)
	}
}

// count runs a query that counts.
func count(t *testing.T, db *testdb.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The next migrator repairs what an interrupted one has left, however far that was.
func TestIndexIsRepaired(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{
		"invalid":            `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'taskkit_later'::regclass`,
		"made, not recorded": `SELECT 1`,
		"not made":           `DROP INDEX taskkit_later`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.On(t, testdb.OwnDatabase(t), testdb.MaxConns(1))
			if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{"CREATE INDEX taskkit_later ON taskkit_queued_task (created_by, id) WHERE workflow_status = 'QUEUED'", left} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			if err := migrate.Apply(t.Context(), db.DB, db.Schema, withLater(t, laterIndex)); err != nil {
				t.Fatal(err)
			}
			if a, b := validity(t, db, "taskkit_later"), validity(t, db, "taskkit_follows"); a != "valid" || b != "absent" {
				t.Fatalf("the new index is %s, and the dropped one %s", a, b)
			}
			var path string // of the session that has migrated
			if err := db.QueryRowContext(t.Context(), "SHOW search_path").Scan(&path); err != nil || path != db.Schema {
				t.Errorf("the search_path is %q, %v", path, err)
			}
		})
	}
}

// On new tables, and on SQLite, the same migration is a transaction.
func TestIndexOnNewTables(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *testdb.DB) {
		if err := migrate.Apply(t.Context(), db.DB, db.Schema, withLater(t, laterIndex)); err != nil {
			t.Fatal(err)
		}
		if a, b := validity(t, db, "taskkit_later"), validity(t, db, "taskkit_follows"); a != "valid" || b != "absent" {
			t.Fatalf("the new index is %s, and the dropped one %s", a, b)
		}
	})
}

// Through a pooler there is no session, so that an index beside running work is refused.
func TestIndexNeedsASession(t *testing.T) {
	t.Parallel()
	db := testdb.PgBouncer(t)
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	if err := migrate.Apply(t.Context(), db.DB, db.Schema, withLater(t, laterIndex)); err == nil || !strings.Contains(err.Error(), "direct connection") {
		t.Fatalf("got %v, want advice to connect directly", err)
	}
}

// Duplicates in the way of a unique index are reported at once: each try would read the whole table.
func TestUniqueIndexWithDuplicates(t *testing.T) {
	t.Parallel()
	db := testdb.On(t, testdb.OwnDatabase(t))
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := insertTask(t.Context(), db.DB, db.Dialect); err != nil {
			t.Fatal(err)
		}
	}
	err := migrate.Apply(t.Context(), db.DB, db.Schema, withLater(t, map[string]string{
		"postgres/00900_later.sql": "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS \"taskkit_later\" ON \"{schema}\".\"taskkit_queued_task\" (\"execution_component_name\");\n",
	}))
	if err == nil || !strings.Contains(err.Error(), "in the way of a unique index") {
		t.Fatalf("got %v", err)
	}
}
