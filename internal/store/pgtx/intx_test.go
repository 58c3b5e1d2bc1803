package pgtx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/testkit/testdb"
)

// insertStep stores a number that must be new.
func insertStep(n int64) sqlbase.Step {
	return sqlbase.Step{Text: "INSERT INTO numbers (n) VALUES ($1)", Args: []any{n}, What: "store a number"}
}

// add adds steps to a transaction.
func add(q store.Querier, steps ...sqlbase.Step) {
	q.(sqlbase.Queue).Add(steps...) //nolint:errcheck,forcetypeassert // each transaction of InTx is a queue
}

// However a transaction ends, all of it is stored or nothing, and no connection of the pool stays inside one.
func TestTransactionsEnd(t *testing.T) {
	t.Parallel()
	other := errors.New("no error of the database")
	for _, c := range []struct {
		name   string
		f      func(ctx context.Context, cancel func(), q store.Querier) error
		stored bool
		want   string // is part of the error
	}{
		{name: "nothing", f: func(context.Context, func(), store.Querier) error { return nil }},
		{name: "steps", stored: true, f: func(_ context.Context, _ func(), q store.Querier) error {
			add(q, insertStep(1), insertStep(2))
			return nil
		}},
		{name: "a statement between steps", stored: true, f: func(ctx context.Context, _ func(), q store.Querier) error {
			add(q, insertStep(1))
			r, err := q.ExecContext(ctx, "UPDATE numbers SET n = n + 1 WHERE n = 1")
			if n, _ := r.RowsAffected(); n != 1 {
				t.Errorf("a step before a statement has stored %d numbers, want 1", n)
			}
			add(q, insertStep(1))
			return err
		}},
		{name: "an error of the caller's", want: other.Error(), f: func(ctx context.Context, _ func(), q store.Querier) error {
			_, err := q.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (1)")
			return errors.Join(err, other)
		}},
		{name: "an error before steps are sent", want: other.Error(), f: func(_ context.Context, _ func(), q store.Querier) error {
			add(q, insertStep(1))
			return other
		}},
		{name: "a step that fails with the COMMIT", want: "store a number: ERROR: duplicate key", f: func(_ context.Context, _ func(), q store.Querier) error {
			add(q, insertStep(1), insertStep(1), insertStep(2))
			return nil
		}},
		{name: "a step that fails before a statement", want: "store a number: ERROR: duplicate key", f: func(ctx context.Context, _ func(), q store.Querier) error {
			add(q, insertStep(1), insertStep(1))
			_, err := q.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (2)")
			return err
		}},
		{name: "the COMMIT fails", want: "violates foreign key", f: func(_ context.Context, _ func(), q store.Querier) error {
			add(q, insertStep(1), sqlbase.Step{Text: "INSERT INTO parts (of) VALUES (2)"})
			return nil
		}},
		{name: "a failed statement is forgotten", want: "duplicate key", f: func(ctx context.Context, _ func(), q store.Querier) error {
			add(q, insertStep(1))
			_, _ = q.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (1)")
			return nil
		}},
		{name: "the context ends before the first statement", want: "context canceled", f: func(_ context.Context, cancel func(), q store.Querier) error {
			cancel()
			add(q, insertStep(1))
			return nil
		}},
		{name: "the context ends between statements", want: "context canceled", f: func(ctx context.Context, cancel func(), q store.Querier) error {
			_, err := q.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (1)")
			cancel()
			return err
		}},
		{name: "the context ends before a later statement is sent", want: "context canceled", f: func(ctx context.Context, cancel func(), q store.Querier) error {
			_, err := q.ExecContext(ctx, "INSERT INTO numbers (n) VALUES (1)")
			cancel()
			_, late := q.ExecContext(&endsUnnoticed{Context: ctx}, "INSERT INTO numbers (n) VALUES (2)")
			return errors.Join(err, late)
		}},
		{name: "the context ends inside a statement", want: "context canceled", f: func(ctx context.Context, cancel func(), q store.Querier) error {
			add(q, insertStep(1))
			time.AfterFunc(50*time.Millisecond, cancel)
			_, err := q.ExecContext(ctx, "SELECT pg_sleep(60)")
			return err
		}},
		{name: "the context ends inside a step", want: "context canceled", f: func(_ context.Context, cancel func(), q store.Querier) error {
			time.AfterFunc(50*time.Millisecond, cancel)
			add(q, insertStep(1), sqlbase.Step{Text: "SELECT pg_sleep(60)"})
			return nil
		}},
	} {
		check := func(t *testing.T, db *testdb.DB) {
			t.Helper()
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := (&Pool{db.DB}).InTx(ctx, func(q store.Querier) error { return c.f(ctx, cancel, q) })
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q", err, c.want)
			}
			outside(t, db, c.stored)
		}
		t.Run(c.name, func(t *testing.T) { check(t, withNumbers(t)) })
		t.Run(c.name+", with another driver", func(t *testing.T) {
			db := withNumbers(t)
			config, err := pgx.ParseConfig(db.DSN)
			if err != nil {
				t.Fatal(err)
			}
			_ = db.DB.Close()
			db.DB = sql.OpenDB(oneByOne{stdlib.GetConnector(*config)})
			t.Cleanup(func() { _ = db.DB.Close() })
			check(t, db)
		})
	}
}

