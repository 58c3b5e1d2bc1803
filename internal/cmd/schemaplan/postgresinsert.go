package main

import (
	"maps"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
)

// postgresInsert is the trigger that checks new tasks on PostgreSQL, and its function. Unlike the other guards the
// function is called for each row: PL/pgSQL keeps its conditions in the session, whereas the condition of a trigger is
// read again for each statement, a fifth of the time of an INSERT of one task. See docs/adr/0015. It is called before the row is
// stored, since PostgreSQL would keep a list of the rows of a statement to call it afterwards, and fetch each.
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
		all = append(all, g.when)
		each = append(each, "IF "+g.when+" THEN\n"+raise("'"+g.message+"'", "'"+g.name+"'")+"\nEND IF;\n")
	}
	trigger := insertGuard
	trigger.when, trigger.function, trigger.before = "", "taskkit_insert", true
	return `
CREATE FUNCTION "{schema}"."taskkit_insert"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF ` + strings.Join(all, "\n    OR ") + ` THEN
` + strings.Join(each, "") + `END IF;
RETURN NEW;
END
$$;

` + trigger.sql(dialect.Postgres)
}
