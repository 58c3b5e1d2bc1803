package sqlbase

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// itemRow is the outcome of an item of a task.
type itemRow struct {
	task string
	store.Item
}

// attemptRow is a failed attempt of a task.
type attemptRow struct {
	task string
	store.Attempt
}

// resultRow is the result of a task.
type resultRow struct {
	task, result       string
	revision           int64
	unfetched, fetched int64 // milliseconds that it is kept; negative: for ever
}

// secretsRow is what is added to the secrets of a task.
type secretsRow struct{ task, secrets string }

// reportRow is the report of a preview.
type reportRow struct{ task, report string }

// recorded are the statements that store rows of a type: all at once on
// PostgreSQL, one by one on SQLite, where a statement is no round trip.
type recorded[R any] struct {
	name    string
	columns []sqlrows.Column[R]
	arrays  string
	one     string
}

// The beginning and the end of both statements that store results. A task that ends again
// has another result, which has not been fetched.
const (
	resultColumns = "taskkit_task_result (id, task_id, result, codec_revision, keep_fetched_ms, expiry_date)"
	resultAgain   = "\nON CONFLICT (task_id) DO UPDATE" +
		" SET result = excluded.result, codec_revision = excluded.codec_revision, finished_date = excluded.finished_date," +
		" fetched_date = NULL, keep_fetched_ms = excluded.keep_fetched_ms, expiry_date = excluded.expiry_date"
)

// newRecorded returns the INSERT into a table. clause follows it.
func newRecorded[R any](name, table, clause string, columns ...sqlrows.Column[R]) recorded[R] {
	return recorded[R]{
		name, columns,
		sqlrows.InsertArrays("{s}"+table, columns) + clause,
		sqlrows.InsertOne(table, columns) + clause,
	}
}

var (
	recordedItems = newRecorded("outcomes of items", "taskkit_task_item", "\nON CONFLICT (task_id, item) DO UPDATE"+
		" SET outcome = excluded.outcome, code = excluded.code, detail = excluded.detail,"+
		" position = CASE WHEN excluded.position > 0 THEN excluded.position ELSE taskkit_task_item.position END,"+
		" attempt = excluded.attempt, created_date = excluded.created_date",
		sqlrows.Text("id", func(i *itemRow) string { return i.ID.String() }).As("uuid"),
		sqlrows.Text("task_id", func(i *itemRow) string { return i.task }).As("uuid"),
		sqlrows.Text("item", func(i *itemRow) string { return i.Key }),
		sqlrows.Text("outcome", func(i *itemRow) string { return string(i.Outcome) }),
		sqlrows.Text("code", func(i *itemRow) string { return classify.Clean(i.Code) }),
		sqlrows.Text("detail", func(i *itemRow) string { return classify.Clean(i.Detail) }),
		sqlrows.Number("position", func(i *itemRow) int64 { return i.Position }),
		sqlrows.Number("attempt", func(i *itemRow) int64 { return int64(i.Attempt) }),
	)
	recordedAttempts = newRecorded("failed attempts", "taskkit_task_attempt", "",
		sqlrows.Text("id", func(*attemptRow) string { return store.NewID().String() }).As("uuid"),
		sqlrows.Text("task_id", func(a *attemptRow) string { return a.task }).As("uuid"),
		sqlrows.Text("process", func(a *attemptRow) string { return classify.Clean(a.Process) }),
		sqlrows.Number("fence", func(a *attemptRow) int64 { return a.Fence }),
		sqlrows.Number("checkpoint_seq", func(a *attemptRow) int64 { return a.Seq }),
		sqlrows.Number("attempt", func(a *attemptRow) int64 { return int64(a.Attempt.Attempt) }),
		sqlrows.Text("class", func(a *attemptRow) string { return classify.Clean(a.Class) }),
		sqlrows.Text("code", func(a *attemptRow) string { return classify.Clean(a.Code) }),
		sqlrows.Text("detail", func(a *attemptRow) string { return classify.Clean(a.Detail) }),
	)
	recordedResults = recorded[resultRow]{
		"results",
		[]sqlrows.Column[resultRow]{
			sqlrows.Text("id", func(*resultRow) string { return store.NewID().String() }),
			sqlrows.Text("task_id", func(r *resultRow) string { return r.task }),
			sqlrows.Text("result", func(r *resultRow) string { return r.result }),
			sqlrows.Number("codec_revision", func(r *resultRow) int64 { return r.revision }),
			sqlrows.Number("fetched", func(r *resultRow) int64 { return r.fetched }),
			sqlrows.Number("unfetched", func(r *resultRow) int64 { return r.unfetched }),
		},
		"INSERT INTO {s}" + resultColumns + `
SELECT id::uuid, task_id::uuid, result::json, codec_revision, CASE WHEN fetched >= 0 THEN fetched END,
  CASE WHEN unfetched >= 0 THEN clock_timestamp() + unfetched::float8 * interval '1 millisecond' END
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS r(id, task_id, result, codec_revision, fetched, unfetched)` +
			resultAgain,
		"INSERT INTO " + resultColumns + ` VALUES ($1, $2, $3, $4, CASE WHEN $5 >= 0 THEN $5 END,
  CASE WHEN $6 >= 0 THEN strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', $6 / 1000.0)) END)` + resultAgain,
	}
	recordedSecrets = recorded[secretsRow]{
		"secrets",
		[]sqlrows.Column[secretsRow]{
			sqlrows.Text("task", func(a *secretsRow) string { return a.task }),
			sqlrows.Text("secrets", func(a *secretsRow) string { return a.secrets }),
		},
		`UPDATE {s}taskkit_queued_task q SET secrets = pg_catalog.concat_ws(chr(10), q.secrets, a.secrets)
FROM unnest($1::text[], $2::text[]) AS a(task, secrets) WHERE q.id = a.task::uuid`,
		"UPDATE taskkit_queued_task SET secrets = coalesce(secrets || char(10), '') || $2 WHERE id = $1",
	}
	recordedReports = recorded[reportRow]{
		"reports",
		[]sqlrows.Column[reportRow]{
			sqlrows.Text("task", func(r *reportRow) string { return r.task }),
			sqlrows.Text("report", func(r *reportRow) string { return r.report }),
		},
		`UPDATE {s}taskkit_task_plan p SET report = r.report::json
FROM unnest($1::text[], $2::text[]) AS r(task, report) WHERE p.task_id = r.task::uuid`,
		"UPDATE taskkit_task_plan SET report = $2 WHERE task_id = $1",
	}
)

