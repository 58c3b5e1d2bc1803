package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

var recordedMessages = newRecorded("messages", "taskkit_task_message", "",
	sqlrows.Text("id", func(m *store.Message) string { return m.ID.String() }).As("uuid"),
	sqlrows.Text("source", func(m *store.Message) string { return m.Source }),
	sqlrows.Text("message_id", func(m *store.Message) string { return m.Message }),
	sqlrows.Text("outcome", func(m *store.Message) string { return string(m.Outcome) }),
	sqlrows.Text("task_id", func(m *store.Message) string {
		if m.Task == uuid.Nil {
			return ""
		}
		return m.Task.String()
	}).OrNull().As("uuid"),
	sqlrows.Text("code", func(m *store.Message) string { return classify.Clean(m.Code) }).OrNull(),
	sqlrows.Text("detail", func(m *store.Message) string { return classify.Clean(m.Detail) }).OrNull(),
	sqlrows.Text("body", func(m *store.Message) string { return m.Body }).OrNull(),
)

// SeenMessages returns the outcomes of the messages of a source that have been taken in.
func (t Statements) SeenMessages(ctx context.Context, q sqlrows.Queryer, source string, ids []string) (map[string]store.MessageOutcome, error) {
	seen := make(map[string]store.MessageOutcome)
	_, err := sqlrows.Query(ctx, q, t.SQL("SELECT message_id, outcome FROM {s}taskkit_task_message WHERE source = $1 AND message_id "+t.anyText("$2")),
		[]any{source, t.textsArg(ids)}, func(rows *sql.Rows) error {
			var (
				id      string
				outcome store.MessageOutcome
			)
			err := rows.Scan(&id, &outcome)
			seen[id] = outcome
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("look for %d messages of %s: %w", len(ids), source, err)
	}
	return seen, nil
}

// RecordMessages records messages in the caller's transaction. If one of them has been taken
// in meanwhile it fails, see [classify.UniqueViolation].
func (t Statements) RecordMessages(ctx context.Context, q store.Querier, messages []*store.Message) error {
	return recordRows(ctx, t, q, &recordedMessages, messages)
}

// RefusedMessages returns refused messages of a source, the newest first, from the one after
// a row on; the zero id begins with the newest.
func (t Statements) RefusedMessages(ctx context.Context, q sqlrows.Queryer, source string, after uuid.UUID, limit int) ([]store.Message, error) {
	where, args := "", []any{source, int64(limit)}
	if after != uuid.Nil {
		where, args = " AND id < "+t.id("$3"), append(args, after.String())
	}
	var found []store.Message
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT id, source, message_id, created_date, outcome, coalesce(code, ''), coalesce(detail, ''), coalesce(body, '')
FROM {s}taskkit_task_message WHERE source = $1 AND outcome = 'refused'`+where+` ORDER BY id DESC LIMIT $2`), args, func(rows *sql.Rows) error {
		var m store.Message
		err := rows.Scan(&m.ID, &m.Source, &m.Message, sqlrows.Time(&m.Created), &m.Outcome, &m.Code, &m.Detail, &m.Body)
		found = append(found, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the refused messages of %s: %w", source, err)
	}
	return found, nil
}

// PruneMessages removes messages of a source that were taken in longer ago than this, at most limit, and
// returns how many it has removed.
func (t Statements) PruneMessages(ctx context.Context, q store.Querier, source string, olderThan time.Duration, limit int) (int, error) {
	r, err := q.ExecContext(ctx, t.SQL(`DELETE FROM {s}taskkit_task_message WHERE id IN (
  SELECT m.id FROM {s}taskkit_task_message m WHERE m.source = $1 AND m.created_date < `+t.ago("$2")+` ORDER BY m.created_date LIMIT $3 `+t.skipLocked()+")"),
		source, Millis(olderThan), int64(limit))
	if err != nil {
		return 0, fmt.Errorf("remove old messages of %s: %w", source, err)
	}
	n, err := r.RowsAffected()
	return int(n), err
}
