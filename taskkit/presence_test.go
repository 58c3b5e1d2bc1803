package taskkit_test

import (
	"database/sql"
	"net/url"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskops"
)

// presences runs two workers until both have presence or have said that they cannot, and returns
// how often they said what.
func presences(t *testing.T, db *testdb.DB, wantUnknown int, change func(*taskkit.Config)) (present, missing, unknown int) {
	t.Helper()
	r := &recorder{}
	for range 2 {
		c := quick(t, db)
		c.Observer = r
		change(&c)
		defer started(t, db, registered(countKind, counting("w")), c)()
	}
	until(t, "the workers have presence or not", func() bool {
		workers, err := taskops.New(clientOf(db)).Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		present, missing, unknown = 0, 0, 0
		for _, w := range workers {
			if w.Present {
				present++
			}
		}
		for _, e := range r.all() {
			switch e := e.(type) {
			case taskevent.PresenceMissing:
				missing++
				if e.Err == nil || e.DeadAfter != time.Minute {
					t.Errorf("%+v", e)
				}
			case taskevent.PresenceUnknown:
				unknown++
				if e.Err == nil {
					t.Errorf("%+v", e)
				}
			}
		}
		return present+missing == 2 && unknown >= wantUnknown
	})
	return present, missing, unknown
}

// Workers have presence on both databases; through PgBouncer if they have a direct connection, and as
// a role without rights of its own. A worker that cannot have it, or cannot read that of others, says so once.
func TestPresence(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, db *testdb.DB, wantPresent, wantMissing, wantUnknown int, change func(*taskkit.Config)) {
		t.Helper()
		present, missing, unknown := presences(t, db, wantUnknown, change)
		if present != wantPresent || missing != wantMissing || unknown != wantUnknown {
			t.Errorf("%d are present, %d say that they cannot be, %d that they cannot read; want %d, %d, %d",
				present, missing, unknown, wantPresent, wantMissing, wantUnknown)
		}
	}
	as := func(*taskkit.Config) {}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		check(t, migrated(t, db), 2, 0, 0, as)
	})
	t.Run("PgBouncer", func(t *testing.T) {
		t.Parallel()
		check(t, migrated(t, testdb.PgBouncer(t)), 0, 2, 0, as)
	})
	t.Run("PgBouncer, listener", func(t *testing.T) {
		t.Parallel()
		db := migrated(t, testdb.PgBouncer(t))
		check(t, db, 2, 0, 0, func(c *taskkit.Config) { c.ListenDSN = db.Direct })
	})
	t.Run("roles", func(t *testing.T) {
		t.Parallel()
		db := migrated(t, testdb.On(t, testdb.OwnServer(t)))
		run := func(statements ...string) {
			t.Helper()
			for _, s := range statements {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		}
		run("CREATE ROLE plain LOGIN", "GRANT USAGE ON SCHEMA "+db.Schema+" TO plain", "GRANT ALL ON ALL TABLES IN SCHEMA "+db.Schema+" TO plain")
		plain := asRole(t, db, "plain")
		check(t, plain, 2, 0, 0, as)
		run("REVOKE SELECT ON pg_catalog.pg_locks FROM PUBLIC")
		check(t, plain, 2, 0, 2, as)
		run("REVOKE EXECUTE ON FUNCTION pg_catalog.pg_try_advisory_lock(bigint) FROM PUBLIC")
		check(t, plain, 0, 2, 2, as)
	})
}

// asRole returns a database under another role.
func asRole(t *testing.T, db *testdb.DB, role string) *testdb.DB {
	t.Helper()
	u, err := url.Parse(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	handle, err := sql.Open("pgx", u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	other := *db
	other.DB, other.DSN, other.Direct = handle, u.String(), u.String()
	return &other
}
