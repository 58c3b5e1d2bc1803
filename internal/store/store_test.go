package store_test

import (
	"context"
	"testing"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/storetest"
	"taskkit.dev/internal/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// opened migrates a test's database and opens its store.
func opened(t *testing.T, db *testdb.DB, opts ...store.Option) (store.Store, *testdb.DB) {
	t.Helper()
	if err := store.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), db.DB, db.Schema, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A test that has failed may have left a transaction open.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
		defer cancel()
		s.Release(ctx)
	})
	return s, db
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) { return opened(t, testdb.Postgres(t)) })
	})
	for _, mode := range []string{"cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run("postgres "+mode, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) {
				return opened(t, testdb.Postgres(t, testdb.ExecMode(mode)))
			})
		})
	}
	t.Run("pgbouncer", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) { return opened(t, testdb.PgBouncer(t)) })
	})
	t.Run("pgbouncer with a listener past it", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) {
			db := testdb.PgBouncer(t)
			return opened(t, db, store.ListenDSN(db.Direct))
		}, "Watch", "WatchEnds")
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) { return opened(t, testdb.SQLite(t)) })
	})
}
