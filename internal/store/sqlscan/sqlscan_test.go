package sqlscan

import (
	"testing"

	"taskkit.dev/internal/dialect"
)

// spellings are texts and whether each database would end the batch's
// transaction by them.
var spellings = []struct {
	query            string
	postgres, sqlite bool
}{
	{"COMMIT", true, true},
	{"commit and chain", true, true},
	{" \t\r\n\f;; Commit;", true, true},
	{"\ufeffCOMMIT", true, true},
	{"-- x\nROLLBACK", true, true},
	{"-- x\rROLLBACK", true, false},
	{"-- COMMIT", false, false},
	{"/* x */ END", true, true},
	{"/* a /* b */ c */ COMMIT", true, false},
	{"/* a /* b */ COMMIT /* c */ */", false, true},
	{"/**/COMMIT", true, true},
	{"/* COMMIT", false, false},
	{"ABORT", true, true},
	{"BEGIN IMMEDIATE", true, true},
	{"START TRANSACTION", true, true},
	{"ROLLBACK", true, true},
	{"ROLLBACK/**/WORK", true, true},
	{"rollback transaction;", true, true},
	{"ROLLBACK TO s", false, false},
	{"ROLLBACK /* x */ WORK TO SAVEPOINT s", false, false},
	{"ROLLBACK TRANSACTION TO s", false, false},
	{"ROLLBACK TO s; ROLLBACK", true, true},
	{"SAVEPOINT s; RELEASE s", false, false},
	{"PREPARE TRANSACTION 'x'", true, true},
	{"PREPARE p AS SELECT 1", false, false},
	{"INSERT INTO t VALUES (1); COMMIT", true, true},
	{"INSERT INTO t VALUES (1);;\n COMMIT; BEGIN", true, true},
	{"INSERT INTO t VALUES ('; COMMIT')", false, false},
	{"INSERT INTO t VALUES ('it''s; COMMIT;')", false, false},
	{"INSERT INTO t VALUES (''''); COMMIT", true, true},
	{`INSERT INTO t VALUES (E'\'); COMMIT; --')`, false, true},
	{`INSERT INTO t VALUES ('\'); COMMIT; --')`, true, true},
	{"SELECT E'a' -- b\n'\\', '; COMMIT; --'", true, false},
	{"SELECT E'a'\n'b'\n'\\'; COMMIT; --'", false, true},
	// Harmless, but not with standard_conforming_strings off.
	{"SELECT E'a', '\\', '; COMMIT; --'", true, false},
	{"SELECT 'a'\n'\\', '; COMMIT; --'", true, false},
	{`SELECT '\'', $1; COMMIT; --'`, true, false},
	{`SELECT '\d+', 'C:\Users\'; SELECT 2`, false, false},
	{`SELECT "a;COMMIT;" FROM t`, false, false},
	{"SELECT `a;COMMIT;` FROM t", true, false},
	{"SELECT [a;COMMIT;] FROM t", true, false},
	{"SELECT $$; COMMIT; $$", false, true},
	{"SELECT $x$ $$; COMMIT; $x$", false, true},
	{"SELECT $x$ $$; $x$; COMMIT", true, true},
	{"SELECT $1; COMMIT", true, true},
	{"SELECT a$$; COMMIT; SELECT b$$", true, true},
	{"DO $$ BEGIN NULL; END $$", false, true},
	{"SELECT CASE WHEN a THEN 1 END; SELECT 2", false, false},
	{"CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET a = CASE WHEN b THEN 1 END; DELETE FROM u; END", true, false},
	{"CREATE TEMP TRIGGER r AFTER UPDATE OF begin ON t BEGIN DELETE FROM u; END; COMMIT", true, true},
	{"CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 1 END; END; SELECT 1", false, false},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC END; COMMIT", true, true},
	{"CREATE TABLE t (begin int); COMMIT", true, true},
	{"CREATE TABLE begin_atomic (a int); END", true, true},
	{"SELECT commit, rollback FROM begin", false, false},
	{"EXPLAIN SELECT 1", false, false},
	{"COMMITTED", false, false},
	{"commit_all", false, false},
	{"", false, false},
	{"'unclosed; COMMIT", false, false},
}

func TestOwnsEnd(t *testing.T) {
	t.Parallel()
	for _, s := range spellings {
		for d, want := range map[dialect.Name]bool{dialect.Postgres: s.postgres, dialect.SQLite: s.sqlite} {
			if got := RejectTxControl(d, s.query) != nil; got != want {
				t.Errorf("%s: %q: refused is %t, want %t", d, s.query, got, want)
			}
		}
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"SELECT 1": true, " /* x */ select 1;": true, "SELECT 1; SELECT 2": false, "SELECT 1; DELETE FROM t": false,
		"WITH n AS (SELECT 1) DELETE FROM t": false, "INSERT INTO t SELECT 1": false, "": false,
	} {
		if got := IsSelect(dialect.SQLite, query); got != want {
			t.Errorf("%q: reads is %t, want %t", query, got, want)
		}
	}
}

// Whatever the text, the scan ends, and what follows a COMMIT changes nothing.
func FuzzOwnsEnd(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, d := range []dialect.Name{dialect.Postgres, dialect.SQLite} {
			if RejectTxControl(d, "COMMIT;"+query) == nil {
				t.Errorf("%s: a COMMIT before %q is let through", d, query)
			}
			if RejectTxControl(d, query) != nil && RejectTxControl(d, query+"\n;SELECT 1") == nil {
				t.Errorf("%s: %q is let through with more behind it", d, query)
			}
		}
	})
}
