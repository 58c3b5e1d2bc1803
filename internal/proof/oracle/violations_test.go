package oracle_test

import (
	"cmp"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
)

// violation is one invariant violated on purpose. Want are the violations that must be
// found for its task, and no others: the invariant, and a part of the detail.
// With no task they are about the whole run.
type violation struct {
	name string
	want []string
	play func(w *env) (task string)
}

// played are the bounds under which the violations are checked: minutes, which no
// machine needs to play them, and what takes too long takes hours.
var played = oracle.Options{
	MaxAttempts: 3, BatchTimeout: time.Minute, Call: 2 * time.Minute, Slack: 2 * time.Minute, Grace: time.Microsecond,
}

// Every kind of violation is made and found, and nothing else is.
func TestViolationsAreFound(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		opts := played
		opts.Logs = w.logs
		violations := slices.Concat(ledgerViolations, lifeViolations, numberViolations, timeViolations, attemptViolations, callViolations, conditionViolations, familyViolations)
		tasks := make([]string, len(violations))
		for i, p := range violations {
			if p.play == nil {
				t.Fatalf("%s: nothing is played", p.name)
			}
			tasks[i] = cmp.Or(p.play(w), p.name)
		}
		clean := w.whole()
		found := make(map[string][]oracle.Violation)
		for _, v := range check(t, db, w.o, opts).Violations {
			found[v.Task] = append(found[v.Task], v)
		}
		whole := found[""]
		for i, p := range violations {
			left := found[tasks[i]]
			for _, want := range p.want {
				left = claimed(t, p.name, want, left, &whole)
			}
			for _, v := range left {
				t.Errorf("%s: found also %s", p.name, v)
			}
			delete(found, tasks[i])
		}
		for _, v := range slices.Concat(whole, found[clean.id]) {
			t.Errorf("found, and not made: %s", v)
		}
		delete(found, "")
		for id := range found {
			t.Errorf("found for a task that broke nothing: %v", found[id])
		}
	})
}

// claimed removes the wanted violation from the violations of the task, or else from
// the violations of the whole run.
func claimed(t *testing.T, name, want string, left []oracle.Violation, whole *[]oracle.Violation) []oracle.Violation {
	t.Helper()
	invariant, part, _ := strings.Cut(want, ": ")
	is := func(v oracle.Violation) bool { return v.Invariant == invariant && strings.Contains(v.Detail, part) }
	if rest := slices.DeleteFunc(slices.Clone(left), is); len(rest) < len(left) {
		return rest
	}
	if rest := slices.DeleteFunc(slices.Clone(*whole), is); len(rest) < len(*whole) {
		*whole = rest
		return left
	}
	t.Errorf("%s: not found: %s (found %v)", name, want, left)
	return left
}

var errPlanned = errors.New("planned")

