package dbstore_test

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// messages records what a consumer of messages executes.
func (c *calls) messages(handle store.Querier) {
	ctx, sql := c.Context(), sqlbase.NewStatements(c.s.Dialect(), c.s.Schema())
	ids := []string{"a", "b"}
	c.record("seen_messages", func() error { _, err := sql.SeenMessages(ctx, handle, "source", ids); return err })
	c.record("record_messages", func() error {
		return sql.RecordMessages(ctx, handle, []*store.Message{
			{ID: store.NewID(), Source: "source", Message: "a", Outcome: store.MessageRefused, Code: "c", Detail: "d", Body: "{}", Headers: "{}"},
			{ID: store.NewID(), Source: "source", Message: "b", Outcome: store.MessageSubmitted, Task: store.NewID()},
		})
	})
	all := store.MessageFilter{Source: "source", Codes: ids, Messages: ids, From: time.Unix(0, 0), To: time.Unix(1<<32, 0)}
	c.record("refused_messages", func() error {
		_, err := sql.RefusedMessages(ctx, handle, store.MessageFilter{Source: "source"}, uuid.Nil, 10)
		if err == nil {
			_, err = sql.RefusedMessages(ctx, handle, all, uuid.Max, 10)
		}
		return err
	})
	c.record("redrive_messages", func() error {
		_, _, _, err := sql.RedriveMessages(ctx, handle, store.MessageFilter{Source: "source"}, uuid.Nil, 10, uuid.Max, "why")
		if err == nil {
			_, _, _, err = sql.RedriveMessages(ctx, handle, all, uuid.Nil, 10, uuid.Nil, "")
		}
		return err
	})
	c.record("redriven_messages", func() error { _, err := sql.RedrivenMessages(ctx, handle, "source", 10); return err })
	c.record("take_message_anew", func() error {
		_, err := sql.TakeMessageAnew(ctx, handle, &store.Message{ID: store.NewID(), Source: "source", Message: "a", Outcome: store.MessageSubmitted, Task: store.NewID()})
		return err
	})
	c.record("record_dead_letter_error", func() error { return sql.RecordDeadLetterError(ctx, handle, "source", "a", "too large") })
	c.record("prune_messages", func() error { _, err := sql.PruneMessages(ctx, handle, "source", time.Hour, 10); return err })
}
