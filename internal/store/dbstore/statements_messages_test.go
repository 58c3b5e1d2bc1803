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
			{ID: store.NewID(), Source: "source", Message: "a", Outcome: store.MessageRefused, Code: "c", Detail: "d", Body: "{}"},
			{ID: store.NewID(), Source: "source", Message: "b", Outcome: store.MessageSubmitted, Task: store.NewID()},
		})
	})
	c.record("refused_messages", func() error {
		_, err := sql.RefusedMessages(ctx, handle, "source", uuid.Nil, 10)
		if err == nil {
			_, err = sql.RefusedMessages(ctx, handle, "source", uuid.Max, 10)
		}
		return err
	})
	c.record("prune_messages", func() error { _, err := sql.PruneMessages(ctx, handle, "source", time.Hour, 10); return err })
}
