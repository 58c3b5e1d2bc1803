package postgres

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// claimQuery takes tasks in one statement.
//
// A lane is a kind and revision of the worker in one of its queues. Two probes of the index taskkit_claim find the first and the
// last rank (see [lifecycle.Ranks]) in which a task of a lane waits, so lanes without tasks cost one probe, and tasks of other
// kinds nothing. Each lane is then read once for each rank, from the oldest task to now, so that
// tasks due in the future, paused tasks and tasks that are not QUEUED cost nothing.
//
// If tasks wait in one lane, they are locked as they are read. If they wait in several, a scan without locks, share, finds first how many
// of the tasks to take are in which lane and rank; so many are locked there. A task that another claim has locked meanwhile is
// replaced by the next one of its lane and rank. If there is none, the claim takes fewer, and the answer is to claim again at once.
//
// Three things make the planner choose this plan:
//
//   - statement_timestamp() and not clock_timestamp(): only a stable function
//     bounds an index scan.
//   - The order of a scan is the order of the index, by all columns that are not equal.
//   - The rows to update come from an array of a subquery, which it estimates as ten
//     rows and looks up by primary key. For a join it may read all rows.
//
// The limit, the queues and the kinds are in subqueries too, so that the generic plan
// has the same estimated cost as a custom one. PostgreSQL then keeps the generic plan;
// planning this statement takes longer than a claim of a few tasks. A limit in a
// subquery is estimated as a tenth of the table. The constant limit after it bounds
// the estimate; without it PostgreSQL would compile the claim when some 300,000 tasks
// wait, which takes longer than the claim (jit_above_cost).
//
// A scan with a cursor (see [claimCursors]) reads from the cursor on. The answer has the number of index entries that the
// statement has read.
//
// Parameters: process, queues, kinds with revisions, limit, largest spec, and the parameters of [cursorTable].
var claimQuery, claimTriedQuery = newClaimQuery(false), newClaimQuery(true)

func newClaimQuery(triedFirst bool) string {
	return takeQuery(`began AS MATERIALIZED (SELECT `+entriesRead+` AS read), `+lanes("$2", "$3", 6, triedFirst,
		"(SELECT read FROM began) >= 0", "EXISTS (SELECT FROM {s}taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)")+`, several AS MATERIALIZED (
  SELECT count(DISTINCT (queue, served)) > 1 AS lanes FROM waits
), share AS MATERIALIZED (
  SELECT w.number, (SELECT $4::bigint) AS tasks FROM waits w WHERE NOT (SELECT lanes FROM several)
  UNION ALL
  SELECT f.number, count(*) FROM (
    SELECT f.number FROM (SELECT DISTINCT place FROM waits WHERE (SELECT lanes FROM several) ORDER BY place) p CROSS JOIN LATERAL (
      SELECT w.number, t.not_before, t.id FROM waits w CROSS JOIN LATERAL (
        SELECT q.not_before, q.id`+dueInLane+`
        ORDER BY q.not_before, q.id LIMIT (SELECT $4::bigint)
      ) t WHERE w.place = p.place ORDER BY t.not_before, t.id LIMIT (SELECT $4::bigint)
    ) f LIMIT (SELECT $4::bigint)
  ) f GROUP BY f.number
), picked AS MATERIALIZED (
  SELECT id FROM (SELECT t.id
  FROM (SELECT w.rank, w.queue, w.kind, w.revision, w.due, w.id, s.tasks FROM waits w JOIN share s ON s.number = w.number ORDER BY w.number) w CROSS JOIN LATERAL (
    SELECT q.id`+dueInLane+`
    ORDER BY q.not_before, q.id LIMIT w.tasks FOR UPDATE SKIP LOCKED
  ) t
  LIMIT (SELECT $4::bigint)) p LIMIT `+strconv.Itoa(claimMax)+`
)`, `
  SELECT CASE WHEN (SELECT lanes FROM several) AND (SELECT count(*) FROM claimed) < (SELECT sum(tasks)::bigint FROM share) THEN 0
      ELSE coalesce(ceil(extract(epoch FROM min(t.not_before) - statement_timestamp()) * 1000.0)::bigint, -1) END AS wait,
    EXISTS (SELECT FROM closed WHERE name = ANY ((SELECT $2::text[])::text[])) AS paused,
    (extract(epoch FROM statement_timestamp()) * 1000000.0)::bigint AS at, `+entriesRead+` - (SELECT read FROM began) AS read
  FROM waits w CROSS JOIN LATERAL (
    SELECT q.not_before`+inLane+` AND q.not_before > statement_timestamp()
    ORDER BY q.not_before LIMIT 1
  ) t
  WHERE (SELECT count(*) FROM claimed) < $4`)
}

