package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// postgresClaim takes tasks in one statement.
//
// It probes the index taskkit_claim once for each rank (stalled before new,
// then priority) and queue, and each probe begins at the oldest task and ends
// at now, so that tasks due in the future, paused ones and all that are not
// QUEUED cost nothing. Three things keep the planner at that:
//
//   - statement_timestamp() and not clock_timestamp(): only a stable function
//     bounds an index scan.
//   - What is known is asked as "this is not null", which the planner believes
//     of nearly every row. Asked as a comparison it expects next to none, and
//     prefers to read and sort the table.
//   - The rows to update come out of an array, which it takes for ten rows and
//     looks up one by one. Of a thousand it would rather read the table.
//
// The limit, the queues and the kinds hide in subqueries too, so that a plan made
// for any costs what one made for these does: PostgreSQL then keeps it, and
// planning this statement takes longer than a claim of a few tasks. A limit that
// hides is believed to be a tenth of the table; the number behind it says that it
// is not, or PostgreSQL would compile a claim from some 300,000 waiting tasks on,
// which takes longer than the claim (jit_above_cost).
//
// Parameters: process, queues, kinds with revisions, limit, largest spec.
var postgresClaim = postgresTake(`ranks AS MATERIALIZED (
  SELECT r.rank, r.stalled, r.priority, u.queue
  FROM (VALUES (1, true, 1::smallint), (2, true, 2::smallint), (3, true, 3::smallint), (4, true, 4::smallint),
               (5, false, 1::smallint), (6, false, 2::smallint), (7, false, 3::smallint), (8, false, 4::smallint)) r(rank, stalled, priority)
  CROSS JOIN unnest((SELECT $2::text[])) u(queue)
  WHERE EXISTS (SELECT FROM {s}taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY r.rank
), picked AS MATERIALIZED (
  SELECT id, rank FROM (SELECT t.id, r.rank
  FROM ranks r CROSS JOIN LATERAL (
    SELECT q.id FROM {s}taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = r.queue AND q.stalled = r.stalled AND q.priority = r.priority
      AND q.not_before <= statement_timestamp()
      AND nullif(q.execution_component_name || ' ' || q.codec_revision = ANY((SELECT $3::text[])::text[]), false) IS NOT NULL
    ORDER BY q.not_before, q.id LIMIT (SELECT $4::bigint) FOR UPDATE SKIP LOCKED
  ) t
  LIMIT (SELECT $4::bigint)) p LIMIT 10000
)`, `
  SELECT coalesce(ceil(extract(epoch FROM min(t.not_before) - statement_timestamp()) * 1000)::bigint, -1) AS wait
  FROM ranks r CROSS JOIN LATERAL (
    SELECT q.not_before FROM {s}taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = r.queue AND q.stalled = r.stalled AND q.priority = r.priority
      AND q.not_before > statement_timestamp()
    ORDER BY q.not_before LIMIT 1
  ) t
  WHERE (SELECT count(*) FROM claimed) < $4`)

// postgresClaimRequested takes waiting tasks that are to end. They are few and
// have an index of their own; the planner is kept from the others by comparisons
// that they cannot serve.
var postgresClaimRequested = postgresTake(`picked AS MATERIALIZED (
  SELECT q.id, 1 AS rank FROM {s}taskkit_queued_task q`+postgresRequested("$2", "$3")+`
    AND EXISTS (SELECT FROM {s}taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.control, q.id LIMIT $4::bigint FOR UPDATE SKIP LOCKED
)`, "SELECT -1::bigint AS wait")

// postgresRequested is the condition on a task that it waits and is to end. The
// index's own condition is repeated word for word.
func postgresRequested(queues, kinds string) string {
	return `
  WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
    AND q.workflow_status || '' = 'QUEUED' AND q.queue || '' = ANY (` + queues + `::text[])
    AND q.execution_component_name || ' ' || q.codec_revision = ANY(` + kinds + `::text[])`
}

