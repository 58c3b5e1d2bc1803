// Command schemaplan writes the SQL that a migration of taskkit's tables is made
// of: tables, indexes and checks planned from ent/schema with Atlas, and the
// triggers that keep the transition table of internal/lifecycle.
//
//	go run ./internal/cmd/schemaplan -dialect postgres -o migrations/postgres/00001_taskkit.sql
//
// After a release, the indexes that ent/schema has and the released migrations have not are a migration of their own:
//
//	go run ./internal/cmd/schemaplan -dialect postgres -after migrations/postgres -o migrations/postgres/00002_indexes.sql
//
// make generate runs it for both databases, see package migrations. No package that a user links
// imports Atlas or ent's schema migration.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"regexp"
	"strings"

	"ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"

	"taskkit.dev/internal/lifecycle"
)

func main() {
	name := flag.String("dialect", dialect.Postgres, "postgres or sqlite3")
	dir := flag.String("schema", "./ent/schema", "directory of the ent schema")
	after := flag.String("after", "", "directory of migrations that were released: write what the indexes need after them")
	out := flag.String("o", "/dev/stdout", "file to write")
	flag.Parse()
	tables, r, err := planTables(*name, *dir)
	if err != nil {
		log.Fatal("plan the schema: ", err)
	}
	text := file(*name, tables, r)
	if *after != "" {
		if text, err = laterIndexes(*name, os.DirFS(*after), tables); err != nil {
			log.Fatal("plan the indexes: ", err)
		}
	}
	if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
		log.Fatal("write the migration: ", err)
	}
}

// versions are the oldest servers that the plan must suit.
var versions = map[string]string{dialect.Postgres: "150000", dialect.SQLite: "3.40.0"}

// planTables returns the statements that make an empty schema into ent's, and the
// rules of its table of tasks. On PostgreSQL those are not in the statements, see
// [guard]. On SQLite the foreign keys are not, see [foreignKeys].
func planTables(name, dir string) (string, rules, error) {
	storage, err := gen.NewStorage("sql")
	if err != nil {
		return "", rules{}, err
	}
	graph, err := entc.LoadGraph(dir, &gen.Config{Storage: storage})
	if err != nil {
		return "", rules{}, err
	}
	tables, err := graph.Tables()
	if err != nil {
		return "", rules{}, err
	}
	var r rules
	for _, t := range tables {
		if name == dialect.SQLite && len(t.ForeignKeys) > 0 {
			if err := checkForeignKeys(t); err != nil {
				return "", rules{}, err
			}
			r.owned = append(r.owned, t.Name)
			t.ForeignKeys = nil
		}
		if t.Name != taskTable {
			continue
		}
		r.checks = t.Annotation.Checks
		for _, c := range t.Columns {
			r.columns = append(r.columns, c.Name)
		}
		if name == dialect.Postgres {
			t.Annotation.Checks = nil
		}
	}
	plan, err := schema.DDL(context.Background(), schema.DDLArgs{
		Dialect: name, Version: versions[name], Tables: tables,
		Options: []migrate.PlanOption{func(o *migrate.PlanOptions) {
			if name == dialect.Postgres {
				o.SchemaQualifier = &placeholder
			}
		}},
	})
	if err != nil {
		return "", rules{}, err
	}
	plan = strings.TrimSpace(position.ReplaceAllString(plan, ""))
	rank := lifecycle.PostgresRank
	if name == dialect.SQLite {
		rank = lifecycle.SQLiteRank
	}
	plan = claimColumns.ReplaceAllString(plan, "("+rank("")+")")
	plan = referenceColumns.ReplaceAllString(plan, "$1, (CASE WHEN fence = 0 THEN delayed END)")
	plan = deadColumns.ReplaceAllString(plan, "(("+lifecycle.DeadKey("")+"), $1)")
	plan = pausedColumns.ReplaceAllString(plan, "(("+lifecycle.PauseKey("")+"), $1)")
	plan = listedColumns.ReplaceAllString(plan, "(($2 || ''), ${1}id${1})")
	if name == dialect.SQLite {
		plan = ownerOfRoots.ReplaceAllString(plan, "$1 parent_id IS NULL;")
		plan = check.ReplaceAllStringFunc(plan, func(line string) string { return short(name, line) })
	}
	return plan, r, nil
}

