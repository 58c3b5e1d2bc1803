package memstore_test

import (
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/memstore"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/storetest"
	"taskkit.dev/internal/testdb"
)

// The cases that are about SQL itself are skipped, see storetest.Bare.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) (store.Store, *testdb.DB) {
		return memstore.New(), &testdb.DB{Dialect: dialect.Postgres, Schema: "taskkit"}
	})
}

var _ storetest.Bare = (*memstore.Store)(nil)
