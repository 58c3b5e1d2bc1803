package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/testkit/testdb"
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
			id, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{Items: 1}, taskkit.WithSchema(schemaOf(db)), taskkit.WithUniqueKey("one"), taskkit.System())
			if err != nil {
				t.Fatalf("submit with a key: %v", err)
			}
			var dup *taskkit.DuplicateError
			if _, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, taskkit.WithSchema(schemaOf(db)), taskkit.WithUniqueKey("one"), taskkit.System()); !errors.As(err, &dup) || dup.ID != id {
				t.Errorf("submit with the same key: %v", err)
			}
			started(t, db, registered(countKind, counting("w")), c)
			for _, id := range ids {
				if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
					t.Errorf("task ended in %s: %s", task.Status, task.StatusDetail)
				}
				checkTouched(t, db.DB, id, 2000)
			}
		})
	}
}

// A transaction of pgx itself is a handle like any other.
func TestPgxTx(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.Postgres(t))
	conn, err := pgx.Connect(t.Context(), db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	in := taskkit.WithSchema(schemaOf(db))
	for name, end := range map[string]func(pgx.Tx) error{
		"commit":   func(tx pgx.Tx) error { return tx.Commit(t.Context()) },
		"rollback": func(tx pgx.Tx) error { return tx.Rollback(t.Context()) },
	} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id, err := taskkit.Submit(t.Context(), taskkit.PgxTx(tx), countKind, countSpec{Items: 1}, in, taskkit.WithUniqueKey("one"), taskkit.System())
		if err != nil {
			t.Fatalf("submit: %v", err)
		}
		var dup *taskkit.DuplicateError
		var option *taskkit.OptionError
		if _, err := taskkit.Submit(t.Context(), taskkit.PgxTx(tx), countKind, countSpec{}, in, taskkit.WithUniqueKey("one"), taskkit.System()); !errors.As(err, &dup) {
			t.Errorf("%s: the same key again: %v, want *DuplicateError", name, err)
		}
		if _, err := taskkit.Submit(t.Context(), taskkit.PgxTx(tx), countKind, countSpec{}, in, taskkit.WithCoalescing("x"), taskkit.System()); !errors.As(err, &option) {
			t.Errorf("%s: coalesced through a handle that cannot ask: %v, want *OptionError", name, err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
		if _, err := clientOf(db).Task(t.Context(), id); (err == nil) != (name == "commit") {
			t.Errorf("after a %s: %v", name, err)
		}
		if name == "commit" {
			if _, err := clientOf(db).Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// ent's session variables reach the batch's transaction, and an ent client
// inside it cannot end it.
func TestEntDriver(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.Postgres(t))
	x := &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
		driver := b.EntDriver()
		var rows entsql.Rows
		ctx = entsql.WithVar(ctx, "application_name", "a viewer")
		if err := driver.Query(ctx, "SELECT current_setting('application_name')", []any{}, &rows); err != nil {
			return taskkit.More, err
		}
		name, err := entsql.ScanString(rows)
		if err != nil || name != "a viewer" {
			return taskkit.More, taskkit.Permanent("no_variable", errors.New(name))
		}
		if err := rows.Close(); err != nil {
			return taskkit.More, err
		}
		for _, end := range []string{"COMMIT", "ROLLBACK", "BEGIN"} {
			if err := driver.Exec(ctx, end, []any{}, nil); err == nil {
				return taskkit.More, taskkit.Permanent("ended", errors.New(end))
			}
		}
		return taskkit.Done, nil
	}}
	id := submitted(t, db, countKind, countSpec{})
	started(t, db, registered(countKind, x), quick(t, db))
	// The statements are refused, and a batch that ignores that does not commit.
	if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "misuse: ") {
		t.Errorf("ended in %s: %s; want FAILURE with misuse", task.Status, task.StatusDetail)
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
		if _, err := taskkit.NewWorker(t.Context(), db, registered(countKind, counting("w")), taskkit.Config{}); !errors.As(err, &connect) {
			t.Errorf("%s: new worker: %v, want *ConnectError", driver, err)
		} else if advised := strings.Contains(err.Error(), "accepts connections"); advised != (driver == "pgx") {
			t.Errorf("%s: a server is to accept connections: %t: %v", driver, advised, err)
		}
		if _, _, err := taskkit.NewClient(db).Tasks(t.Context(), taskkit.Filter{}); !errors.As(err, &connect) {
			t.Errorf("%s: client: %v, want *ConnectError", driver, err)
		}
		if err := taskkit.Migrate(t.Context(), db, taskkit.DefaultSchema); err == nil {
			t.Errorf("%s: migrated", driver)
		}
	}
}
