package chaos_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
)

// servers are the scenarios of PostgreSQL itself and of the pooler before it.
func servers() []scenarioType {
	return []scenarioType{
		{"server-crashes", false, crashes},
		{"server-full", false, exhausted},
		{"pgbouncer", false, pooler},
	}
}

// ownServer starts a PostgreSQL server for one scenario. Setup may change it before
// anything is there.
func ownServer(t *testing.T, setup ...func(*cluster.Server)) (*cluster.Server, *testdb.DB) {
	t.Helper()
	server := testdb.OwnServer(t)
	for _, f := range setup {
		f(server)
	}
	db := testdb.On(t, server)
	db.SetMaxIdleConns(0) // none that outlives its server
	return server, db
}

// openedAt is another handle to PostgreSQL.
func openedAt(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// command runs statements as superuser, each on its own.
func command(t *testing.T, server *cluster.Server, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// crashes: PostgreSQL is stopped without a word, its postmaster is killed, and it is
// restarted in good order, under load.
func crashes(t *testing.T, seed uint64) (*scenario, func()) {
	t.Helper()
	server, db := ownServer(t)
	s := setUp(t, db, seed)
	s.startWorkers(3)
	ways := []struct {
		what  string
		crash func(context.Context) error
	}{
		{"server killed", func(context.Context) error { return server.Kill() }},
		{"server stopped at once", server.Immediate},
		{"server restarted", server.Fast},
	}
	return s, func() {
		for _, way := range ways {
			if err := way.crash(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.keepFault(way.what)
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.progress()
		}
	}
}

// exhausted: somebody else takes every connection that the server has, also those
// of the workers, whose pools are as small as can be.
func exhausted(t *testing.T, seed uint64) (*scenario, func()) {
	t.Helper()
	server, db := ownServer(t, func(server *cluster.Server) {
		command(t, server, "ALTER SYSTEM SET max_connections = 40")
		err := server.Fast(t.Context())
		if err == nil {
			err = server.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	s := setUp(t, db, seed)
	for n := range 3 {
		s.startWorkers(1, func(a *workerArgs) { a.Slots, a.MaxConns = 2, n+1 })
	}
	return s, func() {
		release := s.takeAll(server)
		s.keepFault("all connections taken")
		release()
		s.progress()
	}
}

// takeAll takes all connections, those that become free too, until it is told to
// let go.
func (s *scenario) takeAll(server *cluster.Server) (release func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	full, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		var taken []*pgx.Conn
		refused := false
		for ctx.Err() == nil {
			conn, err := pgx.Connect(ctx, server.DSN)
			switch {
			case err == nil:
				taken = append(taken, conn)
			case len(taken) == 0:
				// Not even one: somebody else was faster.
			default:
				if !refused {
					refused = true
					close(full)
				}
				_, _ = taken[0].Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", s.args.Schema)
			}
			if err != nil {
				select {
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}
		for _, conn := range taken {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
	}()
	select {
	case <-full:
	case <-time.After(testdb.Patience(s.T)):
		s.Error("there are still connections to be had")
	}
	return func() { cancel(); <-over }
}

// pooler: PgBouncer, in transaction mode between the workers and PostgreSQL, is
// killed and started again.
func pooler(t *testing.T, seed uint64) (*scenario, func()) {
	t.Helper()
	bouncer, db, err := testdb.OwnPgBouncer(t)
	if err != nil {
		t.Skipf("no PgBouncer: %v", err)
	}
	pooled := *db
	db.DB = openedAt(t, db.Direct)
	s := setUp(t, db, seed)
	s.clientDB = pooled.DB
	s.startWorkers(2)
	s.startWorkers(1, func(a *workerArgs) { a.ListenDSN = db.Direct })
	return s, func() {
		if err := bouncer.Down(); err != nil {
			t.Fatal(err)
		}
		s.keepFault("PgBouncer killed")
		if err := bouncer.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.progress()
	}
}
