package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// notifyOf stores the notifications of writes that took effect. A write that was to pause or stop its task has none if another
// request stood on it.
func (t Statements) notifyOf(ctx context.Context, q store.Querier, writes []*store.Write, requested map[uuid.UUID]bool) error {
	var (
		order []notice.Event
		of    = make(map[notice.Event][]uuid.UUID)
	)
	for _, w := range writes {
		if w.Notify == "" || w.Notify == notice.Policy && !requested[w.ID] {
			continue
		}
		if of[w.Notify] == nil {
			order = append(order, w.Notify)
		}
		of[w.Notify] = append(of[w.Notify], w.ID)
	}
	for _, e := range order {
		if err := t.announce(ctx, q, e, of[e]...); err != nil {
			return err
		}
	}
	return nil
}

// announce stores, for an event of tasks, the task that delivers it to each target with a subscription. It is part of the
// transaction in which the event happens, and follows the change. Tasks without subscriptions are passed over.
func (t Statements) announce(ctx context.Context, q store.Querier, e notice.Event, ids ...uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.storeNotices(ctx, q, e, ids); err != nil {
		return fmt.Errorf("store the notifications that %d tasks are %s: %w", len(ids), e, err)
	}
	return nil
}

func (t Statements) storeNotices(ctx context.Context, q store.Querier, e notice.Event, ids []uuid.UUID) error {
	subscribed, err := t.subscribed(ctx, q, e, ids)
	if err != nil || len(subscribed) == 0 {
		return err
	}
	wanted := make([]uuid.UUID, len(subscribed))
	for i := range subscribed {
		wanted[i] = subscribed[i].Task
	}
	sums, err := t.sumChildren(ctx, q, wanted)
	if err != nil {
		return err
	}
	var all []store.NewTask
	for i := range subscribed {
		n := &subscribed[i]
		if c, ok := sums[n.Task]; ok {
			sum := c.Progress()
			n.Done, n.Failed, n.Skipped = max(n.Done, sum.Done), max(n.Failed, sum.Failed), max(n.Skipped, sum.Skipped)
		}
		for _, s := range n.to {
			n.Target = s.Target
			made, err := store.NoticeTask(n.Notice, once(&n.Notice))
			if err != nil {
				return err
			}
			if made.IdempotencyKey == "" {
				all = append(all, made)
				continue
			}
			var again *store.DuplicateError
			if err := store.Insert(ctx, q, t.schema, []store.NewTask{made}, false); err != nil && !errors.As(err, &again) {
				return err
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return store.Insert(ctx, q, t.schema, all, false)
}

// once is the idempotency key of the notification of an event that happens once to a task, or once a day; "": each is one.
func once(n *notice.Notice) string {
	switch n.Event {
	case notice.Started, notice.Overdue:
		return fmt.Sprintf("%s.%s.%s", n.Task, n.Event, n.Target)
	case notice.Throttled:
		return fmt.Sprintf("%s.%s.%s.%s", n.Task, n.Event, n.Target, n.At.Format(time.DateOnly))
	default:
		return ""
	}
}

// subscribedTask is the notification of a task, without its target, and the subscriptions that have it.
type subscribedTask struct {
	notice.Notice
	to []notice.Subscription
}

// subscribed reads the tasks of an event that a target is notified of.
func (t Statements) subscribed(ctx context.Context, q store.Querier, e notice.Event, ids []uuid.UUID) (all []subscribedTask, err error) {
	_, err = sqlrows.Query(ctx, q, t.SQL(`SELECT q.id, q.execution_component_name, q.queue, q.owner_id, q.workflow_status, q.partial,
  `+t.code("coalesce(q.workflow_status_desc, '')")+`, q.items_done, q.items_failed, q.items_skipped, coalesce(q.items_total, 0), {now}, p.options
FROM {s}taskkit_queued_task q JOIN {s}taskkit_task_plan p ON p.task_id = q.id
WHERE q.id `+t.anyID("$1")+` AND p.options ->> CAST('notify' AS text) IS NOT NULL ORDER BY q.id`), []any{t.idsArg(ids)}, func(rows *sql.Rows) error {
		var (
			n       = subscribedTask{Notice: notice.Notice{Event: e}}
			partial bool
			code    string
			text    json.RawMessage
		)
		err := rows.Scan(&n.Task, &n.Kind, &n.Queue, &n.Owner, &n.Status, &partial, &code,
			&n.Done, &n.Failed, &n.Skipped, &n.Total, sqlrows.Time(&n.At), sqlrows.JSON(&text))
		if err != nil {
			return err
		}
		o, err := store.DecodeOptions(text)
		if err != nil {
			return err
		}
		n.At, n.Preview = n.At.UTC(), o.Preview || o.DryRun
		if e == notice.Ended {
			n.ended(lifecycle.Status(n.Status), partial, code)
		}
		if e == notice.Overdue && lifecycle.Status(n.Status).Terminal() {
			return nil // it has ended since its time was read
		}
		for _, s := range o.Notify {
			if s.Has(n.Event) {
				n.to = append(n.to, s)
			}
		}
		if len(n.to) > 0 {
			all = append(all, n)
		}
		return nil
	})
	return all, err
}

// ended sets the event of a task that has ended.
func (n *subscribedTask) ended(s lifecycle.Status, partial bool, code string) {
	switch {
	case s == lifecycle.Completed && partial:
		n.Event = notice.Partial
	case s == lifecycle.Completed:
		n.Event = notice.Completed
	default:
		n.Event, n.Code = notice.DeadLetter, code
		switch lifecycle.Expiry(code) {
		case lifecycle.StartedTooLate, lifecycle.DeadlineExceeded, lifecycle.TimeExceeded:
			n.Event = notice.Late
		case lifecycle.NotExpired:
		}
	}
}
