package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// attackBySQL: every pair of statuses by an UPDATE, as a person with a prompt
// would write it, in every variant of the conditions that an edge may have. What
// passes is the table of transitions, no more and no less.
func attackBySQL(b *bed) {
	b.enrol()
	for _, from := range workflow.Statuses() {
		id := b.bring(from)
		for _, to := range workflow.Statuses() {
			for variant := range 8 {
				id = b.try(id, from, to, variation{started: variant&1 != 0, stop: variant&2 != 0, fence: int64(variant >> 2)})
			}
			id = b.try(id, from, to, variation{started: true, stop: true, fence: -1})
			id = b.try(id, from, to, variation{started: true, fence: 2})
		}
		b.exec("DELETE FROM taskkit_queued_task")
	}
	// A new task is QUEUED and has never been held.
	insert := "INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, %s) VALUES ($1, $1, $1, $1, $1, 'demo', %s)"
	for columns, values := range map[string]string{
		"workflow_stopped_date, workflow_status": b.at(0) + ", 'COMPLETED'",
		"scheduled_by_process, workflow_status":  "'mallory', 'SCHEDULING'",
		"workflow_status":                        "'NONSENSE'",
		"workflow_stopped_date":                  b.at(0),
		"scheduled_by_process":                   "'mallory'",
		"fence":                                  "3",
		"checkpoint_seq":                         "1",
		"attempts":                               "-1",
		"items_taken":                            "-1",
		"items_done":                             "-1",
		"items_failed":                           "-1",
		"items_skipped":                          "-1",
		"control":                                "'NONSENSE'",
		"priority":                               "5",
	} {
		if _, err := b.db.ExecContext(b.ctx(), fmt.Sprintf(insert, columns, values), uuid.NewString()); err == nil {
			b.Fatalf("inserted with %s: %s", columns, values)
		}
	}
	b.exec(fmt.Sprintf(insert, "priority, control, execution_started_date", "4, 'STOP', "+b.at(0)), uuid.NewString())
}

// variation is what an attack does beside the status.
type variation struct {
	started bool  // the row has a start afterwards
	stop    bool  // a stop stands on it afterwards
	fence   int64 // added to the fence
}

// legal is what the table says of a transition with a variation.
func legal(from, to workflow.Status, v variation) bool {
	if from == to {
		return v.fence == 0
	}
	e, ok := workflow.Find(from, to)
	want := int64(0)
	if e.Claimed {
		want = 1
	}
	return ok && v.fence == want && (!e.Started || v.started) && (!e.Requested || v.stop)
}

// try makes one attack on a task and returns the one for the next: the same, or
// a new one when the attack has passed. The columns that the checks want are set
// right, so that nothing but the guard can refuse.
func (b *bed) try(id uuid.UUID, from, to workflow.Status, v variation) uuid.UUID {
	b.Helper()
	if to == workflow.Executing && !v.started {
		return id // the check on the start refuses that in any case
	}
	started, stop, process, stopped := "NULL", "''", "NULL", "NULL"
	if v.started {
		started = b.at(0)
	}
	if v.stop {
		stop = "'STOP'"
	}
	if to.InFlight() {
		process = "'mallory'"
	}
	if to.Terminal() {
		stopped = b.at(0)
	}
	_, err := b.db.ExecContext(b.ctx(), fmt.Sprintf(`UPDATE taskkit_queued_task SET workflow_status = '%s', execution_started_date = %s,
control = %s, scheduled_by_process = %s, workflow_stopped_date = %s, fence = fence + (%d) WHERE id = $1`,
		to, started, stop, process, stopped, v.fence), id.String())
	if want := legal(from, to, v); (err == nil) != want {
		b.Fatalf("%s to %s with %+v: passed is %v (%v), want %v", from, to, v, err == nil, err, want)
	}
	if err != nil && !strings.Contains(err.Error(), "taskkit") {
		b.Fatalf("%s to %s with %+v: refused by %v, want by taskkit's own trigger or check", from, to, v, err)
	}
	if err != nil {
		is(b, "status afterwards", b.read(id).Status, from)
		return id
	}
	is(b, "status afterwards", b.read(id).Status, to)
	b.exec("DELETE FROM taskkit_queued_task")
	return b.bring(from)
}

// attackImmutables: what never changes, whoever writes.
func attackImmutables(b *bed) {
	b.enrol()
	id := b.bring(workflow.Executing, func(t *store.NewTask) { t.UniqueKey = "u" })
	person := uuid.NewString()
	for _, set := range []string{
		"owner_id = '" + person + "'", "run_as_id = '" + person + "'", "id = '" + person + "'", "execution_component_name = 'other'", "unique_key = 'x'",
		"unique_key = NULL", `execution_spec = '{"n": 2}'`, "execution_spec = NULL", "checkpoint_seq = checkpoint_seq + 2", "checkpoint_seq = checkpoint_seq - 1",
		"fence = fence + 1", "fence = fence - 1", "fence = 0", "workflow_status = 'NONSENSE'", "control = 'NONSENSE'", "priority = 0", "priority = 5", "items_taken = -1", "items_done = -1",
		"items_failed = -1", "items_skipped = -1", "attempts = -1", "scheduled_by_process = NULL, workflow_status = 'NONSENSE'",
		"scheduled_by_process = NULL, workflow_status = 'COMPLETED'", "workflow_status = 'COMPLETED', workflow_stopped_date = " + b.at(0),
		"scheduled_by_process = NULL", "execution_started_date = NULL", "workflow_stopped_date = " + b.at(0),
	} {
		if _, err := b.db.ExecContext(b.ctx(), "UPDATE taskkit_queued_task SET "+set); err == nil {
			b.Fatalf("%s passed", set)
		}
	}
	for _, set := range []string{"checkpoint_seq = checkpoint_seq + 1", `execution_state = '{"a":1}'`, "execution_spec = execution_spec", "owner_id = owner_id", "reason = 'x'"} {
		b.exec("UPDATE taskkit_queued_task SET " + set)
	}
	// The spec of a task that was never claimed may be replaced (CER-14).
	fresh := b.one()
	b.exec(`UPDATE taskkit_queued_task SET execution_spec = '{"n": 2}' WHERE id = $1`, fresh.String())
	is(b, "spec", string(b.read(fresh).Spec), `{"n": 2}`)

	_, err := b.request(id, store.ActPause)
	b.ok(err)
	for _, query := range []string{"UPDATE taskkit_task_event SET reason = 'x'", "DELETE FROM taskkit_task_event"} {
		if _, err := b.db.ExecContext(context.WithoutCancel(b.ctx()), query); err == nil {
			b.Fatalf("%s passed", query)
		}
	}
	is(b, "events", b.count("SELECT count(*) FROM taskkit_task_event"), 1)
	if b.db.Dialect == dialect.Postgres {
		if _, err := b.db.ExecContext(b.ctx(), "UPDATE taskkit_task_event SET reason = 'x'"); err == nil || !strings.Contains(err.Error(), "append-only") {
			b.Fatalf("the refusal says %v", err)
		}
	}
}
