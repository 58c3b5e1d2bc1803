package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// attackBySQL: every pair of statuses by an UPDATE, as a person with a prompt
// would write it, in every variant of the conditions that an edge may have. What
// passes is the table of transitions, no more and no less.
func attackBySQL(e *env) {
	e.registerWorker()
	for _, from := range lifecycle.Statuses() {
		id := e.bring(from)
		for _, to := range lifecycle.Statuses() {
			for variant := range 8 {
				id = e.try(id, from, to, variation{started: variant&1 != 0, partial: variant&2 != 0, fence: int64(variant >> 2)})
			}
			id = e.try(id, from, to, variation{started: true, partial: true, fence: -1})
			id = e.try(id, from, to, variation{started: true, fence: 2})
		}
		e.removeTasks()
	}
	// A new task is QUEUED and has never been held.
	insert := "INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, %s) VALUES ($1, $1, $1, $1, $1, 'demo', %s)"
	for columns, values := range map[string]string{
		"workflow_stopped_date, workflow_status": e.now() + ", 'COMPLETED'",
		"scheduled_by_process, workflow_status":  "'mallory', 'SCHEDULING'",
		"workflow_status":                        "'NONSENSE'",
		"workflow_stopped_date":                  e.now(),
		"scheduled_by_process":                   "'mallory'",
		"fence":                                  "3",
		"checkpoint_seq":                         "1",
		"attempts":                               "-1",
		"position":                               "-1",
		"round":                                  "-1",
		"items_done":                             "-1",
		"items_failed":                           "-1",
		"items_skipped":                          "-1",
		"control":                                "'NONSENSE'",
		"priority":                               "5",
	} {
		if _, err := e.db.ExecContext(e.ctx(), fmt.Sprintf(insert, columns, values), uuid.NewString()); err == nil {
			e.Fatalf("inserted with %s: %s", columns, values)
		}
	}
	e.exec(fmt.Sprintf(insert, "priority, control, execution_started_date", "4, 'STOP', "+e.now()), uuid.NewString())
}

// variation is what an attack does beside the status.
type variation struct {
	started bool  // the row has a start afterwards
	partial bool  // the row is partial afterwards
	fence   int64 // added to the fence
}

// legal is whether the table permits a transition with a variation.
func legal(from, to lifecycle.Status, v variation) bool {
	if from == to {
		return v.fence == 0
	}
	e, ok := lifecycle.Find(from, to)
	want := int64(0)
	if e.Claimed {
		want = 1
	}
	return ok && v.fence == want && (!e.Started || v.started) && (!e.Partial || v.partial)
}

// try makes one attack on a task and returns the one for the next: the same, or
// a new one when the attack has passed. The columns that the checks want are set
// right, so that nothing but the guard can refuse.
func (e *env) try(id uuid.UUID, from, to lifecycle.Status, v variation) uuid.UUID {
	e.Helper()
	if to == lifecycle.Executing && !v.started {
		return id // the check on the start refuses that in any case
	}
	started, process, stopped := "NULL", "NULL", "NULL"
	if v.started {
		started = e.now()
	}
	if to.InFlight() {
		process = "'mallory'"
	}
	if to.Terminal() {
		stopped = e.now()
	}
	_, err := e.db.ExecContext(e.ctx(), fmt.Sprintf(`UPDATE taskkit_queued_task SET workflow_status = '%s', execution_started_date = %s,
partial = %t, scheduled_by_process = %s, workflow_stopped_date = %s, fence = fence + (%d) WHERE id = $1`,
		to, started, v.partial, process, stopped, v.fence), id.String())
	if want := legal(from, to, v); (err == nil) != want {
		e.Fatalf("%s to %s with %+v: passed is %v (%v), want %v", from, to, v, err == nil, err, want)
	}
	if err != nil && !strings.Contains(err.Error(), "taskkit") {
		e.Fatalf("%s to %s with %+v: refused by %v, want by taskkit's own trigger or check", from, to, v, err)
	}
	if err != nil {
		is(e, "status afterwards", e.read(id).Status, from)
		return id
	}
	is(e, "status afterwards", e.read(id).Status, to)
	e.removeTasks()
	return e.bring(from)
}

// attackImmutables: what never changes, whoever writes.
func attackImmutables(e *env) {
	e.registerWorker()
	id := e.bring(lifecycle.Executing, func(t *store.NewTask) { t.UniqueKey = "u" })
	person := uuid.NewString()
	for _, set := range []string{
		"owner_id = '" + person + "'", "run_as_id = '" + person + "'", "id = '" + person + "'", "execution_component_name = 'other'", "unique_key = 'x'",
		"unique_key = NULL", `execution_spec = '{"n": 2}'`, "execution_spec = NULL", "checkpoint_seq = checkpoint_seq + 2", "checkpoint_seq = checkpoint_seq - 1",
		"fence = fence + 1", "fence = fence - 1", "fence = 0", "workflow_status = 'NONSENSE'", "control = 'NONSENSE'", "priority = 0", "priority = 5", "position = -1", "round = -1", "items_done = -1",
		"items_failed = -1", "items_skipped = -1", "attempts = -1", "scheduled_by_process = NULL, workflow_status = 'NONSENSE'",
		"scheduled_by_process = NULL, workflow_status = 'COMPLETED'", "workflow_status = 'COMPLETED', workflow_stopped_date = " + e.now(),
		"scheduled_by_process = NULL", "execution_started_date = NULL", "workflow_stopped_date = " + e.now(),
	} {
		if _, err := e.db.ExecContext(e.ctx(), "UPDATE taskkit_queued_task SET "+set); err == nil {
			e.Fatalf("%s passed", set)
		}
	}
	for _, set := range []string{"checkpoint_seq = checkpoint_seq + 1", `execution_state = '{"a":1}'`, "execution_spec = execution_spec", "owner_id = owner_id", "reason = 'x'"} {
		e.exec("UPDATE taskkit_queued_task SET " + set)
	}
	// The spec of a task that waits may be replaced (CER-14).
	fresh := e.one()
	e.exec(`UPDATE taskkit_queued_task SET execution_spec = '{"n": 2}' WHERE id = $1`, fresh.String())
	is(e, "spec", string(e.read(fresh).Spec), `{"n": 2}`)
	e.exec("UPDATE taskkit_queued_task SET unique_key = 'first' WHERE id = $1", fresh.String())
	for _, set := range []string{"unique_key = 'second'", "unique_key = NULL", `execution_spec = '{"n": 3}', execution_state = '{"a": 1}'`} {
		if _, err := e.db.ExecContext(e.ctx(), "UPDATE taskkit_queued_task SET "+set+" WHERE id = $1", fresh.String()); err == nil {
			e.Fatalf("%s of a waiting task passed", set)
		}
	}

	_, err := e.request(id, lifecycle.ActPause)
	e.ok(err)
	for _, query := range []string{"UPDATE taskkit_task_event SET reason = 'x'", "DELETE FROM taskkit_task_event"} {
		if _, err := e.db.ExecContext(context.WithoutCancel(e.ctx()), query); err == nil {
			e.Fatalf("%s passed", query)
		}
	}
	is(e, "events", e.count(Events), 1)
	if e.db.Dialect == dialect.Postgres {
		if _, err := e.db.ExecContext(e.ctx(), "UPDATE taskkit_task_event SET reason = 'x'"); err == nil || !strings.Contains(err.Error(), "append-only") {
			e.Fatalf("the refusal says %v", err)
		}
	}
}
