package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// The owners of the fixture by number: one with a third of all ended tasks, one with a single task, and others.
const (
	ownerBig, ownerOne, ownerOther = 1, 2, 17
)

// ownerID is the id of an owner.
func ownerID(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("%08x-0000-4000-8000-000000000000", n))
}

const (
	sizeSpan   = 180 * 24 * time.Hour // in which the ended tasks were created
	eventsSpan = 60 * 24 * time.Hour
)

// The fixture, for both databases. Tasks are numbered in the order of time; {task} is the id of number i, {at} its time, and {owner}
// its owner. A fifth of the ended tasks is of the kind short.
const (
	sizeTasks = `INSERT INTO {s}taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec,
  workflow_status, workflow_status_desc, reference, unique_key, queue, created_date, modified_date, not_before, execution_started_date, first_started_date, workflow_stopped_date, fence, position, items_total, items_done)
SELECT {task}, {owner}, {owner}, {owner}, {owner},
  CASE WHEN i % 10 < 2 THEN 'short' WHEN i % 10 < 7 THEN 'billing' WHEN i % 10 < 9 THEN 'mail' ELSE 'report' END, '{"t":1}',
  CASE WHEN i % 1000 = 1 THEN 'FAILURE' WHEN i % 2000 = 2 THEN 'ERROR' ELSE 'COMPLETED' END,
  CASE WHEN i % 1000 = 1 THEN 'database: away' WHEN i % 2000 = 2 THEN 'crash_loop: it' END,
  CASE WHEN i % 10 = 3 THEN 'reference ' || (i % 500000) END, CASE WHEN i % 20 = 5 THEN 'key ' || i END,
  'default', {at}, {at}, {at}, {at}, {at}, {at}, 1, 10, 10, 10
FROM {numbers}`
	sizeWaiting = `INSERT INTO {s}taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec, queue, created_date, modified_date, not_before)
SELECT {task}, {owner}, {owner}, {owner}, {owner}, {kind}, '{"t":1}', 'default', {at}, {at}, {at}
FROM {numbers}`
	sizeRunning = `INSERT INTO {s}taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec, queue, created_date, modified_date, not_before,
  workflow_status, scheduled_by_process, scheduling_started_date, execution_started_date, first_started_date, fence, attempts)
SELECT {task}, {owner}, {owner}, {owner}, {owner}, 'billing', '{"t":1}', 'default', {at}, {at}, {at}, 'EXECUTING', 'size', {at}, {at}, {at}, 1, 1
FROM {numbers}`
	sizeProcess = `INSERT INTO {s}taskkit_task_process (id, version, last_heartbeat_date, dead_after_ms, kinds, queues, slots)
VALUES ('size', '1', {later}, 60000, '{"billing":[1],"mail":[1],"report":[1],"short":[1]}', '["default"]', 1000)`
	sizeEvents = `INSERT INTO {s}taskkit_task_event (id, task_id, created_date, action, was)
SELECT {task}, {ofTask}, {at}, CASE WHEN i % 2 = 0 THEN 'resume' ELSE 'pause' END, 'QUEUED' FROM {numbers}`
	sizeItems = `INSERT INTO {s}taskkit_task_item (id, task_id, created_date, position, attempt, outcome, code, item, detail)
SELECT {task}, {ofTask}, {at}, i % 1000, 1, CASE WHEN i % 10 = 0 THEN 'skipped' ELSE 'failed' END, 'missing', 'item ' || i, '' FROM {numbers}`
)

// part is a statement of the fixture: it inserts the rows first+1 to first+n, spread over a period.
type part struct {
	what     string
	text     string
	first, n int
	from, to time.Time
	salt     string // of the ids
	words    []string
}

// fill makes the fixture.
func (s *sized) fill(ctx context.Context, n sizes, progress io.Writer) error {
	now := time.Now()
	ended, day := part{n: n.ended, from: now.Add(-sizeSpan), to: now.Add(-24 * time.Hour)}, now.Add(-24*time.Hour)
	per := min(max(n.items/1000, 1), n.ended/2) // tasks with items, among all others: each has up to 1,000
	parts := []part{
		{what: "ended tasks", text: sizeTasks, n: n.ended, from: ended.from, to: ended.to, salt: "700"},
		{what: "waiting of kinds that no worker has", text: sizeWaiting, first: n.ended, n: n.foreign, from: day, to: now.Add(-3 * time.Hour), salt: "700", words: []string{"{kind}", "'foreign' || (i % 3)"}},
		{what: "waiting", text: sizeWaiting, first: n.ended + n.foreign, n: n.waiting, from: now.Add(-3 * time.Hour), to: now.Add(-2 * time.Hour), salt: "700", words: []string{"{kind}", "'billing'"}},
		{what: "running", text: sizeRunning, first: n.ended + n.foreign + n.waiting, n: n.running, from: now.Add(-2 * time.Hour), to: now.Add(-time.Hour), salt: "700"},
		{what: "processes", text: sizeProcess},
		{what: "events", text: sizeEvents, n: n.events, from: now.Add(-eventsSpan), to: now, salt: "701", words: []string{"{ofTask}", s.id(fmt.Sprintf("(1 + i / 2 %% %d)", n.ended), ended, "700")}},
		{what: "items", text: sizeItems, n: n.items, from: ended.from, to: ended.to, salt: "702", words: []string{"{ofTask}", s.id(fmt.Sprintf("(4 + i %% %d * %d)", per, n.ended/per-1), ended, "700")}},
	}
	return s.insert(ctx, parts, progress)
}