// lanes are the table expressions of the queues that are paused, which are few; of cursors, whose parameters begin with number
// cursor; and waits: the lanes and ranks in which tasks may wait, numbered in the order of claims, each with the cursor from which it is read.
// A condition that holds for each queue is evaluated before the index is read, and one more before
// waits is. The snapshot of a claim decides which queues are paused: if the claim begins after the pause, it takes nothing.
//
// With cursors, tasks are assumed to wait in each lane and rank: the scans of a rank have cursors, and the probes of a lane do not.
func lanes(queues, kinds string, cursor int, triedFirst bool, before, running string) string {
	ranks := lifecycle.Ranks(triedFirst)
	rows := make([]string, len(ranks))
	for i, r := range ranks {
		rows[i] = fmt.Sprintf("(%d, %d)", i+1, r.Number)
	}
	rank := lifecycle.PostgresRank("q.")
	probe := func(order string) string {
		return "(SELECT " + rank + ` FROM {s}taskkit_queued_task q
      WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
        AND q.queue = l.queue AND q.execution_component_name = l.kind AND q.codec_revision = l.revision
      ORDER BY ` + rank + order + " LIMIT 1)"
	}
	return `closed AS MATERIALIZED (SELECT name FROM {s}taskkit_queue WHERE paused), ` + cursorTable(cursor) + `, lane AS MATERIALIZED (
  SELECT l.queue, l.served, l.kind, l.revision, CASE WHEN EXISTS (SELECT FROM claim_cursor) THEN 1 ELSE ` + probe("") + ` END AS first
  FROM (
    SELECT u.queue, k.served, split_part(k.served, ' ', 1) AS kind, split_part(k.served, ' ', 2)::int AS revision
    FROM pg_catalog.unnest((SELECT ` + queues + `::text[])) u(queue) CROSS JOIN pg_catalog.unnest((SELECT ` + kinds + `::text[])) k(served)
    WHERE u.queue <> ALL (ARRAY(SELECT name FROM closed)) AND ` + before + `
  ) l
), ranked AS MATERIALIZED (
  SELECT l.queue, l.served, l.kind, l.revision, l.first, CASE WHEN EXISTS (SELECT FROM claim_cursor) THEN ` + strconv.Itoa(len(ranks)) + " ELSE " + probe(" DESC") + ` END AS last
  FROM lane l WHERE l.first IS NOT NULL
), waits AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY r.place) AS number, r.place, r.rank, l.queue, l.served, l.kind, l.revision, ` + cursorFrom + `
  FROM (VALUES ` + strings.Join(rows, ", ") + `) r(place, rank) JOIN ranked l ON r.rank BETWEEN l.first AND l.last` + joinCursor + `
  WHERE ` + running + `
)`
}

// inLane are the tasks q of a lane and rank w, and dueInLane those that are due, from the cursor on. The index has its columns in this order.
var (
	inLane = `
    FROM {s}taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = w.queue AND q.execution_component_name = w.kind AND q.codec_revision = w.revision
      AND ` + lifecycle.PostgresRank("q.") + " = w.rank"
	dueInLane = inLane + `
      AND q.not_before <= statement_timestamp() AND (q.not_before, q.id) >= (w.due, w.id)`
)

// claimRequestedQuery takes waiting tasks that are to end. They are few and
// have an index of their own; the planner is kept from the others by comparisons
// that they cannot serve.
var claimRequestedQuery = takeQuery(`picked AS MATERIALIZED (
  SELECT q.id FROM {s}taskkit_queued_task q`+requestedWhere("$2", "$3")+`
    AND EXISTS (SELECT FROM {s}taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.control, q.id LIMIT $4::bigint FOR UPDATE SKIP LOCKED
)`, "SELECT -1::bigint AS wait, false AS paused, 0::bigint AS at, 0::bigint AS read")

// requestedWhere is the condition on a task that it waits and is to end, but not for its
// children to end first. The index's own condition is repeated word for word.
func requestedWhere(queues, kinds string) string {
	return `
  WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
    AND q.workflow_status` + sqlbase.AsExpression + ` = 'QUEUED' AND q.queue` + sqlbase.AsExpression + ` = ANY (` + queues + `::text[])
    AND q.execution_component_name || ' ' || q.codec_revision::text = ANY(` + kinds + `::text[])
    AND q.not_before < '9999-01-01 00:00:00+00'`
}

