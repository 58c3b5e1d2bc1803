package sqlitefault

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Call is one call of the driver.
type Call struct {
	Number int // among all calls, from 1
	Conn   int // the connection, from 1
	Name   string
	SQL    string // "" where there is none
}

// String returns the call as a line of a report.
func (c Call) String() string {
	const most = 80
	sql := strings.Join(strings.Fields(c.SQL), " ")
	if len(sql) > most {
		sql = strings.ToValidUTF8(sql[:most], "") + "..."
	}
	return fmt.Sprintf("call %d (connection %d) %s %q", c.Number, c.Conn, c.Name, sql)
}

// Action is what a [Fault] does.
type Action int

// The actions.
const (
	// FailBefore returns an error; nothing has been done.
	FailBefore Action = iota + 1
	// FailAfter returns an error; all has been done.
	FailAfter
	// BreakBefore is FailBefore, and so are all later calls of the connection.
	// A transaction that is open in it ends when it is closed.
	BreakBefore
	// BreakAfter is FailAfter, and BreakBefore for all later calls.
	BreakAfter
	// BusyBefore returns SQLITE_BUSY; nothing has been done.
	BusyBefore
	// Delay makes the call after Fault.Delay.
	Delay
	// Hook calls Fault.Hook and then makes the call.
	Hook
)

// Fault is one call that goes wrong.
type Fault struct {
	// Number is which of the calls goes wrong, from 1, among those that Match
	// lets count.
	Number int
	// Match lets only calls count for which it returns true; nil lets all.
	Match  func(Call) bool
	Action Action
	Delay  time.Duration
	Hook   func(Call)

	seen int
	hit  chan struct{}
}

// Error is the error of a call that goes wrong. It has the result code that
// SQLite's own errors have.
type Error struct {
	code int
	call Call
}

// Codes of SQLite.
const (
	codeBusy  = 5
	codeIOErr = 10
)

// Error implements error.
func (e *Error) Error() string {
	what := "disk I/O error"
	if e.code == codeBusy {
		what = "database is locked"
	}
	return fmt.Sprintf("%s (planned, at %v)", what, e.call)
}

// Code returns SQLite's result code.
func (e *Error) Code() int { return e.code }

// Injector counts calls and lets them go wrong. It is safe for concurrent use.
type Injector struct {
	mu     sync.Mutex
	faults []*Fault
	conns  int
	calls  []Call
	hits   []Call
}

func newInjector(faults []Fault) *Injector {
	in := &Injector{}
	for _, f := range faults {
		f.seen, f.hit = 0, make(chan struct{})
		in.faults = append(in.faults, &f)
	}
	return in
}

// Calls returns the calls made so far.
func (i *Injector) Calls() []Call {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Call(nil), i.calls...)
}

// Struck returns the calls that went wrong.
func (i *Injector) Struck() []Call {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Call(nil), i.hits...)
}

// Hit returns a channel that is closed when the n-th fault, from 0, strikes:
// before its action begins.
func (i *Injector) Hit(n int) <-chan struct{} { return i.faults[n].hit }

// take counts a call and returns the fault that strikes it, or nil.
func (i *Injector) take(conn int, name, sql string) (Call, *Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := Call{Number: len(i.calls) + 1, Conn: conn, Name: name, SQL: sql}
	i.calls = append(i.calls, c)
	var strikes *Fault
	for _, f := range i.faults {
		if f.Match != nil && !f.Match(c) {
			continue
		}
		if f.seen++; f.seen == f.Number && strikes == nil {
			strikes = f
		}
	}
	if strikes != nil {
		i.hits = append(i.hits, c)
		close(strikes.hit)
	}
	return c, strikes
}
