package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskpolicy"
)

// ofWatched are the tasks of writes that count for the policies of tasks above.
func ofWatched(writes []*store.Write) (ids []uuid.UUID) {
	for _, w := range writes {
		if w.Watched {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// governed is a task whose policies are decided after writes.
type governed struct {
	id      uuid.UUID
	status  lifecycle.Status
	control lifecycle.Control // before, unless it is not for the children
	at      lifecycle.Progress
	now     time.Time
	started time.Time
	text    json.RawMessage
	writes  []int // positions of the writes, of the task itself or of its children to any depth
	own     bool  // one of them is of the task itself
	parent  bool  // the task has children
}

// readGoverned reads the tasks with policies that writes concern, in the order of their ids.
func (t Statements) readGoverned(ctx context.Context, q store.Querier, writes []*store.Write) ([]*governed, error) {
	at := make(map[uuid.UUID]int)
	var ids []uuid.UUID
	for i, w := range writes {
		if w.Policies || w.Watched {
			at[w.ID] = i
			ids = append(ids, w.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var all []*governed
	_, err := sqlrows.Query(ctx, q, t.SQL(`WITH RECURSIVE above(origin, id) AS (
  SELECT q.id, q.id FROM {s}taskkit_queued_task q WHERE q.id `+t.anyID("$1")+`
  UNION SELECT above.origin, q.parent_id FROM above JOIN {s}taskkit_queued_task q ON q.id = above.id WHERE q.parent_id IS NOT NULL
)
SELECT above.origin, q.id, q.workflow_status, q.control, q.control_by, coalesce(q.control_reason, ''), q.items_done, q.items_failed, q.items_skipped, {now}, `+firstStart+`, p.options,
  EXISTS (SELECT 1 FROM {s}taskkit_queued_task c WHERE `+t.childOf("c", "q.id")+`)
FROM above JOIN {s}taskkit_queued_task q ON q.id = above.id JOIN {s}taskkit_task_plan p ON p.task_id = q.id
WHERE p.options ->> CAST('policies' AS text) IS NOT NULL ORDER BY q.id`), []any{t.idsArg(ids)}, func(rows *sql.Rows) error {
		var (
			origin uuid.UUID
			g      governed
			first  sql.NullTime
			by     uuid.NullUUID
			reason string
		)
		if err := rows.Scan(&origin, &g.id, &g.status, &g.control, &by, &reason, &g.at.Done, &g.at.Failed, &g.at.Skipped, sqlrows.Time(&g.now), nullTime{&first}, sqlrows.JSON(&g.text), &g.parent); err != nil {
			return err
		}
		g.started = first.Time
		if !lifecycle.PassesOn(g.control, by.UUID, reason) {
			g.control = lifecycle.None
		}
		of := &g
		if n := len(all); n > 0 && all[n-1].id == g.id {
			of = all[n-1]
		} else if g.status.Live() {
			all = append(all, of)
		}
		of.writes = append(of.writes, at[origin])
		of.own = of.own || origin == g.id
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the policies of %d tasks: %w", len(ids), err)
	}
	return all, nil
}

// decidePolicies decides the policies of the tasks of writes that took effect, and of those above, and does what they say.
func (t Statements) decidePolicies(ctx context.Context, q store.Querier, writes []*store.Write, applied []*store.Applied) error {
	all, err := t.readGoverned(ctx, q, writes)
	if err != nil {
		return err
	}
	for _, g := range all {
		if err := t.decide(ctx, q, g, writes, applied); err != nil {
			return fmt.Errorf("decide the policies of task %s: %w", g.id, err)
		}
	}
	return nil
}

func (t Statements) decide(ctx context.Context, q store.Querier, g *governed, writes []*store.Write, applied []*store.Applied) error {
	options, err := store.DecodeOptions(g.text)
	if err != nil {
		return err
	}
	for _, i := range g.writes {
		options.CountPolicies(writes[i])
	}
	if g.parent {
		sums, err := t.sumChildren(ctx, q, []uuid.UUID{g.id})
		if err != nil {
			return err
		}
		c := sums[g.id]
		if c.AllProcessed() {
			return t.catchUp(ctx, q, g, writes, applied) // no policy fires, as with the end of a task without children
		}
		sum := c.Progress()
		g.at.Done, g.at.Failed, g.at.Skipped = max(g.at.Done, sum.Done), max(g.at.Failed, sum.Failed), max(g.at.Skipped, sum.Skipped)
	}
	fired, announced := options.DecidePolicies(g.id, g.now, g.started, g.at), false
	for _, f := range fired {
		made, err := t.fire(ctx, q, g, f, writes, applied)
		if err != nil {
			return err
		}
		announced = announced || made || f.Do == taskpolicy.Notify || f.Do == taskpolicy.Restart
		if f.Do == taskpolicy.Fail && !made {
			options.PolicyState.Failing = "" // it ends by the request of a person
		}
	}
	changed, err := store.WithPolicyState(g.text, options.PolicyState)
	if err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_task_plan SET options = $2 WHERE task_id = $1"), g.id.String(), changed); err != nil {
		return err
	}
	if err := t.catchUp(ctx, q, g, writes, applied); err != nil {
		return err
	}
	if announced && options.Notifies() {
		if err := t.announce(ctx, q, notice.Policy, g.id); err != nil {
			return err
		}
	}
	if len(fired) == 0 {
		return nil
	}
	for n, i := range g.writes {
		d := applied[i].Decided
		if d == nil {
			d = &store.Decided{}
			applied[i].Decided = d
		}
		if n == 0 { // the worker of one of them reports it
			d.Fired = append(d.Fired, fired...)
		}
		for _, f := range fired {
			if f.Do == taskpolicy.Restart && writes[i].ID == g.id {
				d.Restart = options.PolicyState.Restarts
			}
		}
	}
	return nil
}

// catchUp passes the request that stood on a task before on to the tasks of the writes that had locked their rows when it was made.
func (t Statements) catchUp(ctx context.Context, q store.Querier, g *governed, writes []*store.Write, applied []*store.Applied) error {
	if g.control != lifecycle.Pause && g.control != lifecycle.Stop {
		return nil
	}
	var late []uuid.UUID
	for _, i := range g.writes {
		if w := writes[i]; w.ID != g.id && !w.To.Terminal() && applied[i].Control == lifecycle.None {
			late = append(late, w.ID)
			applied[i].Control = g.control
		}
	}
	return t.passOnLate(ctx, q, g.control, late)
}

// fire does what a policy says that has fired, and reports whether it has requested something of the task. A restart is made by the
// session of the task. A task that must fail is stopped with its children, and their sessions end them in FAILURE, so that a retry of
// it retries these.
func (t Statements) fire(ctx context.Context, q store.Querier, g *governed, f store.Fired, writes []*store.Write, applied []*store.Applied) (bool, error) {
	control := lifecycle.Stop
	switch f.Do {
	case taskpolicy.Notify, taskpolicy.Restart:
		return false, t.recordEvent(ctx, q, g.id, store.Request{Action: lifecycle.ActNotify, Reason: f.Reason}, g.status)
	case taskpolicy.Pause:
		control = lifecycle.Pause
	case taskpolicy.Stop, taskpolicy.Fail:
	}
	made, err := t.requestAll(ctx, q, g, requestedOf{control: control, fails: f.Do == taskpolicy.Fail}, f.Reason)
	if err != nil || !made {
		return false, err
	}
	for _, i := range g.writes {
		if !writes[i].To.Terminal() && (writes[i].ID == g.id || lifecycle.TakesPause(applied[i].Control, "")) {
			applied[i].Control = control
		}
	}
	return true, nil
}

// requestAll pauses or stops a task whose row is locked, with its children, unless a request stands on it that goes before. A reason for
// a pause is added to the pause that stands on it, see [lifecycle.Row.PauseToo].
func (t Statements) requestAll(ctx context.Context, q store.Querier, g *governed, r requestedOf, reason string) (bool, error) {
	control := r.control
	free := "(control = '' OR " + passed("") + ")"
	by, why, action, change := "CASE WHEN "+free+" THEN NULL ELSE control_by END", "CASE WHEN "+free+" THEN '' ELSE coalesce(control_reason || '; ', '') END || $2", lifecycle.ActPause, ""
	if control == lifecycle.Stop {
		by, why, action, change = "NULL", "$2", lifecycle.ActStop, `,
  not_before = CASE WHEN workflow_status = 'QUEUED' THEN {now} ELSE not_before END, stalled = stalled OR workflow_status = 'QUEUED'`
	}
	result, err := q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_queued_task SET control = '"+string(control)+"', control_by = "+by+", control_reason = "+why+change+`
WHERE id = $1 AND control IN ('', 'PAUSE')`), g.id.String(), reason)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if err := t.recordEvent(ctx, q, g.id, store.Request{Action: action, Reason: reason}, g.status); err != nil {
		return false, err
	}
	if control == lifecycle.Stop && g.status == lifecycle.Queued {
		if err := t.notify(ctx, q, string(action)); err != nil {
			return false, err
		}
	}
	if !g.parent {
		return true, nil
	}
	r.ids = []uuid.UUID{g.id}
	return true, t.passOnAll(ctx, q, r)
}

// forgetFailing lets a task go on, after a retry, that had to fail because of a policy, and changes its encoded options.
func (t Statements) forgetFailing(ctx context.Context, q store.Querier, id uuid.UUID, text *json.RawMessage) error {
	o, err := store.DecodeOptions(*text)
	if err != nil || o.PolicyState.Failing == "" {
		return err
	}
	o.PolicyState.Failing = ""
	changed, err := store.WithPolicyState(*text, o.PolicyState)
	if err != nil {
		return err
	}
	*text = json.RawMessage(changed)
	return t.setOptions(ctx, q, id, changed)
}

// setPolicies changes the policies of a task whose row is locked, and its encoded options. What the new ones count by code is read from the
// items of the task and its children.
func (t Statements) setPolicies(ctx context.Context, q store.Querier, id uuid.UUID, text *json.RawMessage, p taskpolicy.Policies) error {
	var stored []store.CodeCount
	if store.CountCodes(p) {
		_, err := sqlrows.Query(ctx, q, t.SQL(`WITH RECURSIVE below(id) AS (
  SELECT q.id FROM {s}taskkit_queued_task q WHERE q.id = $1
  UNION SELECT q.id FROM below JOIN {s}taskkit_queued_task q ON `+t.childOf("q", "below.id")+`
)
SELECT i.outcome, i.code, count(*) FROM below JOIN {s}taskkit_task_item i ON i.task_id = below.id
WHERE i.outcome IN ('failed', 'skipped') GROUP BY i.outcome, i.code`), []any{id.String()}, func(rows *sql.Rows) error {
			var c store.CodeCount
			err := rows.Scan(&c.Of, &c.Code, &c.Items)
			stored = append(stored, c)
			return err
		})
		if err != nil {
			return fmt.Errorf("count the items of task %s by their codes: %w", id, err)
		}
	}
	changed, err := store.WithPolicies(*text, p, stored)
	if err != nil {
		return err
	}
	*text = json.RawMessage(changed)
	return t.setOptions(ctx, q, id, changed)
}
