package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store/sqlrows"
)

const (
	// maxRows and maxBytes bound one statement. Rows beyond a thousand gain
	// nothing, and a parameter is in memory more than once at both ends.
	maxRows  = 1000
	maxBytes = 4 << 20
)

// ErrCannotQuery: replacing a waiting task needs a handle that can also query.
var ErrCannotQuery = errors.New("a task with a reference needs a handle that can query as well as execute")

// Insert stores tasks through any handle, without knowing which database is
// behind it: the text of the statement says both.
//
// A key that is taken leaves the transaction usable and is a *[DuplicateError],
// with the id of the task that has it where the handle can query. A task with a
// Reference is merged into the waiting task of the same kind and reference, if
// there is one, and takes its id. If that is another person's or in another queue
// it is a *[CoalesceError], and nothing is stored. If its version is not newer than the version of an earlier one it is a
// *[SupersededError], and nothing is stored. If that is paused all is stored,
// and the error is a *[PausedError]. On a *sql.DB all tasks are stored or none; on
// another handle that is up to the caller's transaction.
//
// With notify, workers that listen are notified when the transaction commits. The
// caller limits how often: a COMMIT with a notification takes a lock on the
// whole PostgreSQL cluster.
func Insert(ctx context.Context, h Execer, schema string, tasks []NewTask, notify bool) error {
	schema, err := dialect.Schema(dialect.Postgres, schema)
	if err != nil {
		return err
	}
	all := make([]*NewTask, len(tasks))
	hasActor := slices.ContainsFunc(tasks, func(t NewTask) bool { return t.Actor != uuid.Nil })
	for i := range tasks {
		if hasActor && tasks[i].Actor == uuid.Nil {
			tasks[i].Actor = tasks[i].Owner
		}
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
	if !whole || atOnce(all) {
		if err := i.all(ctx, all); err != nil {
			return classify.OfShared(err)
		}
		return asError(i.paused)
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
	return asError(i.paused)
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
	if t.Version != nil && (t.Reference == "" || *t.Version < 0) {
		return errors.New("a version is of a reference, and not negative")
	}
	if t.Reference != "" && (t.HasPlan() || t.Start.Given()) {
		return errors.New("a task with frozen targets, options or a start has no reference")
	}
	return nil
}

// atOnce reports whether the tasks are stored by one statement that stores all
// of them or fails.
func atOnce(tasks []*NewTask) bool {
	return fit(tasks) == len(tasks) && !slices.ContainsFunc(tasks, func(t *NewTask) bool {
		return t.Reference != "" || t.HasPlan() || len(tasks) > 1 && t.keyed()
	})
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
	paused *PausedError // the first task that is paused and took a submission
}

// all stores tasks of any kind: those with a reference or with pages of targets one
// by one, the others many a statement.
func (i *inserter) all(ctx context.Context, tasks []*NewTask) error {
	var plain, planned []*NewTask
	for _, t := range tasks {
		switch {
		case t.hasTargetPages():
			if err := i.withPlan(ctx, t); err != nil {
				return err
			}
		case t.HasPlan():
			planned = append(planned, t)
		case t.Reference != "":
			if err := i.coalesce(ctx, t); err != nil {
				return err
			}
		default:
			plain = append(plain, t)
		}
	}
	for len(plain) > 0 {
		n := fit(plain)
		if err := i.many(ctx, plain[:n]); err != nil {
			return err
		}
		plain = plain[n:]
	}
	for len(planned) > 0 {
		n := fit(planned)
		if err := i.withPlans(ctx, planned[:n]); err != nil {
			return err
		}
		planned = planned[n:]
	}
	return nil
}

// many stores tasks in one statement. What may conflict without a key is the id
// alone, which is never another task's: PostgreSQL then need not look into its
// unique indexes before it writes, nor write in two steps.
func (i *inserter) many(ctx context.Context, tasks []*NewTask) error {
	query, args := insertOf(i.table, tasks)
	if slices.ContainsFunc(tasks, (*NewTask).keyed) {
		query += "\nON CONFLICT DO NOTHING"
	}
	query += i.notification(tasks)
	// A key that is taken when the statement runs may be free when the task
	// that has it is read; then the statement is tried again.
	for try := 1; ; try++ {
		r, err := i.handle.ExecContext(ctx, query, args...)
		if classify.UniqueViolation(err) && len(tasks) == 1 {
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
		dup, err := i.duplicate(ctx, tasks, nil)
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

// notification is the end of a statement that notifies workers of these tasks, or ""
// if they need not be notified.
func (i *inserter) notification(tasks []*NewTask) string {
	if !i.wakes(tasks) {
		return ""
	}
	return "\n" + dialect.Either("RETURNING pg_notify('"+NotifyChannel(i.schema)+"', queue)", "")
}

// wakes reports whether the insert of these tasks wakes workers.
func (i *inserter) wakes(tasks []*NewTask) bool {
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

// duplicate finds the first of the tasks whose key another task has, the idempotency key
// first: of a request that is repeated both keys are taken, and by its own task. That one of
// the tasks to be merged into has the same unique key does not count. Where the
// handle cannot query, it is the first with a key, and the other task is unknown.
func (i *inserter) duplicate(ctx context.Context, tasks []*NewTask, merged []waitingTask) (*DuplicateError, error) {
	q, queries := i.handle.(Querier)
	var first *DuplicateError
	for _, t := range tasks {
		for _, k := range []struct{ column, key, more string }{
			{
				"idempotency_key", t.IdempotencyKey, "\nUNION ALL SELECT task_id FROM " + i.mergedKeys() +
					" WHERE execution_component_name = $1 AND idempotency_key = $2",
			},
			{"unique_key", t.UniqueKey, " AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')"},
		} {
			if k.key == "" {
				continue
			}
			dup := &DuplicateError{Kind: t.Kind, Column: k.column, Key: k.key}
			if first == nil {
				first = dup
			}
			if !queries {
				continue
			}
			query := "SELECT id FROM " + i.table + " WHERE execution_component_name = $1 AND " + k.column + " = $2" + k.more
			rows, err := q.QueryContext(ctx, query, t.Kind, k.key) //nolint:rowserrcheck // sqlrows.Scan does
			if err != nil {
				return nil, fmt.Errorf("find the task that has %s %q: %w", k.column, k.key, err)
			}
			found, err := sqlrows.Scan(rows, func(rows *sql.Rows) error { return rows.Scan(&dup.ID) })
			if err != nil {
				return nil, fmt.Errorf("find the task that has %s %q: %w", k.column, k.key, err)
			}
			own := k.column == "unique_key" && slices.ContainsFunc(merged, func(w waitingTask) bool { return w.id == dup.ID })
			if found > 0 && dup.ID != t.ID && !own {
				return dup, nil
			}
			if own {
				dup.ID = uuid.Nil
			}
		}
	}
	return first, nil
}

// asError avoids a nil pointer in an error.
func asError[E any, P interface {
	*E
	error
}](err P) error {
	if err == nil {
		return nil
	}
	return err
}
