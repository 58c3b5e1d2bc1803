package sqlbase

import (
	"context"
	"fmt"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// pageRow is a page of the targets of a task.
type pageRow struct {
	task string
	store.TargetPage
}

var recordedPages = newRecorded("pages of targets", "taskkit_task_target",
	"\nON CONFLICT (task_id, page) DO UPDATE SET keys = excluded.keys",
	sqlrows.Text("id", func(*pageRow) string { return store.NewID().String() }).As("uuid"),
	sqlrows.Text("task_id", func(p *pageRow) string { return p.task }).As("uuid"),
	sqlrows.Number("page", func(p *pageRow) int64 { return int64(p.Number) }),
	sqlrows.Text("keys", func(p *pageRow) string { return string(p.Keys) }),
)

// maxFoundPages bounds the pages of one statement.
const maxFoundPages = 16

// recordFound stores the targets that a batch has found. A set that is complete does not
// change: then the write is an error. The pages come first, since a guard of the database
// lets them change only while the task finds targets.
func (t Statements) recordFound(ctx context.Context, q store.Querier, w *store.Write) error {
	f, task := w.Found, w.ID.String()
	if f == nil || !w.Checkpoint {
		return nil
	}
	for pages := f.Pages; len(pages) > 0; {
		n := min(len(pages), maxFoundPages)
		rows := make([]*pageRow, n)
		for i, p := range pages[:n] {
			rows[i] = &pageRow{task, p}
		}
		if err := recordRows(ctx, t, q, &recordedPages, rows); err != nil {
			return err
		}
		pages = pages[n:]
	}
	where := store.TargetsFinding
	if f.Complete {
		where = store.TargetsFrozen
	}
	r, err := q.ExecContext(ctx, t.SQL(`UPDATE {s}taskkit_task_plan SET targets = $2, targets_total = $3
WHERE task_id = $1 AND targets = 'finding'`), task, where, f.Total)
	var changed int64
	if err == nil {
		changed, err = r.RowsAffected()
	}
	switch {
	case err != nil:
		return fmt.Errorf("record %d targets: %w", f.Total, err)
	case changed == 0:
		return store.ErrNotFinding
	}
	return nil
}
