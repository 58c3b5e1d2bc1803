package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// openQueue4 and openQueue1 are the queue of a probe by its place in the list that is parameter
// 4 or 1, and null if it is paused: then the probe finds nothing.
const (
	openQueue4 = `(SELECT json_extract($4, '$[{queue}]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($4, '$[{queue}]') AND paused))`
	openQueue1 = `(SELECT json_extract($1, '$[{queue}]') WHERE NOT EXISTS (SELECT 1 FROM taskkit_queue WHERE name = json_extract($1, '$[{queue}]') AND paused))`
)

// claimProbe finds the claimable tasks of one rank and queue. $2 are the kinds
// with their revisions, $3 the limit, $4 the queues; the queue is one by its
// place. SQLite takes the parts of a compound query one after another and ends
// with the limit, so a rank is read only when those before it were too few. It
// would compile the whole again for another number where a limit is a parameter
// by itself.
const claimProbe = `SELECT * FROM (
  SELECT rowid AS at, {rank} AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = ` + openQueue4 + ` AND stalled = {stalled} AND priority = {priority}
    AND not_before <= {now}
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)`

// requestedProbe finds waiting tasks that are to end, but not those that wait for their
// children to end first, with the same parameters.
// The condition of the index taskkit_requested is repeated, since SQLite does not
// conclude it.
const requestedProbe = `SELECT * FROM (
  SELECT rowid AS at, 1 AS rank FROM taskkit_queued_task INDEXED BY taskkit_requested
  WHERE (control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')) AND control IN ('STOP', 'DELETE')
    AND workflow_status` + sqlbase.AsExpression + ` = 'QUEUED' AND queue` + sqlbase.AsExpression + ` IN (SELECT value FROM json_each($4))
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
    AND not_before < '9999-01-01'
  ORDER BY control, id LIMIT $3 + 0)`

// dueProbe finds the next task of one rank and queue that is due later. $1 are
// the queues.
const dueProbe = `SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = ` + openQueue1 + ` AND stalled = {stalled} AND priority = {priority}
    AND not_before > {now}
  ORDER BY not_before LIMIT 1)`

// pickQuery are the claimable tasks as they will be claimed, by probes.
// Nothing is written between this and takeQuery, which returns no rows: a row that
// an UPDATE returns is copied twice more.
const pickQuery = `SELECT p.at, p.rank, q.id, q.fence + 1, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id, q.run_as_id,
  CASE WHEN octet_length(q.execution_spec) <= $5 THEN q.execution_spec END,
  q.execution_state, q.attempts + 1, q.control, coalesce(q.items_total, -1), q.items_taken, q.items_done, q.items_failed, q.items_skipped,
  q.created_date || '', coalesce(q.spec_revision, q.codec_revision)
FROM (
{picked}
) p CROSS JOIN taskkit_queued_task q ON q.rowid = p.at
WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3 + 0`

// takeQuery claims rows.
const takeQuery = `UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = {now}, execution_started_date = NULL, scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, modified_date = {now}
WHERE rowid IN (SELECT value FROM json_each($2)) AND workflow_status` + sqlbase.AsExpression + ` = 'QUEUED'`

// claimStatements are the statements that depend on the number of queues.
type claimStatements struct{ picked, next string }

// claimStatements returns the statements for so many queues.
func (s *Store) claimStatements(queues int) claimStatements {
	if t, ok := s.claims.Load(queues); ok {
		return t.(claimStatements) //nolint:errcheck,forcetypeassert // there is nothing else in it
	}
	t := claimStatements{
		picked: s.SQL(strings.Replace(pickQuery, "{picked}", probes(claimProbe, queues), 1)),
		next: "SELECT CAST((julianday(min(not_before)) - julianday('now')) * 86400000.0 AS integer) + 1,\n" +
			"  EXISTS (SELECT 1 FROM taskkit_queue WHERE paused AND name IN (SELECT value FROM json_each($1))) FROM (\n" +
			probes(dueProbe, queues) + "\n)",
	}
	s.claims.Store(queues, t)
	return t
}

