package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// limits of a case's batches.
var limits = store.TxTimeouts{Idle: time.Minute, Statement: time.Minute, Lock: time.Minute}

func (e *env) begin(h store.Lease) store.Tx {
	e.Helper()
	tx, err := e.s.Begin(e.ctx(), h, limits)
	e.ok(err)
	e.Cleanup(tx.Rollback)
	return tx
}

// ledger makes a table for what a batch writes.
func (e *env) ledger() {
	e.Helper()
	e.ok(e.door.CreateLedger(e.ctx()))
}

// touched returns how many rows have been committed to the ledger.
func (e *env) touched() int {
	e.Helper()
	n, err := e.door.Ledger(e.ctx())
	e.ok(err)
	return n
}

func write(e *env, tx store.Tx) {
	e.Helper()
	if _, err := tx.ExecContext(e.ctx(), InsertItem, "x"); err != nil {
		e.Fatal(err)
	}
}

// checkpoint is a write of a batch with more to come.
func checkpoint(h store.Lease) store.Write {
	return store.Write{Lease: h, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{"at":1}`)}
}

// batchCommits: work, checkpoint and end are one commit.
func batchCommits(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	is(e, "touched from outside", e.touched(), 0)
	a, err := tx.Commit(e.ctx(), checkpoint(c.Lease))
	e.ok(err)
	is(e, "applied", a, store.Applied{OK: true})
	tx.Rollback() // does nothing
	is(e, "touched", e.touched(), 1)
	if _, err := tx.Commit(e.ctx(), checkpoint(c.Lease)); err == nil {
		e.Fatal("a second commit")
	}
	_, err = e.request(c.ID, lifecycle.ActStop)
	e.ok(err)
	c.Seq = 1
	tx = e.begin(c.Lease)
	if d, ok := tx.(interface{ Dialect() string }); !ok || d.Dialect() != string(e.s.Dialect()) {
		e.Fatalf("%T does not say its dialect", tx)
	}
	handle, err := tx.Handle(InsertItem)
	e.ok(err)
	_, err = tx.Handle("COMMIT")
	if err == nil {
		e.Fatal("a raw handle for a COMMIT")
	}
	if _, err := handle.ExecContext(e.ctx(), InsertItem, "y"); err != nil {
		e.Fatal(err)
	}
	w := checkpoint(c.Lease)
	w.To, w.Result = lifecycle.Completed, json.RawMessage(`1`)
	a, err = tx.Commit(e.ctx(), w)
	e.ok(err)
	is(e, "applied", a, store.Applied{OK: true})
	is(e, "touched", e.touched(), 2)
	is(e, "status", e.read(c.ID).Status, lifecycle.Completed)
}

// beginLost checks that a session that has lost its task cannot execute a statement. Begin returns the error, or the first statement.
func (e *env) beginLost(h store.Lease) {
	e.Helper()
	tx, err := e.s.Begin(e.ctx(), h, limits)
	if err == nil {
		_, err = tx.ExecContext(e.ctx(), InsertItem, "x")
		tx.Rollback()
	}
	if !errors.Is(err, store.ErrLost) {
		e.Fatalf("got %v, want ErrLost", err)
	}
}

// batchLost: a session that has lost its task cannot begin.
func batchLost(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	for _, h := range []store.Lease{{ID: c.ID, Fence: 2}, {ID: c.ID, Fence: 1, Seq: 1}, {ID: uuid.New(), Fence: 1}} {
		e.beginLost(h)
	}
	e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued})
	e.beginLost(c.Lease)
	ended, cancel := context.WithCancel(e.ctx())
	cancel()
	if _, err := e.s.Begin(ended, c.Lease, limits); err == nil {
		e.Fatal("began under a context that had ended")
	}
	// The failed Begin blocks no other writer.
	is(e, "claimed", len(e.claim(1)), 1)
}

// batchRollsBack: a batch that is rolled back has no effect.
func batchRollsBack(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	tx.Rollback()
	tx.Rollback()
	is(e, "touched", e.touched(), 0)
	if _, err := tx.ExecContext(e.ctx(), InsertItem, "z"); err == nil {
		e.Fatal("a statement after the end was executed")
	}
	is(e, "touched", e.touched(), 0)
	is(e, "seq", e.read(c.ID).Seq, 0)
}

// batchGuardAtCommit: the last write's guard rolls the work back.
func batchGuardAtCommit(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	stale := c.Lease
	stale.Seq = 5
	a, err := tx.Commit(e.ctx(), checkpoint(stale))
	e.ok(err)
	is(e, "applied", a, store.Applied{})
	is(e, "touched", e.touched(), 0)

	// A statement that fails spoils the batch, whatever the executor thinks.
	tx = e.begin(c.Lease)
	write(e, tx)
	bad := checkpoint(c.Lease)
	bad.State = json.RawMessage(`{`)
	if e.s.Dialect() == dialect.Postgres {
		if _, err := tx.Commit(e.ctx(), bad); err == nil {
			e.Fatal("committed a state that is not JSON")
		}
		is(e, "touched", e.touched(), 0)
	}
	tx.Rollback()
	tx = e.begin(c.Lease)
	_, err = tx.Commit(e.ctx(), checkpoint(c.Lease))
	e.ok(err)
}

// batchKeepsTakeoverAway: while a batch is open a takeover steps over its task,
// and on PostgreSQL heartbeats and requests pass.
func batchKeepsTakeoverAway(e *env) {
	if e.s.Dialect() != dialect.Postgres {
		// One writer at a time: no takeover is possible in between, and the commit
		// renews the heartbeat of the holder when Renew is set.
		e.registerWorker()
		c := e.claimedTask()
		e.setHeartbeat(process, -30*time.Minute)
		tx := e.begin(c.Lease)
		w := checkpoint(c.Lease)
		w.Renew = true
		a, err := tx.Commit(e.ctx(), w)
		e.ok(err)
		is(e, "renewed", a.Renewed, true)
		ps, err := e.s.Processes(e.ctx(), 0)
		e.ok(err)
		if ps[0].Silence > 15*time.Minute {
			e.Fatalf("silent for %v after a commit", ps[0].Silence)
		}
		return
	}
	e.registerWorker(func(p *store.Process) { p.DeadAfter = 10 * time.Minute })
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	e.ok(e.s.Heartbeat(e.ctx(), process, false))
	got, err := e.request(c.ID, lifecycle.ActStop)
	e.ok(err)
	is(e, "control", got.Control, lifecycle.Stop)
	e.setHeartbeat(process, -11*time.Minute)
	r, err := e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "dead", len(r.Dead), 1)
	is(e, "released", len(r.Released), 0)
	// Asked for by a person, it is not taken over either.
	_, err = e.request(c.ID, lifecycle.ActDelete)
	e.ok(err)
	is(e, "status", e.read(c.ID).Status, lifecycle.Scheduling)
	a, err := tx.Commit(e.ctx(), checkpoint(c.Lease))
	e.ok(err)
	is(e, "applied", a, store.Applied{OK: true, Control: lifecycle.Delete})
	is(e, "touched", e.touched(), 1)
	r, err = e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "released", len(r.Released), 1)
}

// batchOutlivesItsBegin: the context of Begin bounds the beginning only.
func batchOutlivesItsBegin(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	ctx, cancel := context.WithCancel(e.ctx())
	tx, err := e.s.Begin(ctx, c.Lease, limits)
	e.ok(err)
	cancel()
	write(e, tx)
	a, err := tx.Commit(e.ctx(), checkpoint(c.Lease))
	e.ok(err)
	is(e, "applied", a.OK, true)
	is(e, "touched", e.touched(), 1)
}

// batchTxControl: an executor cannot end the transaction by a statement, and can
// use savepoints.
func batchTxControl(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	for _, query := range []string{
		"COMMIT", " /* x */ commit;", "-- x\nROLLBACK", "END TRANSACTION", "abort", "BEGIN", "START TRANSACTION", "rollback work", "PREPARE TRANSACTION 'x'",
		"\fCOMMIT", "INSERT INTO ledger (item) VALUES ('y'); COMMIT", "SELECT 1; -- x\n;ROLLBACK; BEGIN", "SAVEPOINT s; RELEASE SAVEPOINT s; END",
	} {
		if _, err := tx.ExecContext(e.ctx(), query); err == nil {
			e.Fatalf("%q was executed", query)
		}
		//nolint:sqlclosecheck,rowserrcheck // there are no rows: it is refused
		if _, err := tx.QueryContext(e.ctx(), query); err == nil {
			e.Fatalf("%q was executed as a query", query)
		}
	}
	for _, query := range []string{"SAVEPOINT s", "INSERT INTO ledger (item) VALUES ('undone')", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s"} {
		if _, err := tx.ExecContext(e.ctx(), query); err != nil {
			e.Fatalf("%s: %v", query, err)
		}
	}
	_, err := tx.Commit(e.ctx(), checkpoint(c.Lease))
	e.ok(err)
	is(e, "touched", e.touched(), 1)
}

// batchSavepoints: what was done since a savepoint can be undone, also after a
// statement that failed.
func batchSavepoints(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	e.ok(tx.Savepoint(e.ctx(), "t"))
	write(e, tx)
	if _, err := tx.ExecContext(e.ctx(), "INSERT INTO nowhere (item) VALUES ('z')"); err == nil {
		e.Fatal("inserted into a table that does not exist")
	}
	e.ok(tx.RollbackTo(e.ctx(), "t"))
	e.ok(tx.ReleaseSavepoint(e.ctx(), "t"))
	if err := tx.RollbackTo(e.ctx(), "t"); err == nil {
		e.Fatal("rolled back to a savepoint that was released")
	}
	tx.Rollback()
	is(e, "touched", e.touched(), 0)

	tx = e.begin(c.Lease)
	e.ok(tx.Savepoint(e.ctx(), "undone"))
	write(e, tx)
	e.ok(tx.RollbackTo(e.ctx(), "undone"))
	e.ok(tx.Savepoint(e.ctx(), "kept"))
	write(e, tx)
	e.ok(tx.RenewSavepoint(e.ctx(), "kept"))
	write(e, tx)
	e.ok(tx.RollbackTo(e.ctx(), "kept"))
	e.ok(tx.RenewSavepoint(e.ctx(), "kept"))
	e.ok(tx.ReleaseSavepoint(e.ctx(), "kept"))
	w := checkpoint(c.Lease)
	w.Renew = true
	a, err := tx.Commit(e.ctx(), w)
	e.ok(err)
	is(e, "renewed", a.Renewed, e.s.Dialect() == dialect.SQLite)
	is(e, "touched", e.touched(), 1)
}

// batchInterrupted: after a write that was interrupted nothing of the batch can
// be committed piecemeal.
func batchInterrupted(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	if err := e.door.Interrupt(e.ctx(), tx); err == nil {
		e.Fatal("a statement succeeded after its context had ended")
	}
	// The executor ignores the error.
	_, _ = tx.ExecContext(e.ctx(), InsertItem, "after")
	if a, err := tx.Commit(e.ctx(), checkpoint(c.Lease)); err == nil && a.OK {
		is(e, "touched by a commit", e.touched(), 2)
	} else {
		is(e, "touched", e.touched(), 0)
	}
	tx.Rollback()
	is(e, "beats", e.s.Heartbeat(e.ctx(), process, false), nil)
}

// batchLeaksRows: rows that an executor has not closed keep nothing from ending.
func batchLeaksRows(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	for _, commit := range []bool{true, false, true} {
		tx := e.begin(c.Lease)
		for range 3 {
			write(e, tx)
		}
		//nolint:sqlclosecheck,rowserrcheck // to leave them open is the case
		rows, err := tx.QueryContext(context.WithoutCancel(e.ctx()), "SELECT item FROM ledger")
		e.ok(err)
		is(e, "a row", rows.Next(), true)
		if commit {
			a, err := tx.Commit(e.ctx(), checkpoint(c.Lease))
			if e.s.Dialect() == dialect.SQLite {
				e.ok(err)
			}
			if err == nil && a.OK {
				c.Seq++
			}
		}
		tx.Rollback()
	}
	e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued})
	is(e, "claimed", len(e.claim(1)), 1)
}

// batchEndsUnderStatements: an abandoned executor continues to write while its batch
// is rolled back. None of its writes is ever committed.
func batchEndsUnderStatements(e *env) {
	const writers, rounds = 4, 25
	e.registerWorker()
	e.ledger()
	for range rounds {
		c := e.claimedTask()
		tx := e.begin(c.Lease)
		var all sync.WaitGroup
		writing := make(chan struct{}, writers)
		for range writers {
			all.Go(func() {
				for n := 0; ; n++ {
					if _, err := tx.ExecContext(e.Context(), InsertItem, "late"); err != nil {
						return
					}
					if n == 0 {
						writing <- struct{}{}
					}
				}
			})
		}
		<-writing // others are about to
		tx.Rollback()
		all.Wait()
		e.apply(store.Write{Lease: c.Lease, To: lifecycle.Completed})
	}
	is(e, "touched", e.touched(), 0)
}
