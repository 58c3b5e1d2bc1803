package dbstore_test

import (
	"context"
	"testing"
	"time"

	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/storetest"
	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) {
	testdb.Parallel(8)
	testdb.LeakMain(m)
}

// opened migrates a test's database and opens its store.
func opened(t *testing.T, db *testdb.DB, opts ...dbstore.Options) (store.Store, *testdb.DB) {
	t.Helper()
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	s, err := dbstore.Open(t.Context(), db.DB, db.Schema, append(opts, dbstore.Options{})[0])
	if err != nil {
		t.Fatal(err)
	}
	releaseAtEnd(t, s)
	return s, db
}

// register registers a process that serves nothing.
func register(t *testing.T, s store.Store, id string) {
	t.Helper()
	if err := s.RegisterWorker(t.Context(), store.Process{ID: id, Kinds: map[string][]int{}, Queues: []string{}, DeadAfter: time.Hour}); err != nil {
		t.Fatal(err)
	}
}

// releaseAtEnd releases a store when the test ends.
func releaseAtEnd(t *testing.T, s store.Store) {
	t.Helper()
	t.Cleanup(func() {
		// A test that has failed may have left a transaction open.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		s.Release(ctx)
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dbs := &reuse{t: t, open: testdb.Postgres}
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) {
			db := dbs.take(t)
			handle, rec := dbs.recorded(db)
			return openedRecorded(t, db, handle, rec)
		})
	})
	// The most different mode of pgx: the client writes the values into the statement. Through
	// PgBouncer it is exec; for the others see TestExecModes.
	t.Run("postgres simple_protocol", func(t *testing.T) {
		t.Parallel()
		dbs := &reuse{t: t, open: testdb.Postgres, opts: []testdb.Option{testdb.ExecMode("simple_protocol")}}
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) { return opened(t, dbs.take(t)) })
	})
	t.Run("pgbouncer", func(t *testing.T) {
		t.Parallel()
		dbs := &reuse{t: t, open: testdb.PgBouncer}
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) { return opened(t, dbs.take(t)) })
	})
	t.Run("pgbouncer with a listener past it", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) {
			db := testdb.PgBouncer(t)
			return opened(t, db, dbstore.Options{ListenDSN: db.Direct})
		}, "Watch", "WatchEnds")
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) {
			db := testdb.SQLite(t)
			handle, rec := testdb.Recorded(t, db)
			return openedRecorded(t, db, handle, rec)
		})
	})
}
