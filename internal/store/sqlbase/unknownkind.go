package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// unknownColumns are those that [readUnknown] reads.
const unknownColumns = "execution_component_name, codec_revision, queue, tasks, first_seen_date, last_seen_date"

func readUnknown(to *[]store.UnknownKind) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var k store.UnknownKind
		err := rows.Scan(&k.Kind, &k.Revision, &k.Queue, &k.Tasks, sqlrows.Time(&k.First), sqlrows.Time(&k.Last))
		*to = append(*to, k)
		return err
	}
}

// UnknownKinds implements [store.Ops].
func (b *Base) UnknownKinds(ctx context.Context) (found []store.UnknownKind, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL("SELECT "+unknownColumns+" FROM {s}taskkit_unknown_kind ORDER BY queue, execution_component_name, codec_revision"), nil, readUnknown(&found))
	if err != nil {
		return nil, fmt.Errorf("read which kinds are unknown: %w", err)
	}
	return found, nil
}

// FindUnknownKinds implements [store.Ops].
func (b *Base) FindUnknownKinds(ctx context.Context) (found []store.UnknownKind, err error) {
	lanes := b.waitingLanes(map[string]string{
		"queues": b.served() + " AND q.queue NOT IN (SELECT name FROM {s}taskkit_queue WHERE paused)", "revisions": "NOT " + b.knownBy(""),
	})
	_, err = sqlrows.Query(ctx, b.q, b.SQL("WITH RECURSIVE "+lanes+", counted AS (\n  "+b.laneCounts("$1")+`
)
SELECT execution_component_name, codec_revision, queue, CAST(sum(CASE WHEN due > $1 THEN $1 ELSE due END) AS bigint), {now}, {now} FROM counted WHERE due > 0
GROUP BY 1, 2, 3`), []any{int64(store.UnknownCounted)}, readUnknown(&found))
	if err != nil {
		return nil, fmt.Errorf("look for tasks of unknown kinds: %w", err)
	}
	return found, nil
}

// among is the condition that a column is one of the ids of a query, which are read first.
func (t Statements) among(column, ids string) string {
	if t.dialect == dialect.SQLite {
		return column + " IN (" + ids + ")"
	}
	return column + " = ANY (ARRAY(" + ids + "))"
}

// due is a query of the ids of the tasks that have waited for longest, and were due before a time: as many as a parameter says, of each rank and
// each row of lanes, a query of queues, kinds and revisions. It reads these entries of the index taskkit_claim.
func (t Statements) due(lanes, before, limit string) string {
	ranks := make([]string, 0, len(lifecycle.RankOrders(false)))
	for _, r := range lifecycle.Ranks(false) {
		ranks = append(ranks, strconv.Itoa(r.Number))
	}
	inLane := " " + waiting + " AND t.queue = l.queue AND t.execution_component_name = l.execution_component_name AND t.codec_revision = l.codec_revision"
	if t.dialect == dialect.SQLite {
		return `SELECT e.value FROM (` + lanes + `) l CROSS JOIN json_each('[` + strings.Join(ranks, ",") + `]') r CROSS JOIN json_each((
    SELECT json_group_array(t.id) FROM (SELECT t.id FROM ` + t.tasksByClaim() + `
      WHERE` + inLane + ` AND ` + t.rank() + ` = r.value
        AND t.not_before <= ` + before + `
      ORDER BY t.not_before LIMIT ` + limit + ` + 0) t)) e`
	}
	return `SELECT d.id FROM (` + lanes + `) l CROSS JOIN (VALUES (` + strings.Join(ranks, "), (") + `)) r(rank) CROSS JOIN LATERAL (
    SELECT t.id FROM ` + t.tasksByClaim() + `
    WHERE` + inLane + ` AND ` + t.rank() + ` = r.rank
      AND t.not_before <= ` + before + `
      ORDER BY t.not_before, t.id LIMIT (SELECT ` + limit + `::bigint)) d`
}

