package chaos_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
)

// below are all children of a task, to any depth, also those that are removed.
const below = `WITH RECURSIVE below(task) AS (
  SELECT task FROM oracle_history WHERE op = 'INSERT' AND parent <> '' AND parent = $1
  UNION ALL SELECT h.task FROM below b JOIN oracle_history h ON h.parent = b.task WHERE h.op = 'INSERT' AND h.parent <> ''
) `

// verify checks what the oracle does not know: what parents were to do, and what requests on them
// must have led to.
func (o *parentOperator) verify(r *oracle.Report) {
	o.Helper()
	o.guard.Lock()
	defer o.guard.Unlock()
	kinds := make(map[string]int) // of tasks that did all
	removed, stopped := 0, 0
	for id, t := range o.tasks {
		task, err := o.client.Task(o.Context(), id)
		switch {
		case t.asked == taskkit.ControlDelete:
			if !errors.Is(err, taskkit.ErrNotFound) {
				o.Errorf("the delete of parent %s was accepted, and it is there (%v)", id, err)
			}
			removed++
			continue
		case err != nil:
			o.Errorf("parent %s: %v", id, err)
			continue
		case t.endless && task.Status == taskkit.StatusCompleted && !task.Partial:
			if o.number(below+"SELECT count(*) FROM below b JOIN taskkit_queued_task q ON CAST(q.id AS text) = b.task WHERE q.partial", id) == 0 {
				o.Errorf("the endless parent %s is complete, and no child of it was stopped", id)
			}
		case t.asked == taskkit.ControlStop:
			if stopped++; !task.Ended() {
				o.Errorf("the stop of parent %s was accepted, and it is %s", id, task.Status)
			}
		case task.Status == taskkit.StatusCompleted && o.verifyWhole(id, t):
			kinds[task.Kind]++
		case t.whole:
			o.Errorf("nothing in the %s task %s breaks and nobody made a request of it, and it did not do all: it is %s", task.Kind, id, task.Status)
		}
		if task.Status == taskkit.StatusCompleted && task.Kind == "composite" {
			o.verifyStages(id)
		}
	}
	merged := o.verifyMerged()
	for _, kind := range []string{"family", "divided", "composite"} {
		if kinds[kind] == 0 {
			o.Errorf("no %s task did all that it was to do: %v", kind, kinds)
		}
	}
	if r.Counts.Children == 0 || merged == 0 || removed+stopped == 0 {
		o.Errorf("%d merged tasks, %d removed, %d stopped, and the oracle saw %+v", merged, removed, stopped, r.Counts)
	}
	o.Logf("%d parents, of which %d were stopped, %d removed, and of each kind %v did all; %d merged; %d tasks have been parents, of %d children; accepted: %v",
		len(o.tasks), stopped, removed, kinds, merged, r.Counts.Parents, r.Counts.Children, o.accepted)
}

// number asks the database for a number.
func (o *parentOperator) number(query string, id taskkit.ID) (n int64) {
	o.Helper()
	if err := o.db.QueryRowContext(o.Context(), query, id.String()).Scan(&n); err != nil {
		o.Fatalf("%.200q: %v", query, err)
	}
	return n
}

// verifyWhole reports whether each child of a complete task, to any depth, is there and complete. Then
// they must have touched each item once.
func (o *parentOperator) verifyWhole(id taskkit.ID, t *parentTask) bool {
	o.Helper()
	all := o.number(below+"SELECT count(*) FROM below", id)
	complete := o.number(below+"SELECT count(*) FROM below b JOIN taskkit_queued_task q ON CAST(q.id AS text) = b.task WHERE q.workflow_status = 'COMPLETED' AND NOT q.partial", id)
	if complete < all {
		return false
	}
	touches := below + "SELECT coalesce(%s, 0) FROM below b JOIN oracle_touch t ON t.task = b.task"
	n, distinct := o.number(fmt.Sprintf(touches, "count(*)"), id), o.number(fmt.Sprintf(touches, "count(DISTINCT t.entity)"), id)
	first, last := o.number(fmt.Sprintf(touches, "min(t.entity)"), id), o.number(fmt.Sprintf(touches, "max(t.entity)"), id)
	if n != t.past-t.first || distinct != n || first != t.first || last != t.past-1 {
		o.Errorf("the %d children of parent %s are complete, with %d touches of %d items from %d to %d, want each from %d to %d once",
			all, id, n, distinct, first, last, t.first, t.past-1)
	}
	return true
}

