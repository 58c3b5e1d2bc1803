package sqlbase

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
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
	sqlrows.Number("body_hash", func(m *store.Message) int64 { return m.Hash }),
	sqlrows.Text("task_id", func(m *store.Message) string {
		if m.Task == uuid.Nil {
			return ""
		}
		return m.Task.String()
	}).OrNull().As("uuid"),
	sqlrows.Text("code", func(m *store.Message) string { return classify.Clean(m.Code) }).OrNull(),
	sqlrows.Text("detail", func(m *store.Message) string { return classify.Clean(m.Detail) }).OrNull(),
	sqlrows.Text("body", func(m *store.Message) string { return m.Body }).OrNull(),
	sqlrows.Text("headers", func(m *store.Message) string { return m.Headers }).OrNull(),
)

// SeenMessages returns the messages of a source that have been taken in, by their ids.
func (t Statements) SeenMessages(ctx context.Context, q sqlrows.Queryer, source string, ids []string) (map[string]store.SeenMessage, error) {
	seen := make(map[string]store.SeenMessage)
	_, err := sqlrows.Query(ctx, q, t.SQL("SELECT message_id, id, outcome, body_hash FROM {s}taskkit_task_message WHERE source = $1 AND message_id "+t.anyText("$2")),
		[]any{source, t.textsArg(ids)}, func(rows *sql.Rows) error {
			var (
				id string
				m  store.SeenMessage
			)
			err := rows.Scan(&id, &m.Row, &m.Outcome, &m.Hash)
			seen[id] = m
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

// TakeMessageAnew records what has become of a message whose row is redriven, in the caller's transaction. False: it was
// taken in meanwhile.
func (t Statements) TakeMessageAnew(ctx context.Context, q store.Querier, m *store.Message) (bool, error) {
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return classify.Clean(s)
	}
	task := any(nil)
	if m.Task != uuid.Nil {
		task = m.Task.String()
	}
	r, err := q.ExecContext(ctx, t.SQL(`UPDATE {s}taskkit_task_message SET outcome = $2, task_id = $3, code = $4, detail = $5, body = $6, headers = $7
WHERE id = $1 AND outcome = 'redriven'`), m.ID.String(), string(m.Outcome), task, text(m.Code), text(m.Detail), text(m.Body), text(m.Headers))
	if err != nil {
		return false, fmt.Errorf("record message %s of %s, which is taken in anew: %w", m.Message, m.Source, err)
	}
	n, err := r.RowsAffected()
	return n == 1, err
}

// RedriveMessages gives refused messages back to be taken in anew, at most limit, in the order of their rows from the one
// after a row on. It returns the last row, how many there were, and how many of them were not kept whole.
func (t Statements) RedriveMessages(ctx context.Context, q sqlrows.Queryer, f store.MessageFilter, after uuid.UUID, limit int, by uuid.UUID, reason string) (last uuid.UUID, n, partial int, err error) {
	actor := any(nil)
	if by != uuid.Nil {
		actor = by.String()
	}
	where, args := t.messagesWhere(f, []any{int64(limit), after.String(), actor, classify.Clean(reason)})
	n, err = sqlrows.Query(ctx, q, t.SQL(`UPDATE {s}taskkit_task_message SET outcome = 'redriven', redriven_date = {now}, redriven_by = `+t.id("$3")+`, redriven_reason = nullif($4, '')
WHERE outcome = 'refused' AND id IN (
  SELECT m.id FROM {s}taskkit_task_message m WHERE m.outcome = 'refused' AND m.id > `+t.id("$2")+where+` ORDER BY m.id LIMIT $1)
RETURNING id, headers IS NULL`), args, func(rows *sql.Rows) error {
		var (
			id  uuid.UUID
			cut bool
		)
		err := rows.Scan(&id, &cut)
		if bytes.Compare(id[:], last[:]) > 0 {
			last = id
		}
		if cut {
			partial++
		}
		return err
	})
	if err != nil {
		return last, n, partial, fmt.Errorf("give refused messages of %s back: %w", f.Source, err)
	}
	return last, n, partial, nil
}

// messagesWhere returns the conditions of a filter on m, and the parameters, which follow others.
func (t Statements) messagesWhere(f store.MessageFilter, args []any) (string, []any) {
	var where strings.Builder
	add := func(condition string, arg any) {
		args = append(args, arg)
		where.WriteString(" AND " + strings.ReplaceAll(condition, "?", fmt.Sprint("$", len(args))))
	}
	add("m.source = ?", f.Source)
	if f.Codes != nil {
		add("m.code "+t.anyText("?"), t.textsArg(f.Codes))
	}
	if f.Messages != nil {
		add("m.message_id "+t.anyText("?"), t.textsArg(f.Messages))
	}
	if !f.From.IsZero() {
		add("m.created_date >= "+t.instant("?"), optionalTime(f.From))
	}
	if !f.To.IsZero() {
		add("m.created_date < "+t.instant("?"), optionalTime(f.To))
	}
	return where.String(), args
}

// RedrivenMessages returns the messages of a source that are to be taken in anew and were kept whole, the oldest first.
func (t Statements) RedrivenMessages(ctx context.Context, q sqlrows.Queryer, source string, limit int) ([]store.Message, error) {
	var found []store.Message
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT id, message_id, coalesce(body, ''), headers
FROM {s}taskkit_task_message WHERE source = $1 AND outcome = 'redriven' AND headers IS NOT NULL ORDER BY id LIMIT $2`), []any{source, int64(limit)}, func(rows *sql.Rows) error {
		m := store.Message{Source: source, Outcome: store.MessageRedriven}
		err := rows.Scan(&m.ID, &m.Message, &m.Body, &m.Headers)
		found = append(found, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the messages of %s that are taken in anew: %w", source, err)
	}
	return found, nil
}

// RefusedMessages returns refused messages, the newest first, from the one after
// a row on; the zero id begins with the newest.
func (t Statements) RefusedMessages(ctx context.Context, q sqlrows.Queryer, f store.MessageFilter, after uuid.UUID, limit int) ([]store.Message, error) {
	where, args := t.messagesWhere(f, []any{int64(limit)})
	if after != uuid.Nil {
		args = append(args, after.String())
		where += " AND m.id < " + t.id(fmt.Sprint("$", len(args)))
	}
	var found []store.Message
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT m.id, m.source, m.message_id, m.created_date, m.outcome, coalesce(m.code, ''), coalesce(m.detail, ''), coalesce(m.body, ''),
  coalesce(m.headers, ''), coalesce(m.dead_letter_error, ''), m.redriven_date, m.redriven_by, coalesce(m.redriven_reason, '')
FROM {s}taskkit_task_message m WHERE m.outcome = 'refused'`+where+` ORDER BY m.id DESC LIMIT $1`), args, func(rows *sql.Rows) error {
		var (
			m        store.Message
			redriven *time.Time
			by       uuid.NullUUID
		)
		err := rows.Scan(&m.ID, &m.Source, &m.Message, sqlrows.Time(&m.Created), &m.Outcome, &m.Code, &m.Detail, &m.Body,
			&m.Headers, &m.DeadLetterError, sqlrows.OptionalTime(&redriven), &by, &m.RedrivenReason)
		if m.RedrivenBy = by.UUID; redriven != nil {
			m.Redriven = *redriven
		}
		found = append(found, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the refused messages of %s: %w", f.Source, err)
	}
	return found, nil
}

// RecordDeadLetterError records why the broker did not take a refused message as a dead letter.
func (t Statements) RecordDeadLetterError(ctx context.Context, q store.Querier, source, id, problem string) error {
	_, err := q.ExecContext(ctx, t.SQL("UPDATE {s}taskkit_task_message SET dead_letter_error = $3 WHERE source = $1 AND message_id = $2 AND outcome = 'refused'"),
		source, id, classify.Clean(problem))
	if err != nil {
		return fmt.Errorf("record that message %s of %s is no dead letter: %w", id, source, err)
	}
	return nil
}

// PruneMessages removes messages of a source that were taken in longer ago than this, at most limit, except those that are
// to be taken in anew, and returns how many it has removed.
func (t Statements) PruneMessages(ctx context.Context, q store.Querier, source string, olderThan time.Duration, limit int) (int, error) {
	r, err := q.ExecContext(ctx, t.SQL(`DELETE FROM {s}taskkit_task_message WHERE id IN (
  SELECT m.id FROM {s}taskkit_task_message m WHERE m.source = $1 AND m.created_date < `+t.ago("$2")+`
  AND NOT (m.outcome = 'redriven' AND m.headers IS NOT NULL) ORDER BY m.created_date LIMIT $3 `+t.skipLocked()+")"),
		source, Millis(olderThan), int64(limit))
	if err != nil {
		return 0, fmt.Errorf("remove old messages of %s: %w", source, err)
	}
	n, err := r.RowsAffected()
	return int(n), err
}
