package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// applyTemplate makes one write of a lease holder, with the guard, the columns and
// the meaning of the statement on PostgreSQL. {now} is the time, $18 where there
// are many writes: computing it in every place adds a tenth to the cost. There is
// no list of more than two words: SQLite makes a table of it each time.
const applyTemplate = `UPDATE taskkit_queued_task SET
  workflow_status = $4,
  workflow_status_desc = coalesce(nullif($15, ''), workflow_status_desc),
  execution_started_date = CASE WHEN $4 IN ('QUEUED', 'ERROR') THEN execution_started_date
    ELSE coalesce(execution_started_date, {now}) END,
  first_started_date = CASE WHEN $4 IN ('QUEUED', 'ERROR') THEN first_started_date
    ELSE coalesce(first_started_date, {now}) END,
  workflow_stopped_date = CASE WHEN $4 NOT IN ('QUEUED', 'EXECUTING') THEN {now} END,
  scheduled_by_process = CASE WHEN $4 = 'EXECUTING' THEN scheduled_by_process END,
  checkpoint_seq = checkpoint_seq + $5,
  spec_revision = CASE WHEN $5 AND $6 <> codec_revision THEN coalesce(spec_revision, codec_revision) ELSE spec_revision END,
  codec_revision = CASE WHEN $5 THEN $6 ELSE codec_revision END,
  execution_state = CASE WHEN $5 AND $7 <> '' THEN $7 ELSE execution_state END,
  items_total = CASE WHEN $5 THEN nullif(max($8, -1), -1) ELSE items_total END,
  items_taken = CASE WHEN $5 THEN $9 ELSE items_taken END,
  items_done = CASE WHEN $5 THEN $10 ELSE items_done END,
  items_failed = CASE WHEN $5 THEN $11 ELSE items_failed END,
  items_skipped = CASE WHEN $5 THEN $12 ELSE items_skipped END,
  attempts = $13,
  not_before = CASE WHEN $4 <> 'QUEUED' THEN not_before
    WHEN control IN ('STOP', 'DELETE') AND $16 <> '` + lifecycle.ReasonEndingChildren + `' THEN {now}
    WHEN typeof($14) = 'text' THEN $14
    WHEN $14 < 0 THEN not_before
    ELSE strftime('%Y-%m-%d %H:%M:%f', {now}, printf('+%.3f seconds', $14 / 1000.0)) END,
  stalled = stalled AND ($4 = 'EXECUTING' OR (NOT $5 AND $13 < attempts))
    OR ($4 = 'QUEUED' AND control IN ('STOP', 'DELETE')),
  waiting_reason = CASE WHEN $4 = 'QUEUED' THEN nullif($16, '') END,
  partial = $17,{clear}
  modified_date = {now}, modified_by = run_as_id
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND {legal}`

// removeQuery ends a task that is to be deleted, however its holder ends it.
const removeQuery = `DELETE FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING') AND control = 'DELETE'`