// SeeUnknownKinds implements [store.Upkeep]. It reads outside of its transaction, which is
// not begun when there is nothing to write.
func (b *Base) SeeUnknownKinds(ctx context.Context) (report []store.UnknownKind, some bool, err error) {
	before, err := b.UnknownKinds(ctx)
	if err != nil {
		return nil, false, err
	}
	seen, err := b.FindUnknownKinds(ctx)
	if err != nil {
		return nil, false, err
	}
	if len(before)+len(seen) == 0 {
		return nil, false, nil
	}
	err = b.write(ctx, func(q store.Querier) error {
		report = nil
		for _, k := range seen {
			_, err := q.ExecContext(ctx, b.SQL(`INSERT INTO {s}taskkit_unknown_kind (id, execution_component_name, codec_revision, queue, tasks)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (execution_component_name, codec_revision, queue) DO UPDATE SET tasks = excluded.tasks, last_seen_date = {now},
  first_seen_date = CASE WHEN taskkit_unknown_kind.last_seen_date < `)+b.ago("$6")+b.SQL(` THEN {now} ELSE taskkit_unknown_kind.first_seen_date END`),
				store.NewID().String(), k.Kind, int64(k.Revision), k.Queue, k.Tasks, Millis(store.UnknownGap))
			if err != nil {
				return err
			}
		}
		if err := do(ctx, q, b.forgetKnown("")); err != nil {
			return err
		}
		_, err := q.ExecContext(ctx, b.SQL("DELETE FROM {s}taskkit_unknown_kind WHERE last_seen_date < ")+b.ago("$1"), Millis(store.UnknownGap))
		if err != nil || len(seen) == 0 {
			return err
		}
		_, err = sqlrows.Query(ctx, q, b.SQL("UPDATE {s}taskkit_unknown_kind SET reported_date = {now} WHERE reported_date IS NULL OR reported_date < ")+
			b.ago("$1")+" RETURNING "+unknownColumns, []any{Millis(store.UnknownReported)}, readUnknown(&report))
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("record which kinds are unknown: %w", err)
	}
	return report, len(seen) > 0, nil
}

// forgetKnown removes the rows of kinds that a live process has registered.
func (b *Base) forgetKnown(what string) Step {
	return Step{Text: b.SQL("DELETE FROM {s}taskkit_unknown_kind AS q WHERE ") + b.knownBy(""), What: what}
}

// served is the condition that a live process serves the queue of task q.
func (t Statements) served() string {
	if t.dialect == dialect.SQLite {
		return `EXISTS (SELECT 1 FROM taskkit_task_process p, json_each(p.queues) u WHERE p.ended_date IS NULL AND NOT p.safe_mode AND u.value = q.queue)`
	}
	return t.SQL(`EXISTS (SELECT FROM {s}taskkit_task_process p WHERE p.ended_date IS NULL AND NOT p.safe_mode AND p.queues::jsonb @> pg_catalog.to_jsonb(q.queue))`)
}

// EndUnknownKinds implements [store.Upkeep]. The two steps are the steps of a worker that claims a
// task and cannot run it, so a late write of a former holder finds another fence.
func (b *Base) EndUnknownKinds(ctx context.Context, process string, after time.Duration, limit int) (ended []uuid.UUID, err error) {
	err = b.write(ctx, func(q store.Querier) error {
		var err error
		seen := "SELECT k.queue, k.execution_component_name, k.codec_revision FROM {s}taskkit_unknown_kind k WHERE k.first_seen_date < " + b.ago("$2") + " AND k.last_seen_date > " + b.ago("$3")
		ended, err = sqlrows.IDs(ctx, q, b.SQL(`WITH picked AS MATERIALIZED (
  SELECT q.id FROM {s}taskkit_queued_task q JOIN {s}taskkit_unknown_kind k
    ON k.execution_component_name = q.execution_component_name AND k.codec_revision = q.codec_revision AND k.queue = q.queue
  WHERE `+b.among("q.id", b.due(seen, strings.ReplaceAll(b.ago("$2"), "clock_timestamp", "statement_timestamp"), "$5"))+`
    AND q.workflow_status`+AsExpression+` = 'QUEUED' AND q.control = ''
    AND k.first_seen_date < `+b.ago("$2")+" AND q.not_before < "+b.ago("$2")+" AND k.last_seen_date > "+b.ago("$3")+`
    AND `+b.served()+" AND NOT "+b.knownBy("")+" AND NOT "+b.hasOpenChildren()+`
    AND q.queue`+AsExpression+` NOT IN (SELECT name FROM {s}taskkit_queue WHERE paused)
    AND EXISTS (SELECT 1 FROM {s}taskkit_task_process p WHERE p.id = $1 AND p.ended_date IS NULL)
  ORDER BY q.id LIMIT $4 `+b.lockRowSkipping("q")+`
)
UPDATE {s}taskkit_queued_task SET workflow_status = 'SCHEDULING', fence = fence + 1, scheduled_by_process = $1,
  scheduling_started_date = {now}, `+ResetStart+`, modified_date = {now}
WHERE id IN (SELECT id FROM picked) AND workflow_status`+AsExpression+` = 'QUEUED' RETURNING id`),
			process, Millis(after), Millis(store.UnknownGap), int64(limit), int64(store.UnknownRead))
		if err != nil || len(ended) == 0 {
			return err
		}
		_, err = q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_queued_task SET workflow_status = 'ERROR', workflow_status_desc = $2, scheduled_by_process = NULL,
  stalled = false, waiting_reason = NULL, workflow_stopped_date = {now}, modified_date = {now}
WHERE id `+b.anyID("$1")+` AND workflow_status`+AsExpression+` = 'SCHEDULING'`), b.idsArg(ended), store.UnknownKindDesc)
		if err != nil {
			return err
		}
		if err := b.endWaits(ctx, q, ended); err != nil {
			return err
		}
		return b.announce(ctx, q, notice.Ended, ended...)
	})
	if err != nil {
		return nil, fmt.Errorf("end tasks of unknown kinds: %w", err)
	}
	return ended, nil
}