// HasRecords reports whether [Statements.Record] does something for a write.
func HasRecords(w *store.Write) bool {
	return w.Wait != nil || w.HasChildren || w.Check || w.CheckParents || w.Policies || w.Watched || w.Notify != "" || w.Pause != "" || w.Stop != "" || w.Attempt != nil || w.Result != nil || w.Checkpoint && (len(w.Items) > 0 || w.Found != nil || len(w.Ledger.Keys) > 0 || w.Secrets != "" || w.Report != nil || w.Worked != nil || w.Memo != nil || w.Retried != (store.Retried{}))
}

// Record stores what came with writes that took effect: outcomes of items, ledgers,
// failed attempts, results and, rarely, secrets, reports and rates. It then pauses the tasks whose
// conditions say so. The writes are of different tasks; on SQLite it is one. What it has found goes into
// the outcomes of the writes.
func (t Statements) Record(ctx context.Context, q store.Querier, writes []*store.Write, applied []*store.Applied) error {
	var (
		err      error
		items    itemRows
		checked  []*store.Write
		attempts []*attemptRow
		results  []*resultRow
		secrets  []*secretsRow
		reports  []*reportRow
	)
	for _, w := range writes {
		if !HasRecords(w) {
			continue
		}
		task := w.ID.String()
		if w.Checkpoint {
			for _, i := range w.Items {
				items.add(&itemRow{task, i})
			}
			if w.Secrets != "" {
				secrets = append(secrets, &secretsRow{task, w.Secrets})
			}
			if w.Report != nil {
				reports = append(reports, &reportRow{task, string(w.Report)})
			}
		}
		if w.Check {
			checked = append(checked, w)
		}
		if w.Attempt != nil {
			attempts = append(attempts, &attemptRow{task, *w.Attempt})
		}
		if w.Result != nil {
			results = append(results, newResultRow(w))
		}
	}
	var options storedOptions
	if len(checked) > 0 {
		options, err = t.recordChecked(ctx, q, items.rows, checked)
	} else {
		err = recordRows(ctx, t, q, &recordedItems, items.rows)
	}
	if err != nil {
		return err
	}
	if err := t.recordLedgers(ctx, q, writes); err != nil {
		return err
	}
	for _, w := range writes {
		if err := t.retryDeferred(ctx, q, w); err != nil {
			return err
		}
		if err := t.recordFound(ctx, q, w); err != nil {
			return err
		}
	}
	if err := recordRows(ctx, t, q, &recordedAttempts, attempts); err != nil {
		return err
	}
	if err := recordRows(ctx, t, q, &recordedResults, results); err != nil {
		return err
	}
	if err := recordRows(ctx, t, q, &recordedSecrets, secrets); err != nil {
		return err
	}
	if err := recordRows(ctx, t, q, &recordedReports, reports); err != nil {
		return err
	}
	changed, err := t.recordRates(ctx, q, writes)
	if err != nil {
		return err
	}
	requests := make(map[uuid.UUID]bool) // tasks that their writes have paused or stopped
	for i, w := range writes {
		paused, err := t.recordParent(ctx, q, w)
		if err != nil {
			return err
		}
		if paused {
			applied[i].Control, requests[w.ID] = lifecycle.Pause, true
		}
		requested, err := t.recordRequest(ctx, q, w)
		if err != nil {
			return err
		}
		if requested != lifecycle.None {
			applied[i].Control, requests[w.ID] = requested, true
		}
		applied[i].Options = changed[w.ID]
	}
	paused, err := t.checkConditions(ctx, q, checked, options)
	if err != nil {
		return err
	}
	above, err := t.checkPolicies(ctx, q, writes)
	for i, w := range writes {
		if paused[w.ID] && applied[i].Control != lifecycle.Stop || slices.Contains(above, w.ID) && !w.To.Terminal() && applied[i].Control == lifecycle.None {
			applied[i].Control = lifecycle.Pause
		}
	}
	if err != nil {
		return err
	}
	if err := t.decidePolicies(ctx, q, writes, applied); err != nil {
		return err
	}
	return t.notifyOf(ctx, q, writes, requests)
}

