package dbstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/testkit/testdb"
)

// reuse lends migrated PostgreSQL databases to the cases of a suite. A case has one to itself, which is empty, and a later case
// gets it again: to create and drop the tables takes the server longer than most cases. It is safe for concurrent use.
type reuse struct {
	t    *testing.T // of the suite, with which the databases end
	open func(testing.TB, ...testdb.Option) *testdb.DB
	opts []testdb.Option

	mu      sync.Mutex
	free    []*testdb.DB
	handles map[*testdb.DB]recordedHandle
}

// recordedHandle is what [testdb.Recorded] returns.
type recordedHandle struct {
	*sql.DB
	*testdb.Recording
}

// take returns a database for a case. Where the case fails, or leaves a lock, nobody gets it again.
func (r *reuse) take(t *testing.T) *testdb.DB {
	t.Helper()
	db := r.takeFree()
	if db == nil {
		db = r.open(r.t, r.opts...)
		if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := empty(db); err != nil {
			t.Logf("%s is not used again: %v", db.Schema, err)
			return
		}
		r.mu.Lock()
		r.free = append(r.free, db)
		r.mu.Unlock()
	})
	return db
}

// recorded is [testdb.Recorded] for a database that was taken. The handle is kept for the next case.
func (r *reuse) recorded(db *testdb.DB) (*sql.DB, *testdb.Recording) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.handles[db]
	if !ok {
		if r.handles == nil {
			r.handles = make(map[*testdb.DB]recordedHandle)
		}
		h.DB, h.Recording = testdb.Recorded(r.t, db)
		r.handles[db] = h
	}
	return h.DB, h.Recording
}

// takeFree returns a database that no case has, or nil.
func (r *reuse) takeFree() (db *testdb.DB) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free); n > 0 {
		db, r.free = r.free[n-1], r.free[:n-1]
	}
	return db
}

// empty removes all rows but the versions of the migrations. It deletes them where they are few: TRUNCATE makes new
// files for each table and index, and every connection must plan its statements again.
func empty(db *testdb.DB) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := db.ExecContext(ctx, fmt.Sprintf(`DO $$ DECLARE tables text[]; one text; BEGIN
  SET LOCAL lock_timeout = '5s';
  tables := (SELECT pg_catalog.array_agg(pg_catalog.format('%%I.%%I', schemaname, tablename)) FROM pg_tables
    WHERE schemaname = '%s' AND tablename <> 'taskkit_goose_version');
  IF (SELECT max(pg_relation_size(name::regclass)) FROM pg_catalog.unnest(tables) name) > 1000000 THEN
    EXECUTE 'TRUNCATE ' || pg_catalog.array_to_string(tables, ', ') || ' RESTART IDENTITY CASCADE';
  ELSE
    SET LOCAL session_replication_role = replica; -- without triggers
    FOREACH one IN ARRAY tables LOOP
      EXECUTE 'DELETE FROM ' || one;
    END LOOP;
  END IF;
END $$`, db.Schema))
	return err
}
