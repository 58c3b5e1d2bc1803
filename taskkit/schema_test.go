package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// unmigrated fails the test unless err names the command that creates the tables.
func unmigrated(t *testing.T, call string, err error) {
	t.Helper()
	var schema *taskkit.SchemaError
	if !errors.As(err, &schema) || !schema.Behind() || schema.Want == 0 {
		t.Errorf("%s: %v, want a *SchemaError that is behind", call, err)
		return
	}
	command := "run `taskkit migrate -d FILE`"
	if schema.Schema != "" {
		command = "run `taskkit migrate -d URL --schema " + schema.Schema + "`"
	}
	if !strings.Contains(err.Error(), command) {
		t.Errorf("%s: %v, want it to say %s", call, err, command)
	}
}

// execOnly is a handle that cannot query.
type execOnly struct{ tx *sql.Tx }

func (e execOnly) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return e.tx.ExecContext(ctx, query, args...)
}

// Without tables every call says so, through every kind of handle.
func TestSchemaMissing(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		in := taskkit.WithSchema(schemaOf(db))
		inTx := func(f func(tx *sql.Tx)) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			f(tx)
			_ = tx.Rollback()
		}
		_, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, in, taskkit.System())
		unmigrated(t, "Submit", err)
		_, err = taskkit.SubmitMany(t.Context(), db.DB, countKind, make([]countSpec, 3), in, taskkit.System())
		unmigrated(t, "SubmitMany", err)
		_, err = taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, in, taskkit.WithCoalescing("x"), taskkit.System())
		unmigrated(t, "Submit with a reference", err)
		_, err = taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, in, taskkit.WithUniqueKey("x"), taskkit.System())
		unmigrated(t, "Submit with a key", err)
		inTx(func(tx *sql.Tx) {
			_, err := taskkit.Submit(t.Context(), tx, countKind, countSpec{}, in, taskkit.System())
			unmigrated(t, "Submit in a transaction", err)
		})
		inTx(func(tx *sql.Tx) {
			_, err := taskkit.Submit(t.Context(), execOnly{tx}, countKind, countSpec{}, in, taskkit.System())
			unmigrated(t, "Submit through a handle that cannot query", err)
		})
		inTx(func(tx *sql.Tx) {
			_, err := taskkit.NewClient(tx, in).Task(t.Context(), uuid.New())
			unmigrated(t, "Task in a transaction", err)
		})
		if db.Dialect == dialect.Postgres {
			conn, err := pgx.Connect(t.Context(), db.Direct)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(t.Context()) }()
			_, err = taskkit.Submit(t.Context(), taskkit.PgxTx(conn), countKind, countSpec{}, in, taskkit.System())
			unmigrated(t, "Submit through pgx", err)
		}

		c, id := clientOf(db), uuid.New()
		for call, f := range map[string]func() error{
			"Task":    func() error { _, err := c.Task(t.Context(), id); return err },
			"Tasks":   func() error { _, _, err := c.Tasks(t.Context(), taskkit.Filter{}); return err },
			"Counts":  func() error { _, _, err := c.Counts(t.Context(), ""); return err },
			"Workers": func() error { _, err := taskops.New(c).Workers(t.Context()); return err },
			"Items": func() error {
				for _, err := range c.Items(t.Context(), id, taskkit.OutcomeFailed) {
					return err
				}
				return nil
			},
			"Attempts": func() error { _, err := c.Attempts(t.Context(), id, 1); return err },
			"Events":   func() error { _, err := c.Events(t.Context(), id, 1); return err },
			"Result":   func() error { _, err := c.Result(t.Context(), id); return err },
			"Resolve":  func() error { _, err := c.Resolve(t.Context(), "12345678"); return err },
			"Wait":     func() error { _, err := c.Wait(t.Context(), id, nil); return err },
			"Explain":  func() error { _, err := c.Explain(t.Context(), id); return err },
			"Stop":     func() error { _, err := c.Stop(t.Context(), id); return err },
			"Delete":   func() error { _, err := c.Delete(t.Context(), id); return err },
			"Get":      func() error { _, err := taskkit.Get(t.Context(), c, countKind, id); return err },
		} {
			unmigrated(t, call, f())
		}
	})
}

