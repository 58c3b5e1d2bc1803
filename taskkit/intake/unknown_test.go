package intake_test

import (
	"database/sql"
	"maps"
	"testing"

	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/intake"
)

// A commit without an answer is read back: neither is a message taken in twice, nor is one
// lost, and what the consumer itself has committed is no duplicate.
func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]faultproxy.Action{"committed": faultproxy.CutAfter, "not committed": faultproxy.CutBefore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := testdb.Postgres(t)
			migrated(t, direct)
			proxy, dsn, err := faultproxy.Through(direct.DSN, []faultproxy.Fault{{
				Number: 1, Action: action, Match: faultproxy.Message.IsCommit,
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = proxy.Close() })
			db, err := sql.Open("pgx", dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			c := config(t, direct, newQueue(message("a", 1), message("b", 2), message("c", 3)))
			c.DB = db
			r := run(t, c)
			r.until("all", received(3))
			r.stop()
			if got := tasks(t, direct); !maps.Equal(got, map[int]int{1: 1, 2: 1, 3: 1}) {
				t.Errorf("tasks %v", got)
			}
			want := intake.Stats{Received: 3, Submitted: 3, Waits: 1}
			if s := r.Stats(); s != want || len(proxy.Struck()) != 1 {
				t.Errorf("counted %+v, want %+v; struck %v", s, want, proxy.Struck())
			}
		})
	}
}
