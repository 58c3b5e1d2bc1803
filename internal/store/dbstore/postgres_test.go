package dbstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/storetest"
	"taskkit.dev/internal/testkit/testdb"
)

var limits = store.TxTimeouts{Idle: time.Minute, Statement: time.Minute, Lock: time.Minute}

// claimOne stores a task and claims it.
func claimOne(t *testing.T, s store.Store, db *testdb.DB, deadAfter time.Duration) store.ClaimedTask {
	t.Helper()
	person := uuid.New()
	p := store.Process{ID: "p", Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, DeadAfter: deadAfter}
	if err := s.RegisterWorker(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := store.Insert(t.Context(), db.DB, db.Schema, []store.NewTask{{
		Submitted: store.Submitted{Kind: "demo", Owner: person, RunAs: person, Queue: "default"},
		ID:        uuid.Must(uuid.NewV7()), Revision: 1, Priority: 2,
	}}, false); err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), store.Claim{Process: "p", Queues: p.Queues, Kinds: p.Kinds, Limit: 1, SpecMax: 1})
	if err != nil || len(c.Tasks) != 1 {
		t.Fatalf("claimed %v, %v", c.Tasks, err)
	}
	return c.Tasks[0]
}

func checkpoint(h store.Lease) store.Write {
	return store.Write{Lease: h, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{"at":1}`)}
}

// until polls for a condition.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(testdb.Patience(t)); !f(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// A COMMIT that the server refuses is unknown to the worker, and the position
// says that it did not happen.
func TestUnknownCommitThatFailed(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, _ := opened(t, db)
		c := claimOne(t, s, db, time.Hour)
		for _, q := range []string{
			"CREATE TABLE parent (id integer PRIMARY KEY)",
			"CREATE TABLE child (id integer REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
		} {
			if _, err := db.ExecContext(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		tx, err := s.Begin(t.Context(), c.Lease, limits)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO child (id) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		w := checkpoint(c.Lease)
		w.Items = []store.Item{{Key: "1", Outcome: store.ItemFailed, Code: "c"}}
		w.Ledger.Keys = []string{"2", "3"}
		if a, err := tx.Commit(t.Context(), w); !store.Unknown(err) || a.OK {
			t.Fatalf("got %+v, %v, want an unknown outcome", a, err)
		}
		if items, err := s.Items(t.Context(), c.ID, store.ItemFailed, store.ItemCursor{}, 10); err != nil || len(items) != 0 {
			t.Fatalf("items %+v (%v) of a batch that was not committed", items, err)
		}
		if n, err := s.LedgerItems(t.Context(), c.ID); err != nil || n != 0 {
			t.Fatalf("%d items (%v) in the ledger of a batch that was not committed", n, err)
		}
		at, err := s.Positions(t.Context(), []uuid.UUID{c.ID})
		if err != nil || at[c.ID].Seq != 0 {
			t.Fatalf("at %+v, %v", at[c.ID], err)
		}
		// The failure has no effect on the next batch, which begins and commits.
		tx, err = s.Begin(t.Context(), c.Lease, limits)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := tx.Commit(t.Context(), w); err != nil || !a.OK {
			t.Fatalf("got %+v, %v", a, err)
		}
		if items, err := s.Items(t.Context(), c.ID, store.ItemFailed, store.ItemCursor{}, 10); err != nil || len(items) != 1 {
			t.Fatalf("items %+v (%v) of a batch that was committed, want one", items, err)
		}
		if n, err := s.LedgerItems(t.Context(), c.ID); err != nil || n != 2 {
			t.Fatalf("%d items (%v) in the ledger of a batch that was committed, want 2", n, err)
		}
	})
}

// A COMMIT whose answer is lost is unknown to the worker, and the position says
// that it happened.
func TestUnknownCommitThatHappened(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s, _ := opened(t, db)
	c := claimOne(t, s, db, time.Hour)
	cut, dsn := newCutter(t, db.DSN)
	far, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	remote, err := dbstore.Open(t.Context(), far, db.Schema, dbstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := remote.Begin(t.Context(), c.Lease, limits)
	if err != nil {
		t.Fatal(err)
	}
	cut.armed.Store(true)
	if a, err := tx.Commit(t.Context(), checkpoint(c.Lease)); !store.Unknown(err) || a.OK {
		t.Fatalf("got %+v, %v, want an unknown outcome", a, err)
	}
	at, err := s.Positions(t.Context(), []uuid.UUID{c.ID})
	if err != nil || at[c.ID].Seq != 1 || string(at[c.ID].State) != `{"at":1}` {
		t.Fatalf("at %+v, %v", at[c.ID], err)
	}
}

// cutter is a TCP proxy before PostgreSQL that, once armed, closes a connection
// instead of passing the answer to a COMMIT on.
type cutter struct{ armed atomic.Bool }

// newCutter starts a proxy to the server of a DSN and returns a DSN that goes
// through it.
func newCutter(t *testing.T, dsn string) (*cutter, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			go c.forward(up, client, false)
			go c.forward(client, up, true)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	u.Host = l.Addr().String()
	return c, u.String()
}

// forward copies one direction of a connection.
func (c *cutter) forward(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if answers && c.armed.Load() && bytes.Contains(buf[:n], []byte("COMMIT\x00")) {
			return
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// A worker that is stopped inside a batch loses its transaction to the server,
// then its task to the reaper, and what it commits afterwards is nothing.
func TestStoppedInsideABatch(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s, _ := opened(t, db)
	c := claimOne(t, s, db, 500*time.Millisecond)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE ledger (item text)"); err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(t.Context(), c.Lease, store.TxTimeouts{Idle: time.Second, Statement: time.Minute, Lock: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO ledger (item) VALUES ('x')"); err != nil {
		t.Fatal(err)
	}
	until(t, "the task is taken over", func() bool {
		r, err := s.Reap(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Released) > 0
	})
	if a, err := tx.Commit(t.Context(), checkpoint(c.Lease)); err == nil && a.OK {
		t.Fatal("the stopped worker has committed")
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM ledger").Scan(&n); err != nil || n != 0 {
		t.Fatalf("%d rows of a batch that was lost, %v", n, err)
	}
	// Settings went with the transaction.
	var idle string
	if err := db.QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&idle); err != nil || idle != "0" {
		t.Fatalf("idle_in_transaction_session_timeout is %s afterwards, %v", idle, err)
	}
}

// The end of a task of which a deletion is just being requested waits for the
// request, and then removes the task.
func TestEndMeetsDelete(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s, _ := opened(t, db)
	c := claimOne(t, s, db, time.Hour)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	op := dbstore.NewClient(tx, db.Schema, db.Dialect)
	if _, err := op.Request(t.Context(), c.ID, store.Request{Action: lifecycle.ActDelete}); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		applied []store.Applied
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		a, err := s.Apply(t.Context(), "p", []*store.Write{{Lease: c.Lease, To: lifecycle.Completed}})
		answered <- answer{a, err}
	}()
	until(t, "the end waits", func() bool {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", db.Schema).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	got := <-answered
	if got.err != nil || got.applied[0] != (store.Applied{OK: true, Control: lifecycle.Delete}) {
		t.Fatalf("got %+v, %v", got.applied, got.err)
	}
	if _, err := s.Task(t.Context(), c.ID); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("got %v, want ErrNotFound", err)
	}
}

// A listener whose connection dies says so.
func TestWatchEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s, _ := opened(t, db)
	ready, done := make(chan struct{}), make(chan error, 1)
	register(t, s, "watcher")
	go func() {
		done <- s.Watch(t.Context(), "watcher", storetest.Watcher(func(w *store.Watcher) { w.Present = func(error) { close(ready) } }))
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()", db.Schema); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err == nil || errors.Is(err, context.Canceled) {
			t.Fatalf("ended with %v", err)
		}
	case <-time.After(testdb.Patience(t)):
		t.Fatal("goes on with a dead connection")
	}
}

// A listener whose connection is half open says so: it hears nothing of what it
// sends to itself.
func TestListenerFallsSilent(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	// The first notification is the proof at the beginning, and the second that of its presence.
	proxy, dsn, err := faultproxy.Through(db.DSN, []faultproxy.Fault{{
		Number: 3, Action: faultproxy.Silence,
		Match: func(m faultproxy.Message) bool { return m.Name == "NotificationResponse" },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	s, _ := opened(t, db, dbstore.Options{ListenDSN: dsn, ProbeEvery: 200 * time.Millisecond})
	ctx := testdb.Within(t)
	register(t, s, "watcher")
	listening := false
	err = s.Watch(ctx, "watcher", storetest.Watcher(func(w *store.Watcher) { w.Ready = func() { listening = true } }))
	if !listening || err == nil || !strings.Contains(err.Error(), "notification to itself") || errors.Is(err, store.ErrNoWatch) {
		t.Fatalf("listening was %t, and it ended with %v, want that it could not notify itself", listening, err)
	}
}

// Through a pooler nothing is listened to, and nothing stays behind on a
// connection that others use.
func TestWatchThroughAPooler(t *testing.T) {
	t.Parallel()
	db := testdb.PgBouncer(t)
	s, _ := opened(t, db)
	register(t, s, "watcher")
	if err := s.Watch(t.Context(), "watcher", storetest.Watcher(func(w *store.Watcher) {
		w.Ready = func() { t.Error("ready") }
		w.Present = func(err error) { t.Errorf("present: %v", err) }
	})); !errors.Is(err, store.ErrNoWatch) {
		t.Fatalf("got %v, want ErrNoWatch", err)
	}
	if r, err := s.ReadPresence(t.Context(), "another"); err != nil || r.Present {
		t.Errorf("present through a pooler: %v, %v", r.Others, err)
	}
	for range 5 {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_listening_channels()").Scan(&n); err != nil || n != 0 {
			t.Fatalf("%d channels are listened to on a pooled connection, %v", n, err)
		}
	}
	// A DSN that leads nowhere is an error and no hang.
	far, _ := opened(t, db, dbstore.Options{ListenDSN: "postgres://127.0.0.1:1/nowhere?connect_timeout=2"})
	if err := far.Watch(t.Context(), "watcher", storetest.Watcher()); err == nil {
		t.Fatal("watched nowhere")
	}
}
