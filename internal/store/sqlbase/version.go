package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// newestVersions reads the newest versions of the references of some tasks, by the keys of their limits. The caller has locked
// these, so that no task of a newer version has executed that is not read.
func (t Statements) newestVersions(ctx context.Context, q store.Querier, tasks []store.PermitRequest) (map[string]int64, error) {
	var kinds, references []string
	for _, a := range tasks {
		if v := a.Versioned; v != nil {
			kinds, references = append(kinds, v.Kind), append(references, v.Reference)
		}
	}
	if len(kinds) == 0 {
		return nil, nil //nolint:nilnil // no versions are an answer
	}
	newest := make(map[string]int64)
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT execution_component_name, reference, version FROM {s}taskkit_reference_version
WHERE execution_component_name `+t.anyText("$1")+` AND reference `+t.anyText("$2")+` AND version IS NOT NULL`),
		[]any{t.textsArg(kinds), t.textsArg(references)}, func(rows *sql.Rows) error {
			var (
				v store.Versioned
				n int64
			)
			err := rows.Scan(&v.Kind, &v.Reference, &n)
			newest[v.Limit().Key] = n
			return err
		})
	return newest, err
}

// PruneVersions implements [store.Upkeep].
func (b *Base) PruneVersions(ctx context.Context, p store.OldVersions) (n int, err error) {
	kinds, err := b.versionedKinds(ctx)
	for _, kind := range kinds {
		check := p.Check(kind)
		if check <= 0 {
			continue
		}
		var done int
		if done, err = b.oldVersions(ctx, "DELETE FROM {s}taskkit_reference_version AS v", kind, "true", p.Unused, p.Limit-n); err == nil {
			n += done
			done, err = b.oldVersions(ctx, "UPDATE {s}taskkit_reference_version AS v SET unused = "+versionUnused+", checked_date = {now}", kind, "false", check, p.Limit-n)
			n += done
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("remove old versions of references: %w", err)
	}
	return n, nil
}

// versionUnused reports whether no task with a version of the reference of v exists. Each is looked for in the index of references, by
// an expression that PostgreSQL can serve by nothing else: see [Base.keyed].
const versionUnused = `(SELECT q.id FROM {s}taskkit_queued_task q
  WHERE q.reference || '' IS NOT NULL AND q.reference || '' >= v.reference || '' AND q.reference || '' <= v.reference || ''
    AND CASE WHEN q.execution_component_name = v.execution_component_name AND q.reference_version IS NOT NULL THEN true ELSE false END
  ORDER BY q.reference || '', q.id LIMIT 1) IS NULL`

// oldVersions executes a statement for a page of the versions of a kind that were checked longer ago than this. A row that a submission
// has locked is skipped: its version may be stored.
func (b *Base) oldVersions(ctx context.Context, statement, kind, unused string, ago time.Duration, limit int) (n int, err error) {
	if limit <= 0 {
		return 0, nil
	}
	// PostgreSQL reads a page of the index, whatever its statistics say: no other has this order, and it takes the rows that are compared for many.
	ids, err := sqlrows.IDs(ctx, b.q, b.SQL(`SELECT id FROM (SELECT id, execution_component_name, unused FROM {s}taskkit_reference_version
  WHERE (execution_component_name, unused, checked_date) <= ($1, `+unused+`, (SELECT `+b.ago("$2")+`))
  ORDER BY execution_component_name DESC, unused DESC, checked_date DESC LIMIT $3
) page WHERE execution_component_name = $1 AND unused = `+unused), kind, Millis(ago), int64(limit))
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	err = b.writeOne(ctx, func(q store.Querier) error {
		r, err := q.ExecContext(ctx, b.SQL(statement+"\nWHERE v.id IN (SELECT id FROM {s}taskkit_reference_version WHERE id "+b.anyID("$1")+
			" AND unused = "+unused+" AND checked_date <= "+b.ago("$2")+" "+b.skipLocked()+")"),
			b.idsArg(ids), Millis(ago))
		if err != nil {
			return err
		}
		changed, err := r.RowsAffected()
		n = int(changed)
		return err
	})
	return n, err
}

// versionedKinds reads the kinds that have versions, each by a step in the index.
func (b *Base) versionedKinds(ctx context.Context) (kinds []string, err error) {
	after := ""
	for {
		var next sql.NullString
		_, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT min(execution_component_name) FROM {s}taskkit_reference_version WHERE execution_component_name > $1"),
			[]any{after}, func(rows *sql.Rows) error { return rows.Scan(&next) })
		if err != nil || !next.Valid {
			return kinds, err
		}
		after = next.String
		kinds = append(kinds, after)
	}
}
