package postgres

import (
	"context"
	"database/sql"
	"testing"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// While a snapshot keeps the entries of 20,000 claimed tasks, a claim from a cursor reads few pages, also by a plan for any
// parameters; one without reads them all.
func TestBoundedClaimReadsFewPages(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s := planStore(t, db)
	exec := func(q interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, query string, args ...any,
	) {
		t.Helper()
		if _, err := q.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec(db, "ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = false)")
	exec(db, "ANALYZE taskkit_queued_task")
	exec(db, `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec, not_before)
SELECT gen_random_uuid(), o, o, o, o, 'demo', '{"n": 1}', now() - interval '1 hour' FROM (SELECT gen_random_uuid() o) x, generate_series(1, 22000)`)
	pin, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pin.Rollback() }()
	exec(pin, "SELECT count(*) FROM pg_class")
	c := store.Claim{Process: "p", Queues: []string{"default"}, Kinds: map[string][]int{"demo": {1}}, SpecMax: 1 << 20}
	claim := func(n int) {
		t.Helper()
		c.Limit = n
		if r, err := s.Claim(t.Context(), c); err != nil || len(r.Tasks) != n {
			t.Fatalf("claimed %d tasks, want %d: %v", len(r.Tasks), n, err)
		}
	}
	claim(10_000)
	claim(9_900)
	claim(100) // sets the cursors
	s.cursors.mu.Lock()
	bounded := claimCursor{of: s.cursors.at}
	s.cursors.mu.Unlock()
	if len(bounded.of) == 0 {
		t.Fatal("there are no cursors")
	}
	c.Limit = 100
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, b := range []claimCursor{bounded, {}} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			exec(tx, "SET LOCAL plan_cache_mode = "+mode)
			blocks := claimedBlocks(t, tx, s, c, b)
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			if few := len(b.of) > 0; few && blocks > 1000 || !few && blocks < 20_000 {
				t.Errorf("%s: a claim of 100 tasks with %d cursors read %v pages", mode, len(b.of), blocks)
			}
		}
	}
}

// claimedBlocks is how many pages the scans of taskkit_claim read in a claim.
func claimedBlocks(t *testing.T, tx *sql.Tx, s *Store, c store.Claim, b claimCursor) (blocks float64) {
	t.Helper()
	var walk func(map[string]any)
	walk = func(n map[string]any) {
		if n["Index Name"] == "taskkit_claim" {
			blocks += blocksOf(n)
		}
		children, _ := n["Plans"].([]any)
		for _, child := range children {
			if child, ok := child.(map[string]any); ok {
				walk(child)
			}
		}
	}
	walk(planTree(t, tx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+s.SQL(claimQuery), claimArgs(c, b)))
	return blocks
}
