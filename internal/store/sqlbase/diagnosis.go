package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit/notice"
)

// OldestDue implements [store.Diagnosis].
func (b *Base) OldestDue(ctx context.Context, queue string, within time.Duration, limit int) ([]uuid.UUID, error) {
	before := "statement_timestamp() + $4::bigint::float8 * interval '1 millisecond'"
	if b.dialect == dialect.SQLite {
		before = "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', $4 / 1000.0))"
	}
	lanes := "SELECT w.queue, w.execution_component_name, w.codec_revision FROM " +
		b.few("w", "revisions", "codec_revision IS NOT NULL", "queue", "execution_component_name", "codec_revision")
	ids, err := sqlrows.IDs(ctx, b.q, b.SQL("WITH RECURSIVE "+b.waitingLanes(map[string]string{"queues": "q.queue = $1"})+`
SELECT q.id FROM {s}taskkit_queued_task q WHERE `+b.among("q.id", b.due(lanes, before, "$2"))+`
ORDER BY q.not_before, q.id LIMIT $3`), queue, int64(store.OldestOfLane), int64(limit), Millis(within))
	if err != nil {
		return nil, fmt.Errorf("find the oldest due tasks of queue %q: %w", queue, err)
	}
	return ids, nil
}

// InFlight implements [store.Diagnosis].
func (b *Base) InFlight(ctx context.Context) (found []store.InFlight, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT queue, kind, count(*), min(began) FROM (
  SELECT q.queue, q.execution_component_name AS kind, q.scheduling_started_date AS began FROM {s}taskkit_queued_task q
  WHERE q.workflow_status IN ('SCHEDULING', 'EXECUTING') ORDER BY q.created_date LIMIT `+b.most()+`
) n GROUP BY queue, kind ORDER BY count(*) DESC, queue, kind`), []any{int64(store.DiagnosisRead)}, func(rows *sql.Rows) error {
		var f store.InFlight
		err := rows.Scan(&f.Queue, &f.Kind, &f.Tasks, sqlrows.Time(&f.Since))
		found = append(found, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the tasks in flight: %w", err)
	}
	return found, nil
}

// FailingCodes implements [store.Diagnosis]. The ids of attempts are in the order of their creation.
func (b *Base) FailingCodes(ctx context.Context, since time.Duration, tasks int) (found []store.FailingCode, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT code, count(*), CAST(sum(attempts) AS bigint), min(first), max(last), max(id) FROM (
  SELECT code, CAST(task_id AS text) AS id, count(*) AS attempts, min(created_date) AS first, max(created_date) AS last FROM (
    SELECT a.code, a.task_id, a.created_date FROM {s}taskkit_task_attempt a ORDER BY a.id DESC LIMIT `+b.most()+`
  ) n WHERE created_date > `+b.ago("$2")+` GROUP BY code, task_id
) t GROUP BY code HAVING count(*) >= $3 ORDER BY count(*) DESC, code LIMIT $4`),
		[]any{int64(store.DiagnosisRead), Millis(since), int64(tasks), int64(store.FailingListed)}, func(rows *sql.Rows) error {
			var (
				f  store.FailingCode
				id string
			)
			if err := rows.Scan(&f.Code, &f.Tasks, &f.Attempts, sqlrows.Time(&f.First), sqlrows.Time(&f.Last), &id); err != nil {
				return err
			}
			var err error
			f.Example, err = uuid.Parse(id)
			found = append(found, f)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("group the failed attempts: %w", err)
	}
	return found, nil
}

