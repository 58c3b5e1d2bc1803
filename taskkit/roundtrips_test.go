package taskkit_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/testdb"
)

var update = flag.Bool("update", false, "write the golden files")

// roundTrips has a line for each operation: its name, a tab and its round trips.
const roundTrips = "testdata/roundtrips.txt"

// TestRoundTrips compares how often each operation waits for PostgreSQL, once its statements are
// prepared, with the golden file. Run it with -update after a change, and review the difference: a
// round trip is time that a worker waits for the network.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	m := newTrips(t)
	m.claims()
	m.writes()
	m.batches()
	m.worker()
	m.submissions()
	m.client()
	m.session()
	if t.Failed() {
		return
	}
	got := "# Written by TestRoundTrips: round trips to PostgreSQL of each operation, its statements being prepared.\n" + strings.Join(m.lines, "")
	if *update {
		if err := os.WriteFile(roundTrips, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(roundTrips)
	if err != nil {
		t.Fatalf("%v: run TestRoundTrips with -update", err)
	}
	if got != string(want) {
		t.Errorf("%s differs from what was counted:\n%s\nrun TestRoundTrips with -update if that is intended", roundTrips, got)
	}
}

// trips counts the round trips of operations.
type trips struct {
	*testing.T
	proxy  *faultproxy.Proxy
	db     *testdb.DB // past the proxy
	handle *sql.DB    // through it
	s      store.Store
	lines  []string
	last   int // number of the last task or process
}

func newTrips(t *testing.T) *trips {
	t.Helper()
	db := migrated(t, testdb.Postgres(t))
	proxy, dsn, err := faultproxy.Through(db.DSN, nil, faultproxy.KeepLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	// The driver pings a connection that was idle for a second.
	handle := stdlib.OpenDB(*c, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
	handle.SetMaxOpenConns(8)
	handle.SetMaxIdleConns(8)
	t.Cleanup(func() { _ = handle.Close() })
	s, err := dbstore.Open(t.Context(), handle, db.Schema, dbstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &trips{T: t, proxy: proxy, db: db, handle: handle, s: s}
	m.register("p")
	return m
}

// nothing is an end of an operation that leaves nothing open.
func nothing() {}

// count counts an operation, which prepare returns together with what ends it; neither of these
// is counted. The first runs prepare its statements.
func (m *trips) count(name string, prepare func() (call func() error, end func())) {
	m.Helper()
	var counts []int
	for range 4 {
		call, end := prepare()
		before := m.proxy.RoundTrips()
		err := call()
		counts = append(counts, m.proxy.RoundTrips()-before)
		if err != nil {
			m.Fatalf("%s: %v", name, err)
		}
		end()
	}
	if counts[2] != counts[3] {
		m.Errorf("%s: %v round trips, want as many in the last run as in the one before it", name, counts)
	}
	m.add(name, counts[3])
}

// add notes what was counted.
func (m *trips) add(name string, n int) { m.lines = append(m.lines, fmt.Sprintf("%s\t%d\n", name, n)) }

// register registers a process.
func (m *trips) register(id string) {
	m.Helper()
	if err := m.s.RegisterWorker(m.Context(), m.process(id)); err != nil {
		m.Fatal(err)
	}
}

func (m *trips) process(id string) store.Process {
	return store.Process{ID: id, Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, Slots: 1, DeadAfter: time.Hour}
}

// insert stores tasks past the proxy.
func (m *trips) insert(n int) {
	m.Helper()
	tasks := make([]store.NewTask, n)
	for i := range tasks {
		tasks[i] = store.NewTask{
			Submitted: store.Submitted{Kind: "demo", Owner: uuid.Max, RunAs: uuid.Max, Queue: "default"},
			ID:        store.NewID(), Revision: 1, Spec: []byte("{}"), Priority: 2, Total: -1,
		}
	}
	if err := store.Insert(m.Context(), m.db.DB, m.db.Schema, tasks, false); err != nil {
		m.Fatal(err)
	}
}

// claim claims at most n tasks.
func (m *trips) claim(n int) ([]store.ClaimedTask, error) {
	p := m.process("p")
	r, err := m.s.Claim(m.Context(), store.Claim{Process: p.ID, Queues: p.Queues, Kinds: p.Kinds, Limit: n, SpecMax: 1 << 20})
	return r.Tasks, err
}

// claimed returns n tasks that have been claimed.
func (m *trips) claimed(n int) []store.ClaimedTask {
	m.Helper()
	m.insert(n)
	tasks, err := m.claim(n)
	if err != nil || len(tasks) != n {
		m.Fatalf("claimed %d tasks, want %d (%v)", len(tasks), n, err)
	}
	return tasks
}

// claims counts claims.
func (m *trips) claims() {
	for _, n := range []int{1, 100, 0} {
		name := map[int]string{0: "claim of nothing", 1: "claim of 1 task"}[n]
		if name == "" {
			name = fmt.Sprintf("claim of %d tasks", n)
		}
		m.count(name, func() (func() error, func()) {
			if n > 0 {
				m.insert(n)
			}
			return func() error {
				tasks, err := m.claim(max(n, 1))
				if err == nil && len(tasks) != n {
					err = fmt.Errorf("claimed %d tasks", len(tasks))
				}
				return err
			}, nothing
		})
	}
}

// firstWrite is the first write of a task.
func firstWrite(t store.ClaimedTask, to lifecycle.Status) store.Write {
	return store.Write{Lease: t.Lease, To: to, Attempts: t.Attempts}
}

// writes counts the group commit.
func (m *trips) writes() {
	for _, c := range []struct {
		name string
		n    int
		to   lifecycle.Status
	}{
		{"starts of %d tasks, group commit", 100, lifecycle.Executing},
		{"start of %d task, group commit", 1, lifecycle.Executing},
		{"ends of %d tasks, group commit", 100, lifecycle.Completed},
		{"end of %d task, group commit", 1, lifecycle.Completed},
	} {
		m.count(fmt.Sprintf(c.name, c.n), func() (func() error, func()) {
			var writes []*store.Write
			for _, t := range m.claimed(c.n) {
				writes = append(writes, new(firstWrite(t, c.to)))
			}
			return func() error {
				applied, err := m.s.Apply(m.Context(), "p", writes)
				return allApplied(applied, err)
			}, nothing
		})
	}
}

// allApplied returns an error unless every write was applied.
func allApplied(applied []store.Applied, err error) error {
	for _, a := range applied {
		if !a.OK && err == nil {
			err = fmt.Errorf("a write was not applied: %+v", a)
		}
	}
	return err
}

// batches counts the transaction of a batch.
func (m *trips) batches() {
	ctx := m.Context()
	if _, err := m.db.ExecContext(ctx, "CREATE TABLE begun (n integer NOT NULL)"); err != nil {
		m.Fatal(err)
	}
	begin := func(t store.ClaimedTask) (store.Tx, error) {
		return m.s.Begin(ctx, t.Lease, store.TxTimeouts{Idle: time.Minute, Statement: time.Minute, Lock: time.Minute})
	}
	m.count("begin of a batch, with the check of the task lease and an INSERT", func() (func() error, func()) {
		t := m.claimed(1)[0]
		tx, err := begin(t)
		if err != nil {
			m.Fatal(err)
		}
		return func() error {
			_, err := tx.ExecContext(ctx, "INSERT INTO begun VALUES ($1)", 1)
			return err
		}, tx.Rollback
	})
	ended := func(f func(tx store.Tx, t store.ClaimedTask) error) func() (func() error, func()) {
		return func() (func() error, func()) {
			t := m.claimed(1)[0]
			tx, err := begin(t)
			if err == nil {
				_, err = tx.ExecContext(ctx, "INSERT INTO begun VALUES ($1)", 1)
			}
			if err != nil {
				m.Fatal(err)
			}
			return func() error { return f(tx, t) }, tx.Rollback
		}
	}
	for _, c := range []struct {
		name   string
		change func(w *store.Write)
	}{
		{"checkpoint and commit of a batch", func(*store.Write) {}},
		{"the same, with the outcome of an item", func(w *store.Write) {
			w.Progress.Position, w.Progress.Failed = 1, 1
			w.Items = []store.Item{{Key: "1", Outcome: store.ItemFailed, Code: "c", Position: 1, Attempt: 1}}
		}},
		{"the same, of a task that may have reached a limit", func(w *store.Write) {
			w.Progress.Position, w.Progress.Failed = 1, 1
			w.Items = []store.Item{{Key: "1", Outcome: store.ItemFailed, Code: "c", Position: 1, Attempt: 1}}
			w.Check, w.StopAfter.Failed = true, 2
		}},
		{"the same, with the end of the task", func(w *store.Write) { w.To = lifecycle.Completed }},
		{"the same, with the end of the task and a result", func(w *store.Write) { w.To, w.Result = lifecycle.Completed, []byte("{}") }},
	} {
		m.count(c.name, ended(func(tx store.Tx, t store.ClaimedTask) error {
			w := firstWrite(t, lifecycle.Executing)
			w.Checkpoint, w.Revision, w.State, w.Progress.Total, w.Renew = true, 1, []byte("{}"), 10, true
			c.change(&w)
			applied, err := tx.Commit(ctx, w)
			return allApplied([]store.Applied{applied}, err)
		}))
	}
	m.count("rollback of a batch", ended(func(tx store.Tx, _ store.ClaimedTask) error { tx.Rollback(); return nil }))
}

// worker counts what a worker does beside its tasks.
func (m *trips) worker() {
	ctx := m.Context()
	next := func() string { m.last++; return fmt.Sprint("process ", m.last) }
	m.count("registration of a worker", func() (func() error, func()) {
		id := next()
		return func() error { return m.s.RegisterWorker(ctx, m.process(id)) }, nothing
	})
	m.count("heartbeat", func() (func() error, func()) {
		return func() error { return m.s.Heartbeat(ctx, "p", false) }, nothing
	})
	m.count("end of a worker", func() (func() error, func()) {
		id := next()
		m.register(id)
		return func() error { return m.s.Deregister(ctx, id) }, nothing
	})
	m.count("read-back of 100 tasks", func() (func() error, func()) {
		var ids []uuid.UUID
		for _, t := range m.claimed(100) {
			ids = append(ids, t.ID)
		}
		return func() error { _, err := m.s.Positions(ctx, ids); return err }, nothing
	})
	m.count("pass of the reaper", func() (func() error, func()) {
		return func() error { _, err := m.s.Reap(ctx, nil); return err }, nothing
	})
}
