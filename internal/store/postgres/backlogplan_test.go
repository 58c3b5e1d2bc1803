package postgres

import (
	"fmt"
	"slices"
	"testing"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/testkit/testdb"
)

// A worker reads no more beside 60,000 due tasks of kinds and revisions that it does not know than alone: when it claims, when it
// finds nothing, and when it checks whether a task waits. This holds with every kind of plan and of statistics, also after a
// VACUUM of the empty table.
func TestClaimBesideBacklog(t *testing.T) {
	t.Parallel()
	for name, analyzed := range map[string]string{"no statistics": "", "taken when empty": "empty", "statistics": "all", "emptied": "emptied"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone, beside := pagesOfBacklog(t, "not served", analyzed), pagesOfBacklog(t, "default", analyzed)
			for what, n := range beside {
				t.Logf("%s: %v pages alone, %v beside the backlog", what, alone[what], n)
				if n > 2*alone[what] {
					t.Errorf("%s: %v pages beside the backlog, %v alone", what, n, alone[what])
				}
			}
		})
	}
}

// pagesOfBacklog is how many pages the statements of a worker read while 60,000 tasks that it does not know wait in a queue.
func pagesOfBacklog(t *testing.T, queue, analyzed string) map[string]float64 {
	t.Helper()
	db := testdb.Postgres(t)
	s := planStore(t, db)
	exec := execOn(t, db)
	exec("ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = false)")
	if analyzed == "empty" {
		exec("ANALYZE taskkit_queued_task")
	}
	const waiting = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, queue, execution_component_name, codec_revision, not_before)
SELECT gen_random_uuid(), o, o, o, o, $1::text, $2::text, $3::int, clock_timestamp() - $4::int * interval '1 minute'
FROM (SELECT gen_random_uuid() o) x, generate_series(1, $5::int)`
	if analyzed == "emptied" {
		exec(waiting, queue, "demo", 1, 1, 30)
		exec("DELETE FROM taskkit_queued_task")
		exec("VACUUM (TRUNCATE false) taskkit_queued_task")
	}
	exec(waiting, queue, "another", 1, 60, 30_000)
	exec(waiting, queue, "demo", 2, 60, 30_000)
	if analyzed == "all" {
		exec("ANALYZE taskkit_queued_task")
	}
	c := store.Claim{Process: "p", Queues: []string{"default", "other"}, Kinds: map[string][]int{"demo": {1, 3}}, Limit: 20, SpecMax: 1 << 20}
	for i := range 10 {
		c.Kinds[fmt.Sprintf("kind%d", i)] = []int{1}
	}
	kinds := []any{c.Queues, sqlbase.KindRevisions(c)}
	found := make(map[string]float64)
	for _, when := range []string{"nothing to claim", "tasks of one kind", "tasks of two kinds"} {
		switch when {
		case "tasks of one kind":
			exec(waiting, "default", "demo", 1, 1, 30)
		case "tasks of two kinds":
			exec(waiting, "other", "kind3", 1, 1, 30)
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for what, q := range map[string]struct {
				text string
				args []any
			}{
				"claim":          {claimQuery, claimArgs(c, claimCursor{})},
				"waiting":        {waitingQuery, slices.Concat(kinds, claimCursor{}.args())},
				"waiting owners": {waitingOwnersQuery, slices.Concat(kinds, claimCursor{}.args())},
			} {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.ExecContext(t.Context(), "SET LOCAL plan_cache_mode = "+mode); err != nil {
					t.Fatal(err)
				}
				found[when+", "+mode+", "+what] = blocksOf(planTree(t, tx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+s.SQL(q.text), q.args))
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return found
}

// Tasks that wait in several lanes are claimed in the order of claims, and each claim takes as many as it may, also while others have locked some.
func TestClaimOfSeveralLanes(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s := planStore(t, db)
	const waiting = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, queue, execution_component_name, priority, not_before)
SELECT gen_random_uuid(), o, o, o, o, q.name, k.name, p, clock_timestamp() - (n * 7919 % 1000) * interval '1 second'
FROM (SELECT gen_random_uuid() o) x, generate_series(1, 10) n, generate_series(1, 2) p, unnest(ARRAY['default', 'other']) q(name), unnest(ARRAY['demo', 'second', 'third']) k(name)`
	if _, err := db.ExecContext(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	c := store.Claim{Process: "p", Queues: []string{"default", "other"}, Kinds: map[string][]int{"demo": {1}, "second": {1}, "third": {1}}, Limit: 7, SpecMax: 1 << 20}
	// Others have locked the first task of a lane.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "SELECT id FROM taskkit_queued_task WHERE execution_component_name = 'demo' AND queue = 'default' ORDER BY priority, not_before LIMIT 1 FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	var last store.Task
	for claimed := 0; claimed < 119; {
		got, err := s.Claim(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Tasks) < min(c.Limit, 119-claimed) && got.Next != 0 {
			t.Fatalf("after %d tasks: claimed %d, and the next one in %v", claimed, len(got.Tasks), got.Next)
		}
		for _, k := range got.Tasks {
			task, err := s.Task(t.Context(), k.ID)
			if err != nil {
				t.Fatal(err)
			}
			claimed++
			if k.Kind == "demo" {
				continue // one of them takes the place of the one that is locked
			}
			if task.Priority < last.Priority || task.Priority == last.Priority && task.NotBefore.Before(last.NotBefore) {
				t.Errorf("task %d has the priority %d and was due %v, after one of %d and %v", claimed, task.Priority, task.NotBefore, last.Priority, last.NotBefore)
			}
			last = task
		}
	}
}
