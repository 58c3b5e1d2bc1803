package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// sqliteProbe finds the claimable tasks of one rank and queue. $2 are the kinds
// with their revisions, $3 the limit, $4 the queues; the queue is one by its
// place. SQLite takes the parts of a compound query one after another and ends
// with the limit, so a rank is read only when those before it were too few. It
// would compile the whole anew for another number where a limit is a parameter
// by itself.
const sqliteProbe = `SELECT * FROM (
  SELECT rowid AS at, {rank} AS rank FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = json_extract($4, '$[{queue}]') AND stalled = {stalled} AND priority = {priority}
    AND not_before <= {now}
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3 + 0)`

// sqliteRequested finds waiting tasks that are to end, with the same parameters.
// The condition of the index taskkit_requested is repeated, since SQLite does not
// conclude it.
const sqliteRequested = `SELECT * FROM (
  SELECT rowid AS at, 1 AS rank FROM taskkit_queued_task INDEXED BY taskkit_requested
  WHERE (control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')) AND control IN ('STOP', 'DELETE')
    AND workflow_status || '' = 'QUEUED' AND queue || '' IN (SELECT value FROM json_each($4))
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY control, id LIMIT $3 + 0)`

// sqliteDue finds the next task of one rank and queue that is due later. $1 are
// the queues.
const sqliteDue = `SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = json_extract($1, '$[{queue}]') AND stalled = {stalled} AND priority = {priority}
    AND not_before > {now}
  ORDER BY not_before LIMIT 1)`

// sqlitePicked are the claimable tasks as they will be claimed, by probes.
// Nobody writes between this and sqliteTake, which gives nothing back: a row that
// an UPDATE returns is copied twice more.
const sqlitePicked = `SELECT p.at, p.rank, q.id, q.fence + 1, q.checkpoint_seq, q.execution_component_name, q.codec_revision, q.queue, q.owner_id, q.run_as_id,
  CASE WHEN octet_length(q.execution_spec) <= $5 THEN q.execution_spec END, coalesce(octet_length(q.execution_spec) > $5, false),
  q.execution_state, q.attempts + 1, q.control, coalesce(q.items_total, -1), q.items_taken, q.items_done, q.items_failed, q.items_skipped,
  q.created_date || '', coalesce(q.traceparent, ''), coalesce(q.spec_revision, q.codec_revision)
FROM (
{picked}
) p CROSS JOIN taskkit_queued_task q ON q.rowid = p.at
WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3 + 0`

// sqliteTake claims rows.
const sqliteTake = `UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = {now}, execution_started_date = NULL, scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, stalled = false, modified_date = {now}
WHERE rowid IN (SELECT value FROM json_each($2)) AND workflow_status || '' = 'QUEUED'`

// claimTexts are the statements that depend on the number of queues.
type claimTexts struct{ picked, next string }

// claimTexts returns the statements for so many queues.
func (s *sqlite) claimTexts(queues int) claimTexts {
	if t, ok := s.claims.Load(queues); ok {
		return t.(claimTexts) //nolint:errcheck,forcetypeassert // there is nothing else in it
	}
	t := claimTexts{
		picked: s.sql(strings.Replace(sqlitePicked, "{picked}", probes(sqliteProbe, queues), 1)),
		next: "SELECT CAST((julianday(min(not_before)) - julianday('now')) * 86400000.0 AS integer) + 1 FROM (\n" +
			probes(sqliteDue, queues) + "\n)",
	}
	s.claims.Store(queues, t)
	return t
}

// probes returns a probe for each rank and queue, in the order in which tasks
// are taken.
func probes(probe string, queues int) string {
	var parts []string
	for rank := 1; rank <= 8; rank++ {
		stalled := "0"
		if rank <= lastStalled {
			stalled = "1"
		}
		for u := range queues {
			parts = append(parts, strings.NewReplacer("{rank}", strconv.Itoa(rank), "{stalled}", stalled,
				"{priority}", strconv.Itoa((rank-1)%4+1), "{queue}", strconv.Itoa(u), "{now}", sqliteNow).Replace(probe))
		}
	}
	return strings.Join(parts, "\nUNION ALL\n")
}

