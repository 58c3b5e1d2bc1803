package oracle

import (
	"context"
	"fmt"
	"strings"
)

// ledgerTables are what executors under test write. No constraint may help the
// engine: a second touch must be seen, not refused.
func ledgerTables(d Dialect) []string {
	id, task := "id bigserial", taskColumn
	if d == SQLite {
		id, task = "id integer PRIMARY KEY AUTOINCREMENT", " text"
	}
	return []string{
		`CREATE TABLE {s}oracle_touch (` + id + `, at bigint NOT NULL, task` + task + ` NOT NULL, entity bigint NOT NULL,
  fence bigint NOT NULL, seq bigint NOT NULL, worker text NOT NULL, holder text NOT NULL, txid bigint NOT NULL, seen text NOT NULL)`,
		`CREATE INDEX oracle_touch_task ON {s}oracle_touch (task, seq)`,
		`CREATE TABLE {s}oracle_entity (id bigint PRIMARY KEY, counter bigint NOT NULL)`,
		`CREATE TABLE {s}oracle_set (task` + task + ` NOT NULL, first bigint NOT NULL, past bigint NOT NULL)`,
	}
}

// Range is the entities First to Past-1.
type Range struct {
	First int64 `json:"first"`
	Past  int64 `json:"past"`
}

// Declare says which entities a task is to deal with; more than one range may
// be declared. It belongs into the transaction that submits the task. A task
// that a client log names with its set needs no declaration, and one that
// touches what nobody declared is a violation.
func (o *Oracle) Declare(ctx context.Context, tx Execer, task string, set Range) error {
	_, err := tx.ExecContext(ctx, o.sql("INSERT INTO {s}oracle_set (task, first, past) VALUES ($1, $2, $3)"), task, set.First, set.Past)
	if err != nil {
		return fmt.Errorf("oracle: declare the set of task %s: %w", task, err)
	}
	return nil
}

// Touch deals with entities: a line in the ledger and one more on the counter
// of each. An executor under test calls it through b.Tx, takes its entities in
// rising order, and calls b.Advance with their number. It touches only in
// Execute.
//
// The worker is the first part of the process's identity, Config.SystemID. The
// fence, checkpoint_seq and holder are read from the task's row by the same
// statement. So is what the transaction sees of others: on PostgreSQL its
// snapshot, on SQLite, where one writes at a time, how long the history is.
func (o *Oracle) Touch(ctx context.Context, tx Execer, task, worker string, set Range) error {
	if set.Past <= set.First {
		return nil
	}
	txid, seen := "pg_current_xact_id()::text::bigint", "pg_current_snapshot()::text"
	series := "SELECT i FROM generate_series($3::bigint, $4::bigint - 1) AS n(i)"
	row := "q.id = CAST($1 AS text)::uuid"
	if o.dialect == SQLite {
		txid, seen = "0", "CAST((SELECT coalesce(max(id), 0) FROM oracle_history) AS text)"
		series = "WITH RECURSIVE n(i) AS (SELECT $3 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $4) SELECT i FROM n"
		row = "q.id = $1"
	}
	_, err := tx.ExecContext(ctx, o.sql(`INSERT INTO {s}oracle_touch (at, task, entity, fence, seq, worker, holder, txid, seen)
SELECT {now}, CAST($1 AS text), n.i, coalesce(q.fence, -1), coalesce(q.checkpoint_seq, -1), CAST($2 AS text),
  coalesce(q.scheduled_by_process, ''), `+txid+`, `+seen+`
FROM (`+series+`) n LEFT JOIN {s}taskkit_queued_task q ON `+row), task, worker, set.First, set.Past)
	if err != nil {
		return fmt.Errorf("oracle: touch %d to %d: %w", set.First, set.Past, err)
	}
	_, err = tx.ExecContext(ctx, o.sql(`INSERT INTO {s}oracle_entity (id, counter) SELECT i, 1 FROM (`+strings.NewReplacer("$3", "$1", "$4", "$2").Replace(series)+`) n WHERE true
ON CONFLICT (id) DO UPDATE SET counter = oracle_entity.counter + 1`), set.First, set.Past)
	if err != nil {
		return fmt.Errorf("oracle: count %d to %d: %w", set.First, set.Past, err)
	}
	return nil
}
