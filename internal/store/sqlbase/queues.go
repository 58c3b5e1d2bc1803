package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// queueResumed is the payload of the notification that a queue has been resumed.
const queueResumed = "resume queue"

// PauseQueue implements [store.Requests].
func (b *Base) PauseQueue(ctx context.Context, p store.QueueChange) error {
	args := []any{p.Queue, optionalID(p.Actor), classify.Clean(p.Reason)}
	err := b.write(ctx, func(q store.Querier) error {
		if p.Paused {
			r, err := q.ExecContext(ctx, b.SQL(`INSERT INTO {s}taskkit_queue (name, paused, paused_by, paused_reason, paused_date)
VALUES ($1, true, $2, nullif($3, ''), {now})
ON CONFLICT (name) DO UPDATE SET paused = true, paused_by = excluded.paused_by, paused_reason = excluded.paused_reason,
  paused_date = excluded.paused_date WHERE NOT taskkit_queue.paused`), args...)
			if err != nil {
				return err
			}
			if n, err := r.RowsAffected(); err != nil || n == 0 {
				return err
			}
			return b.recordSetting(ctx, q, p.Change())
		}
		r, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_queue SET paused = false, resumed_by = $2, resumed_reason = nullif($3, ''), resumed_date = {now}
WHERE name = $1 AND paused`), args...)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return err
		}
		if err := b.recordSetting(ctx, q, p.Change()); err != nil {
			return err
		}
		return b.notify(ctx, q, queueResumed)
	})
	if err != nil {
		verb := "resume"
		if p.Paused {
			verb = "pause"
		}
		return fmt.Errorf("%s queue %q: %w", verb, p.Queue, err)
	}
	return nil
}

// PausedQueues implements [store.Ops].
func (b *Base) PausedQueues(ctx context.Context) (found []store.QueuePause, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT name, paused, paused_by, coalesce(paused_reason, ''), paused_date,
  resumed_by, coalesce(resumed_reason, ''), resumed_date, {now} FROM {s}taskkit_queue ORDER BY name`), nil, func(rows *sql.Rows) error {
		var (
			p              store.QueuePause
			by, resumed    uuid.NullUUID
			resumedAt, now time.Time
		)
		err := rows.Scan(&p.Queue, &p.Paused, &by, &p.PausedReason, sqlrows.Time(&p.PausedDate),
			&resumed, &p.ResumedReason, sqlrows.Time(&resumedAt), sqlrows.Time(&now))
		p.PausedBy, p.ResumedBy, p.SincePaused = by.UUID, resumed.UUID, now.Sub(p.PausedDate)
		if !resumedAt.IsZero() {
			p.ResumedDate = &resumedAt
		}
		found = append(found, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read which queues are paused: %w", err)
	}
	return found, nil
}

// QueueCounts implements [store.Ops]. The condition of the index taskkit_in_flight is repeated, since SQLite does not conclude it.
func (b *Base) QueueCounts(ctx context.Context, read int) (found []store.QueueCounts, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL("WITH RECURSIVE "+b.waitingLanes(nil)+", counted AS MATERIALIZED (\n"+b.laneCounts("$1")+`
)
SELECT queue, CAST(sum(waiting) AS bigint), max(more_waiting), CAST(sum(due) AS bigint), max(more_due), CAST(sum(running) AS bigint), min(oldest), {now} FROM (
  SELECT queue, CASE WHEN waiting > $1 THEN $1 ELSE waiting END AS waiting, CASE WHEN waiting > $1 THEN 1 ELSE 0 END AS more_waiting,
    CASE WHEN due > $1 THEN $1 ELSE due END AS due, CASE WHEN due > $1 THEN 1 ELSE 0 END AS more_due, 0 AS running, oldest
  FROM counted
  UNION ALL
  SELECT queue, 0, 0, 0, 0, count(*), NULL
  FROM {s}taskkit_queued_task WHERE workflow_status IN ('SCHEDULING', 'EXECUTING') GROUP BY queue
) n GROUP BY queue ORDER BY queue`), []any{int64(read)}, func(rows *sql.Rows) error {
		var (
			c           store.QueueCounts
			oldest, now time.Time
			more, due   int
		)
		err := rows.Scan(&c.Queue, &c.Waiting, &more, &c.Due, &due, &c.Running, sqlrows.Time(&oldest), sqlrows.Time(&now))
		c.MoreWaiting, c.MoreDue = more > 0, due > 0
		if !oldest.IsZero() {
			c.Oldest, c.Wait = &oldest, now.Sub(oldest)
		}
		found = append(found, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the tasks of queues: %w", err)
	}
	return found, nil
}
