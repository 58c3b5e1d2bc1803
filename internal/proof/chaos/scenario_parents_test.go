package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
)

// endless is how many items a part of an endless task has: no run of a test reaches the end of
// them. Only a request ends such a task.
const endless = dividedBy << 24

// parentTask is a task with children that is no child itself.
type parentTask struct {
	first, past int64
	endless     bool
	whole       bool            // nothing in it breaks and nobody makes a request of it, so that it does all
	asked       taskkit.Control // the last accepted stop or delete after which it was not retried
}

// parentOperator submits tasks with children, and stops, pauses, resumes, retries and deletes some of them
// and of their children.
type parentOperator struct {
	*scenario
	log     *oracle.Log
	running sync.WaitGroup

	guard    sync.Mutex // a step holds it
	draining bool
	dice     *rand.Rand
	tasks    map[taskkit.ID]*parentTask
	accepted map[string]int // requests
}

// parents: workers are killed while tasks with children, with buckets and with stages are in flight, and
// an operator makes requests of them and of their children. At the end those that failed are retried
// until they are complete, and those that would never end are stopped or deleted.
func parents(s *scenario) func() {
	s.args.Parents = true
	log, err := oracle.OpenLog(s.clients, "operator")
	if err != nil {
		s.Fatal(err)
	}
	o := &parentOperator{
		scenario: s, log: log, dice: rand.New(rand.NewPCG(4, s.rng.Uint64())),
		tasks: make(map[taskkit.ID]*parentTask), accepted: make(map[string]int),
	}
	// The request goes down some generations and their ends come up again.
	s.stopWithin = 40 * time.Second
	round := kills(s)
	ctx, end := context.WithCancel(s.Context())
	s.Cleanup(func() {
		end()
		o.running.Wait()
		_ = log.Close()
		if s.Failed() {
			o.printOpen()
		}
	})
	o.running.Go(func() { o.work(ctx) })
	s.beforeEnd = o.drain
	s.afterAll = o.verify
	return round
}

// work submits and requests until ctx ends.
func (o *parentOperator) work(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := o.step(ctx); err != nil && ctx.Err() == nil {
			o.Errorf("the operator: %v", err)
			return
		}
	}
}

// openTasks is the condition that a task has not ended, isParent that it is one that the operator has submitted.
const (
	openTasks = "workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')"
	isParent  = "parent_id IS NULL AND execution_component_name IN ('family', 'divided', 'composite')"
)

// step submits a task if there are few, and makes a request now and then.
func (o *parentOperator) step(ctx context.Context) error {
	o.guard.Lock()
	defer o.guard.Unlock()
	if o.draining {
		return nil
	}
	open, err := o.count("SELECT count(*) FROM taskkit_queued_task WHERE " + isParent + " AND " + openTasks)
	if err == nil && open < 6 {
		n := len(o.tasks)
		err = o.submit(ctx, n, &parentTask{endless: n%4 == 3})
	}
	if err != nil || o.dice.IntN(6) > 0 {
		return err
	}
	actions := []string{"pause", "pause", "resume", "resume", "resume", "retry", "retry", "stop", "delete"}
	return o.requestAny(ctx, actions[o.dice.IntN(len(actions))], o.dice.IntN(2) == 0)
}

// submit submits the nth task.
func (o *parentOperator) submit(ctx context.Context, n int, t *parentTask) error {
	items := int64(2 * dividedBy)
	if t.endless {
		items = endless
	}
	parts := []int64{7, 3, compositeParts}[n%3] // of items
	o.mu.Lock()
	t.first, t.past = o.next, o.next+parts*items
	o.next = t.past
	o.mu.Unlock()
	var (
		id     taskkit.ID
		err    error
		breaks = n%2 == 0 && !t.whole
		means  = []taskkit.ChildFailure{taskkit.FailParent, taskkit.PauseParent, taskkit.ContinueParent}[n/3%3]
		opts   = []taskkit.SubmitOption{taskkit.WithSchema(o.args.Schema), taskkit.System()}
	)
	switch n % 3 {
	case 0:
		id, err = taskkit.Submit(ctx, o.db.DB, families, family{
			First: t.first, Children: parts, Items: items, Delay: 5, Window: 2 + int64(n/3%4), OnFailure: means, Breaks: breaks, Nested: n%2 == 0,
		}, opts...)
	case 1:
		opts = append(opts, taskkit.WithMaxParallel(1+n/3%4), taskkit.WithChildFailure(means))
		id, err = taskkit.Submit(ctx, o.db.DB, divided, division{First: t.first, Items: parts * items, Delay: 5, Breaks: breaks}, opts...)
	default:
		id, err = taskkit.Submit(ctx, o.db.DB, composites, composite{First: t.first, Items: items, Delay: 5, Breaks: breaks}, opts...)
	}
	if err == nil {
		o.tasks[id] = t
	}
	return err
}

// requestAny makes a request of any task to which it may apply: one of the operator's own or a
// child.
func (o *parentOperator) requestAny(ctx context.Context, action string, ofChild bool) error {
	where := map[string]string{
		"stop": openTasks, "pause": openTasks, "resume": "control = 'PAUSE'", "retry": "workflow_status IN ('FAILURE', 'ERROR')", "delete": "1 = 1",
	}[action]
	who := isParent
	if ofChild {
		who = "parent_id IS NOT NULL"
	}
	ids, err := o.ids(ctx, "SELECT id FROM taskkit_queued_task WHERE "+who+" AND "+where+" ORDER BY random() LIMIT 1")
	if err != nil || len(ids) == 0 {
		return err
	}
	return o.request(ctx, action, ids[0])
}

