package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// lanes are the table expressions of the lanes of a claim in which tasks wait, with the first and the last rank in which they do. A
// lane is a kind and revision of the worker in one of its queues that is not paused; the kinds with their revisions are $2. One probe of the index taskkit_claim
// shows that a lane has none.
func lanes(queues string) string {
	rank := lifecycle.SQLiteRank("t.")
	probe := func(order string) string {
		return "(SELECT " + rank + ` FROM taskkit_queued_task t INDEXED BY taskkit_claim
    WHERE t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = l.queue AND t.execution_component_name = l.kind AND t.codec_revision = l.revision
    ORDER BY ` + rank + order + ` LIMIT 1)`
	}
	return `WITH lane AS MATERIALIZED (
  SELECT l.queue, l.kind, l.revision, ` + probe("") + ` AS first FROM (
    SELECT u.value AS queue, substr(k.value, 1, instr(k.value, ' ') - 1) AS kind, CAST(substr(k.value, instr(k.value, ' ') + 1) AS integer) AS revision
    FROM json_each(` + queues + `) u CROSS JOIN json_each($2) k WHERE u.value NOT IN (SELECT name FROM taskkit_queue WHERE paused)
  ) l
), waits AS MATERIALIZED (
  SELECT l.queue, l.kind, l.revision, l.first, ` + probe(" DESC") + ` AS last FROM lane l WHERE l.first IS NOT NULL
)
`
}

// inLane are the tasks t of a lane w and a rank r. SQLite nests the loops of a CROSS JOIN as they are written.
var inLane = `
    WHERE r.value BETWEEN w.first AND w.last AND t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'
      AND t.queue = w.queue AND t.execution_component_name = w.kind AND t.codec_revision = w.revision
      AND ` + lifecycle.SQLiteRank("t.") + " = r.value"

// claimProbes finds the claimable tasks in the order in which they are taken: for each rank and
// lane it reads the index taskkit_claim from the oldest task to now, and it ends with the limit.
// A rank is read only when those before it were too few. The tasks of several lanes are read into an array for each, to be
// sorted. $2 are the kinds with their revisions, $3 the limit, $4 the queues. It
// would compile the statement again for another number where a limit is a parameter by itself.
func claimProbes(triedFirst bool) string {
	return `SELECT t.rowid AS at, r.value AS rank
  FROM json_each('` + rankList(triedFirst) + `') r CROSS JOIN waits w CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim` + inLane + `
    AND t.not_before <= {now} AND (SELECT count(*) FROM waits) = 1
  UNION ALL
  SELECT CAST(e.value AS integer), r.value
  FROM json_each('` + rankList(triedFirst) + `') r CROSS JOIN json_each((
    SELECT json_group_array(at) FROM (
      SELECT e.value ->> 0 AS at FROM waits w CROSS JOIN json_each((
        SELECT json_group_array(json_array(at, not_before, id)) FROM (
          SELECT t.rowid AS at, t.not_before, t.id FROM taskkit_queued_task t INDEXED BY taskkit_claim` + inLane + `
            AND t.not_before <= {now}
          ORDER BY t.not_before, t.id LIMIT $3 + 0)
      )) e
      ORDER BY e.value ->> 1, e.value ->> 2 LIMIT $3 + 0)
  )) e
  WHERE (SELECT count(*) FROM waits) > 1
  LIMIT $3 + 0`
}

// requestedProbe finds waiting tasks that are to end, but not those that wait for their
// children to end first, with the same parameters.
// The condition of the index taskkit_requested is repeated, since SQLite does not
// conclude it.
var requestedProbe = `SELECT * FROM (
  SELECT rowid AS at, ` + lifecycle.SQLiteRank("") + ` AS rank FROM taskkit_queued_task INDEXED BY taskkit_requested
  WHERE (control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')) AND control IN ('STOP', 'DELETE')
    AND workflow_status` + sqlbase.AsExpression + ` = 'QUEUED' AND queue` + sqlbase.AsExpression + ` IN (SELECT value FROM json_each($4))
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
    AND not_before < '9999-01-01'
  ORDER BY control, id LIMIT $3 + 0)`

