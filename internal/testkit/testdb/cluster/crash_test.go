package cluster_test

import (
	"strings"
	"testing"
	"time"

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

// A PgBouncer that ends by itself is started again on its port.
func TestPgBouncerIsStartedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pg, err := cluster.StartPostgres(ctx, cluster.Unsynced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Stop(); err != nil {
			t.Error(err)
		}
	})
	bouncer, err := cluster.StartPgBouncer(ctx, pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bouncer.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := pgx.ParseConfig(strings.Replace(bouncer.DSN, "/postgres?", "/pgbouncer?", 1))
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // its console knows no other
	console, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = console.Exec(ctx, "SHUTDOWN") // it ends before it answers
	if err := console.Ping(ctx); err == nil {
		t.Fatal("PgBouncer has not ended")
	}
	_ = console.Close(ctx)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-again.C {
		c, err := pgx.Connect(ctx, bouncer.DSN)
		if err == nil {
			_ = c.Close(ctx)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("PgBouncer was not started again:", err)
		}
	}
}
