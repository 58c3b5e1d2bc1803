package dbstore_test

import (
	"context"
	"database/sql"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/vitals"
	"taskkit.dev/internal/testkit/testdb"
)

// diagnosis records what the doctor reads: of tasks, and of the database behind a handle.
func (c *calls) diagnosis(db *testdb.DB, handle *sql.DB) {
	ctx, s := c.Context(), c.s
	c.record("oldest_due", func() error { _, err := s.OldestDue(ctx, "default", time.Minute, 100); return err })
	c.record("in_flight", func() error { _, err := s.InFlight(ctx); return err })
	c.record("failing_codes", func() error { _, err := s.FailingCodes(ctx, time.Hour, 20); return err })
	c.record("awaiting_approval", func() error {
		_, err := s.AwaitingApproval(ctx, time.Unix(1_700_000_000, 0), 24*time.Hour, 10)
		return err
	})
	c.record("failing_targets", func() error { _, err := s.FailingTargets(ctx, time.Hour, 3); return err })
	if db.Dialect == dialect.SQLite {
		c.record("vitals_file", func() error { _, err := vitals.ReadFile(ctx, handle); return err })
		c.record("vitals_indexes", func() error { _, err := vitals.ReadFileIndexes(ctx, handle); return err })
		return
	}
	c.record("vitals_indexes", func() error { _, err := vitals.ReadIndexes(ctx, handle, db.Schema); return err })
	c.record("vitals_statuses", func() error { _, err := vitals.ReadStatuses(ctx, handle, db.Schema); return err })
	c.record("vitals_tables", func() error { _, err := vitals.ReadTables(ctx, handle, db.Schema); return err })
	c.record("vitals_transactions", func() error { _, err := vitals.ReadTransactions(ctx, handle, time.Hour); return err })
	for name, read := range map[string]func(context.Context, store.Querier) error{
		"server":      func(ctx context.Context, q store.Querier) error { _, err := vitals.ReadServer(ctx, q); return err },
		"connections": func(ctx context.Context, q store.Querier) error { _, err := vitals.ReadConnections(ctx, q); return err },
		"slots":       func(ctx context.Context, q store.Querier) error { _, err := vitals.ReadSlots(ctx, q); return err },
	} {
		c.record("vitals_"+name, func() error { return read(ctx, handle) })
	}
}
