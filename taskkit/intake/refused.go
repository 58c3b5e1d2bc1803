package intake

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/taskkit"
)

// RefusedMessage is a message that was refused.
type RefusedMessage struct {
	Row     uuid.UUID // of the table, for the next page of [Refused]
	Source  string
	ID      string // without a usable id, a hash of it and the body
	Created time.Time
	Code    Code
	Detail  string // for operators
	Body    string // the first 64 KiB; what is not UTF-8 is replaced
}

// Refused returns the messages of a source that were refused, the newest first, at most limit.
// After is the row of the last message of the previous page; the zero UUID begins with the newest. The schema may
// be "", for [taskkit.DefaultSchema]. For a database without the tables it returns a
// *[taskkit.SchemaError].
func Refused(ctx context.Context, db taskkit.ExecQuerier, schema, source string, after uuid.UUID, limit int) ([]RefusedMessage, error) {
	schema = cmp.Or(schema, taskkit.DefaultSchema)
	if limit < 1 {
		return nil, &taskkit.OptionError{Option: "intake: Refused", Problem: "a limit below 1"}
	}
	if err := dialect.CheckSchema(schema); err != nil {
		return nil, &taskkit.OptionError{Option: "intake: Refused", Problem: err.Error()}
	}
	d, err := dialect.Detect(ctx, db)
	if err != nil {
		return nil, &taskkit.ConnectError{Err: err}
	}
	found, err := sqlbase.NewStatements(d, schema).RefusedMessages(ctx, db, source, after, limit)
	if err != nil {
		return nil, explained(ctx, db, schema, err)
	}
	messages := make([]RefusedMessage, len(found))
	for i, m := range found {
		messages[i] = RefusedMessage{Row: m.ID, Source: m.Source, ID: m.Message, Created: m.Created, Code: Code(m.Code), Detail: m.Detail, Body: m.Body}
	}
	return messages, nil
}
