package intake

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/taskkit"
)

// RefusedMessage is a message that was refused.
type RefusedMessage struct {
	Row     uuid.UUID `json:"row"` // of the table, for the next page of [Refused]
	Source  string    `json:"source"`
	ID      string    `json:"id"` // without a usable id, a hash of it and the body
	Created time.Time `json:"created"`
	Code    Code      `json:"code"`
	Detail  string    `json:"detail"` // for operators
	Body    string    `json:"body"`   // the first 64 KiB; what is not UTF-8 is replaced
	// Whole: the message was kept as it was, so that [Redrive] needs no help of the broker.
	Whole bool `json:"whole"`
	// DeadLetterError is why the broker did not take it as a dead letter, see [DeadLetterError].
	DeadLetterError string `json:"dead_letter_error,omitempty"`
	// Redriven is when [Redrive] last gave it back, after which it was refused again; zero: never.
	Redriven       time.Time `json:"redriven,omitzero"`
	RedrivenBy     uuid.UUID `json:"redriven_by,omitzero"`
	RedrivenReason string    `json:"redriven_reason,omitempty"`
}

// RefusedFilter selects refused messages of a source, which is required.
type RefusedFilter struct {
	Source string
	Codes  []Code    // empty: all
	IDs    []string  // empty: all
	From   time.Time // first refused at this time or later; zero: no bound
	To     time.Time // and before this time; zero: no bound
}

// Refused returns refused messages, the newest first, at most limit.
// After is the row of the last message of the previous page; the zero UUID begins with the newest. The schema may
// be "", for [taskkit.DefaultSchema]. For a database without the tables it returns a
// *[taskkit.SchemaError].
func Refused(ctx context.Context, db taskkit.ExecQuerier, schema string, f RefusedFilter, after uuid.UUID, limit int) ([]RefusedMessage, error) {
	if limit < 1 {
		return nil, &taskkit.OptionError{Option: "intake: Refused", Problem: "a limit below 1"}
	}
	sql, err := statementsOf(ctx, db, &schema, "Refused", f)
	if err != nil {
		return nil, err
	}
	found, err := sql.RefusedMessages(ctx, db, f.store(), after, limit)
	if err != nil {
		return nil, explained(ctx, db, schema, err)
	}
	messages := make([]RefusedMessage, len(found))
	for i, m := range found {
		messages[i] = RefusedMessage{
			Row: m.ID, Source: m.Source, ID: m.Message, Created: m.Created, Code: Code(m.Code), Detail: m.Detail, Body: m.Body, Whole: m.Headers != "",
			DeadLetterError: m.DeadLetterError, Redriven: m.Redriven, RedrivenBy: m.RedrivenBy, RedrivenReason: m.RedrivenReason,
		}
	}
	return messages, nil
}

// Redriven counts the messages of a [Redrive].
type Redriven struct {
	Messages int `json:"messages"`
	// Partial is how many of them were not kept whole. They are taken in when the broker delivers them again, for
	// example from its dead letters.
	Partial int `json:"partial"`
}

// redrivePage is how many messages [Redrive] gives back with one statement.
const redrivePage = 1000

// Redrive gives refused messages back, for example after the handler has been mended: each is taken in once more, and its row gets the new
// outcome. A consumer of the source does that within half a minute for the messages that were kept whole, which are
// those of at most 64 KiB of UTF-8 with a usable id; another one is no duplicate any more when the broker delivers it. The options may be
// [taskkit.WithActor] and [taskkit.WithReason], which are recorded.
//
// It works in pages. With an error the counts are of those before it. The schema may be "", for [taskkit.DefaultSchema].
func Redrive(ctx context.Context, db taskkit.ExecQuerier, schema string, f RefusedFilter, opts ...taskkit.RequestOption) (Redriven, error) {
	var done Redriven
	r, err := access.RequestOf(opts, "messages are given back")
	if err != nil {
		return done, err
	}
	sql, err := statementsOf(ctx, db, &schema, "Redrive", f)
	if err != nil {
		return done, err
	}
	for after, n := uuid.Nil, redrivePage; n == redrivePage; {
		var partial int
		after, n, partial, err = sql.RedriveMessages(ctx, db, f.store(), after, redrivePage, r.Actor, r.Reason)
		if err != nil {
			return done, explained(ctx, db, schema, err)
		}
		done.Messages, done.Partial = done.Messages+n, done.Partial+partial
	}
	return done, nil
}

func (f RefusedFilter) store() store.MessageFilter {
	var codes []string
	for _, c := range f.Codes {
		codes = append(codes, string(c))
	}
	return store.MessageFilter{Source: f.Source, Codes: codes, Messages: f.IDs, From: f.From, To: f.To}
}

// statementsOf returns the statements for a database, and fills in the default of the schema.
func statementsOf(ctx context.Context, db taskkit.ExecQuerier, schema *string, what string, f RefusedFilter) (none sqlbase.Statements, err error) {
	*schema = cmp.Or(*schema, taskkit.DefaultSchema)
	if f.Source == "" {
		return none, &taskkit.OptionError{Option: "intake: " + what, Problem: "RefusedFilter.Source is empty: give the Config.Name of the consumer"}
	}
	if err := dialect.CheckSchema(*schema); err != nil {
		return none, &taskkit.OptionError{Option: "intake: " + what, Problem: err.Error()}
	}
	d, err := dialect.Detect(ctx, db)
	if err != nil {
		return none, &taskkit.ConnectError{Err: err}
	}
	return sqlbase.NewStatements(d, *schema), nil
}
