package faultproxy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// through starts a proxy to the test's server; it is closed with the test.
func through(tb testing.TB, db *testdb.DB, faults ...faultproxy.Fault) (*faultproxy.Proxy, string) {
	tb.Helper()
	p, dsn, err := faultproxy.Through(db.DSN, faults, faultproxy.KeepLog())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Errorf("close the proxy: %v", err)
		}
	})
	return p, dsn
}

// settled waits until the server has ended what it was asked through a proxy.
func settled(tb testing.TB, p *faultproxy.Proxy) {
	tb.Helper()
	if err := p.Wait(testdb.Within(tb)); err != nil {
		tb.Fatal(err)
	}
}

func table(tb testing.TB, db *testdb.DB) {
	tb.Helper()
	if _, err := db.ExecContext(tb.Context(), "CREATE TABLE t (n integer NOT NULL)"); err != nil {
		tb.Fatal(err)
	}
}

// rows counts what a run has left.
func rows(tb testing.TB, db *testdb.DB, n int) int {
	tb.Helper()
	var found int
	if err := db.QueryRowContext(tb.Context(), "SELECT count(*) FROM t WHERE n = $1", n).Scan(&found); err != nil {
		tb.Fatal(err)
	}
	return found
}

// insert connects, inserts n in a transaction and commits. It says which step
// failed.
func insert(ctx context.Context, dsn string, n int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }() // its end is the proxy's to tell
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO t VALUES ($1)", n); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// A COMMIT whose connection is cut fails for the client both times; the row is
// there exactly when the server has seen it.
func TestCommitCut(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	table(t, db)
	for n, c := range []struct {
		action    faultproxy.Action
		direction faultproxy.Direction
		match     func(faultproxy.Message) bool
		want      int
	}{
		{faultproxy.CutBefore, 0, faultproxy.Message.IsCommit, 0},
		{faultproxy.CutAfter, 0, faultproxy.Message.IsCommit, 1},
		{faultproxy.CutBefore, faultproxy.ToClient, func(m faultproxy.Message) bool { return m.SQL == "commit" }, 1},
		{faultproxy.CutAfter, faultproxy.ToClient, func(m faultproxy.Message) bool { return m.SQL == "commit" }, 1},
	} {
		p, dsn := through(t, db, faultproxy.Fault{Number: 1, Direction: c.direction, Match: c.match, Action: c.action})
		err := insert(t.Context(), dsn, n)
		if err == nil || !strings.HasPrefix(err.Error(), "commit: ") {
			t.Errorf("%v %v: got %v, want an error of the commit", c.action, c.direction, err)
		}
		settled(t, p)
		if got := rows(t, db, n); got != c.want {
			t.Errorf("%v %v: %d rows, want %d", c.action, c.direction, got, c.want)
		}
		if struck := p.Struck(); len(struck) != 1 || struck[0].SQL != "commit" || struck[0].Backend == 0 {
			t.Errorf("%v %v: struck %v", c.action, c.direction, struck)
		}
	}
}

// Whatever message is cut, the row is there if and only if the server has seen
// the COMMIT, and a client that was told of success was told the truth.
func TestEveryMessageCut(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	table(t, db)
	whole, dsn := through(t, db)
	if err := insert(t.Context(), dsn, 0); err != nil {
		t.Fatal(err)
	}
	settled(t, whole)
	messages := whole.Messages()
	commit := 0
	for _, m := range messages {
		if m.IsCommit() {
			commit = m.Number
		}
	}
	if commit == 0 || len(messages) < 20 {
		t.Fatalf("%d messages, COMMIT is number %d: this is no insert", len(messages), commit)
	}
	run := 0
	for _, m := range messages {
		for _, action := range []faultproxy.Action{faultproxy.CutBefore, faultproxy.CutAfter} {
			run++
			p, dsn := through(t, db, faultproxy.Fault{Number: m.Number, Action: action})
			err := insert(t.Context(), dsn, run)
			settled(t, p)
			if len(p.Struck()) != 1 {
				t.Fatalf("%v of %v struck %d messages", action, m, len(p.Struck()))
			}
			want := 0
			if m.Number > commit || m.Number == commit && action == faultproxy.CutAfter {
				want = 1
			}
			if got := rows(t, db, run); got != want {
				t.Errorf("%v of %v: %d rows, want %d", action, m, got, want)
			}
			if err == nil && want == 0 {
				t.Errorf("%v of %v: the client was told of success", action, m)
			}
		}
	}
	t.Logf("%d messages cut both ways", run/2)
}

// A statement outside a transaction commits with its Sync, not with its Execute.
func TestCutAfterInsideAStatement(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	table(t, db)
	for n, c := range []struct {
		name string
		want int
	}{{"Parse", 0}, {"Bind", 0}, {"Describe", 0}, {"Execute", 0}, {"Sync", 1}} {
		p, dsn := through(t, db, faultproxy.Fault{Number: 1, Action: faultproxy.CutAfter, Match: func(m faultproxy.Message) bool {
			return m.Name == c.name && strings.HasPrefix(m.SQL, "INSERT")
		}})
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = conn.Exec(t.Context(), "INSERT INTO t VALUES ($1)", pgx.QueryExecModeExec, n); err == nil {
			t.Errorf("cut after %s: the client was told of success", c.name)
		}
		_ = conn.Close(t.Context())
		settled(t, p)
		if got := rows(t, db, n); len(p.Struck()) != 1 || got != c.want {
			t.Errorf("cut after %s: struck %v, %d rows, want %d", c.name, p.Struck(), got, c.want)
		}
	}
}