// keptMillis is a period of [store.Retention] in milliseconds: negative for ever.
func keptMillis(d time.Duration) int64 {
	if d <= 0 {
		return -1
	}
	return d.Milliseconds()
}

// retryDeferred removes the rows of deferred items that a write has retried. It follows
// the items of the write, which keep the rows of items deferred again.
func (t Statements) retryDeferred(ctx context.Context, q store.Querier, w *store.Write) error {
	if !w.Checkpoint {
		return nil
	}
	p, task := w.Retried, w.ID.String()
	if p.Upto > p.After {
		if _, err := q.ExecContext(ctx, t.SQL(`DELETE FROM {s}taskkit_task_item
WHERE task_id = $1 AND outcome = 'deferred' AND position > $2 AND position <= $3 AND attempt <= $4`),
			task, p.After, p.Upto, int64(p.Round)); err != nil {
			return fmt.Errorf("remove deferred items: %w", err)
		}
	}
	if p.FailRest {
		if _, err := q.ExecContext(ctx, t.SQL(`UPDATE {s}taskkit_task_item SET outcome = 'failed', created_date = {now}
WHERE task_id = $1 AND outcome = 'deferred'`), task); err != nil {
			return fmt.Errorf("fail deferred items: %w", err)
		}
	}
	return nil
}

// itemRows are outcomes, one for each item: PostgreSQL refuses a statement that
// would change a row twice.
type itemRows struct {
	rows []*itemRow
	at   map[[2]string]int // index by task and key
}

// add adds an outcome, in the place of an earlier one of the same item.
func (r *itemRows) add(i *itemRow) {
	id := [2]string{i.task, i.Key}
	if n, ok := r.at[id]; ok {
		i.ID, i.Position = r.rows[n].ID, cmp.Or(i.Position, r.rows[n].Position)
		r.rows[n] = i
		return
	}
	if i.ID == uuid.Nil {
		i.ID = store.NewID()
	}
	if r.at == nil {
		r.at = make(map[[2]string]int)
	}
	r.at[id] = len(r.rows)
	r.rows = append(r.rows, i)
}

// recordRows stores rows of a type.
func recordRows[R any](ctx context.Context, t Statements, q store.Querier, r *recorded[R], rows []*R) error {
	if len(rows) == 0 {
		return nil
	}
	if t.dialect == dialect.Postgres {
		if _, err := q.ExecContext(ctx, t.SQL(r.arrays), sqlrows.Arrays(r.columns, rows)...); err != nil {
			return fmt.Errorf("record %d %s: %w", len(rows), r.name, err)
		}
		return nil
	}
	// For a cancellable context the driver starts a goroutine per statement.
	detached := context.WithoutCancel(ctx)
	for _, row := range rows {
		if ctx.Err() != nil {
			return fmt.Errorf("record %d %s: %w", len(rows), r.name, context.Cause(ctx))
		}
		if _, err := q.ExecContext(detached, r.one, sqlrows.Args(r.columns, row)...); err != nil {
			return fmt.Errorf("record %s: %w", r.name, err)
		}
	}
	return nil
}
