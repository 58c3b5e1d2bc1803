package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// accessQuery finds what a worker lacks. docs/operations.md lists the rights. Functions of triggers need no right. $1 is the
// schema.
const accessQuery = `WITH schema AS MATERIALIZED (
  SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = $1::text::name
), tables AS MATERIALIZED (
  SELECT c.oid, c.relname::text AS name FROM pg_catalog.pg_class c JOIN schema s ON s.oid = c.relnamespace
  WHERE c.relkind = 'r'::"char" AND pg_catalog.starts_with(c.relname::text, 'taskkit_'::text)
), lacks AS MATERIALIZED (
  SELECT 'USAGE'::text AS privilege, 'SCHEMA'::text AS sort, ''::text AS name FROM schema s
  WHERE NOT pg_catalog.has_schema_privilege(s.oid, 'USAGE'::text)
  UNION ALL
  SELECT p.name, ''::text, t.name FROM tables t
  CROSS JOIN (VALUES ('SELECT'::text), ('INSERT'::text), ('UPDATE'::text), ('DELETE'::text)) p(name)
  WHERE NOT pg_catalog.has_table_privilege(t.oid, p.name)
    AND NOT (p.name <> 'SELECT'::text AND t.name IN ('taskkit_goose_version'::text, 'taskkit_queue'::text))
    AND NOT (p.name IN ('INSERT'::text, 'DELETE'::text) AND t.name = 'taskkit_schedule'::text)
  UNION ALL
  SELECT 'EXECUTE'::text, 'FUNCTION'::text, p.proname::text || '('::text || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')'::text
  FROM pg_catalog.pg_proc p JOIN schema s ON s.oid = p.pronamespace
  WHERE pg_catalog.starts_with(p.proname::text, 'taskkit_'::text) AND p.prorettype <> 'pg_catalog.trigger'::pg_catalog.regtype::oid
    AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE'::text)
)
SELECT current_user::text, pg_catalog.current_setting('transaction_read_only'::text) = 'on'::text, pg_catalog.pg_backend_pid()::bigint,
  EXISTS (SELECT FROM tables t WHERE t.name = 'taskkit_queued_task'::text),
  coalesce(l.privilege, ''), coalesce(l.sort, ''), coalesce(l.name, '')
FROM (VALUES (1)) one(n) LEFT JOIN lacks l ON true`

// access is what a worker has of the database.
type access struct {
	role     string
	readOnly bool
	backend  int64 // the process of the server
	tables   bool
	objects  []string            // that lack a right, as GRANT names them
	lacks    map[string][]string // the rights, by object
}

// probeSize is how many bytes a probe of the disk writes: more than what is free in the pages of a table.
const probeSize = 16 << 10

// Probe implements [store.Workers].
func (s *Store) Probe(ctx context.Context, disk bool) error {
	err := s.probeAccess(ctx)
	switch {
	case notPrepared(err):
		return errPooler
	case err != nil || !disk:
		return err
	}
	return s.ProbeWrites(ctx, s.pool.InTx, probeSize)
}

// probeAccess returns what keeps a worker from using the database, apart from its disk.
func (s *Store) probeAccess(ctx context.Context) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("probe the database: %w", err)
	}
	defer conn.Close()
	a, err := s.readAccess(ctx, conn)
	if err != nil {
		return fmt.Errorf("probe the database: %w", err)
	}
	if err := a.refused(s.Schema()); err != nil {
		return err
	}
	return s.probePooler(ctx, conn, a.backend)
}

// readAccess reads what a worker has of the database.
func (s *Store) readAccess(ctx context.Context, conn *sql.Conn) (access, error) {
	a := access{lacks: make(map[string][]string)}
	_, err := sqlrows.Query(ctx, conn, accessQuery, []any{s.Schema()}, func(rows *sql.Rows) error {
		var right, sort, name string
		if err := rows.Scan(&a.role, &a.readOnly, &a.backend, &a.tables, &right, &sort, &name); err != nil || right == "" {
			return err
		}
		object := strings.TrimSpace(sort + " " + s.Schema())
		if name != "" {
			object += "." + name
		}
		if a.lacks[object] == nil {
			a.objects = append(a.objects, object)
		}
		a.lacks[object] = append(a.lacks[object], right)
		return nil
	})
	return a, err
}

// namedObjects is how many objects that lack a right an error names.
const namedObjects = 5

// refused returns what is wrong, or nil.
func (a access) refused(schema string) error {
	switch {
	case !a.tables:
		return &store.RefusedError{
			Problem: fmt.Sprintf("the schema %q, or its tables, do not exist", schema),
			Remedy:  "restore it, or run taskkit migrate",
		}
	case len(a.objects) > 0:
		slices.Sort(a.objects)
		var lacks, grants []string
		for _, o := range a.objects[:min(len(a.objects), namedObjects)] {
			rights := strings.Join(a.lacks[o], ", ")
			lacks = append(lacks, rights+" on "+o)
			grants = append(grants, fmt.Sprintf("GRANT %s ON %s TO %q", rights, o, a.role))
		}
		if more := len(a.objects) - namedObjects; more > 0 {
			lacks = append(lacks, fmt.Sprintf("rights on %d more", more))
			grants = append(grants, "and the others of docs/operations.md#roles")
		}
		return &store.RefusedError{
			Problem: fmt.Sprintf("role %q lacks %s", a.role, strings.Join(lacks, ", ")),
			Remedy:  strings.Join(grants, "; "),
		}
	case a.readOnly:
		return &store.RefusedError{
			Problem: "its transactions are read-only",
			Remedy:  "connect to the primary, and reset default_transaction_read_only of the role and the database",
		}
	}
	return nil
}
