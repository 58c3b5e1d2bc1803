package sqlbase

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/ent/taskledger"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// ledgerRow is the list of the items that succeeded in a batch.
type ledgerRow struct {
	id, task     string
	batch, items int64
	keys         []byte
}

// recordLedgers stores which items succeeded in the batches of writes, and removes the
// rows that these had from earlier batches.
func (t Statements) recordLedgers(ctx context.Context, q store.Querier, writes []*store.Write) error {
	var rows []*ledgerRow
	for _, w := range writes {
		if !w.Checkpoint || len(w.Ledger.Keys) == 0 {
			continue
		}
		keys, err := store.EncodeLedger(w.Ledger.Keys)
		if err != nil {
			return err
		}
		rows = append(rows, &ledgerRow{store.NewID().String(), w.ID.String(), w.Seq, int64(len(w.Ledger.Keys)), keys})
		if !w.Ledger.Replaces {
			continue
		}
		if _, err := q.ExecContext(ctx, t.SQL("DELETE FROM {s}taskkit_task_item WHERE task_id = $1 AND item ")+t.anyText("$2"),
			w.ID.String(), t.textsArg(w.Ledger.Keys)); err != nil {
			return fmt.Errorf("remove the rows of items that have succeeded: %w", err)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := t.insertLedgers(ctx, q, rows); err != nil {
		return fmt.Errorf("record %d ledgers: %w", len(rows), err)
	}
	return nil
}

// ledgerArrays and ledgerOne are the INSERT of many rows on PostgreSQL, where every
// driver can send an array of texts, and of one on SQLite.
const (
	ledgerArrays = `INSERT INTO {s}taskkit_task_ledger (id, task_id, batch, items, keys)
SELECT id::uuid, task::uuid, batch, items, decode(keys, 'base64')
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) AS r(id, task, batch, items, keys)`
	ledgerOne = "INSERT INTO taskkit_task_ledger (id, task_id, batch, items, keys) VALUES ($1, $2, $3, $4, $5)"
)

func (t Statements) insertLedgers(ctx context.Context, q store.Querier, rows []*ledgerRow) error {
	if t.dialect == dialect.Postgres {
		var (
			ids, tasks, keys []string
			batches, items   []int64
		)
		for _, r := range rows {
			ids, tasks, keys = append(ids, r.id), append(tasks, r.task), append(keys, base64.StdEncoding.EncodeToString(r.keys))
			batches, items = append(batches, r.batch), append(items, r.items)
		}
		_, err := q.ExecContext(ctx, t.SQL(ledgerArrays), ids, tasks, batches, items, keys)
		return err
	}
	for _, r := range rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// For a cancellable context the driver starts a goroutine per statement.
		if _, err := q.ExecContext(context.WithoutCancel(ctx), ledgerOne, r.id, r.task, r.batch, r.items, r.keys); err != nil {
			return err
		}
	}
	return nil
}

// Ledger implements [store.Reader].
func (b *Base) Ledger(ctx context.Context, id uuid.UUID, after int64, n int) ([]store.LedgerPage, error) {
	rows, err := b.ent.TaskLedger.Query().Where(taskledger.TaskID(id), taskledger.BatchGT(after)).
		Order(taskledger.ByBatch()).Limit(limit(n)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of task %s: %w", id, err)
	}
	pages := make([]store.LedgerPage, len(rows))
	for i, r := range rows {
		pages[i] = store.LedgerPage{Batch: r.Batch, Created: r.CreatedDate, Items: r.Items, Keys: r.Keys}
	}
	return pages, nil
}

// LedgerItems implements [store.Reader].
func (b *Base) LedgerItems(ctx context.Context, id uuid.UUID) (items int64, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL("SELECT coalesce(CAST(sum(items) AS bigint), 0) FROM {s}taskkit_task_ledger WHERE task_id = $1"),
		[]any{id.String()}, func(rows *sql.Rows) error { return rows.Scan(&items) })
	if err != nil {
		return 0, fmt.Errorf("count the items in the ledger of task %s: %w", id, err)
	}
	return items, nil
}

// Recorded implements [store.Reader].
func (b *Base) Recorded(ctx context.Context, id uuid.UUID, keys []string) (found []string, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL("SELECT item FROM {s}taskkit_task_item WHERE task_id = $1 AND item ")+b.anyText("$2"),
		[]any{id.String(), b.textsArg(keys)}, func(rows *sql.Rows) error {
			var key string
			err := rows.Scan(&key)
			found = append(found, key)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("find items of task %s: %w", id, err)
	}
	return found, nil
}

// anyText is the condition that a text is one of a parameter, which
// [Statements.textsArg] makes.
func (t Statements) anyText(param string) string { return t.anyOf(param, "") }

// textsArg is the parameter of anyText.
func (t Statements) textsArg(values []string) any {
	if t.dialect == dialect.SQLite {
		return JSONList(values)
	}
	return values
}
