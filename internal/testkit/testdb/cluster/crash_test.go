package cluster_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// What was committed is there again after each way to crash, and the sessions
// that there were are not.
func TestCrash(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := cluster.StartPostgres(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	dial := func() *pgx.Conn {
		t.Helper()
		c, err := pgx.Connect(ctx, s.DSN)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(t.Context()) })
		return c
	}
	if _, err := dial().Exec(ctx, "CREATE TABLE kept (n int)"); err != nil {
		t.Fatal(err)
	}
	for n, crash := range []func() error{func() error { return s.Immediate(ctx) }, s.Kill} {
		c := dial()
		if _, err := c.Exec(ctx, "INSERT INTO kept VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if err := crash(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(ctx, "SELECT 1"); err == nil {
			t.Error("a session has outlived the crash")
		}
		var rows int
		if err := dial().QueryRow(ctx, "SELECT count(*) FROM kept").Scan(&rows); err != nil || rows != n+1 {
			t.Errorf("%d rows after crash %d, want %d (%v)", rows, n+1, n+1, err)
		}
	}
}
