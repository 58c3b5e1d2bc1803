package migrate_test

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/testkit/testdb"
)

// TestMigrationsAreTheEntSchema compares the catalog that the migrations leave
// with the one that ent itself makes of its schema: columns, types, nulls,
// defaults, indexes with their predicates, checks and foreign keys.
func TestMigrationsAreTheEntSchema(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, ...testdb.Option) *testdb.DB{"postgres": testdb.Postgres, "sqlite": testdb.SQLite} {
		t.Run(name, func(t *testing.T) {
			tables := entTables(t)
			migrated, made := open(t), open(t)
			if err := migrate.Migrate(t.Context(), migrated.DB, migrated.Schema); err != nil {
				t.Fatal(err)
			}
			m, err := schema.NewMigrate(entsql.OpenDB(string(made.Dialect), made.DB))
			if err != nil {
				t.Fatal(err)
			}
			wantChecks := 16
			if name == "postgres" { // where the checks of a task are triggers
				wantChecks = 9
				for _, table := range tables {
					if table.Name == "taskkit_queued_task" {
						table.Annotation.Checks = nil
					}
				}
			}
			if err := m.Create(t.Context(), tables...); err != nil {
				t.Fatalf("ent creates its schema: %v", err)
			}
			rank := lifecycle.PostgresRank
			if made.Dialect == dialect.SQLite {
				rank = lifecycle.SQLiteRank
			}
			if _, err := made.ExecContext(t.Context(), strings.NewReplacer("{rank}", rank(""), "{dead}", lifecycle.DeadKey(""), "{paused}", lifecycle.PauseKey(""), "{is paused}", lifecycle.IsPaused("")).Replace(expressionIndexes)); err != nil {
				t.Fatal(err)
			}
			if made.Dialect == dialect.SQLite {
				if _, err := made.ExecContext(t.Context(), ownerOfRoots); err != nil {
					t.Fatal(err)
				}
			}
			want, got := catalog(t, made), catalog(t, migrated)
			if made.Dialect == dialect.SQLite {
				want = withoutForeignKeys(t, want, migrated)
			}
			for _, line := range got {
				if !slices.Contains(want, line) {
					t.Errorf("only in the migrations: %s", line)
				}
			}
			for _, line := range want {
				if !slices.Contains(got, line) {
					t.Errorf("only in ent: %s", line)
				}
			}
			if n := len(slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.Contains(s, "CHECK") && !strings.HasPrefix(s, "check") })); n != wantChecks {
				t.Errorf("%d checks in the catalog, want %d", n, wantChecks)
			}
			if len(want) < 80 {
				t.Errorf("the catalog has %d lines only: %v", len(want), want)
			}
		})
	}
}

// expressionIndexes makes the indexes that have an expression, which ent does not have, see
// internal/cmd/schemaplan.
const expressionIndexes = `DROP INDEX taskkit_claim;
CREATE INDEX taskkit_claim ON taskkit_queued_task (queue, execution_component_name, codec_revision, ({rank}), not_before, id) WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE';
DROP INDEX taskkit_reference;
CREATE UNIQUE INDEX taskkit_reference ON taskkit_queued_task (execution_component_name, reference, (CASE WHEN fence = 0 THEN delayed END)) WHERE reference IS NOT NULL AND workflow_status = 'QUEUED';
DROP INDEX taskkit_listed_reference;
CREATE INDEX taskkit_listed_reference ON taskkit_queued_task ((reference || ''), id) WHERE reference || '' IS NOT NULL;
DROP INDEX taskkit_listed_key;
CREATE INDEX taskkit_listed_key ON taskkit_queued_task ((unique_key || ''), id) WHERE unique_key || '' IS NOT NULL;
DROP INDEX taskkit_dead;
CREATE INDEX taskkit_dead ON taskkit_queued_task (({dead}), id) WHERE {dead} IS NOT NULL;
DROP INDEX taskkit_paused;
CREATE INDEX taskkit_paused ON taskkit_queued_task (({paused}), id) WHERE {is paused}`

// ownerOfRoots makes the one index that SQLite has otherwise than ent, see
// internal/cmd/schemaplan.
const ownerOfRoots = "DROP INDEX taskkit_owner; CREATE INDEX taskkit_owner ON taskkit_queued_task (owner_id, id) WHERE parent_id IS NULL"