// nextQuery finds the next task that is due later, and whether a queue is paused. $1 are
// the queues, $2 the kinds with their revisions.
var nextQuery = lanes("$1") + `SELECT CAST((julianday(min(due)) - julianday('now')) * 86400000.0 AS integer) + 1,
  EXISTS (SELECT 1 FROM taskkit_queue WHERE paused AND name IN (SELECT value FROM json_each($1)))
FROM (
  SELECT (SELECT t.not_before FROM taskkit_queued_task t INDEXED BY taskkit_claim` + inLane + `
      AND t.not_before > {now}
    ORDER BY t.not_before LIMIT 1) AS due
  FROM json_each('` + rankList(false) + `') r CROSS JOIN waits w
)`

// rankList renders the numbers of the ranks in their order.
func rankList(triedFirst bool) string {
	var numbers []string
	for _, r := range lifecycle.Ranks(triedFirst) {
		numbers = append(numbers, strconv.Itoa(r.Number))
	}
	return "[" + strings.Join(numbers, ",") + "]"
}

// pickQuery are the claimable tasks as they will be claimed, by probes.
// Nothing is written between this and takeQuery, which returns no rows: a row that
// an UPDATE returns is copied twice more.
const pickQuery = `SELECT p.at, p.rank, q.id, q.fence + 1, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id, q.run_as_id,
  CASE WHEN q.spec_revision IS NULL AND octet_length(q.execution_spec) <= $5 THEN q.execution_spec END,
  q.execution_state, q.attempts + 1, q.control, ` + sqlbase.ProgressColumns + `,
  q.created_date || '', coalesce(q.spec_revision, q.codec_revision)
FROM (
{picked}
) p CROSS JOIN taskkit_queued_task q ON q.rowid = p.at
WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3 + 0`

// takeQuery claims rows.
const takeQuery = `UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = {now}, ` + sqlbase.ResetStart + `, scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, modified_date = {now}
WHERE rowid IN (SELECT value FROM json_each($2)) AND workflow_status` + sqlbase.AsExpression + ` = 'QUEUED'`

// The statements that pick tasks: of a claim, of one that takes tried tasks first, and of those
// that are to end.
var (
	pickNext      = lanes("$4") + strings.Replace(pickQuery, "{picked}", claimProbes(false), 1)
	pickTried     = lanes("$4") + strings.Replace(pickQuery, "{picked}", claimProbes(true), 1)
	pickRequested = strings.Replace(pickQuery, "{picked}", requestedProbe, 1)
)

// The same of claims that read how long each task had been due, in milliseconds, which is their last column.
var pickNextWaited, pickTriedWaited = withWait(pickNext), withWait(pickTried)

func withWait(picked string) string {
	const last = "coalesce(q.spec_revision, q.codec_revision)"
	return strings.Replace(picked, last, last+", CAST((julianday('now') - julianday(q.not_before)) * 86400000.0 AS integer)", 1)
}

// waitingQuery finds one task that a claim would find. $1 are the queues, $2 the
// kinds with their revisions.
var waitingQuery = lanes("$1") + `SELECT 1
FROM json_each('` + rankList(false) + `') r CROSS JOIN waits w CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim` + inLane + `
      AND t.not_before <= {now} LIMIT 1`

// waitingOwnersQuery finds whose tasks a claim would find, by their ranks, with the parameters of waitingQuery.
var waitingOwnersQuery = lanes("$1") + `SELECT DISTINCT owner_id, rank FROM (
  SELECT t.owner_id, r.value AS rank
  FROM json_each('` + rankList(false) + `') r CROSS JOIN waits w CROSS JOIN taskkit_queued_task t INDEXED BY taskkit_claim` + inLane + `
      AND t.not_before <= {now} LIMIT ` + strconv.Itoa(store.WaitingMax) + `
)`

// WaitingOwners implements [store.Workers]. It reads so many tasks of all ranks and queues together.
func (s *Store) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	return sqlbase.WaitingOwners(ctx, &s.reads, s.SQL(waitingOwnersQuery), sqlbase.JSONList(c.Queues), sqlbase.JSONList(sqlbase.KindRevisions(c)))
}

