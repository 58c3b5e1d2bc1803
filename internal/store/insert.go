package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
)

const (
	// maxRows and maxBytes bound one statement. Rows beyond a thousand gain
	// nothing, and a parameter is in memory more than once at both ends.
	maxRows  = 1000
	maxBytes = 4 << 20
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
	all := make([]*NewTask, len(tasks))
	for i := range tasks {
		if err := tasks[i].check(); err != nil {
			return err
		}
		all[i] = &tasks[i]
	}
	i := inserter{
		handle: h, schema: schema, notify: notify,
		table: dialect.Either(`"`+schema+`".taskkit_queued_task`, "taskkit_queued_task"),
	}
	db, whole := h.(*sql.DB)
	if !whole || len(all) == 1 || atOnce(all) {
		return i.all(ctx, all)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin to store %d tasks: %w", len(tasks), err)
	}
	defer func() { _ = tx.Rollback() }()
	i.handle = tx
	if err := i.all(ctx, all); err != nil {
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

// atOnce reports whether the tasks are stored by one statement that stores all
// of them or fails.
func atOnce(tasks []*NewTask) bool {
	return fit(tasks) == len(tasks) && !slices.ContainsFunc(tasks, func(t *NewTask) bool { return t.Reference != "" || t.keyed() })
}

// fit is how many of the tasks one statement takes, of those without a
// reference.
func fit(tasks []*NewTask) int {
	size := 0
	for i, t := range tasks {
		size += len(t.Spec) + len(t.Reason)
		if i > 0 && (i == maxRows || size > maxBytes) {
			return i
		}
	}
	return len(tasks)
}

// keyed reports whether another task may have a key of this one.
func (t *NewTask) keyed() bool { return t.UniqueKey != "" || t.IdempotencyKey != "" }

// inserter stores tasks through one handle.
type inserter struct {
	handle Execer
	schema string
	table  string
	notify bool
}

// all stores tasks of any kind: those with a reference one by one, the others
// many a statement.
func (i *inserter) all(ctx context.Context, tasks []*NewTask) error {
	var plain []*NewTask
	for _, t := range tasks {
		if t.Reference == "" {
			plain = append(plain, t)
			continue
		}
		if err := i.coalesce(ctx, t); err != nil {
			return err
		}
	}
	for len(plain) > 0 {
		n := fit(plain)
		if err := i.many(ctx, plain[:n]); err != nil {
			return err
		}
		plain = plain[n:]
	}
	return nil
}

// many stores tasks in one statement. What may conflict without a key is the id
// alone, which is never another task's: PostgreSQL then need not look into its
// unique indexes before it writes, nor write in two steps.
func (i *inserter) many(ctx context.Context, tasks []*NewTask) error {
	s := newShape(tasks)
	query, args := s.insert(i.table, tasks)
	if slices.ContainsFunc(tasks, (*NewTask).keyed) {
		query += "\nON CONFLICT DO NOTHING"
	}
	if i.hint(tasks) {
		query += "\n" + dialect.Either("RETURNING pg_notify('"+channel(i.schema)+"', queue)", "")
	}
	// A key that is taken when the statement runs may be free when its holder
	// is looked for; then the statement is worth another try.
	for try := 1; ; try++ {
		r, err := i.handle.ExecContext(ctx, query, args...)
		if violates(err) && len(tasks) == 1 {
			return takenID(tasks[0])
		}
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
			return takenID(tasks[0])
		}
		if _, ok := i.handle.(Querier); !ok {
			return dup
		}
	}
}

// takenID says that there is a task of this id.
func takenID(t *NewTask) error {
	return &DuplicateError{Kind: t.Kind, Column: "id", Key: t.ID.String(), ID: t.ID}
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
	query, args := newShape(one).insert(i.table, one)
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
