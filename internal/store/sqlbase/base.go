// Package sqlbase is what the stores on PostgreSQL and SQLite share: all of
// [store.Client], the methods of [store.Store] whose statements are alike on
// both databases, and what their own statements are written with. It is the only
// importer of ent.
package sqlbase

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	entdialect "entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent"
	_ "taskkit.dev/ent/runtime" // the hook that guards transitions
	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// Base implements all of [store.Client], and those methods of [store.Store]
// whose statements both databases share.
type Base struct {
	Statements
	q     store.Querier
	ent   *ent.Client
	write Transact
	lost  *sync.Map // from a process of this store to the presence lock that it lost last
}

// Transact runs f in a transaction that may write.
type Transact func(ctx context.Context, f func(store.Querier) error) error

// writeOne runs f, whose write is one statement. On PostgreSQL that is a transaction by itself. On SQLite a writer waits
// for its turn in [Transact].
func (b *Base) writeOne(ctx context.Context, f func(store.Querier) error) error {
	if b.dialect == dialect.Postgres {
		return f(b.q)
	}
	return b.write(ctx, f)
}

// NewClient returns the store of a client on any handle. Where the handle can begin a
// transaction (*sql.DB, *sql.Conn), a request of several statements runs in one
// of its own; otherwise its statements run in the caller's.
func NewClient(q store.Querier, schema string, d dialect.Name) store.Client {
	if db, ok := q.(beginner); ok {
		return New(q, schema, d, func(ctx context.Context, f func(store.Querier) error) error { return InTx(ctx, db, f) })
	}
	return within(q, schema, d)
}

// within returns a Base whose writes are part of the caller's transaction.
func within(q store.Querier, schema string, d dialect.Name) *Base {
	return New(q, schema, d, func(_ context.Context, f func(store.Querier) error) error { return f(q) })
}

// New returns a Base that reads through q and writes in transactions of write.
func New(q store.Querier, schema string, d dialect.Name, write Transact) *Base {
	t := NewStatements(d, schema)
	return &Base{Statements: t, q: q, write: write, lost: new(sync.Map), ent: ent.NewClient(
		ent.Driver(handle{entsql.NewDriver(string(d), entsql.Conn{ExecQuerier: q})}),
		ent.AlternateSchema(ent.SchemaConfig{
			QueuedTask: t.schema, TaskAttempt: t.schema, TaskEvent: t.schema,
			TaskItem: t.schema, TaskLedger: t.schema, TaskPlan: t.schema, TaskProcess: t.schema, TaskResult: t.schema, TaskTarget: t.schema,
		}))}
}

// Release implements [store.Workers]: nothing is kept between calls.
func (b *Base) Release(context.Context) {}

