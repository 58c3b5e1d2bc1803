package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
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
		s.Where(entsql.P(func(q *entsql.Builder) {
			q.WriteString(b.code("coalesce("+s.C(queuedtask.FieldWorkflowStatusDesc)+", '')") + " = ").Arg(code)
		}))
	}
}

// endedFor selects tasks that ended longer ago than a time in milliseconds.
func (b *Base) endedFor(milliseconds int64) predicate.QueuedTask {
	return func(s *entsql.Selector) {
		s.Where(entsql.P(func(q *entsql.Builder) {
			before, after, _ := strings.Cut(b.ago("?"), "?")
			q.WriteString(s.C(queuedtask.FieldWorkflowStoppedDate) + " < " + before).Arg(milliseconds).WriteString(after)
		}))
	}
}

// DeadGroups implements [store.Ops].
func (b *Base) DeadGroups(ctx context.Context, f store.Filter) (found []store.DeadGroup, err error) {
	where := "workflow_status IN (" + quoteList(lifecycle.Error, lifecycle.Failure) + ")"
	var args []any
	and := func(condition func(param string) string, arg any) {
		args = append(args, arg)
		where += "\n  AND " + condition(fmt.Sprint("$", len(args)))
	}
	code := b.code("coalesce(workflow_status_desc, '')")
	if len(f.Kinds) > 0 {
		var kinds any = f.Kinds
		if b.Dialect() == dialect.SQLite {
			kinds = JSONList(f.Kinds)
		}
		and(func(p string) string { return "execution_component_name " + b.anyOf(p, "") }, kinds)
	}
	if f.Queue != "" {
		and(func(p string) string { return "queue = " + p }, f.Queue)
	}
	if f.Code != "" {
		and(func(p string) string { return code + " = " + p }, f.Code)
	}
	if f.EndedFor > 0 {
		and(func(p string) string { return "workflow_stopped_date < " + b.ago(p) }, Millis(f.EndedFor))
	}
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT execution_component_name, `+code+` AS code, count(*), min(workflow_stopped_date), max(workflow_stopped_date), max(CAST(id AS text))
FROM {s}taskkit_queued_task WHERE `)+where+"\nGROUP BY 1, 2 ORDER BY 1, 2", args, func(rows *sql.Rows) error {
		var (
			g  store.DeadGroup
			id string
		)
		err := rows.Scan(&g.Kind, &g.Code, &g.Tasks, sqlrows.Time(&g.Oldest), sqlrows.Time(&g.Newest), &id)
		if err == nil {
			g.Example, err = uuid.Parse(id)
		}
		found = append(found, g)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("group the dead letters: %w", err)
	}
	return found, nil
}
