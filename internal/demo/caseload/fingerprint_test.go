package caseload_test

import (
	"database/sql"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/testkit/testdb"
)

// Each write changes the fingerprint of the tables that it and its triggers write, and
// of no other. A transaction that was rolled back changes none.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, people := fill(t, db.DB, 50)
		ctx, task := t.Context(), uuid.New()
		read := func() map[string]caseload.Fingerprint {
			t.Helper()
			all, err := caseload.Fingerprints(ctx, db.DB)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		check := func(what string, was map[string]caseload.Fingerprint, want ...string) {
			t.Helper()
			var changed []string
			for name, f := range read() {
				if f != was[name] {
					changed = append(changed, name)
				}
			}
			if slices.Sort(changed); !slices.Equal(changed, want) {
				t.Errorf("%s changed %v, want %v", what, changed, want)
			}
		}
		was := read()
		if was["caseload_person"].Rows != 50 || !maps.Equal(was, read()) {
			t.Errorf("read twice: %v and %v", was, read())
		}
		exec := func(do interface {
			Exec(query string, args ...any) (sql.Result, error)
		}, statement string,
		) {
			t.Helper()
			if _, err := do.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		exec(tx, "UPDATE caseload_person SET coach = 'nobody'")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		check("a transaction that was rolled back", was)
		exec(db.DB, "UPDATE caseload_person SET coach = 'nobody' WHERE school_id = 'S0000001'")
		check("an update of a person", was, "caseload_person")
		was = read()
		exec(db.DB, "UPDATE caseload_person SET email = '' WHERE email IS NULL AND school_id = 'S0000001'")
		exec(db.DB, "UPDATE caseload_person SET email = NULL WHERE school_id = 'S0000002'")
		check("an update to NULL", was, "caseload_person")
		was = read()
		if _, err := caseload.SetStatus(ctx, c, task, caseload.Success, caseload.Exited, people[:1]); err != nil {
			t.Fatal(err)
		}
		check("a change of the status", was, "caseload_enrolment", "caseload_status_change", "caseload_touch")
		was = read()
		exec(db.DB, "DELETE FROM caseload_touch")
		check("a ledger that was emptied", was, "caseload_touch")
	})
}
