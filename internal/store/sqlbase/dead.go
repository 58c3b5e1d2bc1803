package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/predicate"
	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// code is the SQL of the code of a task that has failed: its description is the code, a colon and
// the detail.
func (t Statements) code(column string) string {
	if t.dialect == dialect.SQLite {
		return "substr(" + column + ", 1, instr(" + column + " || ': ', ': ') - 1)"
	}
	return "split_part(" + column + ", ': ', 1)"
}

// hasCode selects tasks that have failed with a code.
func (b *Base) hasCode(code string) predicate.QueuedTask {
	return func(s *entsql.Selector) {
		column := s.C(queuedtask.FieldWorkflowStatusDesc) // later the selector may have an alias
		s.Where(entsql.P(func(q *entsql.Builder) {
			q.WriteString(b.code("coalesce("+column+", '')") + " = ").Arg(code)
		}))
	}
}

// endedFor selects tasks that ended longer ago than a time in milliseconds.
func (b *Base) endedFor(milliseconds int64) predicate.QueuedTask {
	return func(s *entsql.Selector) {
		column := s.C(queuedtask.FieldWorkflowStoppedDate)
		s.Where(entsql.P(func(q *entsql.Builder) {
			before, after, _ := strings.Cut(b.ago("?"), "?")
			q.WriteString(column + " < " + before).Arg(milliseconds).WriteString(after)
		}))
	}
}

// deadKeys writes a query of the keys of the dead letters with the statuses and kinds of a filter. It reads the first entry of
// each key in the index taskkit_dead.
func (b *Base) deadKeys(q *entsql.Builder, f store.Filter) {
	key, none, indexed := lifecycle.DeadKey("d."), "''::text", ""
	if b.Dialect() == dialect.SQLite {
		none, indexed = "''", " INDEXED BY taskkit_dead"
	}
	q.WriteString(b.SQL("WITH RECURSIVE keys(key) AS (\n  SELECT " + none + "\n  UNION ALL\n  SELECT (SELECT " + key + " FROM {s}taskkit_queued_task d" + indexed +
		"\n    WHERE " + key + " IS NOT NULL AND " + key + " > k.key ORDER BY " + key + " LIMIT 1)\n  FROM keys k WHERE k.key IS NOT NULL\n) SELECT key FROM keys WHERE key <> ''"))
	if len(f.Kinds) == 0 {
		if !slices.Contains(f.Statuses, lifecycle.Error) || !slices.Contains(f.Statuses, lifecycle.Failure) {
			q.WriteString(" AND key LIKE '" + string(f.Statuses[0]) + " %'")
		}
		if f.Roots {
			q.WriteString(" AND key NOT LIKE '%" + lifecycle.ChildKey + "'")
		}
		return
	}
	var keys []string
	for _, status := range f.Statuses {
		for _, kind := range f.Kinds {
			keys = append(keys, string(status)+" "+kind)
			if !f.Roots {
				keys = append(keys, string(status)+" "+kind+lifecycle.ChildKey)
			}
		}
	}
	if b.Dialect() == dialect.SQLite {
		q.WriteString(" AND key IN (SELECT value FROM json_each(").Arg(JSONList(keys)).WriteString("))")
	} else {
		q.WriteString(" AND key = ANY(").Arg(keys).WriteString("::text[])")
	}
}

// fromDead writes a table d of dead letters: of each key what page writes, given a query of the dead letters of the key, newest first. The
// columns of a page are these, wanted and last, see [walk].
func (b *Base) fromDead(q *entsql.Builder, f store.Filter, columns []string, page func(q *entsql.Builder, t *entsql.Selector)) {
	t := entsql.Dialect(string(b.Dialect())).Select().From(entsql.Table(queuedtask.Table).Schema(b.Schema()).As("q"))
	t.Select(t.Columns(columns...)...)
	b.keyed(t, lifecycle.DeadKey("q."), func(q *entsql.Builder) { q.WriteString("k.key") }, f.Before)
	t.OrderBy(entsql.Desc(t.C(queuedtask.FieldID)))
	if b.Dialect() != dialect.SQLite {
		// PostgreSQL estimates one row here, instead of a hundred, each with a whole page: it would compile the statement (jit_above_cost).
		q.WriteString("(SELECT key FROM pg_catalog.unnest(ARRAY(")
		b.deadKeys(q, f)
		q.WriteString(")) AS keys(key) LIMIT (SELECT 9223372036854775807)) k CROSS JOIN LATERAL (")
		page(q, t)
		q.WriteString(") d")
		return
	}
	q.WriteString("(")
	b.deadKeys(q, f)
	q.WriteString(") k CROSS JOIN json_each((SELECT json_group_array(json_array(id, wanted, last)) FROM (")
	page(q, t)
	q.WriteString("))) e CROSS JOIN taskkit_queued_task d ON d.id = e.value ->> 0")
}

