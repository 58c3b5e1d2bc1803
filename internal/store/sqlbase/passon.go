package sqlbase

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// PassOn implements [store.Common]. The rows of the parents stay locked until the page is
// committed, so that no request comes between what stands on them and what becomes of
// their children. A child whose row is locked is stepped over, since to wait for it could be a deadlock with
// a group commit; there is more to change then.
func (b *Base) PassOn(ctx context.Context, parents []uuid.UUID, limit int) (changed []uuid.UUID, more bool, err error) {
	if len(parents) == 0 {
		return nil, false, nil
	}
	err = b.write(ctx, func(q store.Querier) error {
		changed, more = nil, false
		requested, err := b.lockParents(ctx, q, parents)
		if err != nil {
			return err
		}
		for _, r := range requested {
			left := limit - len(changed)
			if left <= 0 {
				more = true
				return nil
			}
			if r.control == lifecycle.Stop {
				if r.fails, err = b.mustFail(ctx, q, r.ids); err != nil {
					return err
				}
			}
			ids, rest, err := b.passOn(ctx, q, r, left)
			if err != nil {
				return err
			}
			changed, more = append(changed, ids...), more || rest
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("pass the requests on %d tasks on to their children: %w", len(parents), err)
	}
	return changed, more, nil
}

// requestedOf are parents with the same request, by the same person.
type requestedOf struct {
	control lifecycle.Control
	actor   uuid.UUID
	ids     []uuid.UUID
	fails   bool // the children must fail: a policy has stopped one of these, or a task above
}

// lockParents reads what is requested of parents, where it is for their children too.
func (b *Base) lockParents(ctx context.Context, q store.Querier, parents []uuid.UUID) ([]*requestedOf, error) {
	query := "SELECT id, control, control_by, coalesce(control_reason, '') FROM {s}taskkit_queued_task WHERE id " + b.anyID("$1") + " ORDER BY id FOR SHARE"
	if b.Dialect() == dialect.SQLite {
		query = writerFirst("id "+b.anyID("$1"), "id, control, control_by, coalesce(control_reason, '')")
	}
	var all []*requestedOf
	_, err := sqlrows.Query(ctx, q, b.SQL(query),
		[]any{b.idsArg(parents)}, func(rows *sql.Rows) error {
			var (
				id      uuid.UUID
				control lifecycle.Control
				actor   uuid.NullUUID
				reason  string
			)
			if err := rows.Scan(&id, &control, &actor, &reason); err != nil {
				return err
			}
			if !lifecycle.PassesOn(control, actor.UUID, reason) {
				return nil
			}
			for _, r := range all {
				if r.control == control && r.actor == actor.UUID {
					r.ids = append(r.ids, id)
					return nil
				}
			}
			all = append(all, &requestedOf{control: control, actor: actor.UUID, ids: []uuid.UUID{id}})
			return nil
		})
	return all, err
}

// differs is the condition on an open child, of an alias, that the request on its parent has
// not reached it: where [lifecycle.PassOn] changes it.
func differs(alias string, c lifecycle.Control) string {
	switch c {
	case lifecycle.Stop:
		return alias + ".control NOT IN ('STOP', 'DELETE')"
	case lifecycle.Delete:
		return alias + ".control <> 'DELETE'"
	case lifecycle.Pause:
		return alias + ".control = ''"
	default:
		return passed(alias + ".")
	}
}

// passed is the condition on a task that [lifecycle.Passed] is.
func passed(prefix string) string {
	return prefix + "control = 'PAUSE' AND coalesce(" + prefix + "control_reason, '') = '" + lifecycle.ReasonParent + "'"
}

// passedChange is a change by a request that was passed on, and to which children.
type passedChange struct {
	lifecycle.Change
	action lifecycle.Action
	was    lifecycle.Status
}

// passOn passes one request on.
func (t Statements) passOn(ctx context.Context, q store.Querier, r *requestedOf, limit int) (changed []uuid.UUID, more bool, err error) {
	type child struct {
		id     uuid.UUID
		change passedChange
	}
	var children []child
	where := " WHERE " + t.childOfAny() + " AND " + inStatus("q", openStatuses) + " AND " + differs("q", r.control)
	n, err := sqlrows.Query(ctx, q, t.SQL("SELECT id, workflow_status, control, fence, coalesce(control_reason, ''), fence = 0 AND "+t.hasOpenChildren()+" FROM {s}taskkit_queued_task q"+where+
		" LIMIT $2 "+t.lockRowSkipping("q")), []any{t.idsArg(r.ids), int64(limit)}, func(rows *sql.Rows) error {
		var (
			id     uuid.UUID
			f      lifecycle.Found
			reason string
		)
		if err := rows.Scan(&id, &f.Status, &f.Control, &f.Fence, &reason, &f.HasOpenChildren); err != nil {
			return err
		}
		f.Passed, f.MustFail = lifecycle.Passed(f.Control, reason), r.fails
		change, action := lifecycle.PassOn(r.control, f)
		children = append(children, child{id, passedChange{change, action, f.Status}})
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(children, func(a, b child) int { return bytes.Compare(a.id[:], b.id[:]) })
	groups := make(map[passedChange][]uuid.UUID)
	var order []passedChange
	for _, c := range children {
		if groups[c.change] == nil {
			order = append(order, c.change)
		}
		groups[c.change] = append(groups[c.change], c.id)
	}
	for _, g := range order {
		if err := t.changeAll(ctx, q, r, g, groups[g]); err != nil {
			return nil, false, err
		}
		changed = append(changed, groups[g]...)
	}
	if n < limit && r.control == lifecycle.Delete {
		gone, err := sqlrows.IDs(ctx, q, t.SQL("DELETE FROM {s}taskkit_queued_task WHERE id IN (SELECT id FROM {s}taskkit_queued_task q WHERE "+
			t.childOfAny()+" AND "+inStatus("q", "("+TerminalStatuses()+")")+" LIMIT $2 "+t.skipLocked()+") RETURNING id"),
			t.idsArg(r.ids), int64(limit-n))
		if err == nil {
			err = t.removeChildren(ctx, q, gone)
		}
		if err != nil {
			return nil, false, err
		}
		n += len(gone)
	}
	if n >= limit {
		return changed, true, nil
	}
	if t.dialect == dialect.SQLite {
		return changed, false, nil // a writer is alone
	}
	left, err := sqlrows.Count(ctx, q, t.SQL("SELECT 1 FROM {s}taskkit_queued_task q"+where+" LIMIT 1"), t.idsArg(r.ids))
	return changed, left > 0, err
}

// mustFail reports whether a policy of one of these tasks, or of a task above, has said that it must fail.
func (t Statements) mustFail(ctx context.Context, q store.Querier, ids []uuid.UUID) (fails bool, err error) {
	_, err = sqlrows.Query(ctx, q, t.SQL(`WITH RECURSIVE above(id) AS (
  SELECT q.id FROM {s}taskkit_queued_task q WHERE q.id `+t.anyID("$1")+`
  UNION SELECT q.parent_id FROM above JOIN {s}taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT p.options FROM above JOIN {s}taskkit_task_plan p ON p.task_id = above.id WHERE p.options ->> CAST('policies' AS text) IS NOT NULL`),
		[]any{t.idsArg(ids)}, func(rows *sql.Rows) error {
			var text json.RawMessage
			if err := rows.Scan(sqlrows.JSON(&text)); err != nil {
				return err
			}
			o, err := store.DecodeOptions(text)
			fails = fails || o.PolicyState.Failing != ""
			return err
		})
	return fails, err
}

// changeAll makes a change of children that are locked.
func (t Statements) changeAll(ctx context.Context, q store.Querier, r *requestedOf, g passedChange, ids []uuid.UUID) error {
	if err := t.recordEvents(ctx, q, ids, g.action, r.actor, g.was); err != nil {
		return err
	}
	if g.Effect == lifecycle.Removed {
		_, err := q.ExecContext(ctx, t.SQL("DELETE FROM {s}taskkit_queued_task WHERE id "+t.anyID("$1")), t.idsArg(ids))
		return err
	}
	args := []any{t.idsArg(ids), r.actor.String()}
	if g.Control != lifecycle.None {
		args = append(args, optionalID(r.actor), cmp.Or(g.Reason, lifecycle.ReasonParent))
	}
	if _, err := q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_queued_task SET "+assignments(g.Change)+", modified_date = {now}, modified_by = $2 WHERE id "+t.anyID("$1")), args...); err != nil {
		return err
	}
	if g.Effect == lifecycle.Ended {
		if err := t.endWaits(ctx, q, ids); err != nil {
			return err
		}
	}
	if g.was.InFlight() || g.Control == lifecycle.Pause {
		return nil
	}
	return t.notify(ctx, q, string(g.action))
}

// removeChildren removes the children of tasks that were removed, to any depth. They have
// ended, since their parents had.
func (t Statements) removeChildren(ctx context.Context, q store.Querier, parents []uuid.UUID) error {
	for len(parents) > 0 {
		gone, err := sqlrows.IDs(ctx, q, t.SQL("DELETE FROM {s}taskkit_queued_task WHERE id IN (SELECT id FROM {s}taskkit_queued_task q WHERE "+t.childOfAny()+") RETURNING id"), t.idsArg(parents))
		if err != nil {
			return err
		}
		parents = gone
	}
	return nil
}

// RemoveFamilies removes the children of tasks that these writes have removed: a delete may come
// when the holder is done already, and has passed nothing on.
func (t Statements) RemoveFamilies(ctx context.Context, q store.Querier, writes ...*store.Write) error {
	var parents []uuid.UUID
	for _, w := range writes {
		if w.HasChildren {
			parents = append(parents, w.ID)
		}
	}
	return t.removeChildren(ctx, q, parents)
}

// eventRow is an event of a task that no operator has requested of it.
type eventRow struct {
	task   string
	action lifecycle.Action
	actor  uuid.UUID
	reason string
	was    lifecycle.Status
	worker string
}

var recordedEvents = newRecorded("events", "taskkit_task_event", "",
	sqlrows.Text("id", func(*eventRow) string { return store.NewID().String() }).As("uuid"),
	sqlrows.Text("task_id", func(e *eventRow) string { return e.task }).As("uuid"),
	sqlrows.Text("action", func(e *eventRow) string { return string(e.action) }),
	sqlrows.Text("actor", func(e *eventRow) string { return textID(e.actor) }).As("uuid").OrNull(),
	sqlrows.Text("reason", func(e *eventRow) string { return e.reason }),
	sqlrows.Text("was", func(e *eventRow) string { return string(e.was) }),
	sqlrows.Text("name", func(e *eventRow) string { return e.worker }).OrNull(),
)

// recordEvents appends a request that was passed on to children to the log of events.
func (t Statements) recordEvents(ctx context.Context, q store.Querier, ids []uuid.UUID, a lifecycle.Action, actor uuid.UUID, was lifecycle.Status) error {
	rows := make([]*eventRow, len(ids))
	for i, id := range ids {
		rows[i] = &eventRow{task: id.String(), action: a, actor: actor, reason: lifecycle.ReasonParent, was: was}
	}
	return recordRows(ctx, t, q, &recordedEvents, rows)
}

// textID is an id as text; "" for the zero id.
func textID(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}
