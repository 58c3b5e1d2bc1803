package dbstore_test

import (
	"encoding/json"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// compiledAbove is the default of jit_above_cost: PostgreSQL compiles a statement whose estimated cost is higher, which takes
// seconds, whatever it reads.
const compiledAbove = 100_000

// PostgreSQL compiles no statement of the store in tables without statistics.
func TestNothingIsCompiled(t *testing.T) {
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
	exec("SET LOCAL plan_cache_mode = force_generic_plan")
	for file, text := range goldenTexts(t) {
		for query := range strings.SplitSeq(text, ";\n") {
			if !resolved.MatchString(query) || strings.Contains(query, "no_such_column") {
				continue
			}
			exec("PREPARE golden AS " + strings.ReplaceAll(query, `"taskkit"`, `"`+db.Schema+`"`))
			var params, plan string
			const nulls = "SELECT coalesce('(' || string_agg('NULL', ',') || ')', '') FROM pg_prepared_statements p, pg_catalog.unnest(p.parameter_types) WHERE p.name = 'golden'"
			if err := tx.QueryRowContext(t.Context(), nulls).Scan(&params); err != nil {
				t.Fatal(err)
			}
			if err := tx.QueryRowContext(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE golden"+params).Scan(&plan); err != nil {
				t.Fatal(err)
			}
			exec("DEALLOCATE golden")
			var plans []struct {
				Plan struct {
					Cost float64 `json:"Total Cost"`
				}
			}
			if err := json.Unmarshal([]byte(plan), &plans); err != nil {
				t.Fatal(err)
			}
			if cost := plans[0].Plan.Cost; cost > compiledAbove {
				t.Errorf("%s: the estimated cost is %.0f:\n%s", file, cost, query)
			}
		}
	}
}