// takeQuery is a claim of the tasks in the table expression picked; next says
// how long until there is more. Rows come in any order, with what they are sorted
// by.
func takeQuery(picked, next string) string {
	return "WITH " + picked + `, claimed AS (
  UPDATE {s}taskkit_queued_task q SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
    scheduling_started_date = {now}, ` + sqlbase.ResetStart + `, scheduled_by_process = $1,
    fence = q.fence + 1, attempts = q.attempts + 1, modified_date = {now}
  WHERE q.id = ANY (ARRAY(SELECT id FROM picked))
  RETURNING q.id, q.fence, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id, q.run_as_id,
    CASE WHEN q.spec_revision IS NULL AND pg_column_size(q.execution_spec) <= $5 THEN q.execution_spec::text END AS spec,
    q.execution_state::text AS state, q.attempts, q.control,
    coalesce(q.items_total, -1) AS items_total, q.position, q.round, q.deferred, q.items_done, q.items_failed, q.items_skipped,
    q.created_date, coalesce(q.spec_revision, q.codec_revision) AS spec_revision, ` + strings.ReplaceAll(lifecycle.PostgresRank("q."), "q.attempts", "(q.attempts - 1)") + ` AS rank, q.not_before
), next AS (` + next + `)
SELECT n.wait, n.paused, n.at, n.read, c.id IS NOT NULL, c.* FROM next n LEFT JOIN claimed c ON true`
}

// claimOrder is what the tasks of a claim are sorted by.
type claimOrder struct {
	rank   int // by its place in the order
	due    time.Time
	number int // of the rank
}

// claimMax is the number of tasks that one statement claims at most.
const claimMax = 10_000

// Claim implements [store.Workers]. A claim with cursors that finds tasks returns them at once; if it finds none, a claim
// without cursors follows.
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	if c.Limit <= 0 || len(c.Queues) == 0 || len(c.Kinds) == 0 {
		return store.ClaimResult{Next: -1}, nil
	}
	if c.Requested {
		r, err := s.take(ctx, c, claimRequestedQuery)
		return r.ClaimResult, err
	}
	query := claimQuery
	if c.TriedFirst {
		query = claimTriedQuery
	}
	for b := s.cursors.current(c); ; b = s.cursors.unbounded() {
		began := time.Now()
		r, err := s.take(ctx, c, query, b.args()...)
		if err != nil {
			return store.ClaimResult{}, err
		}
		r.took, r.Searched = time.Since(began), r.many()
		s.cursors.record(c, b, r)
		switch {
		case len(b.of) == 0 || r.full(c):
			return r.ClaimResult, nil
		case len(r.Tasks) > 0:
			r.Next = 0 // there may be more before the cursors
			return r.ClaimResult, nil
		}
	}
}

// taken is what a statement has claimed, in the order of claims.
type taken struct {
	store.ClaimResult
	orders map[uuid.UUID]claimOrder
	at     time.Time     // when the statement began, by the database's clock
	read   int64         // how many entries of the index taskkit_claim it has read
	took   time.Duration // by the monotonic clock

	contended bool // others have locked what it found, so it did not read all ranks
}

// full reports whether the claim took as many tasks as it may.
func (r taken) full(c store.Claim) bool { return len(r.Tasks) >= min(c.Limit, claimMax) }

// take runs a statement that claims tasks.
func (s *Store) take(ctx context.Context, c store.Claim, query string, cursor ...any) (taken, error) {
	found := taken{ClaimResult: store.ClaimResult{Next: -1}, orders: make(map[uuid.UUID]claimOrder)}
	var (
		wait, at int64
		is       bool
		t        sqlbase.ClaimedRow
		due      time.Time
		columns  = append([]any{&wait, &found.Paused, &at, &found.read, &is}, append(t.Columns(), &t.Rank, sqlrows.Time(&due))...)
		ranks    = lifecycle.RankOrders(c.TriedFirst)
		args     = append([]any{c.Process, c.Queues, sqlbase.KindRevisions(c), int64(c.Limit), int64(c.SpecMax)}, cursor...)
	)
	_, err := sqlrows.Query(ctx, s.db, s.Fixed(query), args, func(rows *sql.Rows) error {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		if wait >= 0 {
			found.Next = sqlbase.FromMillis(wait)
		}
		if is {
			found.Tasks = append(found.Tasks, t.Task())
			found.orders[t.ID.UUID] = claimOrder{ranks[t.Rank.Int64], due, int(t.Rank.Int64)}
		}
		return nil
	})
	if err != nil {
		return taken{}, fmt.Errorf("claim up to %d tasks: %w", c.Limit, err)
	}
	found.at, found.contended = time.UnixMicro(at), wait == 0
	for i := range found.Tasks {
		if t := &found.Tasks[i]; at > 0 {
			t.Waited = max(found.at.Sub(found.orders[t.ID].due), 1)
		}
	}
	slices.SortFunc(found.Tasks, func(a, b store.ClaimedTask) int {
		x, y := found.orders[a.ID], found.orders[b.ID]
		return cmp.Or(cmp.Compare(x.rank, y.rank), x.due.Compare(y.due), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return found, nil
}
