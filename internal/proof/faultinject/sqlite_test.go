package faultinject_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"modernc.org/sqlite"

	"taskkit.dev/internal/proof/faultinject/sqlitefault"
	"taskkit.dev/internal/testkit/testdb"
)

// sqliteActions are those that a plan on SQLite may hold: several of
// sqliteDriverActions, or one by which a process harms itself.
var (
	sqliteActions       = append([]action{stop, kill}, sqliteDriverActions...)
	sqliteDriverActions = []action{failBefore, failAfter, breakBefore, breakAfter, busyBefore, delay}
)

// counted says which calls are numbered: all but the reads of a counter in
// shared memory, fifty a second, with which a worker notices a change.
func counted(c sqlitefault.Call) bool { return !strings.HasPrefix(c.SQL, "PRAGMA data_version") }

func sqliteConnector(dsn string, faults []sqlitefault.Fault) (*sqlitefault.Connector, error) {
	inner, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("open the worker's database: %w", err)
	}
	return sqlitefault.New(inner, faults), nil
}

// driven is the harm that a driver does. A process that is to be stopped or
// killed does it to itself: self.
type driven struct {
	dsn    string
	driver *sqlitefault.Connector
	self   fault

	first  chan struct{}
	once   sync.Once
	closed chan struct{}
	later  sync.WaitGroup
	struck []string // what self struck
}

// sqliteLane makes a env with a file of its own.
func sqliteLane(tb testing.TB) *env {
	tb.Helper()
	l := newEnv(tb, testdb.SQLite(tb, testdb.MaxConns(8)))
	l.harm = func(p *plan) (harm, error) { return l.throughDriver(p) }
	return l
}

func (l *env) throughDriver(p *plan) (*driven, error) {
	h := &driven{dsn: l.db.DSN, first: make(chan struct{}), closed: make(chan struct{})}
	var faults []sqlitefault.Fault
	for _, f := range p.faults {
		switch {
		case f.action.ownProcess():
			h.self = f
		case f.action != none:
			faults = append(faults, onDriver(f))
		}
	}
	if h.self.number > 0 && len(faults) > 0 {
		return nil, fmt.Errorf("%v: a process harms itself once and in no other way", p)
	}
	return h, h.begin(faults)
}

// begin makes the driver.
func (h *driven) begin(faults []sqlitefault.Fault) (err error) {
	if h.driver, err = sqliteConnector(h.dsn, faults); err != nil {
		return err
	}
	for i := range faults {
		h.later.Go(func() {
			select {
			case <-h.driver.Hit(i):
				h.once.Do(func() { close(h.first) })
			case <-h.closed:
			}
		})
	}
	return nil
}

// onDriver translates a fault of a plan.
func onDriver(f fault) sqlitefault.Fault {
	out := sqlitefault.Fault{Number: f.number, Match: counted}
	switch f.action {
	case failBefore:
		out.Action = sqlitefault.FailBefore
	case failAfter:
		out.Action = sqlitefault.FailAfter
	case breakBefore:
		out.Action = sqlitefault.BreakBefore
	case breakAfter:
		out.Action = sqlitefault.BreakAfter
	case busyBefore:
		out.Action = sqlitefault.BusyBefore
	case delay:
		out.Action, out.Delay = sqlitefault.Delay, overdue
	case none, cutBefore, cutAfter, silence, terminate, stop, kill: // no driver's
		panic("no driver can do this: " + f.action)
	}
	return out
}

func (h *driven) args(a workerArgs) workerArgs {
	a.DSN, a.At, a.Signal = h.dsn, h.self.number, syscall.SIGKILL
	if h.self.action == stop {
		a.Signal = syscall.SIGSTOP
	}
	return a
}

func (h *driven) open() (*sql.DB, error) {
	db := sql.OpenDB(h.driver)
	testdb.SetConns(db, conns)
	return db, nil
}

// launched waits for the process to harm itself, and wakes it if it sleeps.
func (h *driven) launched(p *process) {
	h.later.Go(func() {
		select {
		case call := <-p.struck:
			h.struck = append(h.struck, call)
			h.once.Do(func() { close(h.first) })
		case <-p.done:
			return
		}
		again := time.NewTimer(overdue)
		defer again.Stop()
		select {
		case <-again.C:
			p.signal(syscall.SIGCONT)
		case <-p.done:
		}
	})
}

func (h *driven) hit() <-chan struct{} { return h.first }

// drained has nothing to wait for: a call is over when its caller is.
func (h *driven) drained(context.Context) error { return nil }

func (h *driven) close() (struck []string, n int) {
	close(h.closed)
	h.later.Wait()
	for _, c := range h.driver.Struck() {
		struck = append(struck, c.String())
	}
	for _, c := range h.driver.Calls() {
		if counted(c) {
			n++
		}
	}
	return append(struck, h.struck...), n
}

// On SQLite a task is done once, whatever call of its worker's fails, is late
// or is the last.
func TestSQLite(t *testing.T) {
	t.Parallel()
	short(t, sqliteLane, sqliteActions)
}
