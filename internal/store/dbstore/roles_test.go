package dbstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/testkit/testdb"
)

// TestRoles creates the roles with exactly the rights of docs/operations.md and checks by the golden SQL that each may execute the
// statements of its calls, and that what only others do is refused.
func TestRoles(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	opened(t, db)
	roles := testdb.NewRoles(t, db, "../../../docs/operations.md")
	conn := &roleConn{T: t, db: db, roles: roles}
	may := map[string]func(name, text string) bool{
		"submitter": func(name, _ string) bool { return matches(name, "check_schema insert_*") && !merges(name) },
		"reader":    func(name, text string) bool { return !writes.MatchString(text) || name == "fetch" },
		"operator": func(name, text string) bool {
			return !writes.MatchString(text) || matches(name, "fetch request_* pass_on_* retry_children derive prune_events pause_queue resume_queue set_limit schedule_*")
		},
		"worker": func(name, _ string) bool {
			return !matches(name, "pause_queue resume_queue schedule_insert schedule_delete")
		},
	}
	never := map[string]string{
		"submitter": "apply_* claim* request_* pass_on_* derive pause_queue set_limit schedule_* prune_events task tasks* result fetch items events attempts children reap* register_worker heartbeat insert_merged*",
		"reader":    "apply_* claim* request_* pass_on_* derive pause_queue set_limit schedule_insert schedule_update schedule_delete prune_events reap* register_worker heartbeat insert_*",
		"operator":  "apply_ledger apply_measured apply_release_with_failed_attempt register_worker heartbeat admit see_unknown_kinds insert_merged_with_ledger",
		"worker":    "pause_queue resume_queue schedule_insert schedule_delete",
	}
	statements := goldenTexts(t)
	for role, may := range may {
		for name, text := range statements {
			switch err := conn.executes(role, text); {
			case may(name, text) && err != nil:
				t.Errorf("a %s must be able to execute %s: %v", role, name, err)
			case matches(name, never[role]) && err == nil:
				t.Errorf("a %s may execute %s", role, name)
			}
		}
		for _, ddl := range []string{`CREATE TABLE "{s}".mine (id int)`, `DROP TABLE "{s}".taskkit_queued_task`, `TRUNCATE "{s}".taskkit_task_item`, `DROP TRIGGER taskkit_guard_claim ON "{s}".taskkit_queued_task`} {
			if err := conn.as(role, strings.ReplaceAll(ddl, "{s}", db.Schema)); err == nil {
				t.Errorf("a %s may %s", role, ddl)
			}
		}
	}
	roles.GrantMerging()
	for name, text := range statements {
		if err := conn.executes("submitter", text); merges(name) && err != nil {
			t.Errorf("a submitter that merges must be able to execute %s: %v", name, err)
		}
	}
}

// writes matches a statement that changes or locks rows.
var writes = regexp.MustCompile(`(?m)\b(INSERT INTO|UPDATE|DELETE FROM|FOR (NO KEY )?UPDATE|FOR (KEY )?SHARE|taskkit_unapplied)\b`)

// merges reports whether the calls of a golden file merge submissions.
func merges(name string) bool { return matches(name, "insert_merged* insert_with_reference") }

// matches reports whether a name is one of some, or begins as one that ends in *.
func matches(name, some string) bool {
	return slices.ContainsFunc(strings.Fields(some), func(s string) bool {
		prefix, ok := strings.CutSuffix(s, "*")
		return name == s || ok && strings.HasPrefix(name, prefix)
	})
}

// roleConn executes statements as one of the roles.
type roleConn struct {
	*testing.T
	db    *testdb.DB
	roles *testdb.Roles
	n     int // statements that were prepared: they outlive their transactions
}

// as executes statements in one transaction as a role, and undoes them.
func (c *roleConn) as(role string, statements ...string) error {
	c.Helper()
	return c.inTx(func(ctx context.Context, tx *sql.Tx) error {
		for _, s := range append([]string{"SET LOCAL ROLE " + c.roles.Name(role)}, statements...) {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *roleConn) inTx(f func(context.Context, *sql.Tx) error) error {
	c.Helper()
	tx, err := c.db.BeginTx(c.Context(), nil)
	if err != nil {
		c.Fatal(err)
	}
	return errors.Join(f(c.Context(), tx), tx.Rollback())
}

// executes returns an error unless a role may execute the statements of a golden file. EXPLAIN checks the rights.
func (c *roleConn) executes(role, text string) error {
	c.Helper()
	for query := range strings.SplitSeq(text, ";\n") {
		if !resolved.MatchString(query) || strings.Contains(query, "no_such_column") {
			continue
		}
		c.n++
		name := fmt.Sprintf("golden_%d", c.n)
		err := c.inTx(func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "PREPARE "+name+" AS "+strings.ReplaceAll(query, `"taskkit"`, `"`+c.db.Schema+`"`)); err != nil {
				c.Fatal(err)
			}
			var params int
			if err := tx.QueryRowContext(ctx, "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = $1", name).Scan(&params); err != nil {
				c.Fatal(err)
			}
			values := ""
			if params > 0 {
				values = "(" + strings.TrimSuffix(strings.Repeat("NULL, ", params), ", ") + ")"
			}
			_, err := tx.ExecContext(ctx, "SET LOCAL ROLE "+c.roles.Name(role))
			if err == nil {
				_, err = tx.ExecContext(ctx, "EXPLAIN EXECUTE "+name+values)
			}
			return err
		})
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "42501" {
			return fmt.Errorf("%w\n%s", err, query)
		} else if err != nil {
			c.Fatal(err)
		}
	}
	return nil
}
