package main

import (
	"maps"
	"slices"
	"strings"
)

// postgresInsert is the trigger that checks new tasks on PostgreSQL, and its function. It is called once for each statement: the
// conditions of triggers on each row, which are read anew for each statement, took a fifth of the time of an INSERT of one task, and a function
// that is called for each row would take longer than they do where a statement inserts many. The function has no search_path of its
// own, which would take longer than the check: pg_catalog comes first in any that does not name it.
func postgresInsert(r rules) string {
	checks := []guard{insertGuard}
	for _, c := range slices.Sorted(maps.Keys(r.checks)) {
		if slices.Contains(metByNew, c) {
			continue
		}
		condition, _ := r.ofNew(c)
		checks = append(checks, guard{name: c, when: "NOT (" + condition + ")", message: r.message(c)})
	}
	var all, each []string
	for _, g := range checks {
		condition := strings.ReplaceAll(g.when, "NEW.", "n.")
		all = append(all, condition)
		each = append(each, `SELECT n.id INTO wrong FROM inserted n WHERE `+condition+` LIMIT 1;
IF FOUND THEN
  RAISE EXCEPTION 'taskkit: %', '`+g.message+`' USING
    ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = '`+g.name+`',
    DETAIL = format('INSERT of row %s', wrong);
END IF;
`)
	}
	return `
CREATE FUNCTION "{schema}"."taskkit_insert"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE wrong uuid;
BEGIN
IF NOT EXISTS (SELECT FROM inserted n WHERE ` + strings.Join(all, "\n    OR ") + `) THEN
RETURN NULL;
END IF;
` + strings.Join(each, "") + `RETURN NULL;
END
$$;

CREATE TRIGGER "` + insertGuard.name + `" AFTER INSERT ON "{schema}"."` + insertGuard.table + `" REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT
  EXECUTE FUNCTION "{schema}"."taskkit_insert"();
`
}
