package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// pauseKeys are the keys of paused tasks in the index taskkit_paused, see [lifecycle.PauseKey]: only of tasks that wait for approval, and only of
// tasks without a parent.
func pauseKeys(approval, roots bool) []string {
	keys := []string{lifecycle.CauseApproval}
	if !approval {
		keys = append(keys, lifecycle.CausePaused)
	}
	if !roots {
		for _, key := range keys {
			keys = append(keys, key+lifecycle.ChildKey)
		}
	}
	return keys
}

// pausedOf selects the paused tasks of a key from t, the table of tasks as q, newest first.
func (b *Base) pausedOf(t *entsql.Selector, key func(*entsql.Builder), before uuid.UUID) *entsql.Selector {
	b.keyed(t.Where(entsql.ExprP(lifecycle.IsPaused("q."))), lifecycle.PauseKey("q."), key, before)
	return t.OrderBy(entsql.Desc(t.C(queuedtask.FieldID)))
}

// paused returns the queries of paused tasks, one for each key. Together they read no more than [store.ListRead].
func (l *list) paused() (walks []walk) {
	others := append(conditions(keysOf(l.f)), l.others()...)
	keys := pauseKeys(l.f.Approval, l.f.Roots)
	for _, key := range keys {
		walks = append(walks, func(q *entsql.Builder) {
			t := l.pausedOf(l.table(), func(q *entsql.Builder) {
				if l.Dialect() == dialect.SQLite {
					q.Arg(key)
				} else {
					q.WriteString("(SELECT ").Arg(key).WriteString("::text)")
				}
			}, l.f.Before)
			l.search(q, t, store.ListRead/len(keys), others)
		})
	}
	return walks
}

// countPaused adds to counts how many tasks are paused, and how many of them wait for approval, up to a number of each. It reads the tasks and not
// the index alone, since PostgreSQL cannot conclude a column from an expression.
func (b *Base) countPaused(ctx context.Context, most int, counts map[string]int64) error {
	p := entsql.P(func(q *entsql.Builder) {
		q.WriteString("SELECT k.key, (SELECT count(*) FROM (")
		t := entsql.Dialect(string(b.Dialect())).Select().From(entsql.Table(queuedtask.Table).Schema(b.Schema()).As("q"))
		q.Join(b.pausedOf(t.Select(t.C(queuedtask.FieldID)), func(q *entsql.Builder) { q.WriteString("k.key") }, uuid.Nil).Limit(most))
		q.WriteString(") p) FROM (SELECT '" + strings.Join(pauseKeys(false, false), "' AS key UNION ALL SELECT '") + "' AS key")
		if b.Dialect() != dialect.SQLite {
			// PostgreSQL estimates one row here, instead of four, each with as many tasks as are counted: it would compile the statement (jit_above_cost).
			q.WriteString(" LIMIT (SELECT 9223372036854775807)")
		}
		q.WriteString(") k")
	})
	p.SetDialect(string(b.Dialect()))
	query, args := p.Query()
	_, err := sqlrows.Query(ctx, b.q, query, args, func(rows *sql.Rows) error {
		var (
			key string
			n   int64
		)
		if err := rows.Scan(&key, &n); err != nil || n == 0 {
			return err
		}
		cause := strings.TrimSuffix(key, lifecycle.ChildKey)
		counts[cause] = min(counts[cause]+n, int64(most))
		return nil
	})
	if err != nil {
		return fmt.Errorf("count the paused tasks: %w", err)
	}
	return nil
}

// AwaitingApproval implements [store.Diagnosis].
func (b *Base) AwaitingApproval(ctx context.Context, now time.Time, since time.Duration, limit int) (found []store.Awaiting, err error) {
	l := &list{
		Base: b, f: store.Filter{Approval: true, Before: firstOfTime(now.Add(-since))}, limit: store.ListRead,
		columns: []string{
			queuedtask.FieldID, queuedtask.FieldExecutionComponentName, queuedtask.FieldModifiedDate,
			queuedtask.FieldWorkflowStatus, queuedtask.FieldControl, queuedtask.FieldControlReason,
		},
	}
	p := entsql.P(func(q *entsql.Builder) {
		q.WriteString("SELECT t.id, t.execution_component_name, t.modified_date FROM (")
		union(q, l.paused())
		before, after, _ := strings.Cut(b.ago("?"), "?")
		q.WriteString(") t WHERE t.wanted AND t.modified_date < " + before).Arg(Millis(since)).WriteString(after + " ORDER BY t.id LIMIT ").Arg(int64(limit))
	})
	p.SetDialect(string(b.Dialect()))
	query, args := p.Query()
	_, err = sqlrows.Query(ctx, b.q, query, args, func(rows *sql.Rows) error {
		var a store.Awaiting
		err := rows.Scan(&a.ID, &a.Kind, sqlrows.Time(&a.Since))
		found = append(found, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for tasks that wait for approval: %w", err)
	}
	return found, nil
}
