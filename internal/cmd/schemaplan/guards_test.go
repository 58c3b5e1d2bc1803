package main

import (
	"io/fs"
	"strings"
	"sync"
	"testing"

	"entgo.io/ent/dialect"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/migrations"
)

// loading is held while the ent schema is loaded: ent writes a program into a
// directory of the working directory, which is the same for every test, and removes
// the directory when it is done.
var loading sync.Mutex

func plannedTables(name string) (string, rules, error) {
	loading.Lock()
	defer loading.Unlock()
	return planTables(name, "../../../ent/schema")
}

// The triggers in the migrations match the transition table. When the table changes, a
// new migration must replace them.
func TestMigrationsHoldTheTransitionTable(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{dialect.Postgres: "postgres", dialect.SQLite: "sqlite"} {
		files, err := fs.Glob(migrations.FS, dir+"/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no migrations, %v", dir, err)
		}
		_, r, err := plannedTables(name)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range files {
			text, err := fs.ReadFile(migrations.FS, f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
			if name == dialect.Postgres && !strings.HasPrefix(string(text), fileHead+postgresHead) {
				t.Errorf("%s does not begin with the lock:\n%s", f, postgresHead)
			}
		}
		if !strings.Contains(all.String(), illegalTransition(name)) {
			t.Errorf("%s: no file holds the condition made from lifecycle.Edges():\n%s", dir, illegalTransition(name))
		}
		for _, e := range lifecycle.Edges() {
			if !strings.Contains(illegalTransition(name), string(e.From)+">"+string(e.To)) {
				t.Errorf("%s: %s to %s is not in the condition", name, e.From, e.To)
			}
		}
		if !strings.Contains(all.String(), guards(name, r)) {
			t.Errorf("%s: no file holds the triggers:\n%s", dir, guards(name, r))
		}
	}
}

// What the guard of transitions lets pass at a glance is legal: out of the
// statuses in flight, a task that has begun may go to each of the others.
func TestGlance(t *testing.T) {
	t.Parallel()
	for _, from := range lifecycle.Statuses() {
		for _, to := range lifecycle.Statuses() {
			e, ok := lifecycle.Find(from, to)
			if from.InFlight() && !to.InFlight() && (!ok || e.Claimed || e.Partial) {
				t.Errorf("%s to %s passes, and the table says %+v, %v", from, to, e, ok)
			}
		}
	}
	if claims := steps(isClaim); len(claims) != 1 {
		t.Errorf("%v are claims: does the guard of the fence know both?", claims)
	}
}

// The first migration is the plan of the ent schema.
func TestFirstMigrationIsThePlan(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{dialect.Postgres: "postgres/00001_taskkit.sql", dialect.SQLite: "sqlite/00001_taskkit.sql"} {
		tables, r, err := plannedTables(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(migrations.FS, path)
		if err != nil {
			t.Fatal(err)
		}
		if file(name, tables, r) != string(text) {
			t.Errorf("%s is not what schemaplan -dialect %s prints", path, name)
		}
	}
}