var (
	// placeholder stands for the schema's name in every PostgreSQL statement.
	placeholder = "{schema}"
	// position matches Atlas's notes on where a table was declared.
	position = regexp.MustCompile(`(?m)^-- atlas:pos .*\n`)
	// check matches a CHECK.
	check = regexp.MustCompile(`(?m)^  CONSTRAINT .* CHECK .*$`)
	// claimColumns matches the columns of the index of claims for which it has an expression: ent has no
	// indexes of expressions.
	claimColumns = regexp.MustCompile("[`\"]stalled[`\"], [`\"]priority[`\"]")
	// referenceColumns matches the columns of the index of references. What takes the place of
	// the last is NULL, which is never a duplicate, for tasks that were claimed.
	referenceColumns = regexp.MustCompile("([`\"]execution_component_name[`\"], [`\"]reference[`\"]), [`\"]delayed[`\"]")
	// listedColumns matches the columns of the indexes of what a list is selected by.
	listedColumns = regexp.MustCompile("\\(([`\"])(reference|unique_key)[`\"], [`\"]id[`\"]\\)")
	// deadColumns matches the columns of the index of dead letters.
	deadColumns = regexp.MustCompile("\\([`\"]execution_component_name[`\"], ([`\"]id[`\"])\\)")
	// pausedColumns matches the columns of the index of paused tasks.
	pausedColumns = regexp.MustCompile("\\([`\"]control_reason[`\"], ([`\"]id[`\"])\\)")
	// ownerOfRoots matches the index of owners. On SQLite it holds tasks in flight too: a row
	// changes in place there, and to leave an index and to come back is what costs.
	ownerOfRoots = regexp.MustCompile("(?m)^(CREATE INDEX `taskkit_owner` .* WHERE) .*;$")
)

// file returns a whole migration in goose's format.
func file(name, tables string, r rules) string {
	head, storage := fileHead, ""
	if name == dialect.Postgres {
		head += postgresHead + "\n"
		storage = "\n" + postgresStorage
	}
	return head + "-- Planned from ent/schema by internal/cmd/schemaplan.\n\n" + tables +
		"\n\n" + guards(name, r) + storage + fileEnd
}

// A migration is one statement to goose, which sends it in one round trip and does
// not look for the ends of statements within.
const (
	fileHead = "-- +goose Up\n-- +goose StatementBegin\n\n"
	fileEnd  = "\n-- +goose StatementEnd\n"
)

// postgresHead begins every PostgreSQL migration.
const postgresHead = `-- Names of functions and operators are pg_catalog's, whatever the search_path of the migrator has.
SET LOCAL search_path = pg_catalog;
-- One migrator at a time: the lock ends with the transaction, so it holds through
-- a pooler too. After it, nobody queues behind a lock of ours for long.
SELECT pg_advisory_xact_lock(hashtextextended('taskkit migrate {schema}', 0));
SET LOCAL lock_timeout = '5s';
`

// postgresStorage is written by hand: ent has no storage parameters.
const postgresStorage = `-- By hand: storage parameters, which ent does not have.
--
-- A task's row is rewritten on every transition and checkpoint. Pages keep room
-- for the next version of each of their rows, since the log then holds only what
-- differs; and so do the pages of the index of owners, for the version that ends. Vacuum
-- comes by the number of dead rows and not by a share of a table that is mostly
-- finished tasks.
ALTER TABLE "{schema}"."taskkit_queued_task" SET (
  fillfactor = 40,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02
);
ALTER INDEX "{schema}"."taskkit_owner" SET (fillfactor = 65);
-- One parent may have nearly all children. By the statistics of that, a lookup of the
-- children of another task would read the table, as if it found one at once.
ALTER TABLE "{schema}"."taskkit_queued_task" ALTER COLUMN "parent_id" SET (n_distinct = -0.1);
-- One row a process, rewritten on every heartbeat and never in an index.
ALTER TABLE "{schema}"."taskkit_task_process" SET (
  fillfactor = 50,
  autovacuum_vacuum_threshold = 100,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);
-- A page of targets is written once and read a few times: it is not compressed,
-- to save time. How much that saves has not been measured.
ALTER TABLE "{schema}"."taskkit_task_target" ALTER COLUMN "keys" SET STORAGE EXTERNAL;
-- A page of a ledger is compressed before it is stored.
ALTER TABLE "{schema}"."taskkit_task_ledger" ALTER COLUMN "keys" SET STORAGE EXTERNAL;
`