// beginner is a handle that can begin a transaction.
type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// InTx runs f in a transaction of its own.
func InTx(ctx context.Context, db beginner, f func(store.Querier) error) error {
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

// RegisterWorker implements [store.Workers]. To register twice is no error: the answer to
// the first call may have been lost.
func (b *Base) RegisterWorker(ctx context.Context, p store.Process) error {
	kinds, err := json.Marshal(p.Kinds)
	if err != nil {
		return fmt.Errorf("insert the row of process %s: %w", p.ID, err)
	}
	queues, err := json.Marshal(p.Queues)
	if err != nil {
		return fmt.Errorf("insert the row of process %s: %w", p.ID, err)
	}
	return b.write(ctx, func(q store.Querier) error {
		return do(ctx, q, Step{
			Text: b.SQL(`INSERT INTO {s}taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots, safe_mode, max_attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`),
			Args: []any{p.ID, classify.Clean(p.Version), p.DeadAfter.Milliseconds(), string(kinds), string(queues), int64(p.Slots), p.SafeMode, int64(p.MaxAttempts)},
			What: "insert the row of process " + p.ID,
		}, Step{
			// A start is rare enough to tidy up: the rows of processes that ended
			// long ago would be kept for ever.
			Text: b.SQL("DELETE FROM {s}taskkit_task_process WHERE ended_date < " + b.daysAgo(processesKept)),
			What: "forget processes that ended long ago",
		}, b.forgetKnown("forget which kinds were unknown"))
	})
}

// processesKept is for how many days the row of an ended process is kept.
const processesKept = 7

// Heartbeat implements [store.Workers].
func (b *Base) Heartbeat(ctx context.Context, process string, draining bool) error {
	return b.writeOne(ctx, func(q store.Querier) error { return b.renewHeartbeat(ctx, q, process, draining) })
}

func (b *Base) renewHeartbeat(ctx context.Context, q store.Querier, process string, draining bool) error {
	r, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_task_process SET last_heartbeat_date = {now}, draining = $2, presence_lock = nullif(presence_lock, $3)
WHERE id = $1 AND ended_date IS NULL`), process, draining, b.lostLock(process))
	if err != nil {
		return fmt.Errorf("renew the heartbeat of %s: %w", process, err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, store.ErrDead)
	}
	return nil
}

// Deregister implements [store.Workers]. A task whose batch is in progress is left to
// the reaper, which finds its process gone. What becomes of the others is
// [lifecycle.Row.ReleaseByLeaving].
func (b *Base) Deregister(ctx context.Context, process string) error {
	return b.write(ctx, func(q store.Querier) error {
		return do(ctx, q, Step{
			Text: b.SQL(`UPDATE {s}taskkit_task_process SET ended_date = {now}, ended_reason = '` + store.EndedLeft + `'
WHERE id = $1 AND ended_date IS NULL`),
			Args: []any{process},
			What: "end process " + process,
		}, Step{
			Text: b.SQL(`WITH picked AS MATERIALIZED (
  SELECT id FROM {s}taskkit_queued_task
  WHERE scheduled_by_process = $1 AND workflow_status IN ('SCHEDULING', 'EXECUTING')
  ORDER BY id `) + b.skipLocked() + b.SQL(`
)
UPDATE {s}taskkit_queued_task SET workflow_status = 'QUEUED', scheduled_by_process = NULL, not_before = {now},
  attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END, stalled = stalled AND attempts > 0,
  waiting_reason = '`+lifecycle.ReasonWorkerLeft+`', modified_date = {now}
WHERE id IN (SELECT id FROM picked)`),
			Args: []any{process},
			What: "release the tasks of " + process,
		})
	})
}

// Positions implements [store.Sessions].
func (b *Base) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error) {
	if len(ids) == 0 {
		return map[uuid.UUID]store.Position{}, nil
	}
	at, err := b.positions(ctx, "id "+b.anyID("$1"), b.idsArg(ids))
	if err != nil {
		return nil, fmt.Errorf("read the positions of %d tasks: %w", len(ids), err)
	}
	return at, nil
}

// Unstarted implements [store.Workers].
func (b *Base) Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error) {
	// The condition of the index taskkit_in_flight is repeated, since SQLite does
	// not conclude it.
	at, err := b.positions(ctx, `workflow_status IN ('SCHEDULING', 'EXECUTING') AND scheduled_by_process = $1
  AND workflow_status`+AsExpression+` = 'SCHEDULING'`, process)
	if err != nil {
		return nil, fmt.Errorf("read what process %s has claimed: %w", process, err)
	}
	return at, nil
}

// positions reads where the tasks of a condition with one argument stand.
func (b *Base) positions(ctx context.Context, where string, arg any) (map[uuid.UUID]store.Position, error) {
	at := make(map[uuid.UUID]store.Position)
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT id, fence, checkpoint_seq, workflow_status, control, coalesce(scheduled_by_process, ''),
  execution_state, attempts, `+ProgressColumns+`
FROM {s}taskkit_queued_task q WHERE `)+where, []any{arg}, func(rows *sql.Rows) error {
		var p store.Position
		err := rows.Scan(append([]any{&p.ID, &p.Fence, &p.Seq, &p.Status, &p.Control, &p.Process, sqlrows.JSON(&p.State), &p.Attempts},
			scanProgress(&p.Progress)...)...)
		at[p.ID] = p
		return err
	})
	return at, err
}

// RollbackWithin bounds a ROLLBACK; after it the connection is closed.
const RollbackWithin = 5 * time.Second

// Discard closes a connection instead of returning it to the pool.
func Discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// Detached returns a context that outlives ctx and ends by itself.
func Detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