// verifyMerged checks that the result of each complete task in buckets has each of its buckets merged
// once. It returns the number of these tasks.
func (o *parentOperator) verifyMerged() int {
	o.Helper()
	ids, err := o.ids(o.Context(), `SELECT q.id FROM taskkit_queued_task q WHERE q.execution_component_name = 'divided' AND q.workflow_status = 'COMPLETED'
AND EXISTS (SELECT 1 FROM oracle_history h WHERE h.op = 'INSERT' AND h.parent <> '' AND h.parent = CAST(q.id AS text))`)
	if err != nil {
		o.Fatal(err)
	}
	for _, id := range ids {
		got, err := taskkit.Fetch(o.Context(), o.client, divided, id)
		if err != nil {
			o.Errorf("the result of task %s in buckets: %v", id, err)
			continue
		}
		buckets := o.number("SELECT count(DISTINCT task) FROM oracle_history WHERE op = 'INSERT' AND parent <> '' AND parent = $1", id)
		touched := o.number(below+"SELECT count(*) FROM below b JOIN oracle_touch t ON t.task = b.task", id)
		task := o.task(id)
		if int64(got.Buckets) != buckets || got.Touched != touched || !task.Partial && buckets != dividedBy {
			o.Errorf("task %s (partial: %t) has merged %d buckets with %d items, and %d buckets have touched %d", id, task.Partial, got.Buckets, got.Touched, buckets, touched)
		}
	}
	return len(ids)
}

// verifyStages checks that no stage of a complete task has begun before those that it comes after had ended.
func (o *parentOperator) verifyStages(id taskkit.ID) {
	o.Helper()
	children, err := o.client.Children(o.Context(), id, taskkit.ID{}, 0)
	if err != nil {
		o.Fatal(err)
	}
	stages := make(map[string]*taskkit.Child, len(children))
	for _, c := range children {
		if stages[c.Stage] != nil {
			o.Errorf("the stage %s of task %s is there twice", c.Stage, id)
		}
		stages[c.Stage] = c
	}
	for name, before := range stageOrder {
		for _, first := range before {
			// One of a complete task may have been deleted, or stopped with it before it began.
			a, b := stages[first], stages[name]
			if a != nil && b != nil && b.Started != nil && b.Started.Before(*a.Ended) {
				o.Errorf("the stage %s of task %s began before the stage %s had ended", name, id, first)
			}
		}
	}
}

// printOpen prints the tasks that have not ended, of a run that has failed.
func (o *parentOperator) printOpen() {
	o.Helper()
	rows, err := o.db.QueryContext(context.WithoutCancel(o.Context()), `SELECT id, CAST(parent_id AS text), execution_component_name, workflow_status, control, coalesce(waiting_reason, ''), fence
FROM taskkit_queued_task WHERE `+openTasks+" ORDER BY id LIMIT 50")
	if err != nil {
		o.Log(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var (
			id, kind, status, control, reason string
			parent                            sql.NullString
			fence                             int64
		)
		if err := rows.Scan(&id, &parent, &kind, &status, &control, &reason, &fence); err != nil {
			o.Log(err)
			return
		}
		o.Logf("open: %s %s, child of %q: %s, request %q, reason %q, fence %d", kind, id, parent.String, status, control, reason, fence)
	}
	if err := rows.Err(); err != nil {
		o.Log(err)
	}
}
