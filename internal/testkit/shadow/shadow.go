// Package shadow makes PostgreSQL functions and operators that take the calls of others. A role that may create objects in a
// schema of the search_path can overload what a statement calls, and the overload runs with the rights of the role that executes
// the statement.
//
// PostgreSQL searches pg_catalog first unless the search_path names it, and an exact match of the types ends the search. So a
// call that pg_catalog matches exactly cannot be taken. Others can:
//
//   - one that PostgreSQL would convert an argument for, as bigint | integer;
//   - one of a polymorphic function, as unnest(text[]), or of one with variadic arguments, as format(text, text);
//   - one of an operator and a constant of no type, as json ->> 'id', for which PostgreSQL looks for json ->> json first.
//
// Such a call names its schema, as pg_catalog.unnest(...) or OPERATOR(pg_catalog.|), or gets exact types by a cast. unnest
// with several arguments is PostgreSQL's own syntax and always of pg_catalog. A search_path that names pg_catalog after
// another schema gives that schema all calls, the exact ones too.
package shadow

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// types are the types of taskkit's columns, parameters and expressions.
var types = strings.Fields(`boolean smallint integer bigint float8 numeric text name uuid timestamptz timestamp interval
	json jsonb bytea oid xid pg_lsn text[] bigint[] integer[] uuid[] boolean[] timestamptz[] float8[]`)

// few are the types of the arguments of functions that take any, so that there are not too many overloads.
var few = strings.Fields("text integer bigint boolean timestamptz uuid")

// comparisons are the operators that keywords stand for: IN, BETWEEN, LIKE, IS DISTINCT FROM, CASE and NULLIF.
var comparisons = strings.Fields("= <> < <= > >= ~~ !~~")

// Create creates in a schema, which exists, an overload of each function and operator of pg_catalog whose name is in one of the
// statements, for all types that would be an exact match where pg_catalog has none. Each overload raises an error that begins with
// "shadow: ". They may be whole files: other words are ignored. It returns the names.
func Create(ctx context.Context, db *sql.DB, schema string, statements ...string) (names []string, err error) {
	text := strings.Join(statements, "\n")
	var b strings.Builder
	operators, err := createOperators(ctx, db, &b, schema, text)
	if err != nil {
		return nil, fmt.Errorf("read the operators of pg_catalog: %w", err)
	}
	functions, err := createFunctions(ctx, db, &b, schema, text)
	if err != nil {
		return nil, fmt.Errorf("read the functions of pg_catalog: %w", err)
	}
	if _, err := db.ExecContext(ctx, b.String()); err != nil {
		return nil, fmt.Errorf("create the overloads: %w", err)
	}
	return append(operators, functions...), nil
}

const missingOperators = `SELECT n.name, l.t, r.t
FROM (SELECT DISTINCT oprname::text AS name FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b'
  AND (oprname::text = ANY ($1::text[]) OR strpos($2, oprname::text) > 0)) n, unnest($3::text[]) l(t), unnest($3::text[]) r(t)
WHERE NOT EXISTS (SELECT FROM pg_operator p WHERE p.oprnamespace = 'pg_catalog'::regnamespace AND p.oprname = n.name
  AND p.oprleft = l.t::regtype AND p.oprright = r.t::regtype)
ORDER BY 1, 2, 3`

func createOperators(ctx context.Context, db *sql.DB, b *strings.Builder, schema, text string) (names []string, err error) {
	rows, err := db.QueryContext(ctx, missingOperators, comparisons, text, types)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	made := make(map[string]bool)
	for rows.Next() {
		var name, left, right string
		if err := rows.Scan(&name, &left, &right); err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		function, returns := "shadow_value", left
		if slices.Contains(comparisons, name) {
			function, returns = "shadow_compare", "boolean"
		}
		function = schema + "." + function
		if signature := fmt.Sprintf("%s(%s, %s)", function, left, right); !made[signature] {
			made[signature] = true
			b.WriteString(overload(signature, returns, "an operator of "+left+" and "+right))
		}
		fmt.Fprintf(b, "CREATE OPERATOR %s.%s (FUNCTION = %s, LEFTARG = %s, RIGHTARG = %s);\n", schema, name, function, left, right)
	}
	return names, rows.Err()
}

// overload returns the statement that creates a function which raises an error.
func overload(signature, returns, what string) string {
	return fmt.Sprintf("CREATE FUNCTION %s RETURNS %s LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'shadow: %s was called'; END$$;\n", signature, returns, what)
}

// call matches the name of a function that is called, or a word like one.
var call = regexp.MustCompile(`\b([a-z_0-9]+)\s*\(`)

// calls returns by the names of functions the numbers of arguments with which a text calls them.
func calls(text string) map[string][]int {
	found := make(map[string][]int)
	for _, m := range call.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		if n := arguments(text[m[1]:]); !slices.Contains(found[name], n) {
			found[name] = append(found[name], n)
		}
	}
	return found
}

// arguments counts the arguments of a call, whose text begins behind the parenthesis.
func arguments(text string) int {
	if strings.HasPrefix(strings.TrimSpace(text), ")") {
		return 0
	}
	n, depth, quoted := 1, 0, false
	for _, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case quoted:
		case r == '(' || r == '[':
			depth++
		case depth == 0 && r == ')':
			return n
		case r == ')' || r == ']':
			depth--
		case depth == 0 && r == ',':
			n++
		}
	}
	return n
}
