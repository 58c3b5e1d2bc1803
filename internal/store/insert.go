package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
)

const (
	// aimParams is how many parameters a statement of many tasks has. SQLite
	// allows 32,766 and PostgreSQL 65,535, but SQLite looks for each among those
	// before it, which shows beyond a thousand.
	aimParams = 1000
	// maxRows bounds one statement whose tasks differ in little.
	maxRows = 500
)

// ErrCannotAsk: replacing a waiting task needs a handle that can also query.
var ErrCannotAsk = errors.New("a task with a reference needs a handle that can query as well as execute")

// Insert stores tasks through any handle, without knowing which database is
// behind it: the text of the statement says both.
//
// A key that is taken leaves the transaction usable and is a *[DuplicateError],
// with the id of the task that has it where the handle can ask. A task with a
// Reference replaces the waiting task of the same kind and reference, if there
// is one that was never claimed, and takes its id. On a *sql.DB all tasks are
// stored or none; on another handle that is up to the caller's transaction.
//
// With notify, workers that listen are told when the transaction commits. The
// caller limits how often: a COMMIT with a notification takes a lock on the
// whole PostgreSQL cluster.
func Insert(ctx context.Context, h Execer, schema string, tasks []NewTask, notify bool) error {
	schema, err := migrate.Schema(dialect.Postgres, schema)
	if err != nil {
		return err
	}
	for i := range tasks {
		if err := tasks[i].check(); err != nil {
			return err
		}
	}
	i := inserter{
		handle: h, schema: schema, notify: notify,
		table: dialect.Either(`"`+schema+`".taskkit_queued_task`, "taskkit_queued_task"),
	}
	db, whole := h.(*sql.DB)
	if !whole || len(tasks) == 1 {
		return i.all(ctx, tasks)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin to store %d tasks: %w", len(tasks), err)
	}
	defer func() { _ = tx.Rollback() }()
	i.handle = tx
	if err := i.all(ctx, tasks); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit %d tasks: %w", len(tasks), &UnknownError{err})
	}
	return nil
}

// check refuses what no database could hold.
func (t *NewTask) check() error {
	for _, k := range [][2]string{
		{"kind", t.Kind},
		{"queue", t.Queue},
		{"reference", t.Reference},
		{"unique_key", t.UniqueKey},
		{"idempotency_key", t.IdempotencyKey},
		{"traceparent", t.Traceparent},
	} {
		if err := checkKey(k[0], k[1]); err != nil {
			return err
		}
	}
	if t.Delay != 0 && !t.NotBefore.IsZero() {
		return errors.New("a new task has either a time or a delay")
	}
	return nil
}

// inserter stores tasks through one handle.
type inserter struct {
	handle Execer
	schema string
	table  string
	notify bool
}

// all stores tasks of any kind: those with a reference one by one, the others
// many a statement.
func (i *inserter) all(ctx context.Context, tasks []NewTask) error {
	var plain []*NewTask
	for n := range tasks {
		if tasks[n].Reference != "" {
			if err := i.coalesce(ctx, &tasks[n]); err != nil {
				return err
			}
			continue
		}
		plain = append(plain, &tasks[n])
	}
	if len(plain) == 0 {
		return nil
	}
	s := newShape(plain)
	for step := s.rows(); len(plain) > 0; {
		n := min(step, len(plain))
		if err := i.many(ctx, s, plain[:n]); err != nil {
			return err
		}
		plain = plain[n:]
	}
	return nil
}

// many stores tasks in one statement.
func (i *inserter) many(ctx context.Context, s shape, tasks []*NewTask) error {
	query, args := s.values(i.table, tasks)
	query += "\nON CONFLICT DO NOTHING"
	if i.hint(tasks) {
		query += "\n" + dialect.Either("RETURNING pg_notify('"+channel(i.schema)+"', queue)", "")
	}
	// A key that is taken when the statement runs may be free when its holder
	// is looked for; then the statement is worth another try.
	for try := 1; ; try++ {
		r, err := i.handle.ExecContext(ctx, query, args...)
		if err != nil {
			return fmt.Errorf("store %d tasks of kind %s: %w", len(tasks), tasks[0].Kind, err)
		}
		n, err := r.RowsAffected()
		if err != nil {
			return fmt.Errorf("count the tasks stored: %w", err)
		}
		if n == int64(len(tasks)) {
			return nil
		}
		dup, err := i.duplicate(ctx, tasks)
		if err != nil {
			return err
		}
		if dup != nil && (len(tasks) > 1 || dup.ID != uuid.Nil || try == 3) {
			return dup
		}
		if dup == nil || len(tasks) > 1 {
			return &DuplicateError{Kind: tasks[0].Kind, Column: "id", Key: tasks[0].ID.String(), ID: tasks[0].ID}
		}
		if _, ok := i.handle.(Querier); !ok {
			return dup
		}
	}
}

