package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// sqliteProbe finds the claimable tasks of one rank and queue. $2 are the kinds
// with their revisions, $3 the limit, $4 the queues; the queue is one by its
// place. SQLite takes the parts of a compound query one after another and ends
// with the limit, so a rank is read only when those before it were too few.
const sqliteProbe = `SELECT * FROM (
  SELECT id, {rank} AS rank, not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = json_extract($4, '$[{queue}]') AND stalled = {stalled} AND priority = {priority}
    AND not_before <= {now}
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY not_before, id LIMIT $3)`

// sqliteRequested finds waiting tasks that are to end, with the same parameters.
// The condition of the index taskkit_requested is repeated, since SQLite does not
// conclude it.
const sqliteRequested = `SELECT * FROM (
  SELECT id, 1 AS rank FROM taskkit_queued_task INDEXED BY taskkit_requested
  WHERE (control = 'DELETE' OR (control = 'STOP' AND workflow_status = 'QUEUED')) AND control IN ('STOP', 'DELETE')
    AND workflow_status || '' = 'QUEUED' AND queue || '' IN (SELECT value FROM json_each($4))
    AND execution_component_name || ' ' || codec_revision IN (SELECT value FROM json_each($2))
  ORDER BY control, id LIMIT $3)`

// sqliteDue finds the next task of one rank and queue that is due later. $1 are
// the queues.
const sqliteDue = `SELECT * FROM (
  SELECT not_before FROM taskkit_queued_task
  WHERE workflow_status = 'QUEUED' AND control <> 'PAUSE'
    AND queue = json_extract($1, '$[{queue}]') AND stalled = {stalled} AND priority = {priority}
    AND not_before > {now}
  ORDER BY not_before LIMIT 1)`

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
	type place struct {
		rank int64
		at   int
	}
	places := make(map[uuid.UUID]place)
	var ids []uuid.UUID
	picked := s.sql(sqliteRequested)
	if !c.Requested {
		picked = probes(sqliteProbe, len(c.Queues))
	}
	_, err := ask(ctx, q, "SELECT id, rank FROM (\n"+picked+`
) WHERE EXISTS (SELECT 1 FROM taskkit_task_process WHERE id = $1 AND ended_date IS NULL) LIMIT $3`,
		[]any{c.Process, kinds, int64(c.Limit), queues}, func(rows *sql.Rows) error {
			var (
				id   uuid.UUID
				rank int64
			)
			err := rows.Scan(&id, &rank)
			places[id] = place{rank, len(ids)}
			ids = append(ids, id)
			return err
		})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	tasks := make([]Claimed, len(ids))
	_, err = ask(ctx, q, s.sql(`UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', workflow_status_desc = NULL,
  scheduling_started_date = {now}, execution_started_date = NULL, scheduled_by_process = $1,
  fence = fence + 1, attempts = attempts + 1, stalled = false, modified_date = {now}
WHERE id IN (SELECT value FROM json_each($2))
RETURNING id, fence, checkpoint_seq, execution_component_name, codec_revision, queue, owner_id, run_as_id,
  CASE WHEN octet_length(execution_spec) <= $3 THEN execution_spec END, coalesce(octet_length(execution_spec) > $3, false),
  execution_state, attempts, control, coalesce(items_total, -1), items_taken, items_done, items_failed, items_skipped,
  created_date, coalesce(traceparent, ''), coalesce(spec_revision, codec_revision)`),
		[]any{c.Process, s.idsArg(ids), int64(c.SpecMax)}, func(rows *sql.Rows) error {
			var t claimedRow
			if err := rows.Scan(t.columns()...); err != nil {
				return err
			}
			p := places[t.id.UUID]
			t.rank.Int64 = p.rank
			tasks[p.at] = t.claimed()
			return nil
		})
	return tasks, err
}

// next returns how long it is until the next task of these queues is due.
func (s *sqlite) next(ctx context.Context, c Claim, queues string) (time.Duration, error) {
	wait := time.Duration(-1)
	_, err := ask(ctx, s.db, "SELECT CAST((julianday(min(not_before)) - julianday('now')) * 86400000.0 AS integer) + 1 FROM (\n"+
		probes(sqliteDue, len(c.Queues))+"\n)", []any{queues}, func(rows *sql.Rows) error {
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
		n, err := ask(ctx, s.db, "SELECT 1 FROM (\n"+s.sql(sqliteRequested)+"\n)",
			[]any{nil, jsonList(c.revisions()), int64(1), jsonList(c.Queues)}, func(*sql.Rows) error { return nil })
		if err != nil {
			return false, fmt.Errorf("look for waiting tasks that are to end: %w", err)
		}
		return n > 0, nil
	}
	n, err := ask(ctx, s.db, s.sql(`SELECT 1 FROM taskkit_queued_task INDEXED BY taskkit_claim
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
