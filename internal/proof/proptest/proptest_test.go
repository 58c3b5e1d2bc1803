package proptest_test

import (
	"database/sql"
	"flag"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"pgregory.net/rapid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// checks is how many checks an everyday run makes on each database.
const checks = "5"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	testdb.LeakMain(m)
}

// newPlace makes a database ready for checks.
func newPlace(tb testing.TB, db *testdb.DB) *database {
	tb.Helper()
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(tb.Context(), db.DB, schema); err != nil {
		tb.Fatal(err)
	}
	if _, err := db.ExecContext(tb.Context(), "CREATE TABLE step (task text NOT NULL, step integer NOT NULL)"); err != nil {
		tb.Fatal(err)
	}
	driver := "sqlite"
	if db.Dialect == dialect.Postgres {
		driver = "pgx"
	}
	return &database{on: db, db: db.DB, schema: schema, patience: testdb.Patience(tb), open: func() (*sql.DB, error) {
		h, err := sql.Open(driver, db.DSN)
		if err == nil {
			testdb.SetConns(h, 7)
		}
		return h, err
	}}
}

// check is one check.
func (p *database) check(t *rapid.T) {
	m := newMachine(p)
	m.cuts = rapid.IntRange(0, 1).Draw(t, "cuts") // what was cut off is held to less
	defer func() { _ = m.end(false) }()
	t.Repeat(map[string]func(*rapid.T){
		"submit": m.Submit, "submit many": m.SubmitMany, "submit referring": m.SubmitReferring, "ask": m.Request, "ask again": m.Request, "look": m.Read, "list": m.List,
		"start": m.Start, "drain": m.Drain, "cut": m.Cut,
	})
	m.waitUntilIdle(t)
}

func TestAgainstModel(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		p := newPlace(t, db)
		budget, long := prove.Budget(t) // for both, beside each other
		if !long {
			rapid.Check(t, p.check)
			return
		}
		for end := time.Now().Add(budget); time.Now().Before(end) && !t.Failed(); {
			rapid.Check(t, p.check)
		}
		violations := 0
		if t.Failed() {
			violations = 1
		}
		n := &p.seen
		prove.Record(t, "proptest-"+db.Short(), map[string]any{
			"checks": n.checks.Load(), "disturbed": n.disturbed.Load(),
			"requests": n.requests.Load(), "refused": n.refused.Load(), "merged": n.merged.Load(),
			"tasks": map[string]any{
				"held to one end": n.exact.Load(), "held to several": n.lenient.Load(),
				"waiting": n.waiting.Load(), "removed": n.removed.Load(),
			},
			"violations": violations,
		})
		if !t.Failed() && n.exact.Load() <= n.lenient.Load()/4 {
			t.Errorf("of %d tasks only %d were held to what their plan says", n.exact.Load()+n.lenient.Load(), n.exact.Load())
		}
	})
}

// FuzzProperties lets the fuzzer draw.
func FuzzProperties(f *testing.F) {
	p := newPlace(f, testdb.SQLite(f))
	f.Fuzz(rapid.MakeFuzz(p.check))
}
