package faultproxy_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/testkit/testdb"
)

// A statement is a round trip, whatever the number of its messages, and so is what the client
// sends at once.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	p, dsn := through(t, testdb.Postgres(t))
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	run := func(sql string) func() error {
		return func() error { _, err := conn.Exec(ctx, sql, 1); return err }
	}
	pipeline := func() error {
		all := conn.PgConn().StartPipeline(ctx)
		for range 3 {
			all.SendQueryParams("SELECT $1::bigint", [][]byte{[]byte("1")}, nil, nil, nil)
			all.SendPipelineSync()
		}
		// One write for all of them: what is written after an answer begins another round trip.
		if err := all.Flush(); err != nil {
			return err
		}
		return all.Close()
	}
	for _, c := range []struct {
		what string
		call func() error
		want int
	}{
		{"a statement that is not prepared", run("SELECT $1::bigint"), 2},
		{"the same again", run("SELECT $1::bigint"), 1},
		{"three statements, each with a Sync, sent at once", pipeline, 1},
		{"a batch of prepared statements", func() error {
			var b pgx.Batch
			for range 3 {
				b.Queue("SELECT $1::bigint", 1)
			}
			return conn.SendBatch(ctx, &b).Close()
		}, 1},
		{"a simple query", func() error { _, err := conn.Exec(ctx, "BEGIN"); return err }, 1},
		{"a statement that fails", func() error { _, _ = conn.Exec(ctx, "SELECT 1/$1::int", 0); return nil }, 2},
		{"a rollback", func() error { _, err := conn.Exec(ctx, "ROLLBACK"); return err }, 1},
	} {
		before := p.RoundTrips()
		if err := c.call(); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if got := p.RoundTrips() - before; got != c.want {
			t.Errorf("%s: %d round trips, want %d", c.what, got, c.want)
		}
	}
}