var ledgerViolations = []violation{
	{"an entity touched twice", []string{"I1: 1 entities touched more than once", "I4: the cursor goes back"}, func(w *env) string {
		return w.submit().event("stop").set(claim).set(start).batch(0, 5).batch(4, 10, "partial = true", finish).id
	}},
	{"an entity left out", []string{"I1: completed with 9 of 10"}, func(w *env) string {
		return w.submit().set(claim).set(start).batch(0, 4).batch(4, 9).set("items_total = NULL, " + finish).id
	}},
	{"an entity of somebody else", []string{"I1: touched 1 entities that are not of its set"}, func(w *env) string {
		return w.submit().event("stop").set(claim).set(start).batch(0, 4).batch(4, 11, "partial = true", finish).id
	}},
	{"a set that nobody declared", []string{"I1: nobody has declared a set"}, func(w *env) string {
		l := w.whole()
		l.do("DELETE FROM oracle_set WHERE task = $1", l.id)
		return l.id
	}},
	{"a task that never was", []string{"I1: was touched for, and was never there"}, func(w *env) string {
		l := &life{env: w, id: uuid.NewString(), first: w.next}
		w.next += size
		l.touch(w.db, "w", 0, 1)
		return l.id
	}},
	{"a lost update of an entity", []string{"I1: the counter of entity"}, func(w *env) string {
		l := w.whole()
		l.do("UPDATE oracle_entity SET counter = counter + 1 WHERE id = $1", l.first)
		return l.id
	}},
	{"another worker touches", []string{"I5: while the task was held by \"w-1\""}, func(w *env) string {
		l := w.submit().set(claim).set(start)
		l.together(func(tx *sql.Tx) {
			l.touch(tx, "zombie", 0, 4)
			l.on(tx, "UPDATE taskkit_queued_task SET "+checkpoint(4)+" WHERE id = $1", l.id)
		})
		return l.id
	}},
	{"a touch under a fence that has passed", []string{"I5: after fence 2 was committed", "I6: with the checkpoint 0 of fence 2"}, func(w *env) string {
		l := w.submit().set(claim).set(start).set(release).set(claim).set(start)
		l.together(func(tx *sql.Tx) {
			l.touch(tx, "w", 0, 4)
			l.on(tx, "UPDATE oracle_touch SET fence = 1 WHERE task = $1", l.id)
			l.on(tx, "UPDATE taskkit_queued_task SET "+checkpoint(0)+" WHERE id = $1", l.id)
		})
		return l.id
	}},
	{"a dead process revives", []string{"I5: process phoenix-1 was declared dead"}, func(w *env) string {
		w.register("phoenix-1")
		w.do("UPDATE taskkit_task_process SET ended_date = CURRENT_TIMESTAMP WHERE id = 'phoenix-1'")
		w.do("UPDATE taskkit_task_process SET ended_date = NULL WHERE id = 'phoenix-1'")
		return ""
	}},
	{"work without a checkpoint", []string{"I6: committed without a checkpoint"}, func(w *env) string {
		l := w.submit().set(claim).set(start)
		l.touch(l.db, "w", 0, 4)
		return l.id
	}},
	{"work without its checkpoint, then another batch", []string{"I6: "}, func(w *env) string {
		l := w.submit().set(claim).set(start)
		l.touch(l.db, "w", 0, 4)
		return l.batch(4, 10).id
	}},
	{"a checkpoint without its work", []string{"I6: counts 4 items and was committed with 0 touches"}, func(w *env) string {
		return w.submit().set(claim).set(start).set(checkpoint(4)).id
	}},
	{"work of one batch with the checkpoint of another", []string{"I6: under fence 1 and checkpoint_seq 7"}, func(w *env) string {
		l := w.submit().set(claim).set(start)
		l.together(func(tx *sql.Tx) {
			l.touch(tx, "w", 0, 4)
			l.on(tx, "UPDATE oracle_touch SET seq = 7 WHERE task = $1", l.id)
			l.on(tx, "UPDATE taskkit_queued_task SET "+checkpoint(0)+" WHERE id = $1", l.id)
		})
		return l.id
	}},
	{"a state without a checkpoint", []string{"I6: the state changes without a checkpoint"}, func(w *env) string {
		return w.submit().set(claim).set(start).set(`execution_state = '{"next":1}'`).id
	}},
}

