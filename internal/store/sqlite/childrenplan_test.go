package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/testkit/testdb"
)

// explainer explains each statement that reads children before it executes it.
type explainer struct {
	t     *testing.T
	tx    *sql.Tx
	plans map[string]string // by statement
}

func (e *explainer) explain(query string, args []any) {
	if !strings.Contains(query, "parent_id") {
		return
	}
	var steps []string
	if _, err := sqlrows.Query(e.t.Context(), e.tx, "EXPLAIN QUERY PLAN "+query, args, func(rows *sql.Rows) error {
		var (
			a, b, n int
			step    string
		)
		err := rows.Scan(&a, &b, &n, &step)
		steps = append(steps, step+"\n")
		return err
	}); err != nil {
		e.t.Fatal(err)
	}
	e.plans[query] = strings.Join(steps, "")
}

func (e *explainer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	e.explain(query, args)
	return e.tx.ExecContext(ctx, query, args...)
}

func (e *explainer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.explain(query, args)
	return e.tx.QueryContext(ctx, query, args...)
}

// What reads the children of a task uses the partial indexes of children.
func TestSQLiteChildrenPlans(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if err := migrate.Migrate(t.Context(), db.DB, ""); err != nil {
		t.Fatal(err)
	}
	s := New(db.DB, time.Second)
	t.Cleanup(func() { s.Release(context.WithoutCancel(t.Context())) })
	parent := store.NewTask{Submitted: store.Submitted{Kind: "parent", Owner: uuid.New(), RunAs: uuid.New(), Queue: "parents"}, ID: store.NewID(), Revision: 1, Priority: 1, Total: -1}
	child := parent
	child.ID, child.Parent, child.Options = store.NewID(), parent.ID, &store.Options{Child: &store.Child{Parent: parent.ID}}
	if err := store.Insert(t.Context(), db, "", []store.NewTask{parent, child}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE taskkit_queued_task SET control = 'DELETE' WHERE id = $1", parent.ID.String()); err != nil {
		t.Fatal(err)
	}
	ids, lease := []uuid.UUID{parent.ID}, store.Lease{ID: parent.ID}
	for what, c := range map[string]struct {
		call    func(*sqlbase.Base, *explainer) error
		indexes []string
	}{
		"WakeParents": {func(b *sqlbase.Base, _ *explainer) error {
			_, err := b.WakeParents(t.Context(), ids)
			return err
		}, []string{"taskkit_child_status (parent_id=? AND workflow_status=?)"}},
		"Family": {func(b *sqlbase.Base, _ *explainer) error {
			_, err := b.Family(t.Context(), lease)
			return err
		}, []string{"taskkit_child_status (parent_id=? AND workflow_status=?)"}},
		"OpenParents": {func(b *sqlbase.Base, q *explainer) error {
			_, err := b.OpenParents(t.Context(), q, []*store.Write{{Lease: lease, To: lifecycle.Completed, HasChildren: true}})
			return err
		}, []string{"taskkit_child_status (parent_id=? AND workflow_status=?)"}},
		"Children": {func(b *sqlbase.Base, _ *explainer) error {
			_, err := b.Children(t.Context(), parent.ID, uuid.Nil, 10, true)
			return err
		}, []string{"taskkit_child (parent_id=? AND id>?)"}},
		"PassOn": {func(b *sqlbase.Base, _ *explainer) error {
			_, _, err := b.PassOn(t.Context(), ids, 10)
			return err
		}, []string{"taskkit_child_status (parent_id=? AND workflow_status=?)"}},
	} {
		t.Run(what, func(t *testing.T) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			e := &explainer{t, tx, make(map[string]string)}
			b, ok := sqlbase.NewClient(e, "", dialect.SQLite).(*sqlbase.Base)
			if !ok {
				t.Fatal("no Base")
			}
			if err := c.call(b, e); err != nil {
				t.Fatal(err)
			}
			all := ""
			for query, plan := range e.plans {
				all += plan
				for _, scan := range []string{"SCAN q\n", "SCAN c\n", "SCAN taskkit_queued_task\n"} {
					if strings.Contains(plan, scan) {
						t.Errorf("%s\nreads the table:\n%s", query, plan)
					}
				}
			}
			for _, index := range c.indexes {
				if !strings.Contains(all, index) {
					t.Errorf("want %s in the plans:\n%s", index, all)
				}
			}
		})
	}
}
