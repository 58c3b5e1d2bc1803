package intake_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/intake"
)

// A consumer removes what it need not remember any more of its own source. What another source remembers for
// longer stays, or a repetition of it would become a second task.
func TestPrune(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		table, old := "taskkit_task_message", time.Now().UTC().Add(-2*time.Hour).Format("2006-01-02 15:04:05.000")
		if db.Schema != "" {
			table, old = `"`+db.Schema+`".`+table, old+"+00"
		}
		take := func(name string, ms ...intake.Message) *running {
			c := config(t, db, newQueue(ms...))
			c.Name = name
			if name == "short" {
				c.Remember = time.Hour
			}
			r := run(t, c)
			r.until("all", received(int64(len(ms))))
			r.stop()
			return r
		}
		short := take("short", message("a", 1))
		take("long", message("a", 2))
		execute(t, db, "UPDATE "+table+" SET created_date = '"+old+"'")
		take("short", message("b", 3))
		if err := intake.Prune(t.Context(), short.Consumer); err != nil {
			t.Fatal(err)
		}
		if s := take("short", message("a", 1), message("b", 3)).Stats(); s.Submitted != 1 || s.Duplicates != 1 {
			t.Errorf("of its own source, one old message and one new: %+v", s)
		}
		if s := take("long", message("a", 2)).Stats(); s.Submitted != 0 || s.Duplicates != 1 {
			t.Errorf("of the other source: %+v", s)
		}
	})
}
