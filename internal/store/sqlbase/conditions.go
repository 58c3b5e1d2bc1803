package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// storedOptions are the stored options of tasks, as text. A task without options is
// absent.
type storedOptions map[uuid.UUID]json.RawMessage

// readOptions reads the options of tasks.
const readOptions = `SELECT task_id, options FROM {s}taskkit_task_plan WHERE options IS NOT NULL AND task_id `

// options reads the options of tasks whose writes must be checked.
func (t Statements) options(ctx context.Context, q store.Querier, writes []*store.Write) (storedOptions, error) {
	var ids []uuid.UUID
	for _, w := range writes {
		if w.Check {
			ids = append(ids, w.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found := make(storedOptions)
	if err := found.query(ctx, q, t.SQL(readOptions+t.anyID("$1")), t.idsArg(ids)); err != nil {
		return nil, fmt.Errorf("read the options of %d tasks: %w", len(ids), err)
	}
	return found, nil
}

// query adds what a query finds.
func (o storedOptions) query(ctx context.Context, q store.Querier, query string, args ...any) error {
	_, err := sqlrows.Query(ctx, q, query, args, func(rows *sql.Rows) error {
		var (
			id   uuid.UUID
			text json.RawMessage
		)
		err := rows.Scan(&id, sqlrows.JSON(&text))
		if len(text) > 0 {
			o[id] = text
		}
		return err
	})
	return err
}

// checkConditions pauses the tasks of writes that took effect where the conditions say so. It
// returns which.
func (t Statements) checkConditions(ctx context.Context, q store.Querier, writes []*store.Write, stored storedOptions) (map[uuid.UUID]bool, error) {
	var paused map[uuid.UUID]bool
	for _, w := range writes {
		if !w.Check {
			continue
		}
		text := stored[w.ID]
		options, err := store.DecodeOptions(text)
		if err != nil {
			return nil, fmt.Errorf("check the conditions of task %s: %w", w.ID, err)
		}
		conditions := options.WithDefault(w.StopAfter)
		reason := conditions.PauseReason(w.Progress)
		if reason == "" {
			continue
		}
		is, err := t.pause(ctx, q, w, reason)
		if err == nil && conditions != options.Conditions {
			// A request can then be decided without the kind's policy.
			err = t.setConditions(ctx, q, w.ID, &text, conditions)
		}
		if err != nil {
			return nil, fmt.Errorf("pause task %s: %w", w.ID, err)
		}
		if is && options.Notifies() {
			if err := t.announce(ctx, q, store.PauseEvent(conditions, w.Progress), w.ID); err != nil {
				return nil, err
			}
		}
		if is {
			if paused == nil {
				paused = make(map[uuid.UUID]bool)
			}
			paused[w.ID] = true
		}
	}
	return paused, nil
}

// recordRequest makes the request of a write without a Wait, and returns what is requested of the task by it.
func (t Statements) recordRequest(ctx context.Context, q store.Querier, w *store.Write) (lifecycle.Control, error) {
	control, reason := lifecycle.Pause, w.Pause
	if w.Stop != "" {
		control, reason = lifecycle.Stop, w.Stop
	}
	if reason == "" || w.Wait != nil {
		return lifecycle.None, nil
	}
	if w.Whole != uuid.Nil {
		return t.requestWhole(ctx, q, w, control, reason)
	}
	made, err := t.request(ctx, q, w, control, reason)
	if err != nil || !made {
		return lifecycle.None, err
	}
	return control, nil
}

// requestWhole makes the request of a write on the task that its task is a part of, and on all parts, unless a request stands on it that
// goes before. It returns what is requested of the task of the write then. A part that ends has no request.
func (t Statements) requestWhole(ctx context.Context, q store.Querier, w *store.Write, control lifecycle.Control, reason string) (lifecycle.Control, error) {
	g := governed{id: w.Whole, parent: true}
	_, err := sqlrows.Query(ctx, q, t.SQL("SELECT q.workflow_status, q.control FROM {s}taskkit_queued_task q WHERE q.id = $1"), []any{w.Whole.String()},
		func(rows *sql.Rows) error { return rows.Scan(&g.status, &g.control) })
	if err != nil || !g.status.Live() {
		return lifecycle.None, err
	}
	if w.To.Terminal() {
		sums, err := t.sumChildren(ctx, q, []uuid.UUID{w.Whole})
		if c := sums[w.Whole]; err != nil || c.AllProcessed() {
			return lifecycle.None, err
		}
	}
	made, err := t.requestAll(ctx, q, &g, requestedOf{control: control}, reason)
	switch {
	case err != nil:
		return lifecycle.None, err
	case made:
		err = t.announce(ctx, q, notice.Policy, w.Whole)
	case g.control == lifecycle.Pause || g.control == lifecycle.Stop:
		if control = g.control; !w.To.Terminal() { // its row was locked when that was passed on, perhaps
			err = t.passOnLate(ctx, q, control, []uuid.UUID{w.ID})
		}
	default:
		control = lifecycle.None
	}
	if w.To.Terminal() {
		control = lifecycle.None
	}
	return control, err
}

// pause pauses a task after a write, as [lifecycle.TakesPause] defines.
func (t Statements) pause(ctx context.Context, q store.Querier, w *store.Write, reason string) (bool, error) {
	return t.request(ctx, q, w, lifecycle.Pause, reason)
}

// request pauses a task after a write, as [lifecycle.TakesPause] defines, or stops it, as [lifecycle.TakesStop] does.
func (t Statements) request(ctx context.Context, q store.Querier, w *store.Write, control lifecycle.Control, reason string) (bool, error) {
	takes, action := "(control = '' OR "+passed("")+")", lifecycle.ActPause
	if control == lifecycle.Stop {
		takes, action = "control IN ('', 'PAUSE')", lifecycle.ActStop
	}
	seq := w.Seq
	if w.Checkpoint {
		seq++
	}
	r, err := q.ExecContext(ctx, t.SQL(`UPDATE {s}taskkit_queued_task SET control = '`+string(control)+`', control_by = NULL, control_reason = $5
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status = $4 AND `+takes),
		w.ID.String(), w.Fence, seq, string(w.To), reason)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.recordEvent(ctx, q, w.ID, store.Request{Action: action, Reason: reason}, w.To)
}

// setConditions stores the conditions of a task, and changes its encoded options. The caller
// has locked the row of the task.
func (t Statements) setConditions(ctx context.Context, q store.Querier, id uuid.UUID, text *json.RawMessage, c lifecycle.Conditions) error {
	changed, err := store.WithConditions(*text, c)
	if err != nil {
		return err
	}
	*text = json.RawMessage(changed)
	return t.setOptions(ctx, q, id, changed)
}

// setMaxRate stores the rate of a task, which a negative one removes, and changes its encoded options. A task that waits because of a lower rate, which may
// be for days, is due.
func (t Statements) setMaxRate(ctx context.Context, q store.Querier, id uuid.UUID, text *json.RawMessage, rate float64) error {
	before, err := store.DecodeOptions(*text)
	if err != nil {
		return err
	}
	changed, err := store.WithMaxRate(*text, max(rate, 0))
	if err != nil {
		return err
	}
	*text = json.RawMessage(changed)
	if err := t.setOptions(ctx, q, id, changed); err != nil || !before.RateRaised(rate) {
		return err
	}
	r, err := q.ExecContext(ctx, t.SQL(`UPDATE {s}taskkit_queued_task SET not_before = {now}, waiting_reason = '`+lifecycle.ReasonRateChanged+`', modified_date = {now}
WHERE id = $1 AND workflow_status`+AsExpression+` = 'QUEUED' AND not_before > {now} AND waiting_reason LIKE '`+lifecycle.ReasonRate+`%'`), id.String())
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return t.notify(ctx, q, string(lifecycle.ActChange))
}

// setOptions stores the options of a task, and marks its row with spec_revision: the claims of a marked task leave out the
// spec, so that each session that begins later reads the plan. One that runs sees the options when it measures, see
// [store.Write.Worked]. The caller has locked the row of the task.
func (t Statements) setOptions(ctx context.Context, q store.Querier, id uuid.UUID, changed string) error {
	if _, err := q.ExecContext(ctx, t.SQL(`INSERT INTO {s}taskkit_task_plan (id, task_id, options) VALUES ($1, $2, $3)
ON CONFLICT (task_id) DO UPDATE SET options = excluded.options`), store.NewID().String(), id.String(), changed); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_queued_task SET spec_revision = codec_revision WHERE id = $1 AND spec_revision IS NULL"), id.String())
	return err
}

// TaskOptions implements [store.Reader].
func (b *Base) TaskOptions(ctx context.Context, id uuid.UUID) (store.Options, error) {
	stored := make(storedOptions)
	err := stored.query(ctx, b.q, b.SQL(readOptions+"= $1"), id.String())
	var o store.Options
	if err == nil {
		o, err = store.DecodeOptions(stored[id])
	}
	if err != nil {
		return store.Options{}, fmt.Errorf("read the options of task %s: %w", id, err)
	}
	return o, nil
}

// recordChecked stores items and reads the options of the tasks that must be checked, in the
// statements that store the items: a task that has no conditions costs none more.
func (t Statements) recordChecked(ctx context.Context, q store.Querier, items []*itemRow, checked []*store.Write) (storedOptions, error) {
	if len(items) == 0 {
		return t.options(ctx, q, checked)
	}
	found := make(storedOptions)
	if t.dialect == dialect.Postgres {
		ids := make([]uuid.UUID, len(checked))
		for i, w := range checked {
			ids[i] = w.ID
		}
		query := fmt.Sprintf("WITH recorded AS (\n%s\n)\n%s", recordedItems.arrays, readOptions+t.anyID(fmt.Sprintf("$%d", len(recordedItems.columns)+1)))
		if err := found.query(ctx, q, t.SQL(query), append(sqlrows.Arrays(recordedItems.columns, items), t.idsArg(ids))...); err != nil {
			return nil, fmt.Errorf("record %d %s: %w", len(items), recordedItems.name, err)
		}
		return found, nil
	}
	// A write comes alone. Its last item brings the options.
	last := len(items) - 1
	if err := recordRows(ctx, t, q, &recordedItems, items[:last]); err != nil {
		return nil, err
	}
	query := recordedItems.one + "\nRETURNING task_id, (SELECT p.options FROM taskkit_task_plan p WHERE p.task_id = $2)"
	if err := found.query(ctx, q, query, sqlrows.Args(recordedItems.columns, items[last])...); err != nil {
		return nil, fmt.Errorf("record %s: %w", recordedItems.name, err)
	}
	return found, nil
}