// postgresTake is a claim of what the table expression picked holds; next says
// how long until there is more. Rows come in any order, with what they are sorted
// by.
func postgresTake(picked, next string) string {
	return "WITH " + picked + `, claimed AS (
  UPDATE {s}taskkit_queued_task q SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
    scheduling_started_date = {now}, execution_started_date = NULL, scheduled_by_process = $1,
    fence = q.fence + 1, attempts = q.attempts + 1, stalled = false, modified_date = {now}
  FROM unnest(ARRAY(SELECT id FROM picked), ARRAY(SELECT rank FROM picked)) AS p(id, rank)
  WHERE q.id = p.id
  RETURNING q.id, q.fence, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id, q.run_as_id,
    CASE WHEN pg_column_size(q.execution_spec) <= $5 THEN q.execution_spec::text END AS spec,
    coalesce(pg_column_size(q.execution_spec) > $5, false) AS omitted,
    q.execution_state::text AS state, q.attempts, q.control,
    coalesce(q.items_total, -1) AS items_total, q.items_taken, q.items_done, q.items_failed, q.items_skipped,
    q.created_date, coalesce(q.traceparent, '') AS traceparent,
    coalesce(q.spec_revision, q.codec_revision) AS spec_revision, p.rank, q.not_before
), next AS (` + next + `)
SELECT n.wait, c.id IS NOT NULL, c.* FROM next n LEFT JOIN claimed c ON true`
}

// place is where a task stands among those of a claim.
type place struct {
	rank int64
	due  time.Time
}

// Claim implements [Store].
func (s *postgres) Claim(ctx context.Context, c Claim) (Claims, error) {
	found := Claims{Next: -1}
	if c.Limit <= 0 || len(c.Queues) == 0 || len(c.Kinds) == 0 {
		return found, nil
	}
	query := postgresClaim
	if c.Requested {
		query = postgresClaimRequested
	}
	var (
		wait    int64
		is      bool
		t       claimedRow
		due     time.Time
		columns = append([]any{&wait, &is}, append(t.columns(), &t.rank, moment{&due})...)
		places  = make(map[uuid.UUID]place)
	)
	_, err := ask(ctx, s.db, s.sql(query),
		[]any{c.Process, c.Queues, c.revisions(), int64(c.Limit), int64(c.SpecMax)}, func(rows *sql.Rows) error {
			if err := rows.Scan(columns...); err != nil {
				return err
			}
			if wait >= 0 {
				found.Next = time.Duration(wait) * time.Millisecond
			}
			if is {
				found.Tasks = append(found.Tasks, t.claimed())
				places[t.id.UUID] = place{t.rank.Int64, due}
			}
			return nil
		})
	if err != nil {
		return Claims{}, fmt.Errorf("claim up to %d tasks: %w", c.Limit, err)
	}
	slices.SortFunc(found.Tasks, func(a, b Claimed) int {
		x, y := places[a.ID], places[b.ID]
		return cmp.Or(cmp.Compare(x.rank, y.rank), x.due.Compare(y.due), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return found, nil
}

// Waiting implements [Store].
func (s *postgres) Waiting(ctx context.Context, c Claim) (waiting bool, err error) {
	query := postgresWaiting
	if c.Requested {
		query = "SELECT EXISTS (SELECT FROM {s}taskkit_queued_task q" + postgresRequested("$1", "$2") + ")"
	}
	_, err = ask(ctx, s.db, s.sql(query), []any{c.Queues, c.revisions()}, func(rows *sql.Rows) error {
		return rows.Scan(&waiting)
	})
	if err != nil {
		return false, fmt.Errorf("look for waiting tasks: %w", err)
	}
	return waiting, nil
}

// postgresWaiting asks whether postgresClaim would find something.
const postgresWaiting = `SELECT EXISTS (
  SELECT FROM (VALUES (true), (false)) r(stalled)
  CROSS JOIN (VALUES (1::smallint), (2::smallint), (3::smallint), (4::smallint)) p(priority)
  CROSS JOIN unnest((SELECT $1::text[])) u(queue)
  CROSS JOIN LATERAL (
    SELECT FROM {s}taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue AND q.stalled = r.stalled AND q.priority = p.priority
      AND q.not_before <= statement_timestamp()
      AND nullif(q.execution_component_name || ' ' || q.codec_revision = ANY((SELECT $2::text[])::text[]), false) IS NOT NULL
    ORDER BY q.not_before LIMIT 1
  ) t)`

// revisions are the kinds with their claimable revisions, "kind revision" each.
// A kind holds no space.
func (c Claim) revisions() []string {
	var rs []string
	for kind, revisions := range c.Kinds {
		for _, r := range revisions {
			rs = append(rs, kind+" "+strconv.Itoa(r))
		}
	}
	return rs
}
