package taskkit_test

import (
	"database/sql"
	"errors"
	"testing"

	"taskkit.dev/internal/testdb"
	"taskkit.dev/taskkit"
)

// A worker and its client work in every mode of pgx and through PgBouncer in
// transaction mode, with a direct connection for notifications and without.
func TestConnections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		open   func(t *testing.T) *testdb.DB
		direct bool
	}{
		"cache_statement":     {func(t *testing.T) *testdb.DB { return testdb.Postgres(t) }, false},
		"cache_describe":      {func(t *testing.T) *testdb.DB { return testdb.Postgres(t, testdb.ExecMode("cache_describe")) }, false},
		"describe_exec":       {func(t *testing.T) *testdb.DB { return testdb.Postgres(t, testdb.ExecMode("describe_exec")) }, false},
		"exec":                {func(t *testing.T) *testdb.DB { return testdb.Postgres(t, testdb.ExecMode("exec")) }, false},
		"simple_protocol":     {func(t *testing.T) *testdb.DB { return testdb.Postgres(t, testdb.ExecMode("simple_protocol")) }, false},
		"PgBouncer":           {func(t *testing.T) *testdb.DB { return testdb.PgBouncer(t) }, false},
		"PgBouncer, listener": {func(t *testing.T) *testdb.DB { return testdb.PgBouncer(t) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := migrated(t, tc.open(t))
			makeTouch(t, db.DB)
			c := quick(t, db)
			if tc.direct {
				c.ListenDSN = db.Direct
			}
			var ids []taskkit.ID
			for range 10 {
				ids = append(ids, submitted(t, db, countKind, countSpec{Items: 2000}))
			}
			id, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{Items: 1}, taskkit.InSchema(schemaOf(db)), taskkit.UniqueKey("one"))
			if err != nil {
				t.Fatalf("submit with a key: %v", err)
			}
			var dup *taskkit.DuplicateError
			if _, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, taskkit.InSchema(schemaOf(db)), taskkit.UniqueKey("one")); !errors.As(err, &dup) || dup.ID != id {
				t.Errorf("submit with the same key: %v", err)
			}
			started(t, db, registered(countKind, counting("w")), c)
			for _, id := range ids {
				if task := ended(t, db, id); task.Status != taskkit.Completed {
					t.Errorf("task ended in %s: %s", task.Status, task.Desc)
				}
				checkTouched(t, db.DB, id, 2000)
			}
		})
	}
}

// A database that cannot be reached is a typed error.
func TestConnectError(t *testing.T) {
	t.Parallel()
	for driver, dsn := range map[string]string{
		"pgx":    "postgres://nobody@127.0.0.1:1/none?connect_timeout=2",
		"sqlite": "file:/no/such/directory/at/all.db",
	} {
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var connect *taskkit.ConnectError
		if _, err := taskkit.NewWorker(db, registered(countKind, counting("w")), taskkit.Config{}); !errors.As(err, &connect) {
			t.Errorf("%s: new worker: %v, want *ConnectError", driver, err)
		}
		if _, err := taskkit.NewClient(db).Tasks(t.Context(), taskkit.Filter{}); !errors.As(err, &connect) {
			t.Errorf("%s: client: %v, want *ConnectError", driver, err)
		}
		if err := taskkit.Migrate(t.Context(), db, taskkit.DefaultSchema); err == nil {
			t.Errorf("%s: migrated", driver)
		}
	}
}