// hint reports whether workers should be told of these tasks.
func (i *inserter) hint(tasks []*NewTask) bool {
	if !i.notify {
		return false
	}
	for _, t := range tasks {
		if t.Delay <= 0 && t.NotBefore.IsZero() {
			return true
		}
	}
	return false
}

// coalesce stores a task with a reference, or replaces the waiting one
// (CER-14): the newer spec, reason and time, and a fresh budget of attempts.
func (i *inserter) coalesce(ctx context.Context, t *NewTask) error {
	q, ok := i.handle.(Querier)
	if !ok {
		return ErrCannotAsk
	}
	one := []*NewTask{t}
	if t.UniqueKey != "" || t.IdempotencyKey != "" {
		if dup, err := i.duplicate(ctx, one); err != nil || dup != nil && dup.ID != uuid.Nil {
			return errors.Join(err, asError(dup))
		}
	}
	query, args := newShape(one).values(i.table, one)
	query += `
ON CONFLICT (execution_component_name, reference) WHERE reference IS NOT NULL AND workflow_status = 'QUEUED' AND fence = 0
DO UPDATE SET execution_spec = excluded.execution_spec, execution_state = excluded.execution_state,
  codec_revision = excluded.codec_revision, secrets = excluded.secrets, not_before = excluded.not_before, priority = excluded.priority,
  reason = excluded.reason, items_total = excluded.items_total, attempts = 0,
  created_date = excluded.created_date, modified_date = excluded.modified_date, modified_by = excluded.modified_by
RETURNING id, `
	if i.hint(one) {
		query += dialect.Either("pg_notify('"+channel(i.schema)+"', queue)", "NULL")
	} else {
		query += "NULL"
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err == nil {
		_, err = each(rows, func(rows *sql.Rows) error {
			var hint any
			return rows.Scan(&t.ID, &hint)
		})
	}
	if violates(err) {
		return &DuplicateError{Kind: t.Kind, Column: "unique_key", Key: t.UniqueKey}
	}
	if err != nil {
		return fmt.Errorf("store a task of kind %s with reference %q: %w", t.Kind, t.Reference, err)
	}
	return nil
}

// duplicate finds the first of the tasks whose key another task has. Where the
// handle cannot ask, it is the first with a key, and the holder is unknown.
func (i *inserter) duplicate(ctx context.Context, tasks []*NewTask) (*DuplicateError, error) {
	q, asks := i.handle.(Querier)
	var first *DuplicateError
	for _, t := range tasks {
		for _, k := range []struct{ column, key, live string }{
			{"unique_key", t.UniqueKey, " AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')"},
			{"idempotency_key", t.IdempotencyKey, ""},
		} {
			if k.key == "" {
				continue
			}
			dup := &DuplicateError{Kind: t.Kind, Column: k.column, Key: k.key}
			if first == nil {
				first = dup
			}
			if !asks {
				continue
			}
			rows, err := q.QueryContext(ctx, "SELECT id FROM "+i.table+" WHERE execution_component_name = $1 AND "+
				k.column+" = $2"+k.live, t.Kind, k.key)
			if err != nil {
				return nil, fmt.Errorf("find the task that has %s %q: %w", k.column, k.key, err)
			}
			found, err := each(rows, func(rows *sql.Rows) error { return rows.Scan(&dup.ID) })
			if err != nil {
				return nil, fmt.Errorf("find the task that has %s %q: %w", k.column, k.key, err)
			}
			if found > 0 && dup.ID != t.ID {
				return dup, nil
			}
		}
	}
	return first, nil
}

// asError avoids a nil pointer in an error.
func asError(dup *DuplicateError) error {
	if dup == nil {
		return nil
	}
	return dup
}

// shape is which columns some tasks need, and which of them are the same in
// all: those are one parameter a statement, so that a thousand tasks of one
// person take two thousand parameters and not seventeen thousand.
type shape struct {
	columns []newColumn
	shared  []bool
}

// newColumn is a parameter of a new task and the columns that take it.
type newColumn struct {
	names []string
	value func(*NewTask) any
	// expr makes the SQL of a value that is more than its parameter.
	expr func(t *NewTask, param string) string
}

func newColumns() []newColumn {
	text := func(get func(*NewTask) string) func(*NewTask) any {
		return func(t *NewTask) any {
			if s := get(t); s != "" {
				return s
			}
			return nil
		}
	}
	return []newColumn{
		{names: []string{"id"}, value: func(t *NewTask) any { return t.ID.String() }},
		{names: []string{"owner_id", "created_by", "modified_by"}, value: func(t *NewTask) any { return t.Owner.String() }},
		{names: []string{"run_as_id"}, value: func(t *NewTask) any { return t.RunAs.String() }},
		{names: []string{"execution_component_name"}, value: func(t *NewTask) any { return t.Kind }},
		{names: []string{"execution_spec"}, value: text(func(t *NewTask) string { return string(t.Spec) })},
		{names: []string{"codec_revision"}, value: func(t *NewTask) any { return int64(t.Revision) }},
		{names: []string{"secrets"}, value: text(func(t *NewTask) string { return t.Secrets })},
		{names: []string{"not_before"}, value: func(t *NewTask) any { return t.due() }, expr: (*NewTask).dueSQL},
		{names: []string{"queue"}, value: func(t *NewTask) any { return t.Queue }},
		{names: []string{"priority"}, value: func(t *NewTask) any { return int64(t.Priority) }},
		{names: []string{"reference"}, value: text(func(t *NewTask) string { return t.Reference })},
		{names: []string{"reason"}, value: text(func(t *NewTask) string { return clean(t.Reason) })},
		{names: []string{"unique_key"}, value: text(func(t *NewTask) string { return t.UniqueKey })},
		{names: []string{"idempotency_key"}, value: text(func(t *NewTask) string { return t.IdempotencyKey })},
		{names: []string{"items_total"}, value: func(t *NewTask) any {
			if t.Total < 0 {
				return nil
			}
			return t.Total
		}},
		{names: []string{"parent_id"}, value: func(t *NewTask) any {
			if t.Parent == uuid.Nil {
				return nil
			}
			return t.Parent.String()
		}},
		{names: []string{"traceparent"}, value: text(func(t *NewTask) string { return t.Traceparent })},
	}
}

// due is the parameter of not_before; nil is the database's now.
func (t *NewTask) due() any {
	switch {
	case t.Delay > 0:
		return fmt.Sprintf("+%.3f seconds", t.Delay.Seconds())
	case !t.NotBefore.IsZero():
		return t.NotBefore.UTC().Format("2006-01-02 15:04:05.000000") + "+00:00"
	default:
		return nil
	}
}

// dueSQL is the value of not_before.
func (t *NewTask) dueSQL(param string) string {
	switch {
	case t.Delay > 0:
		return dialect.Either("clock_timestamp() + "+param+"::text::interval", "strftime('%Y-%m-%d %H:%M:%f', 'now', "+param+")")
	case !t.NotBefore.IsZero():
		return dialect.Either(param+"::text::timestamptz", "strftime('%Y-%m-%d %H:%M:%f', "+param+")")
	default:
		return dialect.Either("clock_timestamp()", sqliteNow)
	}
}

// newShape leaves out columns that no task has, and finds the shared ones.
func newShape(tasks []*NewTask) shape {
	var s shape
	for _, c := range newColumns() {
		first := c.value(tasks[0])
		shared, used := true, first != nil
		for _, t := range tasks[1:] {
			v := c.value(t)
			shared = shared && v == first
			used = used || v != nil
			if used && !shared {
				break
			}
		}
		if used {
			s.columns = append(s.columns, c)
			s.shared = append(s.shared, shared)
		}
	}
	return s
}

// rows is how many tasks fit into one statement.
func (s shape) rows() int {
	own := 0
	for _, shared := range s.shared {
		if !shared {
			own++
		}
	}
	if own == 0 {
		return maxRows
	}
	return min(maxRows, max(aimParams/own, 1))
}

// values returns INSERT ... VALUES for tasks, and its parameters.
func (s shape) values(table string, tasks []*NewTask) (string, []any) {
	var (
		b    strings.Builder
		args []any
		have = make([]string, len(s.columns))
	)
	b.WriteString("INSERT INTO " + table + " (")
	for i, c := range s.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.Join(c.names, ", "))
		if s.shared[i] {
			args = append(args, c.value(tasks[0]))
			have[i] = "$" + strconv.Itoa(len(args))
		}
	}
	b.WriteString(") VALUES")
	for n, t := range tasks {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n(")
		for i, c := range s.columns {
			param := have[i]
			value := any(nil)
			if !s.shared[i] {
				value = c.value(t)
			}
			switch {
			case s.shared[i]:
			case value == nil && c.expr == nil:
				param = "NULL"
			case value != nil:
				args = append(args, value)
				param = "$" + strconv.Itoa(len(args))
			}
			if c.expr != nil {
				param = c.expr(t, param)
			}
			for k := range c.names {
				if i+k > 0 {
					b.WriteString(", ")
				}
				b.WriteString(param)
			}
		}
		b.WriteByte(')')
	}
	return b.String(), args
}

// millis is a duration as the statements take it.
func millis(d time.Duration) int64 { return max(d.Milliseconds(), 0) }
