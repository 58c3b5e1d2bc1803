package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	entdialect "entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent"
	_ "taskkit.dev/ent/runtime" // the hook that guards transitions
	"taskkit.dev/internal/dialect"
)

// base is what both databases do alike: all of [Operator], and of [Store] what
// needs no statement of one database's own.
type base struct {
	texts
	q   Querier
	ent *ent.Client
	// write runs f in a transaction that may write: its own where the handle
	// can begin one, otherwise the caller's.
	write func(ctx context.Context, f func(Querier) error) error
}

// NewOperator returns what a client does, on any handle. Where the handle can
// begin a transaction (*sql.DB, *sql.Conn), a request of several statements has
// its own; elsewhere it takes part in the caller's.
func NewOperator(q Querier, schema string, d dialect.Name) Operator {
	b := newBase(q, schema, d)
	b.write = func(_ context.Context, f func(Querier) error) error { return f(q) }
	if db, ok := q.(beginner); ok {
		b.write = func(ctx context.Context, f func(Querier) error) error { return inTx(ctx, db, f) }
	}
	return b
}

func newBase(q Querier, schema string, d dialect.Name) *base {
	t := newTexts(d, schema)
	return &base{texts: t, q: q, ent: ent.NewClient(
		ent.Driver(handle{entsql.NewDriver(string(d), entsql.Conn{ExecQuerier: q})}),
		ent.AlternateSchema(ent.SchemaConfig{
			QueuedTask: t.schema, TaskAttempt: t.schema, TaskEvent: t.schema,
			TaskFailure: t.schema, TaskProcess: t.schema, TaskResult: t.schema,
		}))}
}

// Dialect implements [Store].
func (b *base) Dialect() dialect.Name { return b.dialect }

// Release implements [Store]: nothing is kept.
func (b *base) Release(context.Context) {}