// Claim implements [store.Workers].
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	found := store.ClaimResult{Next: -1}
	if c.Limit <= 0 || len(c.Queues) == 0 || len(c.Kinds) == 0 {
		return found, nil
	}
	queues, kinds := sqlbase.JSONList(c.Queues), sqlbase.JSONList(sqlbase.KindRevisions(c))
	// A reader finds out first whether there is anything to take: a worker
	// that finds nothing does not take the write lock.
	waiting, err := s.Waiting(ctx, c)
	if err != nil {
		return store.ClaimResult{}, err
	}
	if waiting {
		if err := s.inTx(ctx, func(q store.Querier) error {
			found.Tasks, err = s.claim(ctx, q, c, queues, kinds)
			return err
		}); err != nil {
			return store.ClaimResult{}, fmt.Errorf("claim up to %d tasks: %w", c.Limit, err)
		}
	}
	if len(found.Tasks) < c.Limit && !c.Requested {
		// Without an answer, none: the tasks are ours already.
		if next, paused, err := s.next(ctx, queues, kinds); err == nil {
			found.Next, found.Paused = next, paused
		}
	}
	return found, nil
}

// claim takes tasks in the caller's transaction.
func (s *Store) claim(ctx context.Context, q store.Querier, c store.Claim, queues, kinds string) ([]store.ClaimedTask, error) {
	picked, waits := pickNext, pickNextWaited
	if c.TriedFirst {
		picked, waits = pickTried, pickTriedWaited
	}
	var (
		tasks      []store.ClaimedTask
		rows       []int64
		t          sqlbase.ClaimedRow
		at, waited int64 // waited: -1 if it was not read
	)
	columns := append([]any{&at, &t.Rank}, t.Columns()...)
	switch {
	case c.Requested:
		picked, waited = pickRequested, -1
	case c.Waited:
		picked, columns = waits, append(columns, &waited)
	default:
		waited = -1
	}
	_, err := sqlrows.Query(ctx, q, s.Fixed(picked), []any{c.Process, kinds, int64(c.Limit), queues, int64(c.SpecMax)}, func(r *sql.Rows) error {
		err := r.Scan(columns...)
		task := t.Task()
		if waited >= 0 {
			task.Waited = max(sqlbase.FromMillis(waited), 1)
		}
		tasks, rows = append(tasks, task), append(rows, at)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	r, err := q.ExecContext(ctx, s.SQL(takeQuery), c.Process, string(list))
	if err != nil {
		return nil, err
	}
	if n, err := r.RowsAffected(); err != nil || n != int64(len(rows)) {
		return nil, errors.Join(err, fmt.Errorf("%d of %d waiting tasks could be claimed", n, len(rows)))
	}
	return tasks, nil
}

// next returns how long it is until the next task of these queues and kinds is due, and whether one of
// the queues is paused.
func (s *Store) next(ctx context.Context, queues, kinds string) (wait time.Duration, paused bool, err error) {
	wait = time.Duration(-1)
	_, err = sqlrows.Query(ctx, &s.reads, s.Fixed(nextQuery), []any{queues, kinds}, func(rows *sql.Rows) error {
		var ms sql.NullInt64
		if err := rows.Scan(&ms, &paused); err != nil || !ms.Valid {
			return err
		}
		wait = sqlbase.FromMillis(max(ms.Int64, 0))
		return nil
	})
	return wait, paused, err
}

// Waiting implements [store.Workers].
func (s *Store) Waiting(ctx context.Context, c store.Claim) (waiting bool, err error) {
	if c.Requested {
		n, err := sqlrows.Query(ctx, &s.reads, "SELECT 1 FROM (\n"+s.SQL(requestedProbe)+"\n)",
			[]any{nil, sqlbase.JSONList(sqlbase.KindRevisions(c)), int64(1), sqlbase.JSONList(c.Queues)}, func(*sql.Rows) error { return nil })
		if err != nil {
			return false, fmt.Errorf("look for waiting tasks that are to end: %w", err)
		}
		return n > 0, nil
	}
	n, err := sqlrows.Query(ctx, &s.reads, s.Fixed(waitingQuery),
		[]any{sqlbase.JSONList(c.Queues), sqlbase.JSONList(sqlbase.KindRevisions(c))}, func(*sql.Rows) error { return nil })
	if err != nil {
		return false, fmt.Errorf("look for waiting tasks: %w", err)
	}
	return n > 0, nil
}
