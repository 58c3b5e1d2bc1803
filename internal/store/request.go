package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/workflow"
)

// Request implements [Operator].
func (b *base) Request(ctx context.Context, id uuid.UUID, r Request) (t Task, err error) {
	err = b.write(ctx, func(q Querier) (err error) {
		t, err = b.request(ctx, q, id, r)
		return err
	})
	if err != nil {
		var (
			state *StateError
			dup   *DuplicateError
		)
		if errors.Is(err, ErrNotFound) || errors.As(err, &state) || errors.As(err, &dup) {
			return Task{}, err
		}
		return Task{}, fmt.Errorf("%s task %s: %w", r.Action, id, err)
	}
	return t, nil
}

// asked is a task's row as a request finds it.
type asked struct {
	status    workflow.Status
	control   workflow.Control
	fence     int64
	kind      string
	uniqueKey string
	held      bool // a live process holds it
	known     bool // a live process would claim it
}

// request does what was asked, in the caller's transaction.
func (b *base) request(ctx context.Context, q Querier, id uuid.UUID, r Request) (Task, error) {
	in := newBase(q, b.schema, b.dialect)
	row, err := b.lock(ctx, q, id)
	if err != nil {
		return Task{}, err
	}
	if row.status.InFlight() && !row.held {
		// Nobody would see the request: take the task back first.
		if _, _, err := b.release(ctx, q); err != nil {
			return Task{}, err
		}
		if row, err = b.lock(ctx, q, id); err != nil {
			return Task{}, err
		}
	}
	set, err := decide(id, row, r.Action)
	if err != nil {
		return Task{}, err
	}
	if err := b.note(ctx, q, id, r, row.status); err != nil {
		return Task{}, err
	}
	if set == remove {
		t, err := in.Task(ctx, id)
		if err != nil {
			return Task{}, err
		}
		if _, err := q.ExecContext(ctx, b.sql("DELETE FROM {s}taskkit_queued_task WHERE id = $1"), id.String()); err != nil {
			return Task{}, err
		}
		t.Control, t.ControlBy, t.ControlReason = workflow.Delete, r.Actor, clean(r.Reason)
		return t, nil
	}
	if set != nothing {
		if r.Action == ActRetry {
			if err := b.keyIsFree(ctx, q, id, row); err != nil {
				return Task{}, err
			}
		}
		args := []any{id.String(), optional(r.Actor)}
		by := ", control_by = NULL, control_reason = NULL"
		if r.Action != ActResume && r.Action != ActRetry {
			by = ", control_by = $2, control_reason = nullif($3, '')"
			args = append(args, clean(r.Reason))
		}
		_, err := q.ExecContext(ctx, b.sql("UPDATE {s}taskkit_queued_task SET "+string(set)+by+`,
  modified_date = {now}, modified_by = coalesce($2, owner_id) WHERE id = $1`), args...)
		if violates(err) {
			return Task{}, &DuplicateError{Kind: row.kind, Column: "unique_key", Key: row.uniqueKey}
		}
		if err != nil {
			return Task{}, err
		}
		if err := b.tell(ctx, q, row, r.Action); err != nil {
			return Task{}, err
		}
	}
	return in.Task(ctx, id)
}

// lock reads a task's row and keeps it from changing until the transaction ends.
// It does not wait for a batch in progress, which holds a weaker lock.
func (b *base) lock(ctx context.Context, q Querier, id uuid.UUID) (asked, error) {
	columns := `workflow_status, control, fence, execution_component_name, coalesce(unique_key, '')`
	query := "SELECT " + columns + " FROM {s}taskkit_queued_task WHERE id = $1 FOR NO KEY UPDATE"
	if b.dialect == dialect.SQLite {
		// A write, so that this transaction is a writer from its beginning: one
		// that finds out later cannot wait for the lock.
		query = "UPDATE taskkit_queued_task SET modified_date = modified_date WHERE id = $1 RETURNING " + columns
	}
	var row asked
	n, err := ask(ctx, q, b.sql(query), []any{id.String()}, func(rows *sql.Rows) error {
		return rows.Scan(&row.status, &row.control, &row.fence, &row.kind, &row.uniqueKey)
	})
	if err != nil {
		return asked{}, err
	}
	if n == 0 {
		return asked{}, ErrNotFound
	}
	_, err = ask(ctx, q, b.sql(`SELECT EXISTS (SELECT 1 FROM {s}taskkit_task_process p
  WHERE p.id = q.scheduled_by_process AND p.ended_date IS NULL AND NOT (`)+b.silent()+`)), `+b.known()+b.sql(`
FROM {s}taskkit_queued_task q WHERE q.id = $1`), []any{id.String()}, func(rows *sql.Rows) error {
		return rows.Scan(&row.held, &row.known)
	})
	return row, err
}