// A COMMIT that is late arrives although its client has given up.
func TestLateCommitArrives(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	table(t, db)
	p, dsn := through(t, db, faultproxy.Fault{Number: 1, Match: faultproxy.Message.IsCommit, Action: faultproxy.Delay, Delay: 300 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-p.Hit(0)
		cancel()
	}()
	if err := insert(ctx, dsn, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the client gave up", err)
	}
	if got := rows(t, db, 1); got != 0 {
		t.Errorf("%d rows before the COMMIT has arrived", got)
	}
	settled(t, p)
	if got := rows(t, db, 1); got != 1 {
		t.Errorf("%d rows after the COMMIT has arrived, want 1", got)
	}
}

// A connection that falls silent is closed by nobody: the client waits as long
// as its context lets it, and the server keeps its session.
func TestSilence(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	table(t, db)
	p, dsn := through(t, db, faultproxy.Fault{Number: 1, Match: faultproxy.Message.IsCommit, Action: faultproxy.Silence})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-p.Hit(0)
		cancel()
	}()
	if err := insert(ctx, dsn, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the client gave up", err)
	}
	settled(t, p)
	var state string
	if err := db.QueryRowContext(t.Context(), "SELECT state FROM pg_stat_activity WHERE pid = $1", int64(p.Struck()[0].Backend)).Scan(&state); err != nil {
		t.Fatal(err)
	}
	if state != "idle in transaction" {
		t.Errorf("the session is %s, want idle in transaction", state)
	}
	if got := rows(t, db, 1); got != 0 {
		t.Errorf("%d rows: the COMMIT has arrived", got)
	}
}

// The hook runs before the message arrives; here it ends the server's session.
func TestHookTerminatesTheBackend(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	table(t, db)
	failed := make(chan error, 1)
	p, dsn := through(t, db, faultproxy.Fault{Number: 1, Match: faultproxy.Message.IsCommit, Action: faultproxy.Hook, Hook: func(m faultproxy.Message) {
		var ended bool
		err := db.QueryRow("SELECT pg_terminate_backend($1, 5000)", int64(m.Backend)).Scan(&ended)
		if err == nil && !ended {
			err = errors.New("the session has not ended")
		}
		failed <- err
	}})
	err := insert(t.Context(), dsn, 1)
	if herr := <-failed; herr != nil {
		t.Fatal(herr)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); err == nil || ok && pg.Code != "57P01" {
		t.Errorf("got %v, want that the session was ended", err)
	}
	settled(t, p)
	if got := rows(t, db, 1); got != 0 {
		t.Errorf("%d rows after a session that ended before its COMMIT", got)
	}
}

// A client that asks for TLS first is told that there is none, and a request to
// cancel reaches the server.
func TestStartsAndCancels(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	p, dsn := through(t, db)
	config, err := pgx.ParseConfig(strings.Replace(dsn, "sslmode=disable", "sslmode=prefer", 1))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	slept := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT pg_sleep(60)")
		slept <- err
	}()
	pid := conn.PgConn().PID()
	for asleep := false; !asleep; {
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'", int64(pid)).Scan(&asleep); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = <-slept
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != "57014" {
		t.Errorf("got %v, want that the statement was cancelled", err)
	}
	_ = conn.Close(t.Context())
	settled(t, p)
	var cancels int
	for _, m := range p.Messages() {
		if m.Name == "CancelRequest" {
			cancels++
		}
	}
	if cancels != 1 {
		t.Errorf("%d requests to cancel were counted, want 1", cancels)
	}
}

// Messages carry the statement that they belong to, answers too.
func TestMessagesKnowTheirStatement(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	table(t, db)
	p, dsn := through(t, db)
	if err := insert(t.Context(), dsn, 1); err != nil {
		t.Fatal(err)
	}
	settled(t, p)
	seen := make(map[string]bool)
	for i, m := range p.Messages() {
		if m.Number != i+1 || m.Conn != 1 || m.InConn != i+1 {
			t.Errorf("message %d is %v", i+1, m)
		}
		seen[m.Name+" "+m.SQL] = true
	}
	const sql = "INSERT INTO t VALUES ($1)"
	for _, want := range []string{
		"Startup ", "BackendKeyData ", "Query begin", "Parse " + sql, "ParseComplete " + sql, "Bind " + sql,
		"BindComplete " + sql, "Execute " + sql, "CommandComplete " + sql, "Sync " + sql, "Query commit", "CommandComplete commit", "Terminate ",
	} {
		if !seen[want] {
			t.Errorf("no message %q in %v", want, p.Messages())
		}
	}
}

func TestThroughNeedsAPort(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://localhost/db": "names no port",
		"host=localhost dbname=x": "names no port",
		"postgres://%zz":          "must be a URL",
	} {
		if _, _, err := faultproxy.Through(dsn, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error that says %q", dsn, err, want)
		}
	}
}
