package cluster_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// A standby replays what its primary writes, and is known to it by its name.
func TestStandby(t *testing.T) {
	t.Parallel()
	primary, err := cluster.StartPostgres(t.Context(), cluster.Unsynced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := primary.Stop(); err != nil {
			t.Error(err)
		}
	})
	standby, err := primary.Standby(t.Context(), "cluster_name = 'second'")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	dial := func(s *cluster.Server) *pgx.Conn {
		t.Helper()
		c, err := pgx.Connect(t.Context(), s.DSN)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
		return c
	}
	first, second := dial(primary), dial(standby)
	if _, err := first.Exec(t.Context(), "CREATE TABLE copied (n int)"); err != nil {
		t.Fatal(err)
	}
	until(t, "the standby has the table", func() bool {
		_, err := second.Exec(t.Context(), "SELECT n FROM copied")
		return err == nil
	})
	var name string
	if err := first.QueryRow(t.Context(), "SELECT application_name FROM pg_stat_replication").Scan(&name); err != nil || name != "second" {
		t.Errorf("the standby is %q (%v), want second", name, err)
	}
}