// Claim implements [Store].
func (s *sqlite) Claim(ctx context.Context, c Claim) (Claims, error) {
	found := Claims{Next: -1}
	if c.Limit <= 0 || len(c.Queues) == 0 || len(c.Kinds) == 0 {
		return found, nil
	}
	queues, kinds := jsonList(c.Queues), jsonList(c.revisions())
	// A reader finds out first whether there is anything to take: a worker
	// that looks in vain does not ask for the write lock.
	waiting, err := s.Waiting(ctx, c)
	if err != nil {
		return Claims{}, err
	}
	if waiting {
		if err := s.inTx(ctx, func(q Querier) error {
			found.Tasks, err = s.claim(ctx, q, c, queues, kinds)
			return err
		}); err != nil {
			return Claims{}, fmt.Errorf("claim up to %d tasks: %w", c.Limit, err)
		}
	}
	if len(found.Tasks) < c.Limit && !c.Requested {
		// Without an answer, none: the tasks are ours already.
		if next, err := s.next(ctx, c, queues); err == nil {
			found.Next = next
		}
	}
	return found, nil
}

// claim takes tasks in the caller's transaction.
func (s *sqlite) claim(ctx context.Context, q Querier, c Claim, queues, kinds string) ([]Claimed, error) {
	picked := s.claimTexts(len(c.Queues)).picked
	if c.Requested {
		picked = s.sql(strings.Replace(sqlitePicked, "{picked}", sqliteRequested, 1))
	}
	var (
		tasks []Claimed
		rows  []int64
		t     claimedRow
		at    int64
	)
	columns := append([]any{&at, &t.rank}, t.columns()...)
	_, err := ask(ctx, q, picked, []any{c.Process, kinds, int64(c.Limit), queues, int64(c.SpecMax)}, func(r *sql.Rows) error {
		err := r.Scan(columns...)
		tasks, rows = append(tasks, t.claimed()), append(rows, at)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	r, err := q.ExecContext(ctx, s.sql(sqliteTake), c.Process, string(list))
	if err != nil {
		return nil, err
	}
	if n, err := r.RowsAffected(); err != nil || n != int64(len(rows)) {
		return nil, errors.Join(err, fmt.Errorf("%d of %d waiting tasks could be claimed", n, len(rows)))
	}
	return tasks, nil
}

// next returns how long it is until the next task of these queues is due.
func (s *sqlite) next(ctx context.Context, c Claim, queues string) (time.Duration, error) {
	wait := time.Duration(-1)
	_, err := ask(ctx, &s.reads, s.claimTexts(len(c.Queues)).next, []any{queues}, func(rows *sql.Rows) error {
		var ms sql.NullInt64
		if err := rows.Scan(&ms); err != nil || !ms.Valid {
			return err
		}
		wait = time.Duration(max(ms.Int64, 0)) * time.Millisecond
		return nil
	})
	return wait, err
}

// Waiting implements [Store]. SQLite reads a list of values in the index as
// probes by itself.
func (s *sqlite) Waiting(ctx context.Context, c Claim) (waiting bool, err error) {
	if c.Requested {
		n, err := ask(ctx, &s.reads, "SELECT 1 FROM (\n"+s.sql(sqliteRequested)+"\n)",
			[]any{nil, jsonList(c.revisions()), int64(1), jsonList(c.Queues)}, func(*sql.Rows) error { return nil })
		if err != nil {
			return false, fmt.Errorf("look for waiting tasks that are to end: %w", err)
		}
		return n > 0, nil
	}
	n, err := ask(ctx, &s.reads, s.sql(`SELECT 1 FROM taskkit_queued_task INDEXED BY taskkit_claim
WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE' AND queue IN (SELECT value FROM json_each($1))
  AND stalled IN (0, 1) AND priority IN (1, 2, 3, 4) AND not_before <= {now}
  AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2)) LIMIT 1`),
		[]any{jsonList(c.Queues), jsonList(c.revisions())}, func(*sql.Rows) error { return nil })
	if err != nil {
		return false, fmt.Errorf("look for waiting tasks: %w", err)
	}
	return n > 0, nil
}

// jsonList is a list as one parameter.
func jsonList(words []string) string {
	j, err := json.Marshal(words)
	if err != nil {
		panic("store: JSON of a list of strings: " + err.Error())
	}
	return string(j)
}