// withoutForeignKeys returns a catalog without foreign keys. In place of each the migrated database must
// have triggers, which TestRowsBelongToTasks of internal/store/dbstore tries.
func withoutForeignKeys(t *testing.T, catalog []string, migrated *testdb.DB) []string {
	t.Helper()
	keys := 0
	catalog = slices.DeleteFunc(catalog, func(line string) bool {
		if !strings.HasPrefix(line, "foreign key ") {
			return false
		}
		keys++
		table := strings.Fields(line)[2]
		var triggers int
		err := migrated.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_master WHERE type = 'trigger'
AND (name LIKE 'taskkit_foreign_key_%' AND tbl_name = $1 OR name = 'taskkit_cascade' AND sql LIKE '%DELETE FROM _' || $1 || '_ WHERE task_id = OLD.id;%')`, table).Scan(&triggers)
		if err != nil || triggers != 3 {
			t.Errorf("%d triggers, %v, in place of the foreign key of %s, want 3", triggers, err, table)
		}
		return true
	})
	if keys < 9 {
		t.Errorf("ent has %d foreign keys", keys)
	}
	return catalog
}

// entTables loads the ent schema as ent's own code generation does.
func entTables(t *testing.T) []*schema.Table {
	t.Helper()
	storage, err := gen.NewStorage("sql")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := entc.LoadGraph("../../ent/schema", &gen.Config{Storage: storage})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := graph.Tables()
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// catalog describes the tables of a test's database, one fact a line.
func catalog(t *testing.T, db *testdb.DB) []string {
	t.Helper()
	queries := []string{
		`SELECT 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(pg_get_expr(d.adbin, d.adrelid), '')
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE n.nspname = current_schema() AND c.relkind = 'r' AND a.attnum > 0`,
		`SELECT 'index', tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = current_schema()`,
		`SELECT 'constraint', c.relname, o.conname, pg_get_constraintdef(o.oid), '', ''
FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema()`,
	}
	if db.Dialect == dialect.SQLite {
		queries = []string{
			`SELECT 'column', m.name, c.name, c.type, c."notnull", coalesce(c.dflt_value, '') FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`,
			`SELECT 'index', tbl_name, name, sql, '', '' FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`,
			`SELECT 'index column', m.name, i.name || '.' || x.seqno, coalesce(x.name, ''), i."unique", i.partial
FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) x WHERE m.type = 'table' AND x.key = 1`,
			`SELECT 'foreign key', m.name, f."from", f."table" || '.' || f."to", f.on_delete, f.on_update FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`,
			`SELECT 'table', name, '', sql, '', '' FROM sqlite_master WHERE type = 'table'`,
		}
	}
	var lines []string
	for _, query := range queries {
		lines = append(lines, facts(t, db, query)...)
	}
	slices.Sort(lines)
	return lines
}

// facts runs a query on the catalog.
func facts(t *testing.T, db *testdb.DB, query string) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var f [6]sql.NullString
		if err := rows.Scan(&f[0], &f[1], &f[2], &f[3], &f[4], &f[5]); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(f[1].String, "taskkit_") || f[1].String == "taskkit_goose_version" {
			continue
		}
		if f[0].String == "table" {
			for _, check := range checks.FindAllString(f[3].String, -1) {
				lines = append(lines, "check "+f[1].String+" "+plain(check))
			}
			continue
		}
		parts := make([]string, len(f))
		for i := range f {
			parts[i] = plain(strings.ReplaceAll(f[i].String, db.Schema+".", ""))
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

var (
	// checks matches a check in SQLite's text of a table; ours hold three levels of
	// brackets at most.
	checks = regexp.MustCompile("CONSTRAINT [`\"]?\\w+[`\"]? CHECK \\(" + bracketed(bracketed(bracketed(`[^()]`))) + "*\\)")
	// cases matches a list of words as the migrations have it on SQLite.
	cases = regexp.MustCompile(`CASE (\w+) WHEN ('[^)]*') THEN 1 ELSE 0 END`)
	// storage matches what the migrations set by hand.
	storage = regexp.MustCompile(` WITH \(fillfactor='?\d+'?\)`)
	spaces  = regexp.MustCompile(`\s+`)
)

// bracketed matches what an expression does, or several in brackets.
func bracketed(expr string) string { return `(?:[^()]|\(` + expr + `*\))` }

// plain makes text comparable that was quoted, broken or written differently.
func plain(s string) string {
	s = storage.ReplaceAllString(s, "")
	s = cases.ReplaceAllStringFunc(s, func(m string) string {
		parts := cases.FindStringSubmatch(m)
		return parts[1] + " IN (" + strings.ReplaceAll(parts[2], " THEN 1 WHEN ", ", ") + ")"
	})
	return spaces.ReplaceAllString(strings.NewReplacer("`", "", `"`, "").Replace(s), " ")
}
