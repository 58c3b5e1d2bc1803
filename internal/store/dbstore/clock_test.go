package dbstore_test

import (
	"database/sql"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// Times are compared by the database's clock and no other: with one that is an
// hour ahead of this machine's, or behind it, everything is as ever. The server
// finds functions of this test before its own, and they tell another time.
func TestOneClock(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]string{"ahead": "1 hour", "behind": "-1 hour"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t)
			u, err := url.Parse(db.DSN)
			if err != nil {
				t.Fatal(err)
			}
			q := u.Query()
			q.Set("search_path", db.Schema+",pg_catalog")
			u.RawQuery = q.Encode()
			far, err := sql.Open("pgx", u.String())
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			exec := func(query string) {
				t.Helper()
				if _, err := far.ExecContext(t.Context(), query); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
			}
			for f, kind := range map[string]string{"clock_timestamp": "VOLATILE", "statement_timestamp": "STABLE", "now": "STABLE"} {
				exec(`CREATE FUNCTION "` + db.Schema + `".` + f + "() RETURNS timestamptz LANGUAGE sql " + kind + " AS $$ SELECT pg_catalog." + f + "() + interval '" + off + "' $$")
			}
			s, _ := opened(t, &testdb.DB{DB: far, Dialect: db.Dialect, Schema: db.Schema, DSN: u.String()})
			// The migration has found the server's own functions for the defaults of columns.
			exec(`DO $$ DECLARE c record; BEGIN
  FOR c IN SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = '` + db.Schema + `' AND column_default LIKE '%clock_timestamp()' LOOP
    EXECUTE format('ALTER TABLE %I ALTER %I SET DEFAULT clock_timestamp()', c.table_name, c.column_name);
  END LOOP;
END $$`)

			c := claimOne(t, s, &testdb.DB{DB: far, Schema: db.Schema}, 10*time.Minute)
			reaped := func() store.Reaped {
				t.Helper()
				r, err := s.Reap(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if r := reaped(); len(r.Dead) != 0 {
				t.Errorf("%v is dead, and has just said that it lives", r.Dead)
			}
			if _, err := s.Apply(t.Context(), "p", []*store.Write{{Lease: c.Lease, To: lifecycle.Queued, Delay: 10 * time.Minute}}); err != nil {
				t.Fatal(err)
			}
			claim := store.Claim{Process: "p", Queues: []string{"default"}, Kinds: map[string][]int{"demo": {1}}, Limit: 5}
			got, err := s.Claim(t.Context(), claim)
			if err != nil || len(got.Tasks) != 0 || got.Next < 5*time.Minute || got.Next > 10*time.Minute {
				t.Errorf("claimed %d tasks, the next is due in %v, %v; want none, and one in 10 minutes", len(got.Tasks), got.Next, err)
			}
			exec("UPDATE taskkit_queued_task SET not_before = not_before - interval '10 minutes'")
			if got, err = s.Claim(t.Context(), claim); err != nil || len(got.Tasks) != 1 {
				t.Fatalf("claimed %d tasks, %v; want the one that is due", len(got.Tasks), err)
			}
			exec("UPDATE taskkit_task_process SET last_heartbeat_date = last_heartbeat_date - interval '11 minutes'")
			if r := reaped(); len(r.Dead) != 1 || len(r.Released) != 1 || r.Released[0] == uuid.Nil {
				t.Errorf("dead %v, released %v; want the process that is silent for 11 minutes and may be for 10", r.Dead, r.Released)
			}
		})
	}
}
