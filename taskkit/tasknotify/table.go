package tasknotify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
)

// What a row of the table says of its recipient.
const (
	stateUnsubscribed = "unsubscribed" // it wants no notifications
	stateSent         = "sent"         // a mail to it was sent, or is about to be
	stateHeld         = "held"         // a notification waits for a digest
)

// table is the table taskkit_notification: what deliveries must remember of recipients. A recipient is stored as a hash, since the
// URL of a webhook may have a secret.
type table struct {
	db    taskkit.ExecQuerier
	name  string
	tasks string
}

// newTable returns the table in a schema; "" is the default.
func newTable(db taskkit.ExecQuerier, schema string) (*table, error) {
	schema, err := dialect.Schema(dialect.Postgres, schema)
	if err != nil {
		return nil, err
	}
	name := func(table string) string { return dialect.Either(`"`+schema+`".`+table, table) }
	return &table{db, name("taskkit_notification"), name("taskkit_queued_task")}, nil
}

// recipient is the stored form of the URL or the address of a recipient.
func recipient(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// before is the SQL of the time that lies so many minutes ago.
func before(minutes int) string {
	return dialect.Either(fmt.Sprintf("clock_timestamp() - interval '%d minutes'", minutes),
		fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-%d minutes')", minutes))
}

// exec runs a statement, and returns the number of rows that it has changed.
func (t *table) exec(ctx context.Context, q taskkit.Execer, what, query string, args ...any) (int64, error) {
	r, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return r.RowsAffected()
}

// query returns the texts that a query selects.
func (t *table) query(ctx context.Context, q taskkit.ExecQuerier, what, query string, args ...any) (list []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// unsubscribed reports whether a recipient of a target wants no notifications.
func (t *table) unsubscribed(ctx context.Context, q taskkit.ExecQuerier, target, to string) (bool, error) {
	found, err := t.query(ctx, q, "read whether target "+target+" has unsubscribed",
		"SELECT state FROM "+t.name+" WHERE target = $1 AND recipient = $2 AND state = 'unsubscribed' LIMIT 1", target, recipient(to))
	return len(found) > 0, err
}

// unsubscribe records that a recipient of a target wants no notifications.
func (t *table) unsubscribe(ctx context.Context, q taskkit.ExecQuerier, target, to string) error {
	is, err := t.unsubscribed(ctx, q, target, to)
	if err != nil || is {
		return err
	}
	return t.insert(ctx, q, group{target, to, ""}, stateUnsubscribed, uuid.Nil, nil)
}

// insert stores a row.
func (t *table) insert(ctx context.Context, q taskkit.Execer, g group, state string, task uuid.UUID, n *notice.Notice) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	var of, body any
	if task != uuid.Nil {
		of = task.String()
	}
	if n != nil {
		encoded, err := json.Marshal(n)
		if err != nil {
			return err
		}
		body = string(encoded)
	}
	_, err = t.exec(ctx, q, "remember that a notification for target "+g.target+" is "+state,
		"INSERT INTO "+t.name+" (id, target, recipient, kind, state, task_id, notice) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		id.String(), g.target, recipient(g.to), g.kind, state, of, body)
	return err
}

// group are the mails of one digest: to one address, about tasks of one kind.
type group struct{ target, to, kind string }

func (g group) args() []any { return []any{g.target, recipient(g.to), g.kind} }

const inGroup = " WHERE target = $1 AND recipient = $2 AND kind = $3"

// recent forgets the mails of a group that no digest counts any more, and returns how many are left.
func (t *table) recent(ctx context.Context, q taskkit.ExecQuerier, g group) (int, error) {
	const what = "count the mails of the last minutes"
	if _, err := t.exec(ctx, q, what, "DELETE FROM "+t.name+inGroup+" AND state = 'sent' AND created_date < "+before(int(digestWindow/time.Minute)), g.args()...); err != nil {
		return 0, err
	}
	found, err := t.query(ctx, q, what, "SELECT state FROM "+t.name+inGroup+" AND state = 'sent'", g.args()...)
	return len(found), err
}

// held is a notification that waits for a digest.
type held struct {
	id   string
	task uuid.UUID
	notice.Notice
}

// held returns the notifications of a group that wait for a digest, the oldest first. Those come first whose task is not in progress any
// more: they wait for the digest of another.
func (t *table) held(ctx context.Context, g group) (list []held, sender uuid.UUID, err error) {
	const what = "read the notifications that wait for a digest"
	rows, err := t.db.QueryContext(ctx, `SELECT n.id, n.task_id, n.notice,
  EXISTS (SELECT 1 FROM `+t.tasks+` q WHERE q.id = n.task_id AND q.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING'))
FROM `+t.name+` n`+inGroup+` AND state = 'held' ORDER BY n.id LIMIT 1000`, g.args()...)
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		var (
			h    held
			body []byte
			live bool
		)
		if err := rows.Scan(&h.id, &h.task, &body, &live); err != nil {
			return nil, uuid.Nil, fmt.Errorf("%s: %w", what, err)
		}
		if err := json.Unmarshal(body, &h.Notice); err != nil {
			return nil, uuid.Nil, fmt.Errorf("%s: %w", what, err)
		}
		if live && sender == uuid.Nil {
			sender = h.task
		}
		list = append(list, h)
	}
	if err := rows.Err(); err != nil {
		return nil, uuid.Nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, sender, nil
}

// forget removes notifications that a digest has sent.
func (t *table) forget(ctx context.Context, q taskkit.Execer, list []held) error {
	for _, h := range list {
		if _, err := t.exec(ctx, q, "forget the notifications of a digest", "DELETE FROM "+t.name+" WHERE id = $1", h.id); err != nil {
			return err
		}
	}
	return nil
}

// Unsubscribe ends the notifications of a target to a recipient: the URL of a [Webhook], or a mail address. It is for the page that a
// List-Unsubscribe leads to. A notification that comes later ends as skipped. Schema is as in [Config.Schema].
func Unsubscribe(ctx context.Context, db taskkit.ExecQuerier, schema, target, to string) error {
	t, err := newTable(db, schema)
	if err != nil {
		return &taskkit.OptionError{Option: "tasknotify.Unsubscribe", Problem: err.Error()}
	}
	return t.unsubscribe(ctx, db, target, to)
}

// Resubscribe lets a recipient have notifications again after [Unsubscribe] or, of a webhook, after it has answered 410. It reports
// whether the recipient had unsubscribed.
func Resubscribe(ctx context.Context, db taskkit.ExecQuerier, schema, target, to string) (bool, error) {
	t, err := newTable(db, schema)
	if err != nil {
		return false, &taskkit.OptionError{Option: "tasknotify.Resubscribe", Problem: err.Error()}
	}
	n, err := t.exec(ctx, db, "let target "+target+" have notifications again",
		"DELETE FROM "+t.name+" WHERE target = $1 AND recipient = $2 AND state = 'unsubscribed'", target, recipient(to))
	return n > 0, err
}