var lifeViolations = []violation{
	{"born elsewhere", []string{"I3: born QUEUED with fence 3"}, func(w *env) string { return w.submit("fence=3").id }},
	{"a step that the graph has not", []string{"I3: goes from QUEUED to EXECUTING"}, func(w *env) string {
		return w.submit().set("scheduled_by_process = 'w-1', " + start).id
	}},
	{"an end that does not last", []string{"I3: goes from COMPLETED to QUEUED", "I3: left an end 1 times"}, func(w *env) string {
		return w.whole().set("workflow_status = 'QUEUED', workflow_stopped_date = NULL").id
	}},
	{"a retry that nobody asked for", []string{"I3: operators retried it 0 times"}, func(w *env) string {
		return w.submit().set(claim).set(start).attempt(1, 1, "permanent").set(fail).
			set("workflow_status = 'QUEUED', workflow_stopped_date = NULL").id
	}},
	{"removed, and nobody asked", []string{"I3: nobody asked for it"}, func(w *env) string { return w.submit().remove().id }},
	{"removed while held", []string{"I3: removed while w-1 held it"}, func(w *env) string {
		return w.submit().set(claim).event("delete").remove().id
	}},
	{"changed unseen", []string{"I3: its row is not what the last change left"}, func(w *env) string {
		return w.submit().unseen("UPDATE taskkit_queued_task SET attempts = 2 WHERE id = $1").id
	}},
	{"changed unseen, then seen", []string{"I3: does not begin where"}, func(w *env) string {
		return w.submit().unseen("UPDATE taskkit_queued_task SET waiting_reason = 'x' WHERE id = $1").set(claim).id
	}},
	{"removed, and there", []string{"I3: stands there all the same"}, func(w *env) string {
		return w.submit().event("delete").remove().unseen(born).id
	}},
	{"gone unseen", []string{"I2: nobody saw it go"}, func(w *env) string {
		return w.submit().unseen("DELETE FROM taskkit_queued_task WHERE id = $1").id
	}},
	{"inserted twice", []string{"I2: inserted 2 times"}, func(w *env) string {
		l := w.submit().unseen("DELETE FROM taskkit_queued_task WHERE id = $1")
		l.do(born, l.id)
		return l.id
	}},
	{"changed after its end", []string{"I3: changed after it had ended"}, func(w *env) string {
		return w.whole().set("items_done = items_done + 1").id
	}},
	{"from hand to hand", []string{"I3: goes from w-1 to w-2 without a claim"}, func(w *env) string {
		w.register("w-2")
		w.lives("w-2", 4)
		return w.submit().set(claim).set(start).set("scheduled_by_process = 'w-2'").id
	}},
	{"completed by nobody", []string{"I3: completed by nobody", "I1: completed with 0 of 10"}, func(w *env) string {
		return w.submit().set(finish).id
	}},
	{"failed without having started", []string{"I3: without having started"}, func(w *env) string {
		return w.submit().set(claim).attempt(1, 1, "permanent").set(fail).id
	}},
	{"never seen being submitted", []string{"I3: has changed, and nobody saw it being submitted"}, func(w *env) string {
		l := w.whole()
		l.do("DELETE FROM oracle_history WHERE task = $1 AND op = 'INSERT'", l.id)
		return l.id
	}},
	{"never seen at all", []string{"I3: is there, and nobody saw it being submitted"}, func(w *env) string {
		l := w.submit()
		l.do("DELETE FROM oracle_history WHERE task = $1", l.id)
		return l.id
	}},
	{"a spec that changes", []string{"I20: the spec of a task that does not wait changes"}, func(w *env) string {
		return w.submit().set(claim).set(`execution_spec = '{"other":1}'`).id
	}},
	{"an illegal row", []string{"I21: has ended without a date, or has a date"}, func(w *env) string {
		l := w.submit().set(claim)
		l.do("UPDATE oracle_history SET new_stopped = 1 WHERE task = $1 AND op = 'INSERT'", l.id)
		l.do("UPDATE oracle_history SET old_stopped = 1 WHERE task = $1 AND op = 'UPDATE'", l.id)
		return l.id
	}},
	{"an error without a code", []string{"I21: was not recorded cleanly"}, func(w *env) string {
		l := w.submit().set(claim).attempt(1, 1, "transient")
		l.do("UPDATE taskkit_task_attempt SET code = '' WHERE task_id = $1", l.id)
		return l.id
	}},
}