// countDeadKeys counts the keys of [Base.deadKeys].
func (b *Base) countDeadKeys(ctx context.Context, f store.Filter) (n int, err error) {
	keys := entsql.P(func(q *entsql.Builder) {
		q.WriteString("SELECT count(*) FROM (")
		b.deadKeys(q, f)
		q.WriteString(") k")
	})
	keys.SetDialect(string(b.Dialect()))
	query, args := keys.Query()
	if _, err = sqlrows.Query(ctx, b.q, query, args, func(rows *sql.Rows) error { return rows.Scan(&n) }); err != nil {
		return 0, fmt.Errorf("count the kinds of dead letters: %w", err)
	}
	return n, nil
}

// DeadGroups implements [store.Ops].
func (b *Base) DeadGroups(ctx context.Context, f store.Filter, total int) (found store.DeadGroups, err error) {
	f = store.Filter{
		Statuses: []lifecycle.Status{lifecycle.Error, lifecycle.Failure},
		Kinds:    f.Kinds, Queue: f.Queue, Code: f.Code, EndedFor: f.EndedFor, Roots: f.Roots,
	}
	keys := 0
	if total > 0 {
		if keys, err = b.countDeadKeys(ctx, f); err != nil {
			return store.DeadGroups{}, err
		}
	}
	share := store.DeadShare(total, keys)
	code := b.code("coalesce(d.workflow_status_desc, '')")
	groups := entsql.P(func(q *entsql.Builder) {
		q.WriteString(`SELECT kind, code, count(*) FILTER (WHERE wanted), min(ended) FILTER (WHERE wanted), max(ended) FILTER (WHERE wanted), max(id) FILTER (WHERE wanted), max(n)
FROM (SELECT d.execution_component_name AS kind, ` + code + ` AS code, d.workflow_stopped_date AS ended, CAST(d.id AS text) AS id, count(*) OVER (PARTITION BY k.key) AS n, true`)
		if f.Queue != "" {
			q.WriteString(" AND d.queue = ").Arg(f.Queue)
		}
		if f.Code != "" {
			q.WriteString(" AND " + code + " = ").Arg(f.Code)
		}
		if f.EndedFor > 0 {
			before, after, _ := strings.Cut(b.ago("?"), "?")
			q.WriteString(" AND d.workflow_stopped_date < " + b.SQL(before)).Arg(Millis(f.EndedFor)).WriteString(after)
		}
		q.WriteString(" AS wanted\nFROM ")
		columns := []string{queuedtask.FieldID, queuedtask.FieldExecutionComponentName, queuedtask.FieldQueue, queuedtask.FieldWorkflowStatusDesc, queuedtask.FieldWorkflowStoppedDate}
		b.fromDead(q, f, columns, func(q *entsql.Builder, t *entsql.Selector) { firstOf(q, t, share) })
		q.WriteString("\n) x GROUP BY kind, code ORDER BY kind, code")
	})
	groups.SetDialect(string(b.Dialect()))
	query, args := groups.Query()
	_, err = sqlrows.Query(ctx, b.q, query, args, func(rows *sql.Rows) error {
		var (
			g    store.DeadGroup
			id   sql.NullString
			read int
		)
		err := rows.Scan(&g.Kind, &g.Code, &g.Tasks, sqlrows.Time(&g.Oldest), sqlrows.Time(&g.Newest), &id, &read)
		if err == nil && read >= share && !slices.Contains(found.Truncated, g.Kind) {
			found.Truncated = append(found.Truncated, g.Kind)
		}
		if err != nil || g.Tasks == 0 {
			return err
		}
		g.Example, err = uuid.Parse(id.String)
		found.Groups = append(found.Groups, g)
		return err
	})
	if err != nil {
		return store.DeadGroups{}, fmt.Errorf("group the dead letters: %w", err)
	}
	return found, nil
}
