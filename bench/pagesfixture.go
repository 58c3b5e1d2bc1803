package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"taskkit.dev/bench/executors/tiny"
	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/taskkit"
)

// pagesSpan is the time in which the ended tasks of the fixture were created.
const pagesSpan = 90 * 24 * time.Hour

// The fixture of the pages: tasks of 20 kinds in 10 queues. One in 50 failed, for one of 8 reasons, one in 50 is a child, and a twentieth of the ended
// tasks has a reference.
const (
	pagesKind = "CASE (hashint8(i) & 8191) % 20 WHEN 0 THEN 'tiny' ELSE 'kind_' || (hashint8(i) & 8191) % 20 END"
	pagesCode = "'code_' || (hashint8(-i) & 8191) % 8 || ': the server is away'"
	pagesTask = `INSERT INTO {s}taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec, queue, created_date, modified_date, not_before{columns})
SELECT {task}, {owner}, {owner}, {owner}, {owner}, ` + pagesKind + `, '{"t":1}', 'queue_' || (hashint8(i + 1) & 8191) % 10, {at}, {at}, {at}{due}{values} FROM {numbers}`
	pagesAttempts = `INSERT INTO {s}taskkit_task_attempt (id, task_id, created_date, process, fence, checkpoint_seq, attempt, class, code, detail)
SELECT {task}, {ofTask}, {at}, 'pages', 1, 0, 1, 'transient', 'code', 'the server is away' FROM {numbers}`
	pagesProcess = `INSERT INTO {s}taskkit_task_process (id, version, last_heartbeat_date, dead_after_ms, kinds, queues, slots)
SELECT 'pages-' || i, '1', {later}, 60000, (SELECT json_object_agg(CASE WHEN k = 0 THEN 'tiny' ELSE 'kind_' || k END, '[1]'::json) FROM generate_series(0, 19) k),
(SELECT json_agg('queue_' || k) FROM generate_series(0, 9) k), 1000 FROM {numbers}`
	pagesFamilies = `INSERT INTO {s}taskkit_task_parent (id, task_id, sums)
SELECT gen_random_uuid(), parent, json_build_object('total', sum(n), 'ended', json_build_object('statuses', json_object_agg(status, n), 'fences', sum(n),
  'items', json_build_object('Total', sum(n) * 1000, 'Done', sum(n) * 990, 'Failed', sum(n) * 10)))
FROM (SELECT parent_id AS parent, workflow_status AS status, count(*) AS n FROM {s}taskkit_queued_task WHERE parent_id IS NOT NULL GROUP BY 1, 2) c GROUP BY parent`
	pagesJob = `INSERT INTO river_job (state, attempt, max_attempts, created_at, scheduled_at, attempted_at, finalized_at, args, attempted_by, errors, kind, queue)
SELECT {state}, 1, 25, {at}, {at}, {started}, {ended}, '{"t":1}', ARRAY['pages'], {errors}, ` + pagesKind + `, 'queue_' || (hashint8(i + 1) & 8191) % 10 FROM {numbers}`
)

// pagesSizes are how many tasks of each sort there are.
type pagesSizes struct{ ended, later, paused, due, running, children, items, events int }

// all is how many tasks there are.
func (n pagesSizes) all() int { return n.ended + n.later + n.paused + n.due + n.running }

func pagesSizesOf(tasks int) pagesSizes {
	n := pagesSizes{
		later: max(tasks/300, 10), paused: max(tasks/500, 10), due: max(tasks/100, 10), running: max(tasks/10_000, 10), children: tasks / 100,
		items: tasks / 10, events: tasks / 10,
	}
	n.ended = tasks - n.later - n.paused - n.due - n.running
	return n
}

// endedPart is the part of the ended tasks.
func (n pagesSizes) endedPart(now time.Time) part {
	return part{n: n.ended, from: now.Add(-pagesSpan), to: now.Add(-4 * time.Hour), salt: "700"}
}

// family is the number of the task that has many children.
func (n pagesSizes) family() int { return n.ended / 2 }