// endsUnnoticed is a context that has ended, which the first one who asks for its error does not see yet.
type endsUnnoticed struct {
	context.Context
	asked bool
}

func (c *endsUnnoticed) Err() error {
	if !c.asked {
		c.asked = true
		return nil
	}
	return c.Context.Err()
}

// oneByOne opens connections of pgx that cannot send several statements at once.
type oneByOne struct{ driver.Connector }

func (o oneByOne) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := o.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, ok := conn.(oneByOneConn)
	if !ok {
		return nil, fmt.Errorf("%T has not all methods that a connection needs", conn)
	}
	return struct{ oneByOneConn }{all}, nil
}

type oneByOneConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
}

// The server ends a transaction whose client says nothing: it has a limit from its beginning.
func TestTransactionHasLimit(t *testing.T) {
	t.Parallel()
	db := withNumbers(t)
	if err := (&Pool{db.DB}).InTx(t.Context(), func(q store.Querier) error {
		_, err := sqlrows.Query(t.Context(), q, "SHOW idle_in_transaction_session_timeout", nil, func(rows *sql.Rows) error {
			var limit string
			err := rows.Scan(&limit)
			if limit != "5s" {
				t.Errorf("the limit is %q, want 5s", limit)
			}
			return err
		})
		return err
	}); err != nil {
		t.Error(err)
	}
	outside(t, db, false)
}

// A transaction ends when its function panics.
func TestTransactionOfPanicEnds(t *testing.T) {
	t.Parallel()
	db := withNumbers(t)
	func() {
		defer func() { _ = recover() }()
		_ = (&Pool{db.DB}).InTx(t.Context(), func(q store.Querier) error {
			_, err := q.ExecContext(t.Context(), "INSERT INTO numbers (n) VALUES (1)")
			panic(err)
		})
	}()
	outside(t, db, false)
}

// A connection that was lost while it was idle is replaced.
func TestTransactionOnLostConnection(t *testing.T) {
	t.Parallel()
	db := withNumbers(t)
	c, err := pgx.ParseConfig(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	pool := stdlib.OpenDB(*c, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return true }))
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	var pid int
	if err := pool.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT pg_terminate_backend($1, 10000)", pid); err != nil {
		t.Fatal(err)
	}
	if err := (&Pool{pool}).InTx(t.Context(), func(q store.Querier) error { add(q, insertStep(1)); return nil }); err != nil {
		t.Error(err)
	}
	outside(t, db, true)
}

// withNumbers returns a database with a table of numbers, of which each is stored once.
func withNumbers(t *testing.T) *testdb.DB {
	t.Helper()
	db := testdb.Postgres(t)
	for _, query := range []string{
		"CREATE TABLE numbers (n bigint PRIMARY KEY)",
		"CREATE TABLE parts (of bigint REFERENCES numbers (n) DEFERRABLE INITIALLY DEFERRED)",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// outside checks what was stored, and that no connection is inside a transaction. The server needs a moment to notice that one was closed, and longer when it
// executes a statement; a connection that was given back inside a transaction would stay there for 5 seconds.
func outside(t *testing.T, db *testdb.DB, stored bool) {
	t.Helper()
	const noticed = 3 // seconds
	var (
		n, inside, limited int
		since              float64
	)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		err := db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM numbers), count(*) FILTER (WHERE state <> 'idle' AND pid <> pg_backend_pid()),"+
			" count(*) FILTER (WHERE current_setting('idle_in_transaction_session_timeout') <> '0'), coalesce(extract(epoch FROM clock_timestamp() - min(state_change) FILTER (WHERE state LIKE 'idle in transaction%')), 0)::float8"+
			" FROM pg_stat_activity WHERE application_name = $1", db.Schema).Scan(&n, &inside, &limited, &since)
		if err != nil {
			t.Fatal(err)
		}
		if inside == 0 || since > noticed {
			break
		}
	}
	if n > 0 != stored || inside > 0 || limited > 0 {
		t.Errorf("%d numbers are stored, want some: %t; %d connections are inside a transaction; %d have its limit", n, stored, inside, limited)
	}
	if pool := db.Stats(); pool.InUse > 0 {
		t.Errorf("%d connections were not given back", pool.InUse)
	}
}
