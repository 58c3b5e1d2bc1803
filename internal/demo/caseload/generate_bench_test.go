package caseload_test

import (
	"testing"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/testkit/testdb"
)

// BenchmarkGenerate makes 100,000 people, once for each iteration, in new
// tables.
func BenchmarkGenerate(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *testdb.DB{
		"postgres": func(tb testing.TB) *testdb.DB { return testdb.Postgres(tb) },
		"sqlite":   func(tb testing.TB) *testdb.DB { return testdb.SQLite(tb) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				db := open(b)
				if err := caseload.Create(b.Context(), db.DB); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := caseload.Generate(b.Context(), db.DB, 100_000, 1); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := caseload.Create(b.Context(), db.DB); err != nil { // finds nothing to do
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