// fillPages makes the fixture of taskkit.
func (s *sized) fillPages(ctx context.Context, n pagesSizes, now time.Time, progress io.Writer) error {
	task := func(columns, values string) string {
		return strings.NewReplacer("{columns}", columns, "{values}", values, "{due}", "").Replace(pagesTask)
	}
	later := strings.NewReplacer("{columns}", "", "{values}", "", "{due}", " + interval '10 days'").Replace(pagesTask)
	ended, first := n.endedPart(now), n.ended
	few := max(n.items/1000, 1) // tasks with items
	next := func(what, text string, count int, from, to time.Duration) part {
		p := part{what: what, text: text, first: first, n: count, from: now.Add(from), to: now.Add(to), salt: "700"}
		first += count
		return p
	}
	ended.what = "ended"
	ended.text = task(", workflow_status, workflow_status_desc, reference, unique_key, parent_id, execution_started_date, first_started_date, workflow_stopped_date, fence, position, items_total, items_done, items_failed",
		", CASE i % 100 WHEN 1 THEN 'FAILURE' WHEN 2 THEN 'ERROR' ELSE 'COMPLETED' END, CASE WHEN i % 100 IN (1, 2) THEN "+pagesCode+" END"+
			", CASE WHEN i % 20 = 3 THEN 'reference ' || i % 500000 END, CASE WHEN i % 20 = 5 THEN 'key ' || i END"+
			fmt.Sprintf(", CASE WHEN i > %d AND i <= %d THEN %s WHEN i %% 50 = 7 THEN %s END", n.family(), n.family()+n.children, s.id(fmt.Sprint(n.family()), ended, "700"), s.id("(i - i % 1000 + 1)", ended, "700"))+
			", {at}, {at}, {at}, 1, 1000, 1000, 990, 10")
	parts := []part{
		ended,
		next("due later", later, n.later, -4*time.Hour, -3*time.Hour),
		next("paused", task(", control, control_reason", ", 'PAUSE', 'the customer has asked'"), n.paused, -3*time.Hour, -2*time.Hour),
		next("due", task("", ""), n.due, -2*time.Hour, -time.Hour),
		next("running", task(", workflow_status, scheduled_by_process, scheduling_started_date, execution_started_date, first_started_date, fence, attempts, position, items_total, items_done",
			", 'EXECUTING', 'pages-' || 1 + i % 10, {at}, {at}, {at}, 1, 1, 500, 1000, 500"), n.running, -time.Hour, -time.Minute),
		{what: "families", text: pagesFamilies},
		{what: "processes", text: pagesProcess, n: 10},
		{what: "events", text: sizeEvents, n: n.events, from: now.Add(-pagesSpan), to: now, salt: "701", words: []string{"{ofTask}", s.id(fmt.Sprintf("(1 + i / 2 %% %d)", n.ended), ended, "700")}},
		{what: "items", text: sizeItems, n: n.items, from: ended.from, to: ended.to, salt: "702", words: []string{"{ofTask}", s.id(fmt.Sprintf("(101 + i %% %d * %d)", few, n.ended/few/100*100), ended, "700")}},
		{what: "attempts", text: pagesAttempts, n: n.ended / 100, from: ended.from, to: ended.to, salt: "703", words: []string{"{ofTask}", s.id("((i - 1) * 100 + 1)", ended, "700")}},
	}
	if err := s.insert(ctx, parts, progress); err != nil {
		return err
	}
	_, err := tinytask.SubmitMany(ctx, s.db, make([]tiny.Spec, 200), taskkit.System(), taskkit.WithApproval())
	return err
}

// fillRiver makes the same tasks as jobs of River.
func (s *sized) fillRiver(ctx context.Context, n pagesSizes, now time.Time, progress io.Writer) error {
	pool, err := s.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet()})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	ended, first := n.endedPart(now), n.ended
	job := func(what, state, started, ended, errs string, count int, from, to time.Duration) part {
		p := part{
			what: what, first: first, n: count, from: now.Add(from), to: now.Add(to),
			text: strings.NewReplacer("{state}", state, "{started}", started, "{ended}", ended, "{errors}", errs).Replace(pagesJob),
		}
		first += count
		return p
	}
	done := job("ended", "(CASE WHEN i % 100 IN (1, 2) THEN 'discarded' ELSE 'completed' END)::river_job_state", "{at}", "{at}",
		`CASE WHEN i % 100 IN (1, 2) THEN ARRAY[jsonb_build_object('at', {at}, 'attempt', 1, 'error', `+pagesCode+`, 'trace', '')] END`, n.ended, 0, 0)
	done.first, done.from, done.to = 0, ended.from, ended.to
	first = n.ended
	return s.insert(ctx, []part{
		done,
		job("due later", "'scheduled'", "NULL", "NULL", "NULL", n.later, time.Hour, 240*time.Hour),
		job("pending", "'pending'", "NULL", "NULL", "NULL", n.paused, -3*time.Hour, -2*time.Hour),
		job("due", "'available'", "NULL", "NULL", "NULL", n.due, -2*time.Hour, -time.Hour),
		job("running", "'running'", "{at}", "NULL", "NULL", n.running, -time.Hour, -time.Minute),
		{what: "queues", text: "INSERT INTO river_queue (name, updated_at) SELECT 'queue_' || i - 1, now() FROM {numbers}", n: 10},
	}, progress)
}