// probes returns a probe for each rank and queue, in the order in which tasks
// are taken.
func probes(probe string, queues int) string {
	var parts []string
	for _, r := range lifecycle.Ranks() {
		for u := range queues {
			parts = append(parts, strings.NewReplacer("{rank}", strconv.Itoa(r.Number), "{stalled}", stalledValue(r),
				"{priority}", strconv.Itoa(r.Priority), "{queue}", strconv.Itoa(u), "{now}", dialect.SQLiteNow).Replace(probe))
		}
	}
	return strings.Join(parts, "\nUNION ALL\n")
}

// stalledValue is the value of the column stalled for a rank.
func stalledValue(r lifecycle.Rank) string {
	if r.Stalled {
		return "1"
	}
	return "0"
}

// rankValues renders one property of the ranks, each value once, in ascending order.
func rankValues(property func(lifecycle.Rank) string) string {
	return strings.Join(slices.Sorted(slices.Values(sqlbase.RankValues(property))), ", ")
}

// waitingQuery finds one task that a claim would find. $1 are the queues, $2 the
// kinds with their revisions.
var waitingQuery = `SELECT 1 FROM taskkit_queued_task INDEXED BY taskkit_claim
WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE' AND queue IN (SELECT value FROM json_each($1) WHERE value NOT IN (SELECT name FROM taskkit_queue WHERE paused))
  AND stalled IN (` + rankValues(stalledValue) + `) AND priority IN (` +
	rankValues(func(r lifecycle.Rank) string { return strconv.Itoa(r.Priority) }) + `) AND not_before <= {now}
  AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2)) LIMIT 1`

// Claim implements [store.Store].
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
		if next, paused, err := s.next(ctx, c, queues); err == nil {
			found.Next, found.Paused = next, paused
		}
	}
	return found, nil
}

// claim takes tasks in the caller's transaction.
func (s *Store) claim(ctx context.Context, q store.Querier, c store.Claim, queues, kinds string) ([]store.ClaimedTask, error) {
	picked := s.claimStatements(len(c.Queues)).picked
	if c.Requested {
		picked = s.SQL(strings.Replace(pickQuery, "{picked}", requestedProbe, 1))
	}
	var (
		tasks []store.ClaimedTask
		rows  []int64
		t     sqlbase.ClaimedRow
		at    int64
	)
	columns := append([]any{&at, &t.Rank}, t.Columns()...)
	_, err := sqlrows.Query(ctx, q, picked, []any{c.Process, kinds, int64(c.Limit), queues, int64(c.SpecMax)}, func(r *sql.Rows) error {
		err := r.Scan(columns...)
		tasks, rows = append(tasks, t.Task()), append(rows, at)
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

// next returns how long it is until the next task of these queues is due, and whether one of
// them is paused.
func (s *Store) next(ctx context.Context, c store.Claim, queues string) (wait time.Duration, paused bool, err error) {
	wait = time.Duration(-1)
	_, err = sqlrows.Query(ctx, &s.reads, s.claimStatements(len(c.Queues)).next, []any{queues}, func(rows *sql.Rows) error {
		var ms sql.NullInt64
		if err := rows.Scan(&ms, &paused); err != nil || !ms.Valid {
			return err
		}
		wait = sqlbase.FromMillis(max(ms.Int64, 0))
		return nil
	})
	return wait, paused, err
}

// Waiting implements [store.Store]. SQLite reads a list of values in the index as
// probes by itself.
func (s *Store) Waiting(ctx context.Context, c store.Claim) (waiting bool, err error) {
	if c.Requested {
		n, err := sqlrows.Query(ctx, &s.reads, "SELECT 1 FROM (\n"+s.SQL(requestedProbe)+"\n)",
			[]any{nil, sqlbase.JSONList(sqlbase.KindRevisions(c)), int64(1), sqlbase.JSONList(c.Queues)}, func(*sql.Rows) error { return nil })
		if err != nil {
			return false, fmt.Errorf("look for waiting tasks that are to end: %w", err)
		}
		return n > 0, nil
	}
	n, err := sqlrows.Query(ctx, &s.reads, s.SQL(waitingQuery),
		[]any{sqlbase.JSONList(c.Queues), sqlbase.JSONList(sqlbase.KindRevisions(c))}, func(*sql.Rows) error { return nil })
	if err != nil {
		return false, fmt.Errorf("look for waiting tasks: %w", err)
	}
	return n > 0, nil
}
