package doctor_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
)

// BenchmarkReport is what a report costs while 100,000 tasks wait.
func BenchmarkReport(b *testing.B) {
	for _, open := range []func(testing.TB, ...testdb.Option) *testdb.DB{testdb.Postgres, testdb.SQLite} {
		db := open(b)
		b.Run(db.Short(), func(b *testing.B) {
			schema := db.Schema
			if schema == "" {
				schema = taskkit.DefaultSchema
			}
			if err := taskkit.Migrate(b.Context(), db.DB, schema); err != nil {
				b.Fatal(err)
			}
			for range 100 {
				if _, err := taskkit.SubmitMany(b.Context(), db.DB, lettersKind, make([]letters, 1000), taskkit.System(), taskkit.WithSchema(schema), taskkit.WithoutNotify()); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				r, err := taskdoctor.Run(b.Context(), db.DB, taskdoctor.Options{Schema: schema})
				if err != nil || len(r.Unknown) > 0 {
					b.Fatalf("%v, unknown %+v", err, r.Unknown)
				}
			}
		})
	}
}
