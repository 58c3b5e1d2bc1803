package sqlscan

import (
	"reflect"
	"testing"

	"taskkit.dev/internal/dialect"
)

// What a statement changes is read from its words, whatever surrounds them.
func TestEffectOf(t *testing.T) {
	t.Parallel()
	change := func(verb, table string) Effect { return Effect{Verb: verb, Table: table} }
	others := func(n int64) Effect { return Effect{Others: n} }
	savepoint := func(verb, name string) Effect { return Effect{Savepoints: []SavepointEffect{{verb, name}}} }
	for query, want := range map[string]Effect{
		"INSERT INTO people (id) VALUES ($1)":                                              change(Insert, "people"),
		"insert into People select * from staff":                                           change(Insert, "people"),
		`INSERT INTO "People" DEFAULT VALUES ON CONFLICT DO UPDATE SET a = 1`:              change(Insert, "People"),
		`INSERT INTO "a ""b"" c"("UPDATE") VALUES (';')`:                                   change(Insert, `a "b" c`),
		"/* DELETE */ UPDATE -- FROM\n people SET a = (SELECT 1)":                          change(Update, "people"),
		"UPDATE ONLY people AS p SET a = 1 FROM staff s WHERE p.id = s.id":                 change(Update, "people"),
		`UPDATE app."people" SET a = 1;`:                                                   change(Update, "app.people"),
		"DELETE FROM app.people WHERE id IN (1, 2)":                                        change(Delete, "app.people"),
		"MERGE INTO people p USING staff s ON p.id = s.id WHEN MATCHED THEN DELETE":        change(Merge, "people"),
		"WITH a AS (SELECT 1) UPDATE people SET x = 1":                                     change(Update, "people"),
		"WITH a AS (SELECT 1), b(n) AS (SELECT (2)) DELETE FROM people":                    change(Delete, "people"),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 2) INSERT INTO t SELECT 1":      change(Insert, "t"),
		"WITH a AS (DELETE FROM t RETURNING *) INSERT INTO u SELECT * FROM a":              {Verb: Insert, Table: "u", Others: 1},
		"WITH a AS (DELETE FROM t RETURNING *), b AS (UPDATE u SET x = 1) SELECT * FROM a": others(2),
		"WITH a AS (SELECT 1) SELECT * FROM a":                                             {},
		"SELECT 'DELETE FROM people'":                                                      {},
		"SELECT * FROM people FOR UPDATE":                                                  {},
		"":                                                                                 {},
		"TRUNCATE people":                                                                  others(1),
		"CREATE TABLE t (id int)":                                                          others(1),
		"CALL work()":                                                                      others(1),
		"UPDATE a SET x = 1; DELETE FROM b; SELECT 1":                                      others(2),
		"SET LOCAL x = 1; UPDATE a SET x = 1":                                              others(1),
		"SAVEPOINT one":                                                                    savepoint("SAVEPOINT", "one"),
		`ROLLBACK TO SAVEPOINT "One";`:                                                     savepoint("ROLLBACK", "One"),
		"ROLLBACK TRANSACTION TO one":                                                      savepoint("ROLLBACK", "one"),
		"RELEASE ONE":                                                                      savepoint("RELEASE", "one"),
		"UPDATE":                                                                           change(Update, ""),
		"WITH":                                                                             {},
	} {
		for _, d := range []dialect.Name{dialect.Postgres, dialect.SQLite} {
			if got := EffectOf(d, query); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %q: %+v, want %+v", d, query, got, want)
			}
		}
	}
	for query, want := range map[string]Effect{
		"REPLACE INTO people VALUES (1)":                                                  change(Insert, "people"),
		"INSERT OR IGNORE INTO `people` VALUES (1)":                                       change(Insert, "people"),
		"UPDATE OR ABORT [my people] SET a = 1":                                           change(Update, "my people"),
		"CREATE TRIGGER x AFTER DELETE ON a BEGIN UPDATE b SET c = 1; DELETE FROM d; END": others(1),
	} {
		if got := EffectOf(dialect.SQLite, query); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", query, got, want)
		}
	}
}