// Apply implements [store.Store]. It ignores the process, since the fences identify
// its claims.
func (s *Store) Apply(ctx context.Context, _ string, writes []store.Write) ([]store.Applied, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	var applied []store.Applied
	err := s.inTx(ctx, func(q store.Querier) (err error) {
		applied, err = s.apply(ctx, q, writes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write %d tasks: %w", len(writes), err)
	}
	return applied, nil
}

// apply makes writes one after another, in the caller's transaction.
func (s *Store) apply(ctx context.Context, q store.Querier, writes []store.Write) ([]store.Applied, error) {
	// For a cancellable context the driver starts a goroutine per statement, which
	// costs more than the write of one row.
	detached := context.WithoutCancel(ctx)
	var now string
	if len(writes) > 1 {
		if _, err := sqlrows.Query(detached, q, "SELECT "+dialect.SQLiteNow, nil, func(rows *sql.Rows) error { return rows.Scan(&now) }); err != nil {
			return nil, err
		}
	}
	applied := make([]store.Applied, len(writes))
	for i := range writes {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		w := &writes[i]
		open, err := s.OpenParents(ctx, q, []*store.Write{w})
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			applied[i].Open = true
			continue
		}
		if applied[i], err = s.applyOne(detached, q, w, now); err != nil {
			return nil, err
		}
		if removed := w.To.Terminal() && applied[i].Control == lifecycle.Delete; applied[i].OK && !removed {
			if err := s.Record(ctx, q, []*store.Write{w}, []*store.Applied{&applied[i]}); err != nil {
				return nil, err
			}
		}
	}
	return applied, nil
}

// applyOne makes one write, at a time or, if it is "", now.
func (s *Store) applyOne(ctx context.Context, q store.Querier, w *store.Write, now string) (a store.Applied, err error) {
	var (
		checkpoint, revision int64
		state                string
		p                    lifecycle.Progress
	)
	if w.Checkpoint {
		checkpoint, revision, state, p = 1, int64(w.Revision), string(w.State), w.Progress
	}
	statements, args := &s.applyNow, []any{
		w.ID.String(), w.Fence, w.Seq, string(w.To), checkpoint, revision, state,
		p.Total, p.Taken, p.Done, p.Failed, p.Skipped, int64(max(w.Attempts, 0)), due(w),
		classify.Clean(w.StatusDetail), classify.Clean(w.Reason), w.Partial,
	}
	if now != "" {
		statements, args = &s.applyAt, append(args, now)
	}
	exec := func(query string, args ...any) error {
		r, err := q.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		a.OK = n > 0
		return err
	}
	if err := exec(statements.free, args...); err != nil || a.OK {
		return a, err
	}
	// A request is pending, or the task lease is lost.
	if w.To.Terminal() {
		if err := exec(removeQuery, w.ID.String(), w.Fence, w.Seq); err != nil {
			return a, err
		}
		if a.OK {
			a.Control = lifecycle.Delete
			return a, s.RemoveFamilies(ctx, q, w)
		}
		return a, exec(statements.ending, args...)
	}
	rows, err := sqlrows.Query(ctx, q, statements.asking, args, func(rows *sql.Rows) error { return rows.Scan(&a.Control) })
	a.OK = rows > 0
	return a, err
}

// due is the parameter of not_before: a delay in milliseconds, or a time.
func due(w *store.Write) any {
	if w.At.IsZero() {
		return sqlbase.DelayMillis(w)
	}
	return w.At.UTC().Format("2006-01-02 15:04:05.000")
}

// applyStatements are the statements that make a write.
type applyStatements struct {
	free   string // matches only a task without a pending request
	ending string // ends a task and clears its request
	asking string // returns the pending request, which costs half as much again
}

// legalWrites is the condition that a write makes a legal change, for its status $4.
func legalWrites() string {
	sources := make(map[lifecycle.Status][]string)
	var targets []lifecycle.Status
	for _, m := range lifecycle.LeaseWrites() {
		if sources[m.To] == nil {
			targets = append(targets, m.To)
		}
		sources[m.To] = append(sources[m.To], "'"+string(m.From)+"'")
	}
	var b strings.Builder
	b.WriteString("CASE $4")
	for _, to := range targets {
		fmt.Fprintf(&b, "\n  WHEN '%s' THEN workflow_status IN (%s)", to, strings.Join(sources[to], ", "))
	}
	return b.String() + " ELSE 0 END"
}

// newApplyStatements fills in a time and the legal changes.
func newApplyStatements(now string) applyStatements {
	legal := legalWrites()
	text := func(clearing string) string {
		return strings.NewReplacer("{legal}", legal, "{now}", now, "{clear}", clearing).Replace(applyTemplate)
	}
	return applyStatements{
		free:   text("") + " AND control = ''",
		ending: text("\n  control = '', control_by = NULL, control_reason = NULL,"),
		asking: text("") + " RETURNING control",
	}
}