// request makes a request of a task, which may be refused.
func (o *parentOperator) request(ctx context.Context, action string, id taskkit.ID) error {
	call, err := o.log.Control(action, id.String())
	if err != nil {
		return err
	}
	_, err = map[string]func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error){
		"stop": o.client.Stop, "pause": o.client.Pause, "resume": o.client.Resume, "retry": o.client.Retry, "delete": o.client.Delete,
	}[action](ctx, id)
	switch {
	case err == nil:
	case isRefusal(err):
		return call.Refused(err)
	default:
		return errors.Join(fmt.Errorf("%s task %s: %w", action, id, err), call.Unknown(err))
	}
	t := o.tasks[id]
	switch {
	case t == nil:
		o.accepted[action+" of a child"]++
		if action == "delete" {
			if err := o.verifyNotNeeded(ctx, id); err != nil {
				return err
			}
		}
	case action == "stop" && t.asked == "":
		t.asked = taskkit.ControlStop
	case action == "delete":
		t.asked = taskkit.ControlDelete
	case action == "retry":
		t.asked = ""
	}
	if t != nil {
		o.accepted[action+" of a parent"]++
	}
	return call.OK(id.String())
}

// isRefusal reports whether an error says that a request does not apply to a task as it is.
func isRefusal(err error) bool {
	_, ofChild := errors.AsType[*taskkit.ChildError](err)
	return ofChild || isState(err) || isDuplicate(err) || errors.Is(err, taskkit.ErrNotFound)
}

// verifyNotNeeded checks that the parent of a child whose delete was accepted does not need it.
func (o *parentOperator) verifyNotNeeded(ctx context.Context, child taskkit.ID) error {
	n := 0
	err := o.db.QueryRowContext(ctx, `SELECT count(*) FROM oracle_history h JOIN taskkit_queued_task p ON CAST(p.id AS text) = h.parent
WHERE h.op = 'INSERT' AND h.task = $1 AND p.workflow_status <> 'COMPLETED' AND p.control <> 'DELETE'`, child.String()).Scan(&n)
	if err == nil && n > 0 {
		o.Errorf("the delete of child %s was accepted, and its parent needs it", child)
	}
	return err
}

// drain submits the last tasks and ends all: those that never end are stopped or deleted, once each. Meanwhile
// a worker is killed.
func (o *parentOperator) drain() {
	o.Helper()
	o.guard.Lock()
	o.draining = true
	o.guard.Unlock()
	ctx := o.Context()
	// A child that has broken fails its parent, which stops the other children, and what is stopped is not
	// done again: a task that breaks need not ever do all.
	for n := range 3 { // of each kind one
		if err := o.submit(ctx, n, &parentTask{whole: true}); err != nil {
			o.Fatal(err)
		}
	}
	// On a slow machine the rounds may have had none.
	if err := o.submit(ctx, 3, &parentTask{endless: true}); err != nil {
		o.Fatal(err)
	}
	n := 0
	for id, t := range o.tasks {
		if !t.endless || t.asked != "" {
			continue
		}
		action := []string{"stop", "delete"}[n%2]
		if err := o.request(ctx, action, id); err != nil {
			o.Fatal(err)
		}
		if t.asked != "" {
			o.faults["parent asked to "+action]++
			n++
		}
	}
	o.signal(o.replaceWorker(), syscall.SIGKILL)
	o.faults["killed while parents are stopped"]++
	o.until("all parents have ended", func() bool {
		ended, err := o.endAll(ctx)
		if err != nil {
			o.Fatal(err)
		}
		return ended
	})
}

// endAll resumes what is paused, retries what has failed and can be complete, and reports whether there is
// nothing to do, and every task has ended.
func (o *parentOperator) endAll(ctx context.Context) (ended bool, err error) {
	paused, err := o.ids(ctx, "SELECT id FROM taskkit_queued_task WHERE control = 'PAUSE'")
	if err != nil {
		return false, err
	}
	// A stage that was stopped stays so.
	failed, err := o.ids(ctx, "SELECT id FROM taskkit_queued_task WHERE "+isParent+` AND workflow_status IN ('FAILURE', 'ERROR')
AND coalesce(workflow_status_desc, '') NOT LIKE '%was stopped before%'`)
	if err != nil {
		return false, err
	}
	failed = slices.DeleteFunc(failed, func(id taskkit.ID) bool { return o.tasks[id].endless || o.tasks[id].asked != "" })
	for action, ids := range map[string][]taskkit.ID{"resume": paused, "retry": failed} {
		for _, id := range ids {
			if err := o.request(ctx, action, id); err != nil {
				return false, err
			}
		}
	}
	if err := o.unplanned(ctx); err != nil {
		return false, err
	}
	left, err := o.left()
	return err == nil && left+len(paused)+len(failed) == 0, nil
}

// unplanned returns as an error the first recorded attempt that failed for good and was not meant to.
func (o *parentOperator) unplanned(ctx context.Context) error {
	var id, code, detail string
	rows, err := o.db.QueryContext(ctx, `SELECT task_id, code, detail FROM taskkit_task_attempt
WHERE class = 'permanent' AND code NOT IN ('`+codeBroken+`', 'child_failed', 'stage_failed') LIMIT 1`)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return rows.Err()
	}
	if err := rows.Scan(&id, &code, &detail); err != nil {
		return err
	}
	return fmt.Errorf("task %s failed: %s: %s", id, code, detail)
}