// insert inserts the rows of parts. Indexes are made afterwards, and triggers are not called.
func (s *sized) insert(ctx context.Context, parts []part, progress io.Writer) error {
	off, on, err := s.withoutIndexes(ctx)
	if err != nil {
		return err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	run := func(what, statement string) error {
		began := time.Now()
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make %s by %.200q: %w", what, statement, err)
		}
		if took := time.Since(began); took > time.Second {
			fmt.Fprintf(progress, "%s: %v\n", what, took.Round(100*time.Millisecond))
		}
		return nil
	}
	for _, statement := range off {
		if err := run("room", statement); err != nil {
			return err
		}
	}
	for _, p := range parts {
		if err := run(p.what, s.statement(p)); err != nil {
			return err
		}
	}
	for _, statement := range on {
		if err := run(strings.Join(strings.Fields(statement)[:min(4, len(strings.Fields(statement)))], " "), statement); err != nil {
			return err
		}
	}
	return nil
}

// at is the expression of the milliseconds at which row i was made.
func (p part) at(i string) string {
	return fmt.Sprintf("(%d + (%s - %d) * %d / %d)", p.from.UnixMilli(), i, p.first, p.to.Sub(p.from).Milliseconds(), max(p.n, 1))
}

// id is the expression of the id of row i: the time, and the number.
func (s *sized) id(i string, p part, salt string) string {
	at := p.at(i)
	if s.postgres {
		return "(lpad(to_hex(" + at + "), 12, '0') || '7" + salt + "8000' || lpad(to_hex(" + i + "), 12, '0'))::uuid"
	}
	return "printf('%08x-%04x-7%s-8000-%012x', " + at + " >> 16, " + at + " & 65535, '" + salt + "', " + i + ")"
}

// statement is a part in the words of the database.
func (s *sized) statement(p part) string {
	const owner = "CASE WHEN i = 1000 THEN 2 WHEN i % 1000 < 338 THEN 1 ELSE 10 + i * 7919 % 10000 END"
	words := []string{
		"{s}", "", "{owner}", "printf('%08x-0000-4000-8000-000000000000', " + owner + ")", "{later}", "'2999-01-01 00:00:00.000'",
		"{at}", "strftime('%Y-%m-%d %H:%M:%f', " + p.at("i") + " / 1000.0, 'unixepoch')",
		"{numbers}", fmt.Sprintf("(WITH RECURSIVE c(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT i FROM c) s", p.first+1, p.first+p.n),
	}
	if s.postgres {
		words = []string{
			"{s}", s.tables + ".", "{owner}", "(lpad(to_hex(" + owner + "), 8, '0') || '000040008000000000000000')::uuid", "{later}", "'2999-01-01'::timestamptz",
			"{at}", "to_timestamp(" + p.at("i") + " / 1000.0)",
			"{numbers}", fmt.Sprintf("generate_series(%d::bigint, %d) s(i)", p.first+1, p.first+p.n),
		}
	}
	words = append(words, "{task}", s.id("i", p, p.salt))
	return strings.NewReplacer(append(words, p.words...)...).Replace(p.text)
}

// withoutIndexes returns the statements that take away what makes inserts slow, and those that put it back.
func (s *sized) withoutIndexes(ctx context.Context) (off, on []string, err error) {
	query := "SELECT type, name, sql FROM sqlite_master WHERE type = 'trigger' OR type = 'index' AND sql IS NOT NULL"
	if s.postgres {
		query = "SELECT 'index', schemaname || '.' || indexname, indexdef FROM pg_indexes WHERE schemaname = '" + s.tables + "' AND indexname NOT LIKE '%_pkey%' AND indexname NOT LIKE '%goose%'"
		off = append(off, "SET session_replication_role = replica", "SET work_mem = '256MB'")
	} else {
		off, on = append(off, "PRAGMA synchronous = OFF", "PRAGMA cache_size = -400000"), []string{"PRAGMA synchronous = FULL"}
	}
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return nil, nil, fmt.Errorf("list the indexes: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return nil, nil, fmt.Errorf("list the indexes: %w", err)
		}
		off, on = append(off, "DROP "+kind+" "+name), append(on, text)
	}
	if s.postgres {
		on = append(on, "SET session_replication_role = origin", "RESET work_mem", "VACUUM (ANALYZE)", "CHECKPOINT")
	} else {
		on = append(on, "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return off, on, rows.Err()
}

// thousands writes a count.
func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return figure(float64(n))
}
