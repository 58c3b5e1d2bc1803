package dbstore_test

import (
	"sync"
	"testing"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/storetest"
	"taskkit.dev/internal/testkit/testdb"
)

// byRole is a store each of whose calls is made by the role that needs the fewest rights and makes it.
type byRole struct {
	store.Workers // worker
	store.Sessions
	store.Upkeep
	store.Common // operator
	store.Requests
	store.Reader // reader
	store.Ops
	store.Diagnosis
}

// TestConformanceByRole runs the suite with exactly the rights of docs/operations.md. TestRoles checks the statements of the golden
// files, which have one case of each call; here a role also executes the statements that only some cases of its calls need.
func TestConformanceByRole(t *testing.T) {
	t.Parallel()
	t.Run("submitter", func(t *testing.T) {
		t.Parallel()
		runByRole(t, func(*testdb.Roles) {}, "InsertActor", "InsertMany", "InsertTexts", "InsertRollback", "InsertTimes", "InsertRefused",
			"FrozenTargets", "FrozenTargetsRefused", "Options", "ChildrenInserted")
	})
	t.Run("submitter that merges", func(t *testing.T) {
		t.Parallel()
		runByRole(t, (*testdb.Roles).GrantMerging)
	})
}

// runByRole runs cases of the suite, all or the named ones, with the rights of the roles and what grant adds.
func runByRole(t *testing.T, grant func(*testdb.Roles), only ...string) {
	t.Helper()
	var (
		dbs   = &reuse{t: t, open: testdb.Postgres}
		mu    sync.Mutex
		known = make(map[*testdb.DB]map[string]*testdb.DB) // by role
	)
	rolesOf := func(db *testdb.DB) map[string]*testdb.DB {
		mu.Lock()
		defer mu.Unlock()
		if known[db] != nil {
			return known[db]
		}
		roles := testdb.NewRoles(t, db, "../../../docs/operations.md")
		grant(roles)
		// The table of the cases is made later, and is not taskkit's.
		if _, err := db.ExecContext(t.Context(), "ALTER DEFAULT PRIVILEGES IN SCHEMA "+db.Schema+" GRANT SELECT, INSERT ON TABLES TO "+roles.Name("worker")); err != nil {
			t.Fatal(err)
		}
		known[db] = make(map[string]*testdb.DB)
		for _, role := range []string{"submitter", "reader", "operator", "worker"} {
			known[db][role] = roles.As(role)
		}
		return known[db]
	}
	storetest.RunAsRoles(t, func(t *testing.T) (store.Store, *testdb.DB, *testdb.DB) {
		db := dbs.take(t)
		as := rolesOf(db)
		worker, err := dbstore.Open(t.Context(), as["worker"].DB, db.Schema, dbstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		releaseAtEnd(t, worker)
		client := func(role string) store.Client { return dbstore.NewClient(as[role].DB, db.Schema, db.Dialect) }
		operator, reader := client("operator"), client("reader")
		return byRole{worker, worker, worker, operator, operator, reader, reader, reader}, db, as["submitter"]
	}, only...)
}
