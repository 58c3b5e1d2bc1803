package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/testkit/testdb"
)

// Claim, apply and the reaper use the indexes that were made for them, on a
// table that has grown since its statistics were taken: from empty, from all
// waiting, and from all ended. A plan that reads the table shows as a scan of
// taskkit_queued_task that is not by one of those indexes.
func TestPlansWithStaleStatistics(t *testing.T) {
	t.Parallel()
	for name, analyzed := range map[string]string{
		"taken when empty":   "",
		"taken when waiting": "QUEUED",
		"taken when ended":   "COMPLETED",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t)
			s := planStore(t, db)
			exec := execOn(t, db)
			exec("ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = false)")
			exec("ANALYZE taskkit_queued_task")
			exec(`INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec)
SELECT gen_random_uuid(), o, o, o, o, 'demo', '{"n": 1}' FROM (SELECT gen_random_uuid() o) x, generate_series(1, 20000)`)
			switch analyzed {
			case "QUEUED":
				exec("ANALYZE taskkit_queued_task")
			case "COMPLETED":
				exec("UPDATE taskkit_queued_task SET control = 'STOP'")
				exec("UPDATE taskkit_queued_task SET workflow_status = 'COMPLETED', control = '', partial = true, workflow_stopped_date = now()")
				exec("ANALYZE taskkit_queued_task")
				exec(`INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec)
SELECT gen_random_uuid(), o, o, o, o, 'demo', '{"n": 1}' FROM (SELECT gen_random_uuid() o) x, generate_series(1, 20000)`)
			}
			// Some are due tomorrow; a claim must not read them.
			exec("UPDATE taskkit_queued_task SET not_before = now() + interval '1 day' WHERE id IN (SELECT id FROM taskkit_queued_task WHERE workflow_status = 'QUEUED' LIMIT 10000)")

			c := store.Claim{Process: "p", Queues: []string{"default"}, Kinds: map[string][]int{"demo": {1}}, Limit: 500, SpecMax: 1 << 20}
			var writes []*store.Write
			for range 3 { // the third under a plan for any parameters
				plan := explain(t, s, s.SQL(claimQuery), claimArgs(c, claimCursor{}))
				plan.uses(t, "claim", "taskkit_claim", "taskkit_queued_task_pkey")
				if most := plan.rows("taskkit_claim"); most > 600 {
					t.Errorf("the claim of 500 read %v rows of the index", most)
				}
				got, err := s.Claim(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range got.Tasks {
					writes = append(writes, &store.Write{Lease: k.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}")})
				}
			}
			if len(writes) != 1500 {
				t.Fatalf("claimed %d, want 1500", len(writes))
			}
			// A claim that finds fewer than it may take reads only the first of
			// tomorrow's.
			all := c
			all.Limit = 50_000
			plan := explain(t, s, s.SQL(claimQuery), claimArgs(all, claimCursor{}))
			if most := plan.rows("taskkit_claim"); most > 8600 {
				t.Errorf("the claim of the 8,500 that are due read %v rows of the index", most)
			}
			l := newUpdatePlan(writes)
			explain(t, s, s.applySQL(l), l.args(writes)).uses(t, "apply", "taskkit_queued_task_pkey")
			explain(t, s, s.SQL("SELECT 1 FROM {s}taskkit_queued_task q WHERE q.scheduled_by_process = $1 AND q.workflow_status IN ('SCHEDULING', 'EXECUTING')"), []any{"p"}).
				uses(t, "the tasks of a process", "taskkit_in_flight")
			query, args := ownedQuery(t, db.Schema)
			plan = explain(t, s, query, args)
			plan.uses(t, "the tasks of an owner", "taskkit_owner", "taskkit_in_flight", "taskkit_queued_task_pkey", "taskkit_child_status")
			if most := plan.rows("taskkit_owner"); most > 10 {
				t.Errorf("a page of 10 read %v of the owner's tasks", most)
			}
			explain(t, s, s.SQL(claimRequestedQuery), []any{c.Process, c.Queues, sqlbase.KindRevisions(c), int64(4), int64(c.SpecMax)}).
				uses(t, "claim of those that are to end", "taskkit_requested", "taskkit_queued_task_pkey")
			if analyzed == "" {
				return
			}
			// Even with a hundred million waiting tasks the estimated cost of a
			// claim is too low for compilation.
			if cost := claimCost(t, s); cost > 50_000 {
				t.Errorf("the estimated cost of a claim from a full table is %v, want at most 50,000", cost)
			}
			// A generic plan, as a long-lived connection has.
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			run := func(query string) {
				t.Helper()
				if _, err := conn.ExecContext(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			run("PREPARE c(" + claimTypes + ") AS " + s.SQL(claimQuery))
			for range 6 { // PostgreSQL decides at the sixth
				run(`EXECUTE c('p', '{default}', '{"demo 1"}', 1, 100000, '{}', '{}', '{}', '{}', '{}')`)
			}
			var generic int
			if err := conn.QueryRowContext(t.Context(), "SELECT generic_plans FROM pg_prepared_statements WHERE name = 'c'").Scan(&generic); err != nil {
				t.Fatal(err)
			}
			if generic == 0 {
				t.Error("the claim is planned anew each time")
			}
			run("SET plan_cache_mode = force_generic_plan")
			planOf(t, conn, `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE c('p', '{default}', '{"demo 1"}', 500, 100000, '{}', '{}', '{}', '{}', '{}')`, nil).
				uses(t, "claim by a generic plan", "taskkit_claim", "taskkit_queued_task_pkey")
		})
	}
}

// claimTypes are the types of the parameters of claimQuery.
const claimTypes = "text, text[], text[], bigint, bigint, text[], text[], bigint[], text[], text[]"

// claimArgs are the parameters of claimQuery.
func claimArgs(c store.Claim, b claimCursor) []any {
	return append([]any{c.Process, c.Queues, sqlbase.KindRevisions(c), int64(c.Limit), int64(c.SpecMax)}, b.args()...)
}

func planStore(t *testing.T, db *testdb.DB) *Store {
	t.Helper()
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	s := New(db.DB, db.Schema, Options{})
	if err := s.RegisterWorker(t.Context(), store.Process{ID: "p", Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, DeadAfter: time.Hour}); err != nil {
		t.Fatal(err)
	}
	return s
}

// claimCost is PostgreSQL's estimate of the cost of a claim when its statistics say
// that the table is full of waiting tasks.
func claimCost(t *testing.T, s *Store) float64 {
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, query := range []string{
		"UPDATE pg_class SET reltuples = 1e8 WHERE relname IN ('taskkit_queued_task', 'taskkit_claim') AND relnamespace = current_schema()::regnamespace",
		"SET LOCAL plan_cache_mode = force_generic_plan",
		"PREPARE full_claim(" + claimTypes + ") AS " + s.SQL(claimQuery),
	} {
		if _, err := tx.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	var text string
	if err := tx.QueryRowContext(t.Context(), `EXPLAIN (FORMAT JSON) EXECUTE full_claim('p', '{default}', '{"demo 1"}', 500, 100000, '{}', '{}', '{}', '{}', '{}')`).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Cost float64 `json:"Total Cost"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	t.Logf("estimated cost %v", plans[0].Plan.Cost)
	return plans[0].Plan.Cost
}

// ownedQuery is how the tasks of an owner are listed.
func ownedQuery(t *testing.T, schema string) (query string, args []any) {
	t.Helper()
	var r recorder
	if _, _, err := sqlbase.NewClient(&r, schema, dialect.Postgres).Tasks(t.Context(), store.Filter{Owner: uuid.New(), Roots: true, Before: uuid.Max, Limit: 10}); !errors.Is(err, errRecorded) {
		t.Fatal(err)
	}
	return r.query, r.args
}

// recorder is a handle that records its queries.
type recorder struct {
	query string
	args  []any
}

var errRecorded = errors.New("recorded")

func (r *recorder) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errRecorded
}

func (r *recorder) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	r.query, r.args = query, args
	return nil, errRecorded
}

// scans are the scans of the task table in a plan.
type scans []struct {
	node, index string
	rows        float64
}

// uses fails the test when the plan scans the table by anything else than these
// indexes, or not at all.
func (s scans) uses(t *testing.T, what string, indexes ...string) {
	t.Helper()
	if len(s) == 0 {
		t.Errorf("%s: no scan of the table in the plan", what)
	}
	for _, scan := range s {
		found := false
		for _, index := range indexes {
			found = found || scan.index == index
		}
		if !found {
			t.Errorf("%s: %s by %q, want one of %v", what, scan.node, scan.index, indexes)
		}
	}
}

// rows is how many rows the scans of an index read.
func (s scans) rows(index string) (n float64) {
	for _, scan := range s {
		if scan.index == index {
			n += scan.rows
		}
	}
	return n
}

// explain runs a statement, gives back how, and undoes it.
func explain(t *testing.T, s *Store, query string, args []any) scans {
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	return planOf(t, tx, "EXPLAIN (ANALYZE, FORMAT JSON) "+query, args)
}

func planOf(t *testing.T, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string, args []any,
) scans {
	t.Helper()
	return scansOf(planTree(t, q, query, args))
}

// execOn returns a function that executes statements, of which none may fail.
func execOn(t *testing.T, db *testdb.DB) func(query string, args ...any) {
	t.Helper()
	return func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// blocksOf returns how many pages a node of a plan has read.
func blocksOf(node map[string]any) float64 {
	hit, _ := node["Shared Hit Blocks"].(float64)
	fetched, _ := node["Shared Read Blocks"].(float64)
	return hit + fetched
}

// planTree runs a statement that explains another, and returns the plan.
func planTree(t *testing.T, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string, args []any,
) map[string]any {
	t.Helper()
	var text string
	if err := q.QueryRowContext(t.Context(), query, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan map[string]any
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan
}

// scansOf returns the scans of the task table in a plan.
func scansOf(plan map[string]any) scans {
	var found scans
	var walk func(map[string]any)
	walk = func(n map[string]any) {
		node := fmt.Sprint(n["Node Type"])
		if n["Relation Name"] == "taskkit_queued_task" && strings.Contains(node, "Scan") {
			index, _ := n["Index Name"].(string)
			rows, _ := n["Actual Rows"].(float64)
			removed, _ := n["Rows Removed by Filter"].(float64)
			loops, _ := n["Actual Loops"].(float64)
			if node != "Bitmap Heap Scan" { // its index is a node below it
				found = append(found, struct {
					node, index string
					rows        float64
				}{node, index, (rows + removed) * loops})
			}
		}
		if node == "Bitmap Index Scan" {
			index, _ := n["Index Name"].(string)
			found = append(found, struct {
				node, index string
				rows        float64
			}{node: node, index: index})
		}
		children, _ := n["Plans"].([]any)
		for _, c := range children {
			if child, ok := c.(map[string]any); ok {
				walk(child)
			}
		}
	}
	walk(plan)
	return found
}
