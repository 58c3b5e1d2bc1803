package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/workrate"
)

// rateRow is the rate of a task.
type rateRow struct{ task, kind, history string }

var recordedRates = newRecorded("rates", "taskkit_task_rate", "\nON CONFLICT (task_id) DO UPDATE"+
	" SET history = excluded.history, measured_date = excluded.measured_date",
	sqlrows.Text("id", func(*rateRow) string { return store.NewID().String() }).As("uuid"),
	sqlrows.Text("task_id", func(r *rateRow) string { return r.task }).As("uuid"),
	sqlrows.Text("execution_component_name", func(r *rateRow) string { return r.kind }),
	sqlrows.Text("history", func(r *rateRow) string { return r.history }).As("json"),
)

// hasWorked reports whether a write adds to the rate of its task.
func hasWorked(w *store.Write) bool { return w.Checkpoint && w.Worked != nil }

// recordRates adds what the writes have to the rates of their tasks. The rows of these
// are locked, so that what is read here does not change meanwhile. It returns the stored options of these tasks, which
// may have changed since their sessions began.
func (t Statements) recordRates(ctx context.Context, q store.Querier, writes []*store.Write) (map[uuid.UUID]*store.Options, error) {
	var ids []uuid.UUID
	for _, w := range writes {
		if hasWorked(w) {
			ids = append(ids, w.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	options := make(map[uuid.UUID]*store.Options, len(ids))
	before := make(map[uuid.UUID]workrate.History, len(ids))
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT q.id, r.history, p.options FROM {s}taskkit_queued_task q
  LEFT JOIN {s}taskkit_task_rate r ON r.task_id = q.id LEFT JOIN {s}taskkit_task_plan p ON p.task_id = q.id
WHERE q.id `+t.anyID("$1")), []any{t.idsArg(ids)},
		func(rows *sql.Rows) error {
			var (
				id           uuid.UUID
				text, stored json.RawMessage
			)
			err := rows.Scan(&id, sqlrows.JSON(&text), sqlrows.JSON(&stored))
			if err == nil && text != nil {
				before[id], err = workrate.Decode(text)
			}
			if err != nil {
				return err
			}
			o, err := store.DecodeOptions(stored)
			options[id] = &o
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the rates of %d tasks: %w", len(ids), err)
	}
	var changed []*rateRow
	for _, w := range writes {
		if !hasWorked(w) {
			continue
		}
		text, err := before[w.ID].Add(w.Worked.Sample).Encode()
		if err != nil {
			return nil, err
		}
		changed = append(changed, &rateRow{w.ID.String(), w.Worked.Kind, string(text)})
	}
	return options, recordRows(ctx, t, q, &recordedRates, changed)
}

// Rate implements [store.Reader].
func (b *Base) Rate(ctx context.Context, id uuid.UUID) (r store.Rate, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL("SELECT history, measured_date FROM {s}taskkit_task_rate WHERE task_id = $1"), []any{id.String()},
		func(rows *sql.Rows) error {
			var text json.RawMessage
			err := rows.Scan(sqlrows.JSON(&text), sqlrows.Time(&r.Measured))
			if err == nil {
				r.History, err = workrate.Decode(text)
			}
			return err
		})
	if err != nil {
		return store.Rate{}, fmt.Errorf("read the rate of task %s: %w", id, err)
	}
	return r, nil
}

// KindRates implements [store.Ops]. The ids of tasks are in the order of their
// submission.
func (b *Base) KindRates(ctx context.Context, kind string, n int) (all []workrate.History, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL("SELECT history FROM {s}taskkit_task_rate WHERE execution_component_name = $1 ORDER BY task_id DESC LIMIT $2"),
		[]any{kind, int64(limit(n))},
		func(rows *sql.Rows) error {
			var text json.RawMessage
			if err := rows.Scan(sqlrows.JSON(&text)); err != nil {
				return err
			}
			h, err := workrate.Decode(text)
			all = append(all, h)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the rates of tasks of kind %s: %w", kind, err)
	}
	return all, nil
}