// Tables of an earlier version, which lack a column, are distinguished from none.
func TestSchemaBehind(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		migrated(t, db)
		prefix := ""
		if db.Dialect == dialect.Postgres {
			prefix = db.Schema + "."
		}
		for _, q := range []string{
			"ALTER TABLE " + prefix + "taskkit_queued_task RENAME COLUMN execution_spec TO former_spec",
			"DELETE FROM " + prefix + "taskkit_goose_version",
			"INSERT INTO " + prefix + "taskkit_goose_version (version_id, is_applied) VALUES (0, true)",
		} {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		in := taskkit.WithSchema(schemaOf(db))
		_, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, in, taskkit.System())
		unmigrated(t, "Submit", err)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		_, err = taskkit.Submit(t.Context(), tx, countKind, countSpec{}, in, taskkit.System())
		unmigrated(t, "Submit in a transaction", err)
	})
}

// A nil handle is an error, not a panic.
func TestNilHandle(t *testing.T) {
	t.Parallel()
	var (
		db   *sql.DB
		tx   *sql.Tx
		conn *pgx.Conn
	)
	refused := func(call string, err error) {
		t.Helper()
		var option *taskkit.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), "is not a database handle") {
			t.Errorf("%s: %v, want *OptionError", call, err)
		}
	}
	for name, h := range map[string]taskkit.ExecQuerier{"nil": nil, "nil *sql.DB": db, "nil *sql.Tx": tx} {
		_, err := taskkit.Submit(t.Context(), h, countKind, countSpec{}, taskkit.System())
		refused("Submit to "+name, err)
		_, err = taskkit.SubmitMany(t.Context(), h, countKind, make([]countSpec, 2), taskkit.System())
		refused("SubmitMany to "+name, err)
		_, err = taskkit.NewClient(h).Task(t.Context(), uuid.New())
		refused("Task of "+name, err)
		_, err = taskkit.NewClient(h).Resolve(t.Context(), "@last")
		refused("Resolve of "+name, err)
		refused("CheckSchema of "+name, taskkit.CheckSchema(t.Context(), h, ""))
	}
	_, err := taskkit.Submit(t.Context(), taskkit.PgxTx(conn), countKind, countSpec{}, taskkit.System())
	refused("Submit to a nil *pgx.Conn", err)
	refused("Migrate", taskkit.Migrate(t.Context(), nil, ""))
	_, err = taskkit.NewWorker(t.Context(), nil, registered(countKind, counting("w")), taskkit.Config{})
	refused("NewWorker", err)
}

// Migrate, Submit and a client agree on the length of a schema's name.
func TestLengthOfSchemaName(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	for _, n := range []int{49, 55, 56} {
		schema := strings.Repeat("a", n-32) + strings.ReplaceAll(uuid.NewString(), "-", "")
		t.Cleanup(func() { _, _ = db.ExecContext(context.Background(), `DROP SCHEMA IF EXISTS "`+schema+`" CASCADE`) })
		migrated := taskkit.Migrate(t.Context(), db.DB, schema)
		id, submitted := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, taskkit.WithSchema(schema), taskkit.System())
		_, read := taskkit.NewClient(db.DB, taskkit.WithSchema(schema)).Task(t.Context(), id)
		for call, err := range map[string]error{"Migrate": migrated, "Submit": submitted, "Client.Task": read} {
			var option *taskkit.OptionError
			switch {
			case n <= 55 && err != nil:
				t.Errorf("%s in a schema with a name of %d characters: %v", call, n, err)
			case n > 55 && (!errors.As(err, &option) || option.Option != "Schema"):
				t.Errorf("%s in a schema with a name of %d characters: %v, want an *OptionError of Schema", call, n, err)
			}
		}
	}
}

// The empty name of a schema is the default one wherever a schema is named, on each database.
func TestEmptySchemaIsTheDefault(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]*testdb.DB{"postgres": testdb.Pooled(t), "sqlite": testdb.SQLite(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			none := taskkit.WithSchema("")
			if err := taskkit.Migrate(t.Context(), db.DB, ""); err != nil {
				t.Fatal(err)
			}
			if err := taskkit.CheckSchema(t.Context(), db.DB, ""); err != nil {
				t.Error(err)
			}
			makeTouch(t, db.DB)
			id, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{Items: 1}, none, taskkit.System())
			if err != nil {
				t.Fatal(err)
			}
			c := quick(t, db)
			c.Schema = ""
			started(t, db, registered(countKind, counting("w")), c)
			if task, err := taskkit.NewClient(db.DB, none).Wait(t.Context(), id, nil); err != nil || task.Status != taskkit.StatusCompleted {
				t.Errorf("%v, %v", task, err)
			}
		})
	}
}
