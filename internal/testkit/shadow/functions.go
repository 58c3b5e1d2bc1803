package shadow

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
)

// pgFunctions are the functions of pg_catalog with these names, and their parameters. A variadic one ends in "...".
const pgFunctions = `SELECT p.proname::text, p.prorettype::regtype::text, p.proretset, array_to_string(ARRAY(
  SELECT CASE WHEN n = p.pronargs AND p.provariadic <> 0 THEN p.provariadic::regtype || '...' ELSE t::regtype::text END
  FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY a(t, n) ORDER BY n), ',')
FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname::text = ANY ($1::text[]) ORDER BY p.oid`

// casts are the types from which PostgreSQL converts an argument to a type.
const casts = `SELECT t.name::regtype::text, array_to_string(ARRAY(SELECT s.name::regtype::text FROM pg_cast c JOIN unnest($1::text[]) s(name) ON s.name::regtype = c.castsource
  WHERE c.casttarget = t.name::regtype AND c.castcontext = 'i'), ',')
FROM unnest($1::text[]) t(name)`

// function is a function of pg_catalog.
type function struct {
	name, returns string
	set           bool
	params        []string
}

func createFunctions(ctx context.Context, db *sql.DB, b *strings.Builder, schema, text string) ([]string, error) {
	convertible := make(map[string][]string)
	err := each(ctx, db, casts, types, func(rows *sql.Rows) error {
		var name, from string
		if err := rows.Scan(&name, &from); err != nil {
			return err
		}
		convertible[name] = list(from)
		return nil
	})
	if err != nil {
		return nil, err
	}
	called := calls(text)
	var functions []function
	exact := make(map[string]bool)
	err = each(ctx, db, pgFunctions, slices.Sorted(maps.Keys(called)), func(rows *sql.Rows) error {
		var f function
		var params string
		if err := rows.Scan(&f.name, &f.returns, &f.set, &params); err != nil {
			return err
		}
		f.params = list(params)
		functions = append(functions, f)
		exact[f.name+"("+params+")"] = true
		return nil
	})
	var names []string
	for _, f := range functions {
		for _, params := range f.overloads(called[f.name], convertible) {
			signature := f.name + "(" + strings.Join(params, ",") + ")"
			if exact[signature] {
				continue
			}
			exact[signature] = true
			b.WriteString(overload(schema+"."+signature, f.result(params), signature))
			if !slices.Contains(names, f.name) {
				names = append(names, f.name)
			}
		}
	}
	return names, err
}

// overloads returns the parameters of all overloads of a function, for calls with these numbers of arguments.
func (f function) overloads(arities []int, convertible map[string][]string) (all [][]string) {
	for _, n := range arities {
		params := slices.Clone(f.params)
		if last := len(params) - 1; last >= 0 && strings.HasSuffix(params[last], "...") {
			repeated := strings.TrimSuffix(params[last], "...")
			for params = params[:last]; len(params) < n; {
				params = append(params, repeated)
			}
		}
		if len(params) != n {
			continue
		}
		products := [][]string{nil}
		for at, param := range params {
			var longer [][]string
			for _, p := range products {
				for _, t := range candidates(param, params[:at], p, convertible) {
					longer = append(longer, append(slices.Clone(p), t))
				}
			}
			products = longer
		}
		all = append(all, products...)
	}
	return all
}

// candidates are the types of an overload's parameter at the place of one of pg_catalog. The parameters before it have types already.
func candidates(param string, before, chosen []string, convertible map[string][]string) []string {
	switch {
	case param == `"any"` && len(chosen) > 3:
		return chosen[len(chosen)-1:]
	case param == `"any"`:
		return few
	case !polymorphic(param):
		return append(slices.Clone(convertible[param]), param)
	}
	for i, b := range before {
		if polymorphic(b) {
			element := strings.TrimSuffix(chosen[i], "[]")
			if strings.HasSuffix(param, "array") && !strings.HasSuffix(param, "nonarray") {
				element += "[]"
			}
			return []string{element}
		}
	}
	var fit []string
	for _, t := range types {
		if isArray := strings.HasSuffix(t, "[]"); !strings.HasSuffix(param, "array") || isArray != strings.HasSuffix(param, "nonarray") {
			fit = append(fit, t)
		}
	}
	return fit
}

// polymorphic reports whether a parameter takes arguments of any type.
func polymorphic(param string) bool { return strings.HasPrefix(param, "any") }

// result is the type that an overload returns.
func (f function) result(params []string) string {
	result := f.returns
	switch {
	case strings.HasSuffix(result, "array") && polymorphic(result):
		result = strings.TrimSuffix(params[0], "[]") + "[]"
	case polymorphic(result):
		result = strings.TrimSuffix(params[0], "[]")
	}
	if f.set {
		result = "SETOF " + result
	}
	return result
}

// each runs a query of names and calls f for each row.
func each(ctx context.Context, db *sql.DB, query string, names []string, f func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, query, names)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list splits a list at its commas. The list of "" is empty.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
