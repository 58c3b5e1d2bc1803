package taskkit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/taskkit"
)

// submissions counts submissions. Each is of a new kind, so that each notifies workers.
func (m *trips) submissions() {
	ctx := m.Context()
	submit := func(tx taskkit.Execer, opts ...taskkit.SubmitOption) error {
		opts = append(opts, taskkit.System(), taskkit.WithSchema(m.db.Schema))
		_, err := taskkit.Submit(ctx, tx, newKind[countSpec, countState]("trips", 1), countSpec{Items: 1}, opts...)
		return err
	}
	m.count("Submit on a *sql.DB", func() (func() error, func()) {
		return func() error { return submit(m.handle) }, nothing
	})
	m.count("Submit in a caller's transaction, without BEGIN and COMMIT", func() (func() error, func()) {
		tx, err := m.handle.BeginTx(ctx, nil)
		if err != nil {
			m.Fatal(err)
		}
		return func() error { return submit(tx) }, func() { _ = tx.Rollback() }
	})
	m.count("SubmitMany of 1,000 on a *sql.DB", func() (func() error, func()) {
		return func() error {
			_, err := taskkit.SubmitMany(ctx, m.handle, newKind[countSpec, countState]("trips", 1), make([]countSpec, 1000),
				taskkit.System(), taskkit.WithSchema(m.db.Schema))
			return err
		}, nothing
	})
	m.count("Submit with a unique key", func() (func() error, func()) {
		m.last++
		return func() error { return submit(m.handle, taskkit.WithUniqueKey(fmt.Sprint(m.last))) }, nothing
	})
	m.count("Submit with a reference, of which no task waits", func() (func() error, func()) {
		m.last++
		return func() error { return submit(m.handle, taskkit.WithCoalescing(fmt.Sprint(m.last))) }, nothing
	})
	m.count("Submit with a reference, of which a task waits", func() (func() error, func()) {
		return func() error { return submit(m.handle, taskkit.WithCoalescing("the same")) }, nothing
	})
}

// client counts what clients do with tasks.
func (m *trips) client() {
	ctx := m.Context()
	c := taskkit.NewClient(m.handle, taskkit.WithSchema(m.db.Schema))
	m.count("Stop of a task that waits", func() (func() error, func()) {
		id := submitted(m, m.db, countKind, countSpec{Items: 1})
		return func() error { _, err := c.Stop(ctx, id); return err }, nothing
	})
	m.count("Stop of a task in flight", func() (func() error, func()) {
		id := m.claimed(1)[0].ID
		return func() error { _, err := c.Stop(ctx, id); return err }, nothing
	})
	id := submitted(m, m.db, countKind, countSpec{Items: 1})
	m.count("Task", func() (func() error, func()) {
		return func() error { _, err := c.Task(ctx, id); return err }, nothing
	})
	m.count("a poll of Wait", func() (func() error, func()) {
		return func() error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := c.Wait(ctx, id, func(*taskkit.Task, error) { cancel() })
			if ctx.Err() == nil {
				return err
			}
			return nil
		}, nothing
	})
}

// session counts what a task with one batch and an INSERT takes beside its claim, and the write of
// its start if it takes longer than a few milliseconds. Both are written for many tasks at once.
func (m *trips) session() {
	if _, err := m.db.ExecContext(m.Context(), "CREATE TABLE written (n integer NOT NULL)"); err != nil {
		m.Fatal(err)
	}
	const insert = "INSERT INTO written VALUES ($1)"
	kind := newKind[countSpec, countState]("session", 1)
	c := quick(m, m.db)
	through := *m.db
	through.DB = m.handle
	started(m, &through, registered(kind, &funcs[countSpec, countState]{
		execute: func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			_, err := b.Tx.ExecContext(ctx, insert, b.Spec.Items)
			return taskkit.Done, err
		},
	}), c)
	for range 100 { // until one has a connection on which all is prepared
		before := len(m.proxy.Messages())
		ended(m, m.db, submitted(m, m.db, kind, countSpec{Items: 1}))
		if tx := m.transactionOf(insert, before); tx != nil {
			m.add("transaction of a task with one batch and an INSERT", len(tx))
			return
		}
	}
	m.Error("the statements of a batch are prepared again and again")
}

// transactionOf returns the messages with which the round trips of the transaction began that has
// run a statement since before, or nil if one of its statements was not prepared.
func (m *trips) transactionOf(statement string, before int) []faultproxy.Message {
	m.Helper()
	all := slices.Clone(m.proxy.Messages()[before:])
	n := slices.IndexFunc(all, func(m faultproxy.Message) bool { return m.SQL == statement })
	if n < 0 {
		m.Fatalf("nobody has run %q", statement)
	}
	conn := all[n].Conn
	all = slices.DeleteFunc(all, func(m faultproxy.Message) bool { return m.Conn != conn })
	of := func(name string) int {
		return slices.IndexFunc(all, func(m faultproxy.Message) bool { return m.SQL == statement && m.Name == name })
	}
	if n = of("Bind"); n < 0 || of("Parse") >= 0 {
		return nil // it is prepared before the transaction
	}
	// A heartbeat may have had the connection before it.
	begin := n
	for begin >= 0 && (!all[begin].BeginsTrip || !strings.EqualFold(all[begin].SQL, "begin")) {
		begin--
	}
	end := slices.IndexFunc(all[n:], faultproxy.Message.IsCommit)
	if begin < 0 || end < 0 {
		m.Fatalf("the statement %q was in no transaction: %v", statement, all)
	}
	tx := slices.DeleteFunc(all[begin:n+end+1], func(m faultproxy.Message) bool { return !m.BeginsTrip })
	if slices.ContainsFunc(tx, func(m faultproxy.Message) bool { return m.Name == "Parse" }) {
		return nil
	}
	return tx
}