// born makes a task's row as submit does, with the task's id as $1.
const born = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name)
SELECT $1, z, z, z, z, 'played' FROM (SELECT owner_id AS z FROM taskkit_queued_task LIMIT 1) o`

var numberViolations = []violation{
	{"a claim that moves the fence by two", []string{"I4: a claim moves the fence from 0 to 2"}, func(w *env) string {
		return w.submit().set(strings.Replace(claim, "fence + 1", "fence + 2", 1)).id
	}},
	{"a claim that leaves the fence", []string{"I4: a claim moves the fence from 0 to 0"}, func(w *env) string {
		return w.submit().set(strings.Replace(claim, "fence + 1", "fence", 1)).id
	}},
	{"a fence that moves without a claim", []string{"I4: without a claim"}, func(w *env) string {
		return w.submit().set(claim).set(release + ", fence = fence + 1").id
	}},
	{"a checkpoint left out", []string{"I4: checkpoint_seq moves from 0 to 2"}, func(w *env) string {
		return w.submit().set(claim).set(start).set("checkpoint_seq = 2").id
	}},
	{"a checkpoint of nobody", []string{"I4: a checkpoint of a task that nobody holds"}, func(w *env) string {
		return w.submit().set("checkpoint_seq = 1").id
	}},
	{"a counter that goes down", []string{"I4: a counter goes down: done 4 to 3"}, func(w *env) string {
		return w.submit().set(claim).set(start).batch(0, 4).set("items_done = items_done - 1").id
	}},
	{"counters that do not add up", []string{"I4: completed with 10 items done, 0 failed and 0 skipped of 11"}, func(w *env) string {
		return w.submit().set(claim).set(start).batch(0, 10).set("items_total = 11, " + finish).id
	}},
	{"a cursor that goes back", []string{"I4: the cursor goes back"}, func(w *env) string {
		return w.submit().set(claim).set(start).batch(5, 10).batch(0, 5, finish).id
	}},
}

var timeViolations = []violation{
	{"left with a dead worker", []string{"I7: after its process dead-1 was dead"}, func(w *env) string {
		w.register("dead-1")
		l := w.submit().set(strings.Replace(claim, "'w-1'", "'dead-1'", 1)).set("workflow_status = 'QUEUED', scheduled_by_process = NULL")
		return l.later(2, 2).id
	}},
	{"held by nobody who ever was", []string{"I7: which never registered"}, func(w *env) string {
		return w.submit().set(strings.Replace(claim, "'w-1'", "'ghost-1'", 1)).id
	}},
	{"a stop that takes long", []string{"I8: STOP took", "I9: did nothing"}, func(w *env) string {
		return w.submit().event("stop").set(claim).set(start).set("control = 'STOP'").set("control = '', partial = true, "+finish).later(4, 2).id
	}},
	{"a pause that takes long", []string{"I8: PAUSE took", "I9: did nothing"}, func(w *env) string {
		return w.submit().set(claim).set(start).set("control = 'PAUSE'").set(release).later(4, 2).id
	}},
	{"a delete that takes long", []string{"I8: DELETE took", "I9: did nothing"}, func(w *env) string {
		return w.submit().set(claim).set(start).event("delete").set("control = 'DELETE'").remove().later(4, 2).id
	}},
	{"a stop that waits though nobody has begun", []string{"I8: before anybody had claimed it"}, func(w *env) string {
		return w.submit().event("stop").set("control = 'STOP'").id
	}},
	{"a stop that nobody requested", []string{"I8: a stop that nobody requested"}, func(w *env) string {
		return w.submit().set(claim).set(start).batch(0, 10, "partial = true", finish).id
	}},
	{"a batch after the worker was told of a stop", []string{"I8: made checkpoint 2 after it had been told of a STOP"}, func(w *env) string {
		return w.submit().event("stop").set(claim).set(start).batch(0, 4, "control = 'STOP'").batch(4, 8).batch(8, 10, "control = ''", finish).id
	}},
	{"a delete that an end makes void", []string{"I8: an accepted delete is void: it became COMPLETED"}, func(w *env) string {
		return w.submit().set(claim).set(start).event("delete").set("control = 'DELETE'").batch(0, 10, "control = ''", finish).id
	}},
	{"a request that stands on an ended task", []string{"I21: has ended with a STOP standing"}, func(w *env) string {
		return w.submit().event("stop").set(claim).set(start).batch(0, 10, "control = 'STOP'", finish).id
	}},
	{"a row that is left of a removed task", []string{"I8: taskkit_task_item still has one"}, func(w *env) string {
		id := uuid.NewString()
		w.orphan(`INSERT INTO taskkit_task_item (id, task_id, item, outcome, code, detail, attempt) VALUES ($1, $2, '1', 'failed', '', '', 1)`, uuid.NewString(), id)
		return id
	}},
	{"forgotten by a worker that lives", []string{"I9: lived and did nothing with it"}, func(w *env) string {
		return w.submit().set(claim).set(start).set(release).later(3, 2).id
	}},
}

// orphan runs an INSERT of an item that the database refuses, because its task does not exist.
func (w *env) orphan(query string, args ...any) {
	w.Helper()
	conn, err := w.db.Conn(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close()
	off, on := "SET session_replication_role = replica", "RESET session_replication_role"
	if w.db.Dialect == dialect.SQLite {
		off, on = "DROP TRIGGER taskkit_foreign_key_item", "SELECT 1"
	}
	w.on(conn, off)
	w.on(conn, query, args...)
	w.on(conn, on)
}

var attemptViolations = []violation{
	{"a claim that is not counted as an attempt", []string{"I10: a claim moves attempts from 0 to 0"}, func(w *env) string {
		return w.submit().set(strings.Replace(claim, "attempts + 1", "attempts", 1)).id
	}},
	{"claimed beyond the budget", []string{"I10: claimed for attempt 9 of 3"}, func(w *env) string {
		return w.submit().set("attempts = 8").set(claim).id
	}},
	{"tried beyond the budget", []string{"I10: attempt 9 of 3 was recorded"}, func(w *env) string {
		return w.submit().set(claim).attempt(1, 9, "transient").id
	}},
	{"an end beyond the budget", []string{"I10: attempt 5 of 3 was recorded"}, func(w *env) string {
		return w.submit().set(claim).set(start).attempt(1, 5, "permanent").set(fail).id
	}},
	{"a permanent error tried again", []string{"I10: under fence 1 did not end it"}, func(w *env) string {
		return w.submit().set(claim).set(start).attempt(1, 1, "permanent").set(release).set(claim).id
	}},
	{"a failure for no reason", []string{"I10: no attempt says why"}, func(w *env) string {
		return w.submit().set(claim).set(start).set(fail).id
	}},
	{"a transient error that ends a task early", []string{"I10: failed at attempt 1 of 3"}, func(w *env) string {
		return w.submit().set(claim).set(start).attempt(1, 1, "transient").set(fail).id
	}},
	{"a claim before its time", []string{"I12: before it was due"}, func(w *env) string {
		return w.submit("not_before='2099-01-01 00:00:00.000'").set(claim).id
	}},
	{"two live tasks with one unique key", []string{"I13: is live beside"}, func(w *env) string {
		w.submit("unique_key='u'")
		return w.submit("unique_key='u'").id
	}},
	{"two tasks with one idempotency key", []string{"I13: exists beside"}, func(w *env) string {
		w.submit("idempotency_key='i'")
		return w.submit("idempotency_key='i'").id
	}},
	{"a worker that leaves and spends an attempt", []string{"I22: an attempt was spent"}, func(w *env) string {
		return w.submit().set(claim).set("workflow_status = 'QUEUED', scheduled_by_process = NULL, waiting_reason = 'interrupted'").id
	}},
}

var callViolations = []violation{
	{"acknowledged and lost", []string{"I2: was told that it was submitted, and it was never there", "I2: with the key \"lost\" was acknowledged"}, func(w *env) string {
		id := uuid.NewString()
		w.must(nil, w.must(w.log("lost").Submit(oracle.Submission{Kind: "played", Key: "lost"})).OK(id))
		return id
	}},
	{"one uncertain call, two tasks", []string{"I2: 2 tasks of kind played were submitted with the key \"twice\""}, func(w *env) string {
		w.must(w.log("twice").Submit(oracle.Submission{Kind: "played", Key: "twice"})) // and then the process died
		l := w.submit("idempotency_key='twice'").event("delete").remove()
		w.submit("idempotency_key='twice'")
		return l.id
	}},
	{"refused and there", []string{"I2: nothing was submitted with the key \"refused\", and it was"}, func(w *env) string {
		w.must(nil, w.must(w.log("refused").Submit(oracle.Submission{Kind: "played", Key: "refused"})).Refused(errPlanned))
		return w.submit("idempotency_key='refused'").id
	}},
	{"acknowledged as another", []string{"I2: was told that the key \"mixed\" names"}, func(w *env) string {
		other := w.whole()
		w.must(nil, w.must(w.log("mixed").Submit(oracle.Submission{Kind: "played", Key: "mixed"})).OK(other.id))
		return w.submit("idempotency_key='mixed'").id
	}},
	{"refused for a task that never was", []string{"I13: and none ever did"}, func(w *env) string {
		w.must(nil, w.must(w.log("dup").Submit(oracle.Submission{Kind: "played", UniqueKey: "none"})).Duplicate())
		return ""
	}},
	{"a request that was forgotten", []string{"I8: 1 requests to stop were acknowledged, and 0"}, func(w *env) string {
		l := w.whole()
		w.must(nil, w.must(w.log("stop").Control("stop", l.id)).OK(l.id))
		return l.id
	}},
	{"a worker that takes long to leave", []string{"I22: took"}, func(w *env) string {
		w.must(nil, w.must(w.log("slow").Drain()).OK(""))
		return ""
	}},
}
