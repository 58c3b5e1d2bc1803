package postgres

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/testkit/testdb"
)

// explainer explains each statement before it executes it.
type explainer struct {
	t    *testing.T
	tx   *sql.Tx
	seen map[string]scans // by statement
}

func (e *explainer) explain(query string, args []any) {
	first, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	if strings.Contains(query, "taskkit_queued_task") && first != "INSERT" {
		e.run("SAVEPOINT explained")
		e.seen[query] = planOf(e.t, e.tx, "EXPLAIN (ANALYZE, FORMAT JSON) "+query, args)
		e.run("ROLLBACK TO explained")
	}
}

func (e *explainer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	e.explain(query, args)
	return e.tx.ExecContext(ctx, query, args...)
}

func (e *explainer) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.explain(query, args)
	return e.tx.QueryContext(ctx, query, args...)
}

func (e *explainer) run(statement string) {
	e.t.Helper()
	if _, err := e.tx.ExecContext(e.t.Context(), statement); err != nil {
		e.t.Fatal(err)
	}
}

// What reads the children of a task uses the partial indexes of children, in a table of many
// other tasks, and when 10,000 children are open it reads one of them to see that.
func TestChildrenPlans(t *testing.T) {
	t.Parallel()
	for name, analyzed := range map[string]bool{"statistics taken when empty": false, "statistics": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t)
			s := planStore(t, db)
			exec := execOn(t, db)
			exec("ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = false)")
			exec("ANALYZE taskkit_queued_task")
			exec(`INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec)
SELECT gen_random_uuid(), o, o, o, o, 'demo', '{"n": 1}' FROM (SELECT gen_random_uuid() o) x, generate_series(1, 10000)`)
			parent := waitingParent(t, s, db)
			exec(`INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, queue, parent_id)
SELECT gen_random_uuid(), o, o, o, o, 'part', 'parts', $1::text::uuid FROM (SELECT gen_random_uuid() o) x, generate_series(1, 10000)`, parent.ID.String())
			if analyzed {
				exec("ANALYZE taskkit_queued_task")
				exec("ANALYZE taskkit_task_parent")
			}
			for what, call := range map[string]struct {
				call func(*sqlbase.Base, *explainer) error
				rows float64 // that a statement may read of the table
			}{
				"WakeParents": {func(b *sqlbase.Base, _ *explainer) error {
					_, err := b.WakeParents(t.Context(), []uuid.UUID{parent.ID})
					return err
				}, 3},
				"Family": {func(b *sqlbase.Base, _ *explainer) error {
					_, err := b.Family(t.Context(), parent)
					return err
				}, 10_000},
				"OpenParents": {func(b *sqlbase.Base, q *explainer) error {
					_, err := b.OpenParents(t.Context(), q, []*store.Write{{Lease: parent, To: lifecycle.Completed, HasChildren: true}})
					return err
				}, 3},
				"Children": {func(b *sqlbase.Base, _ *explainer) error {
					_, err := b.Children(t.Context(), parent.ID, uuid.Nil, 10, true)
					return err
				}, 12},
				"PassOn": {func(b *sqlbase.Base, _ *explainer) error {
					_, _, err := b.PassOn(t.Context(), []uuid.UUID{parent.ID}, 10)
					return err
				}, 50},
			} {
				t.Run(what, func(t *testing.T) {
					tx, err := db.BeginTx(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = tx.Rollback() }()
					e := &explainer{t, tx, make(map[string]scans)}
					b, ok := sqlbase.NewClient(e, db.Schema, dialect.Postgres).(*sqlbase.Base)
					if !ok {
						t.Fatal("no Base")
					}
					if err := call.call(b, e); err != nil {
						t.Fatal(err)
					}
					if len(e.seen) == 0 {
						t.Fatal("no statement was explained")
					}
					for query, plan := range e.seen {
						plan.uses(t, query, "taskkit_child", "taskkit_child_status", "taskkit_queued_task_pkey")
						if n := plan.rows("taskkit_child") + plan.rows("taskkit_child_status") + plan.rows("taskkit_queued_task_pkey"); n > call.rows {
							t.Errorf("%v rows were read, want at most %v: %s", n, call.rows, query)
						}
					}
				})
			}
		})
	}
}

// waitingParent is a task that waits until no child is open, and on which a stop stands.
func waitingParent(t *testing.T, s *Store, db *testdb.DB) store.Lease {
	t.Helper()
	n := store.NewTask{Submitted: store.Submitted{Kind: "parent", Owner: uuid.New(), RunAs: uuid.New(), Queue: "parents"}, ID: store.NewID(), Revision: 1, Priority: 1, Total: -1}
	if err := store.Insert(t.Context(), db, db.Schema, []store.NewTask{n}, false); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(t.Context(), store.Claim{Process: "p", Queues: []string{"parents"}, Kinds: map[string][]int{"parent": {1}}, Limit: 1})
	if err != nil || len(got.Tasks) != 1 {
		t.Fatal(len(got.Tasks), err)
	}
	l := got.Tasks[0].Lease
	if _, err := s.Apply(t.Context(), "p", []*store.Write{{
		Lease: l, To: lifecycle.Queued, Checkpoint: true, At: store.Forever, Reason: lifecycle.ReasonChildren, Revision: 1,
		Wait: &store.Wait{OnFailure: store.FailureContinues},
	}}); err != nil {
		t.Fatal(err)
	}
	l.Seq++
	if _, err := db.ExecContext(t.Context(), "UPDATE taskkit_queued_task SET control = 'STOP' WHERE id = $1", l.ID.String()); err != nil {
		t.Fatal(err)
	}
	return l
}
