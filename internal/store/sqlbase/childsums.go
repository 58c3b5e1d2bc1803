package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// CountChildren implements [store.Common].
func (b *Base) CountChildren(ctx context.Context, parents []uuid.UUID) (map[uuid.UUID]store.ChildCounts, error) {
	counts, err := b.sumChildren(ctx, b.q, parents)
	if err != nil {
		return nil, fmt.Errorf("count the children of %d tasks: %w", len(parents), err)
	}
	return counts, nil
}

// sumChildren counts the children of each task. It reads their rows with two statements, and once more for each level of the tree.
func (t Statements) sumChildren(ctx context.Context, q store.Querier, parents []uuid.UUID) (map[uuid.UUID]store.ChildCounts, error) {
	if len(parents) == 0 {
		return nil, nil
	}
	stored, err := t.storedSums(ctx, q, parents)
	if err != nil {
		return nil, err
	}
	counts := make(map[uuid.UUID]store.ChildCounts, len(parents))
	var open, whole []uuid.UUID
	for _, id := range parents {
		s, ok := stored[id]
		if !ok {
			whole = append(whole, id)
			continue
		}
		if len(s.Open) > 0 || s.Ended.Statuses != nil {
			s.Ended.Total = s.Total
			counts[id] = s.Ended
		}
		open = append(open, s.Open...)
	}
	if len(open) > 0 {
		err = t.addChildren(ctx, q, counts, "q.id "+t.anyID("$1"), t.idsArg(open))
	}
	if err == nil && len(whole) > 0 {
		err = t.addChildren(ctx, q, counts, t.childOfAny(), t.idsArg(whole))
	}
	return counts, err
}

// storedSums reads the sums of tasks that have some.
func (t Statements) storedSums(ctx context.Context, q store.Querier, parents []uuid.UUID) (map[uuid.UUID]store.ChildSums, error) {
	sums := make(map[uuid.UUID]store.ChildSums)
	_, err := sqlrows.Query(ctx, q, t.SQL("SELECT p.task_id, p.sums FROM {s}taskkit_task_parent p WHERE p.task_id "+t.anyID("$1")+" AND p.sums IS NOT NULL"),
		[]any{t.idsArg(parents)}, func(rows *sql.Rows) error {
			var (
				id   uuid.UUID
				text json.RawMessage
				s    store.ChildSums
			)
			if err := rows.Scan(&id, sqlrows.JSON(&text)); err != nil {
				return err
			}
			err := json.Unmarshal(text, &s)
			sums[id] = s
			return err
		})
	return sums, err
}

// addChildren adds the children that a condition selects. Those that have children are read one by one, and their children are
// counted in place of them; the others are added up by the database.
func (t Statements) addChildren(ctx context.Context, q store.Querier, counts map[uuid.UUID]store.ChildCounts, where string, args ...any) error {
	type child struct {
		parent   uuid.UUID
		status   lifecycle.Status
		progress lifecycle.Progress
	}
	nested := make(map[uuid.UUID]child)
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT q.parent_id, CASE WHEN f.task_id IS NOT NULL THEN q.id END, q.workflow_status, count(*), sum(CASE WHEN q.partial THEN 1 ELSE 0 END),
  sum(CASE WHEN q.items_total IS NULL THEN 1 ELSE 0 END), CAST(sum(coalesce(q.items_total, 0)) AS bigint),
  CAST(sum(q.items_done) AS bigint), CAST(sum(q.items_failed) AS bigint), CAST(sum(q.items_skipped) AS bigint), CAST(sum(q.fence) AS bigint)
FROM {s}taskkit_queued_task q LEFT JOIN {s}taskkit_task_parent f ON f.task_id = q.id
WHERE `+where+` AND q.parent_id IS NOT NULL GROUP BY 1, 2, 3`), args, func(rows *sql.Rows) error {
		var (
			parent              uuid.UUID
			id                  uuid.NullUUID
			status              lifecycle.Status
			n, partial, without int64
			p                   lifecycle.Progress
			fences              int64
		)
		if err := rows.Scan(&parent, &id, &status, &n, &partial, &without, &p.Total, &p.Done, &p.Failed, &p.Skipped, &fences); err != nil {
			return err
		}
		c := counts[parent]
		c.Stopped += partial
		c.Fences += fences
		if id.Valid {
			p.Total -= without // -1 if it is unknown
			nested[id.UUID] = child{parent, status, p}
		} else {
			c.Add(status, n, p, without)
		}
		counts[parent] = c
		return nil
	})
	if err != nil || len(nested) == 0 {
		return err
	}
	below, err := t.sumChildren(ctx, q, slices.Collect(maps.Keys(nested)))
	if err != nil {
		return err
	}
	for id, n := range nested {
		p, of, unknown := n.progress, below[id], int64(0)
		if of.Statuses != nil {
			p = of.Progress()
		}
		if p.Total < 0 {
			p.Total, unknown = of.Items.Total, 1
		}
		c := counts[n.parent]
		if of.Running > 0 && !n.status.InFlight() {
			c.Running++
		}
		c.Add(n.status, 1, p, unknown)
		counts[n.parent] = c
	}
	return nil
}

// recordSums stores the sums of the children of a task, whose row the caller has locked, so that no child is added to it, and none
// that has ended is retried. A child that ends meanwhile stays among the open ones. A task that ends has no open ones.
func (t Statements) recordSums(ctx context.Context, q store.Querier, w *store.Write) error {
	stored, err := t.storedSums(ctx, q, []uuid.UUID{w.ID})
	if err != nil {
		return err
	}
	sums, known := stored[w.ID]
	var open []uuid.UUID
	switch {
	case !w.To.Terminal():
		open, err = sqlrows.IDs(ctx, q, t.SQL("SELECT q.id FROM {s}taskkit_queued_task q WHERE "+t.childOf("q", "$1")+" AND "+inStatus("q", openStatuses)), w.ID.String())
	case !known:
		return nil
	}
	if err != nil {
		return err
	}
	total := sums.Total
	switch {
	case w.Wait != nil && w.Checkpoint:
		total = w.Wait.Total
	case w.To == lifecycle.Completed && w.Checkpoint:
		total = max(total, 0) // all children are there
	}
	counts := map[uuid.UUID]store.ChildCounts{w.ID: sums.Ended}
	if known {
		isOpen := make(map[uuid.UUID]bool, len(open))
		for _, id := range open {
			isOpen[id] = true
		}
		ended := slices.DeleteFunc(slices.Clone(sums.Open), func(id uuid.UUID) bool { return isOpen[id] })
		switch {
		case len(ended) > 0:
			err = t.addChildren(ctx, q, counts, "q.id "+t.anyID("$1"), t.idsArg(ended))
		case len(open) == len(sums.Open) && total == sums.Total:
			return nil // as at the last time
		}
	} else {
		err = t.addChildren(ctx, q, counts, t.childOfAny()+" AND "+inStatus("q", "("+TerminalStatuses()+")")+" AND NOT q.id "+t.anyID("$2"),
			t.idsArg([]uuid.UUID{w.ID}), t.idsArg(open))
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(store.ChildSums{Ended: counts[w.ID], Open: open, Total: total})
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_task_parent SET sums = $2 WHERE task_id = $1"), w.ID.String(), string(text))
	return err
}

// forgetSums makes the children of a task count anew, one of which has ended and is retried.
func (t Statements) forgetSums(ctx context.Context, q store.Querier, parent uuid.UUID) error {
	_, err := q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_task_parent SET sums = NULL WHERE task_id = $1"), parent.String())
	return err
}