// beginner is a handle that can begin a transaction.
type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// inTx runs f in a transaction of its own.
func inTx(ctx context.Context, db beginner, f func(Querier) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// handle is ent's driver on any handle. It begins no transaction: every use of
// ent here is one statement.
type handle struct{ *entsql.Driver }

func (h handle) Tx(context.Context) (entdialect.Tx, error) { return entdialect.NopTx(h), nil }

func (h handle) BeginTx(context.Context, *entsql.TxOptions) (entdialect.Tx, error) {
	return entdialect.NopTx(h), nil
}

func (handle) Close() error { return nil }

// Enrol implements [Store]. To enrol twice is no error: the first answer may
// have been lost.
func (b *base) Enrol(ctx context.Context, p Process) error {
	kinds, err := json.Marshal(p.Kinds)
	if err != nil {
		return fmt.Errorf("enrol %s: %w", p.ID, err)
	}
	queues, err := json.Marshal(p.Queues)
	if err != nil {
		return fmt.Errorf("enrol %s: %w", p.ID, err)
	}
	return b.write(ctx, func(q Querier) error {
		_, err := q.ExecContext(ctx, b.sql(`INSERT INTO {s}taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots)
VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`),
			p.ID, clean(p.Version), p.DeadAfter.Milliseconds(), string(kinds), string(queues), int64(p.Slots))
		if err != nil {
			return fmt.Errorf("enrol %s: %w", p.ID, err)
		}
		// A start is rare enough to tidy up: the rows of processes that ended
		// long ago would be kept for ever.
		_, err = q.ExecContext(ctx, b.sql("DELETE FROM {s}taskkit_task_process WHERE ended_date < "+b.daysAgo(processesKept)))
		if err != nil {
			return fmt.Errorf("forget processes that ended long ago: %w", err)
		}
		return nil
	})
}

// processesKept is for how many days the row of an ended process is kept.
const processesKept = 7

// daysAgo is a time by the database's clock.
func (t texts) daysAgo(n int) string {
	if t.dialect == dialect.SQLite {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-%d days')", n)
	}
	return fmt.Sprintf("clock_timestamp() - interval '%d days'", n)
}

// Beat implements [Store].
func (b *base) Beat(ctx context.Context, process string, busy int, draining bool) error {
	return b.write(ctx, func(q Querier) error { return b.beat(ctx, q, process, busy, draining) })
}

func (b *base) beat(ctx context.Context, q Querier, process string, busy int, draining bool) error {
	r, err := q.ExecContext(ctx, b.sql(`UPDATE {s}taskkit_task_process SET last_heartbeat_date = {now}, busy = $2, draining = $3
WHERE id = $1 AND ended_date IS NULL`), process, int64(busy), draining)
	if err != nil {
		return fmt.Errorf("renew the heartbeat of %s: %w", process, err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrDead)
	}
	return nil
}

// Leave implements [Store]. A task whose batch is in progress at this moment is
// left to the reaper, which finds its process gone.
func (b *base) Leave(ctx context.Context, process string) error {
	return b.write(ctx, func(q Querier) error {
		_, err := q.ExecContext(ctx, b.sql(`UPDATE {s}taskkit_task_process SET ended_date = {now}, ended_reason = 'left', busy = 0
WHERE id = $1 AND ended_date IS NULL`), process)
		if err != nil {
			return fmt.Errorf("end process %s: %w", process, err)
		}
		_, err = q.ExecContext(ctx, b.sql(`WITH picked AS MATERIALIZED (
  SELECT id FROM {s}taskkit_queued_task
  WHERE scheduled_by_process = $1 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
  ORDER BY id `)+b.skipLocked()+b.sql(`
)
UPDATE {s}taskkit_queued_task SET workflow_status = 'QUEUED', scheduled_by_process = NULL, not_before = {now},
  attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END, reason = 'its worker left', modified_date = {now}
WHERE id IN (SELECT id FROM picked)`), process)
		if err != nil {
			return fmt.Errorf("release the tasks of %s: %w", process, err)
		}
		return nil
	})
}

// skipLocked locks the rows of a subquery and steps over those that others hold.
// On SQLite a writer is alone.
func (t texts) skipLocked() string {
	if t.dialect == dialect.SQLite {
		return ""
	}
	return "FOR UPDATE SKIP LOCKED"
}

// anyID is the condition that follows a column of ids which is one of many.
func (t texts) anyID(param string) string {
	if t.dialect == dialect.SQLite {
		return "IN (SELECT value FROM json_each(" + param + "))"
	}
	return "= ANY(" + param + "::text[]::uuid[])"
}

// idsArg is the parameter of anyID.
func (t texts) idsArg(ids []uuid.UUID) any {
	if t.dialect == dialect.SQLite {
		return jsonList(idTexts(ids))
	}
	return idTexts(ids)
}

// Spec implements [Store].
func (b *base) Spec(ctx context.Context, id uuid.UUID) (json.RawMessage, error) {
	var spec json.RawMessage
	n, err := ask(ctx, b.q, b.sql("SELECT execution_spec FROM {s}taskkit_queued_task WHERE id = $1"), []any{id.String()},
		func(rows *sql.Rows) error { return rows.Scan(raw{&spec}) })
	if err != nil {
		return nil, fmt.Errorf("read the spec of task %s: %w", id, err)
	}
	if n == 0 {
		return nil, ErrNotFound
	}
	return spec, nil
}

// Positions implements [Store].
func (b *base) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]Position, error) {
	if len(ids) == 0 {
		return map[uuid.UUID]Position{}, nil
	}
	at, err := b.positions(ctx, "id "+b.anyID("$1"), b.idsArg(ids))
	if err != nil {
		return nil, fmt.Errorf("read the positions of %d tasks: %w", len(ids), err)
	}
	return at, nil
}

// Unstarted implements [Store].
func (b *base) Unstarted(ctx context.Context, process string) (map[uuid.UUID]Position, error) {
	// The condition of the index taskkit_in_flight is repeated, since SQLite does
	// not conclude it.
	at, err := b.positions(ctx, `workflow_status IN ('SCHEDULING', 'EXECUTING') AND scheduled_by_process = $1
  AND workflow_status || '' = 'SCHEDULING'`, process)
	if err != nil {
		return nil, fmt.Errorf("read what process %s has claimed: %w", process, err)
	}
	return at, nil
}

// positions reads where the tasks of a condition with one argument stand.
func (b *base) positions(ctx context.Context, where string, arg any) (map[uuid.UUID]Position, error) {
	at := make(map[uuid.UUID]Position)
	_, err := ask(ctx, b.q, b.sql(`SELECT id, fence, checkpoint_seq, workflow_status, control, coalesce(scheduled_by_process, ''),
  execution_state, attempts, coalesce(items_total, -1), items_taken, items_done, items_failed, items_skipped
FROM {s}taskkit_queued_task WHERE `)+where, []any{arg}, func(rows *sql.Rows) error {
		var p Position
		err := rows.Scan(&p.ID, &p.Fence, &p.Seq, &p.Status, &p.Control, &p.Process, raw{&p.State}, &p.Attempts,
			&p.Progress.Total, &p.Progress.Taken, &p.Progress.Done, &p.Progress.Failed, &p.Progress.Skipped)
		at[p.ID] = p
		return err
	})
	return at, err
}

// discard closes a connection instead of returning it to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// detached returns a context that outlives ctx and ends by itself.
func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
