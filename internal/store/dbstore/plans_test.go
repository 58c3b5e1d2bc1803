package dbstore_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// compiledAbove is the default of jit_above_cost: PostgreSQL compiles a statement whose estimated cost is higher, which takes
// seconds, whatever it reads.
const compiledAbove = 100_000

// filled are many ended tasks, with events and items, and statistics of them.
const filled = `SET LOCAL session_replication_role = replica;
INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, workflow_status, fence, workflow_stopped_date)
SELECT gen_random_uuid(), o, o, o, o, 'kind' || g % 12, 'COMPLETED', 1, now() - g * interval '1 minute' FROM generate_series(1, 30000) g, LATERAL (SELECT gen_random_uuid() o WHERE g > 0) x;
INSERT INTO taskkit_task_event (id, task_id, action, was) SELECT gen_random_uuid(), id, 'stop', 'QUEUED' FROM taskkit_queued_task;
INSERT INTO taskkit_task_item (id, task_id, attempt, outcome, code, item, detail) SELECT gen_random_uuid(), id, 1, 'skipped', '', '', '' FROM taskkit_queued_task;
INSERT INTO taskkit_limit (id, limit_key) SELECT gen_random_uuid(), 'key ' || g FROM generate_series(1, 500) g;
INSERT INTO taskkit_task_limit (id, task_id, limit_key, fence, at_most, waiting) SELECT gen_random_uuid(), id, 'key 1', 1, 2, true FROM taskkit_queued_task;
ANALYZE taskkit_queued_task, taskkit_task_event, taskkit_task_item, taskkit_task_limit, taskkit_limit`

// fresh are tasks of all statuses, in a table of which there are no statistics yet.
const fresh = `SET LOCAL session_replication_role = replica;
INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, workflow_status, fence, workflow_stopped_date)
SELECT gen_random_uuid(), o, o, o, o, 'kind' || g % 12, s.status, 1, CASE WHEN s.ended THEN now() - g * interval '1 second' END
FROM generate_series(1, 100000) g, LATERAL (SELECT gen_random_uuid() o WHERE g > 0) x,
  LATERAL (SELECT * FROM (VALUES (0, 'COMPLETED', true), (1, 'FAILURE', true), (2, 'QUEUED', false), (3, 'EXECUTING', false), (4, 'ERROR', true)) v(n, status, ended) WHERE n = g % 5) s;
INSERT INTO taskkit_task_event (id, task_id, action, was) SELECT gen_random_uuid(), id, 'stop', 'QUEUED' FROM taskkit_queued_task;
INSERT INTO taskkit_task_item (id, task_id, attempt, outcome, code, item, detail) SELECT gen_random_uuid(), id, 1, 'skipped', '', '', '' FROM taskkit_queued_task;
INSERT INTO taskkit_limit (id, limit_key) SELECT gen_random_uuid(), 'key ' || g FROM generate_series(1, 500) g;
INSERT INTO taskkit_task_limit (id, task_id, limit_key, fence, at_most, waiting) SELECT gen_random_uuid(), id, 'key 1', 1, 2, true FROM taskkit_queued_task`

// ofOne makes nearly all of these tasks children of one, which has nearly all events and items too.
const ofOne = `;
UPDATE taskkit_queued_task SET parent_id = '01890a5d-ac96-774b-bcce-b302099a8057', follows_id = '01890a5d-ac96-774b-bcce-b302099a8057' WHERE workflow_stopped_date < now() - interval '2 hours';
UPDATE taskkit_task_event SET task_id = '01890a5d-ac96-774b-bcce-b302099a8057' WHERE id > '01000000-0000-0000-0000-000000000000';
UPDATE taskkit_task_item SET task_id = '01890a5d-ac96-774b-bcce-b302099a8057', item = id WHERE id > '01000000-0000-0000-0000-000000000000';
ANALYZE taskkit_queued_task, taskkit_task_event, taskkit_task_item`

// large are the tables that are never read from begin to end.
var large = []string{"taskkit_queued_task", "taskkit_task_event", "taskkit_task_item", "taskkit_task_limit"}

// plan is a node of a plan of PostgreSQL.
type plan struct {
	Node  string  `json:"Node Type"`
	Table string  `json:"Relation Name"`
	Cost  float64 `json:"Total Cost"`
	Plans []plan  `json:"Plans"`
}

// scans returns the large tables that a plan reads from begin to end.
func (p plan) scans() (tables []string) {
	if p.Node == "Seq Scan" && slices.Contains(large, p.Table) {
		tables = append(tables, p.Table)
	}
	for _, below := range p.Plans {
		tables = append(tables, below.scans()...)
	}
	return tables
}

// No statement of the store reads a large table from begin to end, and PostgreSQL compiles none: in tables without statistics, empty and just filled, and
// with many ended tasks, also where nearly all belong to one. In tables that were just filled, two may be compiled.
func TestPlansOfStatements(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{"no statistics": "", "many tasks, no statistics": fresh, "many ended tasks": filled, "many dead letters": strings.ReplaceAll(filled, "'COMPLETED'", "'FAILURE'"), "nearly all of one task": filled + ofOne} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t)
			opened(t, db)
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			exec := func(query string) {
				t.Helper()
				if _, err := tx.ExecContext(t.Context(), query); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
			}
			for query := range strings.SplitSeq(fill, ";\n") {
				exec(query)
			}
			exec("SET LOCAL plan_cache_mode = force_generic_plan")
			for file, text := range goldenTexts(t) {
				for query := range strings.SplitSeq(text, ";\n") {
					if !resolved.MatchString(query) || strings.Contains(query, "no_such_column") {
						continue
					}
					exec("PREPARE golden AS " + strings.ReplaceAll(query, `"taskkit"`, `"`+db.Schema+`"`))
					var params, text string
					const nulls = "SELECT coalesce('(' || string_agg('NULL', ',') || ')', '') FROM pg_prepared_statements p, pg_catalog.unnest(p.parameter_types) WHERE p.name = 'golden'"
					if err := tx.QueryRowContext(t.Context(), nulls).Scan(&params); err != nil {
						t.Fatal(err)
					}
					if err := tx.QueryRowContext(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE golden"+params).Scan(&text); err != nil {
						t.Fatal(err)
					}
					exec("DEALLOCATE golden")
					var plans []struct{ Plan plan }
					if err := json.Unmarshal([]byte(text), &plans); err != nil {
						t.Fatal(err)
					}
					p := plans[0].Plan
					// Without statistics, a change of policies may count the items of as many tasks below as there are tasks, and the
					// cleaner may check as many unused limits as fit into the smallest table.
					unknown := fill == fresh && (file == "request_policies" || file == "reap_limits")
					if p.Cost > compiledAbove && !unknown {
						t.Errorf("%s: the estimated cost is %.0f:\n%s", file, p.Cost, query)
					}
					// Counts reads at most a hundred thousand tasks, and there are fewer. A change of policies counts all items of its task, which
					// are nearly all here.
					counts := strings.HasPrefix(file, "counts") || unknown || file == "request_policies" && strings.HasSuffix(fill, ofOne)
					if tables := p.scans(); fill != "" && !counts && len(tables) > 0 {
						t.Errorf("%s: reads %v from begin to end:\n%s", file, tables, query)
					}
				}
			}
		})
	}
}