// FailingTargets implements [store.Diagnosis]. Tasks and attempts are read by their ids, one by one, so that no planner reads all of them. Tasks that
// are kept by an option of theirs are not in the index of ended tasks: they are found by their plans, which have the option, and read one by one too.
func (b *Base) FailingTargets(ctx context.Context, since time.Duration, tries int) (found []store.FailingTarget, err error) {
	const target = `coalesce(q.execution_spec, (SELECT p.spec FROM {s}taskkit_task_plan p WHERE p.task_id = q.id)) ->> CAST('target' AS text)`
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`WITH failed AS (
  SELECT n.id, CAST(n.task_id AS text) AS task, n.created_date, (
    SELECT `+target+`
    FROM {s}taskkit_queued_task q WHERE q.id = n.task_id AND q.execution_component_name = $2) AS target
  FROM (SELECT a.id, a.task_id, a.created_date FROM {s}taskkit_task_attempt a ORDER BY a.id DESC LIMIT `+b.most()+`) n
  WHERE n.created_date > `+b.ago("$3")+`
), delivered AS (
  SELECT target, max(ended) AS last FROM (
    SELECT q.ended, `+target+` AS target FROM (
      SELECT e.id, e.workflow_status AS status, e.workflow_stopped_date AS ended, e.execution_spec FROM {s}taskkit_queued_task e
      WHERE e.execution_component_name = $2 AND e.workflow_stopped_date IS NOT NULL AND e.keep_ms IS NULL ORDER BY e.workflow_stopped_date DESC LIMIT `+b.most()+`
    ) q WHERE q.status = 'COMPLETED'
    UNION ALL SELECT n.ended, (SELECT `+target+` FROM {s}taskkit_queued_task q WHERE q.id = n.task_id) FROM (
      SELECT p.task_id, (SELECT k.workflow_stopped_date FROM {s}taskkit_queued_task k WHERE k.id = p.task_id
        AND k.execution_component_name = $2 AND k.workflow_status = 'COMPLETED' AND k.keep_ms IS NOT NULL) AS ended
      FROM {s}taskkit_task_plan p ORDER BY p.task_id DESC LIMIT `+b.most()+`
    ) n WHERE n.ended IS NOT NULL
  ) e GROUP BY target
), tried AS (
  SELECT f.target, f.task, count(*) AS tries, min(f.created_date) AS first, max(f.created_date) AS last, max(CAST(f.id AS text)) AS newest
  FROM failed f LEFT JOIN delivered d ON d.target = f.target WHERE f.target IS NOT NULL AND (d.last IS NULL OR d.last < f.created_date)
  GROUP BY f.target, f.task
), silent AS (
  SELECT target, count(*) AS notices, CAST(sum(tries) AS bigint) AS tries, min(first) AS first, max(last) AS last
  FROM tried GROUP BY target HAVING sum(tries) >= $4 ORDER BY sum(tries) DESC, target LIMIT $5
), newest AS (
  SELECT target, task, newest, row_number() OVER (PARTITION BY target ORDER BY newest DESC) AS place FROM tried
)
SELECT s.target, s.notices, s.tries, s.first, s.last, n.task, (SELECT q.workflow_status FROM {s}taskkit_queued_task q WHERE q.id = `+b.id("n.task")+`),
  (SELECT a.code FROM {s}taskkit_task_attempt a WHERE a.id = `+b.id("n.newest")+`)
FROM silent s JOIN newest n ON n.target = s.target AND n.place <= $5 ORDER BY s.tries DESC, s.target, n.place`),
		[]any{int64(store.DiagnosisRead), notice.Kind, Millis(since), int64(tries), int64(store.FailingListed)}, func(rows *sql.Rows) error {
			var (
				f      store.FailingTarget
				status string
			)
			if err := rows.Scan(&f.Target, &f.Notices, &f.Tries, sqlrows.Time(&f.First), sqlrows.Time(&f.Last), &f.Example, &status, &f.Code); err != nil {
				return err
			}
			if len(found) == 0 || found[len(found)-1].Target != f.Target {
				found = append(found, f)
			}
			if s := lifecycle.Status(status); s == lifecycle.Failure || s == lifecycle.Error {
				last := &found[len(found)-1]
				last.Dead = append(last.Dead, f.Example)
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("look for targets that take no notifications: %w", err)
	}
	return found, nil
}

// most is the limit that is the first parameter. PostgreSQL does not read its value, and plans for the first rows by an index instead of for all by a sort.
func (t Statements) most() string {
	if t.dialect == dialect.SQLite {
		return "$1"
	}
	return "(SELECT $1::bigint)"
}

// firstOfTime returns an id that is not greater than those that [store.NewID] makes at a time or later.
func firstOfTime(t time.Time) (id uuid.UUID) {
	ms := max(t.UnixMilli(), 0)
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6], id[8] = 0x70, 0x80
	return id
}