// effect is what a request sets on a row.
type effect string

const (
	nothing effect = ""
	remove  effect = "remove"

	askStop   effect = "control = 'STOP'"
	askPause  effect = "control = 'PAUSE'"
	askDelete effect = "control = 'DELETE'"
	resume    effect = "control = ''"
	// A waiting task is due at once and goes before new ones, so that a worker
	// comes for it.
	stopWaiting   effect = "control = 'STOP', not_before = {now}, stalled = true"
	deleteWaiting effect = "control = 'DELETE', not_before = {now}, stalled = true"
	// Nobody has begun it, or nobody is there to end it.
	stopNow effect = "control = 'STOP', workflow_status = 'COMPLETED', workflow_stopped_date = {now}, workflow_status_desc = 'stopped while no worker had it'"
	retry   effect = "workflow_status = 'QUEUED', attempts = 0, control = '', workflow_stopped_date = NULL, stalled = false, not_before = {now}, reason = 'retried'"
)

// decide returns what an action does to a task in a state, or the *StateError
// that it does not allow it.
func decide(id uuid.UUID, row asked, a Action) (effect, error) {
	refuse := &StateError{ID: id, Action: a, Status: row.status, Control: row.control}
	ending := row.control == workflow.Stop || row.control == workflow.Delete
	waiting := row.status == workflow.Queued
	unattended := waiting && (row.fence == 0 || !row.known)
	switch a {
	case ActStop:
		switch {
		case row.status.Terminal():
			return nothing, nil
		case row.control == workflow.Delete:
			return nothing, nil // that ends it too
		case unattended:
			return stopNow, nil
		case row.control == workflow.Stop:
			return nothing, nil
		case waiting:
			return stopWaiting, nil
		}
		return askStop, nil
	case ActPause:
		switch {
		case row.status.Terminal() || ending:
			return nothing, refuse
		case row.control == workflow.Pause:
			return nothing, nil
		}
		return askPause, nil
	case ActResume:
		if row.status.Terminal() || row.control != workflow.Pause {
			return nothing, refuse
		}
		return resume, nil
	case ActRetry:
		if row.status != workflow.Error && row.status != workflow.Failure || row.control == workflow.Delete {
			return nothing, refuse
		}
		return retry, nil
	case ActDelete:
		switch {
		case row.status.Terminal() || unattended:
			return remove, nil
		case row.control == workflow.Delete:
			return nothing, nil
		case waiting:
			return deleteWaiting, nil
		}
		return askDelete, nil
	default:
		return nothing, fmt.Errorf("unknown action %q", a)
	}
}

// note appends to the log of what operators asked.
func (b *base) note(ctx context.Context, q Querier, id uuid.UUID, r Request, was workflow.Status) error {
	_, err := q.ExecContext(ctx, b.sql(`INSERT INTO {s}taskkit_task_event (id, task_id, action, actor, reason, was)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6)`), newID(), id.String(), string(r.Action), optional(r.Actor), clean(r.Reason), string(was))
	return err
}

// keyIsFree refuses to retry a task whose unique key a live task has meanwhile.
func (b *base) keyIsFree(ctx context.Context, q Querier, id uuid.UUID, row asked) error {
	if row.uniqueKey == "" {
		return nil
	}
	holders, err := askIDs(ctx, q, b.sql(`SELECT id FROM {s}taskkit_queued_task
WHERE execution_component_name = $1 AND unique_key = $2 AND workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND id <> $3`),
		row.kind, row.uniqueKey, id.String())
	if err != nil || len(holders) == 0 {
		return err
	}
	return &DuplicateError{Kind: row.kind, Column: "unique_key", Key: row.uniqueKey, ID: holders[0]}
}

// tell hints to workers that a waiting task may be claimed. Requests are rare
// enough for a notification each.
func (b *base) tell(ctx context.Context, q Querier, row asked, a Action) error {
	if b.dialect == dialect.SQLite || row.status.InFlight() || a == ActPause {
		return nil
	}
	_, err := q.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel(b.schema), string(a))
	return err
}
