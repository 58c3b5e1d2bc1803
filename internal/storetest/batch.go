package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// limits of a case's batches.
var limits = store.Limits{Idle: time.Minute, Statement: time.Minute, Lock: 10 * time.Second}

func (b *bed) begin(h store.Hold) store.Tx {
	b.Helper()
	tx, err := b.s.Begin(b.ctx(), h, limits)
	b.ok(err)
	b.Cleanup(tx.Rollback)
	return tx
}

// ledger makes a table for what a batch writes.
func (b *bed) ledger() { b.exec("CREATE TABLE ledger (item text NOT NULL)") }

func (b *bed) touched() int { b.Helper(); return b.count("SELECT count(*) FROM ledger") }

func write(b *bed, tx store.Tx) {
	b.Helper()
	if _, err := tx.ExecContext(b.ctx(), "INSERT INTO ledger (item) VALUES ($1)", "x"); err != nil {
		b.Fatal(err)
	}
}

// checkpoint is a write of a batch with more to come.
func checkpoint(h store.Hold) store.Write {
	return store.Write{Hold: h, To: workflow.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{"at":1}`)}
}

// batchCommits: work, checkpoint and end are one commit.
func batchCommits(b *bed) {
	b.enrol()
	b.ledger()
	c := b.held()
	tx := b.begin(c.Hold)
	write(b, tx)
	is(b, "touched from outside", b.touched(), 0)
	a, err := tx.Commit(b.ctx(), checkpoint(c.Hold))
	b.ok(err)
	is(b, "applied", a, store.Applied{OK: true})
	tx.Rollback() // does nothing
	is(b, "touched", b.touched(), 1)
	if _, err := tx.Commit(b.ctx(), checkpoint(c.Hold)); err == nil {
		b.Fatal("a second commit")
	}
	_, err = b.request(c.ID, store.ActStop)
	b.ok(err)
	c.Seq = 1
	tx = b.begin(c.Hold)
	if d, ok := tx.(interface{ Dialect() string }); !ok || d.Dialect() != string(b.db.Dialect) {
		b.Fatalf("%T does not say its dialect", tx)
	}
	insert := "INSERT INTO ledger (item) VALUES ('y')"
	handle, err := tx.Raw(insert)
	b.ok(err)
	_, err = tx.Raw("COMMIT")
	if err == nil {
		b.Fatal("a raw handle for a COMMIT")
	}
	if _, err := handle.ExecContext(b.ctx(), insert); err != nil {
		b.Fatal(err)
	}
	w := checkpoint(c.Hold)
	w.To, w.Result = workflow.Completed, json.RawMessage(`1`)
	a, err = tx.Commit(b.ctx(), w)
	b.ok(err)
	is(b, "applied", a, store.Applied{OK: true, Control: workflow.Stop})
	is(b, "touched", b.touched(), 2)
	is(b, "status", b.read(c.ID).Status, workflow.Completed)
}

// batchLost: a session that has lost its task cannot begin.
func batchLost(b *bed) {
	b.enrol()
	c := b.held()
	for _, h := range []store.Hold{{ID: c.ID, Fence: 2}, {ID: c.ID, Fence: 1, Seq: 1}, {ID: uuid.New(), Fence: 1}} {
		if _, err := b.s.Begin(b.ctx(), h, limits); !errors.Is(err, store.ErrLost) {
			b.Fatalf("got %v, want ErrLost", err)
		}
	}
	b.apply(store.Write{Hold: c.Hold, To: workflow.Queued})
	if _, err := b.s.Begin(b.ctx(), c.Hold, limits); !errors.Is(err, store.ErrLost) {
		b.Fatalf("got %v, want ErrLost", err)
	}
	ended, cancel := context.WithCancel(b.ctx())
	cancel()
	if _, err := b.s.Begin(ended, c.Hold, limits); err == nil {
		b.Fatal("began under a context that had ended")
	}
	// Nothing is left behind that would keep another from writing.
	is(b, "claimed", len(b.claim(1)), 1)
}

// batchRollsBack: what is given up leaves nothing.
func batchRollsBack(b *bed) {
	b.enrol()
	b.ledger()
	c := b.held()
	tx := b.begin(c.Hold)
	write(b, tx)
	tx.Rollback()
	tx.Rollback()
	is(b, "touched", b.touched(), 0)
	if _, err := tx.ExecContext(b.ctx(), "INSERT INTO ledger (item) VALUES ('z')"); err == nil {
		b.Fatal("a statement after the end was executed")
	}
	is(b, "touched", b.touched(), 0)
	is(b, "seq", b.read(c.ID).Seq, 0)
}

// batchGuardAtCommit: the last write's guard rolls the work back.
func batchGuardAtCommit(b *bed) {
	b.enrol()
	b.ledger()
	c := b.held()
	tx := b.begin(c.Hold)
	write(b, tx)
	stale := c.Hold
	stale.Seq = 5
	a, err := tx.Commit(b.ctx(), checkpoint(stale))
	b.ok(err)
	is(b, "applied", a, store.Applied{})
	is(b, "touched", b.touched(), 0)

	// A statement that fails spoils the batch, whatever the executor thinks.
	tx = b.begin(c.Hold)
	write(b, tx)
	bad := checkpoint(c.Hold)
	bad.State = json.RawMessage(`{`)
	if b.db.Dialect == dialect.Postgres {
		if _, err := tx.Commit(b.ctx(), bad); err == nil {
			b.Fatal("committed a state that is not JSON")
		}
		is(b, "touched", b.touched(), 0)
	}
	tx.Rollback()
	tx = b.begin(c.Hold)
	_, err = tx.Commit(b.ctx(), checkpoint(c.Hold))
	b.ok(err)
}

// batchKeepsTakeoverAway: while a batch is open a takeover steps over its task,
// and on PostgreSQL heartbeats and requests pass.
func batchKeepsTakeoverAway(b *bed) {
	if b.db.Dialect != dialect.Postgres {
		// One writer at a time: nobody can take over in between, and the commit
		// renews the heartbeat of the holder when it is asked to.
		b.enrol()
		c := b.held()
		b.exec("UPDATE taskkit_task_process SET last_heartbeat_date = " + b.at(-30))
		tx := b.begin(c.Hold)
		w := checkpoint(c.Hold)
		w.Renew = true
		_, err := tx.Commit(b.ctx(), w)
		b.ok(err)
		ps, err := b.s.Processes(b.ctx(), 0)
		b.ok(err)
		if ps[0].Silence > within {
			b.Fatalf("silent for %v after a commit", ps[0].Silence)
		}
		return
	}
	b.enrol(func(p *store.Process) { p.DeadAfter = 5 * time.Second })
	b.ledger()
	c := b.held()
	tx := b.begin(c.Hold)
	write(b, tx)
	b.ok(b.s.Beat(b.ctx(), process, 1, false))
	got, err := b.request(c.ID, store.ActStop)
	b.ok(err)
	is(b, "control", got.Control, workflow.Stop)
	b.exec("UPDATE taskkit_task_process SET last_heartbeat_date = " + b.at(-60))
	r, err := b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "dead", len(r.Dead), 1)
	is(b, "released", len(r.Released), 0)
	// Asked for by a person, it is not taken over either.
	_, err = b.request(c.ID, store.ActDelete)
	b.ok(err)
	is(b, "status", b.read(c.ID).Status, workflow.Scheduling)
	a, err := tx.Commit(b.ctx(), checkpoint(c.Hold))
	b.ok(err)
	is(b, "applied", a, store.Applied{OK: true, Control: workflow.Delete})
	is(b, "touched", b.touched(), 1)
	r, err = b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "released", len(r.Released), 1)
}

// batchOutlivesItsBegin: the context of Begin bounds the beginning only.
func batchOutlivesItsBegin(b *bed) {
	b.enrol()
	b.ledger()
	c := b.held()
	ctx, cancel := context.WithCancel(b.ctx())
	tx, err := b.s.Begin(ctx, c.Hold, limits)
	b.ok(err)
	cancel()
	write(b, tx)
	a, err := tx.Commit(b.ctx(), checkpoint(c.Hold))
	b.ok(err)
	is(b, "applied", a.OK, true)
	is(b, "touched", b.touched(), 1)
}

// batchIsNotTheExecutors: an executor cannot end the transaction, and can use
// savepoints.
func batchIsNotTheExecutors(b *bed) {
	b.enrol()
	b.ledger()
	c := b.held()
	tx := b.begin(c.Hold)
	write(b, tx)
	for _, query := range []string{
		"COMMIT", " /* x */ commit;", "-- x\nROLLBACK", "END TRANSACTION", "abort", "BEGIN", "START TRANSACTION", "rollback work", "PREPARE TRANSACTION 'x'",
		"\fCOMMIT", "INSERT INTO ledger (item) VALUES ('y'); COMMIT", "SELECT 1; -- x\n;ROLLBACK; BEGIN", "SAVEPOINT s; RELEASE SAVEPOINT s; END",
	} {
		if _, err := tx.ExecContext(b.ctx(), query); err == nil {
			b.Fatalf("%q was executed", query)
		}
		//nolint:sqlclosecheck,rowserrcheck // there are no rows: it is refused
		if _, err := tx.QueryContext(b.ctx(), query); err == nil {
			b.Fatalf("%q was executed as a query", query)
		}
	}
	for _, query := range []string{"SAVEPOINT s", "INSERT INTO ledger (item) VALUES ('undone')", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s"} {
		if _, err := tx.ExecContext(b.ctx(), query); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	_, err := tx.Commit(b.ctx(), checkpoint(c.Hold))
	b.ok(err)
	is(b, "touched", b.touched(), 1)
}

// batchInterrupted: after a write that was interrupted nothing of the batch can
// be committed piecemeal.
func batchInterrupted(b *bed) {
	b.enrol()
	b.ledger()
	c := b.held()
	tx := b.begin(c.Hold)
	write(b, tx)
	ctx, cancel := context.WithTimeout(b.ctx(), 100*time.Millisecond)
	defer cancel()
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger (item)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000000) SELECT 'n' FROM n`)
	if err == nil {
		b.Fatal("200,000,000 rows in no time")
	}
	// The executor carries on as if nothing had happened.
	_, _ = tx.ExecContext(b.ctx(), "INSERT INTO ledger (item) VALUES ('after')")
	if a, err := tx.Commit(b.ctx(), checkpoint(c.Hold)); err == nil && a.OK {
		is(b, "touched by a commit", b.touched(), 2)
	} else {
		is(b, "touched", b.touched(), 0)
	}
	tx.Rollback()
	is(b, "beats", b.s.Beat(b.ctx(), process, 0, false), nil)
}

// batchLeaksRows: rows that an executor has not closed keep nothing from ending.
func batchLeaksRows(b *bed) {
	b.enrol()
	b.ledger()
	c := b.held()
	for _, commit := range []bool{true, false, true} {
		tx := b.begin(c.Hold)
		for range 3 {
			write(b, tx)
		}
		//nolint:sqlclosecheck,rowserrcheck // to leave them open is the case
		rows, err := tx.QueryContext(context.WithoutCancel(b.ctx()), "SELECT item FROM ledger")
		b.ok(err)
		is(b, "a row", rows.Next(), true)
		if commit {
			a, err := tx.Commit(b.ctx(), checkpoint(c.Hold))
			if b.db.Dialect == dialect.SQLite {
				b.ok(err)
			}
			if err == nil && a.OK {
				c.Seq++
			}
		}
		tx.Rollback()
	}
	b.apply(store.Write{Hold: c.Hold, To: workflow.Queued})
	is(b, "claimed", len(b.claim(1)), 1)
}

// batchEndsUnderStatements: an executor that was left behind goes on writing
// while its batch is given up. Nothing of it is ever committed.
func batchEndsUnderStatements(b *bed) {
	const writers, rounds = 4, 25
	b.enrol()
	b.ledger()
	for range rounds {
		c := b.held()
		tx := b.begin(c.Hold)
		var all sync.WaitGroup
		writing := make(chan struct{}, writers)
		for range writers {
			all.Go(func() {
				for n := 0; ; n++ {
					if _, err := tx.ExecContext(b.Context(), "INSERT INTO ledger (item) VALUES ('late')"); err != nil {
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
		b.apply(store.Write{Hold: c.Hold, To: workflow.Completed})
	}
	is(b, "touched", b.touched(), 0)
}
