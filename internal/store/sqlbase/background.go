package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// Backgrounds implements [store.Ops].
func (b *Base) Backgrounds(ctx context.Context, query store.BackgroundQuery) (map[uuid.UUID]*store.Background, error) {
	found := make(map[uuid.UUID]*store.Background)
	of := func(id uuid.UUID) *store.Background {
		if found[id] == nil {
			found[id] = new(store.Background)
		}
		return found[id]
	}
	for _, part := range []struct {
		ids  []uuid.UUID
		read func(context.Context, []uuid.UUID, func(uuid.UUID) *store.Background) error
		what string
	}{
		{query.Options, b.backgroundOptions, "options"},
		{query.Attempts, b.backgroundAttempts, "failed attempts"},
		{query.Requests, b.backgroundRequests, "requests"},
		{query.Limits, b.backgroundLimits, "limits"},
	} {
		if len(part.ids) == 0 {
			continue
		}
		if err := part.read(ctx, part.ids, of); err != nil {
			return nil, fmt.Errorf("read the %s of %d tasks: %w", part.what, len(part.ids), err)
		}
	}
	return found, nil
}

func (b *Base) backgroundOptions(ctx context.Context, ids []uuid.UUID, of func(uuid.UUID) *store.Background) error {
	stored := make(storedOptions)
	if err := stored.query(ctx, b.q, b.SQL(readOptions+b.anyID("$1")), b.idsArg(ids)); err != nil {
		return err
	}
	for id, text := range stored {
		options, err := store.DecodeOptions(text)
		if err != nil {
			return err
		}
		of(id).Options = options
	}
	return nil
}

func (b *Base) backgroundAttempts(ctx context.Context, ids []uuid.UUID, of func(uuid.UUID) *store.Background) error {
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT a.task_id, a.created_date, a.process, a.fence, a.checkpoint_seq, a.attempt, a.class, a.code, substr(a.detail, 1, `+strconv.Itoa(store.BackgroundDetail)+`)
FROM {s}taskkit_task_attempt a JOIN {s}taskkit_queued_task q ON q.id = a.task_id AND q.checkpoint_seq = a.checkpoint_seq
WHERE a.task_id `+b.anyID("$1")+` ORDER BY a.task_id, a.id DESC`), []any{b.idsArg(ids)}, func(rows *sql.Rows) error {
		var (
			id uuid.UUID
			a  store.Attempt
		)
		err := rows.Scan(&id, sqlrows.Time(&a.Created), &a.Process, &a.Fence, &a.Seq, &a.Attempt, &a.Class, &a.Code, &a.Detail)
		of(id).Attempts = append(of(id).Attempts, a)
		return err
	})
	return err
}

func (b *Base) backgroundRequests(ctx context.Context, ids []uuid.UUID, of func(uuid.UUID) *store.Background) error {
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT task_id, action, actor, coalesce(reason, ''), was, created_date FROM (
  SELECT task_id, action, actor, reason, was, created_date, row_number() OVER (PARTITION BY task_id, action ORDER BY id DESC) AS n
  FROM {s}taskkit_task_event WHERE task_id `+b.anyID("$1")+` AND (action = '`+string(lifecycle.ActRetry)+`'
    OR action = '`+string(lifecycle.ActStop)+`' AND was IN ('QUEUED', 'SCHEDULING', 'EXECUTING'))
) e WHERE n = 1`), []any{b.idsArg(ids)}, func(rows *sql.Rows) error {
		var (
			id      uuid.UUID
			actor   uuid.NullUUID
			e       store.Event
			created time.Time
		)
		err := rows.Scan(&id, &e.Action, &actor, &e.Reason, &e.FromStatus, sqlrows.Time(&created))
		e.Actor, e.Created = actor.UUID, created
		if e.Action == string(lifecycle.ActRetry) {
			of(id).Retried = created
		} else {
			of(id).Stopped = e
		}
		return err
	})
	return err
}

func (b *Base) backgroundLimits(ctx context.Context, ids []uuid.UUID, of func(uuid.UUID) *store.Background) error {
	keys := make(map[uuid.UUID]string)
	var all []string
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT l.task_id, l.limit_key FROM {s}taskkit_task_limit l JOIN {s}taskkit_queued_task q ON q.id = l.task_id AND q.fence = l.fence
WHERE l.waiting AND l.task_id `+b.anyID("$1")), []any{b.idsArg(ids)}, func(rows *sql.Rows) error {
		var (
			id  uuid.UUID
			key string
		)
		err := rows.Scan(&id, &key)
		keys[id], all = key, append(all, key)
		return err
	})
	if err != nil || len(all) == 0 {
		return err
	}
	having, err := b.permitTasks(ctx, all)
	for id, key := range keys {
		h := having[key]
		if h == nil {
			h = &store.LimitTasks{Key: key}
		}
		of(id).Limit = h
	}
	return err
}

// permitTasks reads which tasks have permits of keys. A key of which none is held is absent.
func (b *Base) permitTasks(ctx context.Context, keys []string) (map[string]*store.LimitTasks, error) {
	found := make(map[string]*store.LimitTasks)
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT limit_key, task_id, scheduled_by_process, executing FROM (
  SELECT l.limit_key, l.task_id, q.scheduled_by_process, count(*) OVER (PARTITION BY l.limit_key) AS executing,
    row_number() OVER (PARTITION BY l.limit_key ORDER BY l.task_id) AS n
  FROM {s}taskkit_task_limit l JOIN {s}taskkit_queued_task q ON q.id = l.task_id AND q.fence = l.fence AND q.workflow_status IN ('SCHEDULING', 'EXECUTING')
  WHERE NOT l.waiting AND l.limit_key `+b.anyText("$1")+`
) h WHERE n <= $2 ORDER BY limit_key, n`), []any{b.textsArg(keys), int64(store.PermitTasksMax)}, func(rows *sql.Rows) error {
		var (
			key       string
			h         store.PermitTask
			executing int64
		)
		err := rows.Scan(&key, &h.Task, sqlrows.OptionalText(&h.Process), &executing)
		if found[key] == nil {
			found[key] = &store.LimitTasks{Key: key, Executing: executing}
		}
		found[key].First = append(found[key].First, h)
		return err
	})
	return found, err
}
