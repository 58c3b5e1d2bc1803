package main_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// show and watch say how fast a task is and how long the rest takes, also before it has
// begun.
func TestShowProgress(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		first, second := s.submit(t, taskkit.WithTotal(1000)), s.submit(t, taskkit.WithTotal(2000))
		if _, out, _ := ran(t, s.args("show", first.String(), "-o", "json")...); !json.Valid([]byte(out)) {
			t.Errorf("show -o json: %s", out)
		}
		expect(t, 0, "1,000 remaining\n", s.args("show", first.String())...)
		table := "taskkit_task_rate"
		if db.Dialect == dialect.Postgres {
			table = s.schema + "." + table
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO "+table+" (id, task_id, execution_component_name, history) VALUES ($1, $2, 'watch', $3)",
			uuid.NewString(), first.String(), `{"all":{"n":50,"t":5000000000},"samples":[{"n":50,"t":5000000000}]}`); err != nil {
			t.Fatal(err)
		}
		expect(t, 0, "1,000 remaining, 10 items/s, 50.0s to 3m20s of work\n", s.args("show", first.String())...)
		expect(t, 0, "2,000 remaining, 1m40s to 6m40s of work if it is like earlier tasks\n", s.args("show", second.String())...)
		expect(t, 5, "10 items/s, 50.0s to 3m20s of work", s.args("watch", first.String(), "--timeout", "1s")...)
	})
}
