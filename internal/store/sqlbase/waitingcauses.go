package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// WaitingCauses implements [store.Ops]. Tasks that wait for their children or for a permit have no time, and are due in the year 9999, behind
// all others of their lane: they are read by themselves.
func (b *Base) WaitingCauses(ctx context.Context, read int) (map[string]int64, error) {
	found := make(map[string]int64)
	_, err := sqlrows.Query(ctx, b.q, b.SQL("WITH RECURSIVE "+b.waitingLanes(nil)+", reasons AS (\n"+b.waitingReasons("$1", "$2")+`
)
SELECT cause, count(*) FROM reasons GROUP BY cause`), []any{int64(read), 10 * int64(read)}, func(rows *sql.Rows) error {
		var (
			cause string
			n     int64
		)
		err := rows.Scan(&cause, &n)
		found[cause] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count why tasks wait: %w", err)
	}
	return found, b.countPaused(ctx, 10*read, found)
}

// waitingReasons is a query of the lanes, see waitingLanes: the cause of each of their first tasks that are not due. Parameters say of how many of
// a lane, and of how many in all.
func (t Statements) waitingReasons(ofLane, all string) string {
	now, forever, orders := "statement_timestamp()", "'9999-01-01 00:00:00+00'", "t.not_before, t.id"
	perLane, limit := "(SELECT "+ofLane+"::bigint)", "(SELECT "+all+"::bigint)"
	if t.dialect == dialect.SQLite {
		now, forever, orders, perLane, limit = "{now}", "'9999-01-01'", "t.not_before", ofLane+" + 0", all+" + 0"
	}
	lanes := t.few("w", "lanes", "rank IS NOT NULL", "queue", "execution_component_name", "codec_revision", "rank")
	first := func(times string) string {
		return `SELECT ` + waitCause + ` AS cause FROM ` + t.tasksByClaim() + `
    WHERE ` + waiting + " AND t.queue = w.queue AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision AND " + t.rank() + ` = w.rank
      AND ` + times + `
    ORDER BY ` + orders + " LIMIT " + perLane
	}
	timed, untimed := first("t.not_before > "+now+" AND t.not_before < "+forever), first("t.not_before >= "+forever)
	if t.dialect == dialect.SQLite {
		return `  SELECT e.value AS cause FROM ` + lanes + ` CROSS JOIN json_each((SELECT json_group_array(cause) FROM (
    SELECT * FROM (` + timed + `) UNION ALL SELECT * FROM (` + untimed + `)
  ))) e LIMIT ` + limit
	}
	return "  SELECT n.cause FROM " + lanes + ` CROSS JOIN LATERAL (
    (` + timed + `) UNION ALL (` + untimed + `)
  ) n LIMIT ` + limit
}

// waitCause is the SQL of [lifecycle.WaitCause] for a task t.
var waitCause = func() string {
	var s strings.Builder
	s.WriteString("CASE WHEN coalesce(t.waiting_reason, '') = '' THEN '" + lifecycle.CauseStart + "'")
	for _, r := range lifecycle.WaitReasons {
		fmt.Fprintf(&s, " WHEN substr(t.waiting_reason, 1, %d) = '%s' THEN '%s'", len(r.Begins), r.Begins, r.Cause)
	}
	s.WriteString(" ELSE '" + lifecycle.CauseLater + "' END")
	return s.String()
}()

// ElectReader implements [store.Ops]. Of two that were elected at the same time the one with the lower id remains.
func (b *Base) ElectReader(ctx context.Context, process string, term time.Duration) (bool, error) {
	elected := int64(0)
	err := b.writeOne(ctx, func(q store.Querier) error {
		r, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_task_process SET reads_until_date = `)+b.soon("$2")+b.SQL(`
WHERE id = $1 AND ended_date IS NULL AND NOT EXISTS (
  SELECT 1 FROM {s}taskkit_task_process p WHERE p.ended_date IS NULL AND p.reads_until_date > {now} AND p.id <> $1
    AND (p.id < $1 OR taskkit_task_process.reads_until_date IS NULL OR taskkit_task_process.reads_until_date <= {now}))`), process, Millis(term))
		if err == nil {
			elected, err = r.RowsAffected()
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("elect the reader of figures: %w", err)
	}
	return elected > 0, nil
}
