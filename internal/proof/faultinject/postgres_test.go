package faultinject_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/testdb"
)

// postgresActions are those that a plan on PostgreSQL may hold.
var postgresActions = []action{cutBefore, cutAfter, delay, silence, terminate, stop, kill}

// proxied is the harm that a proxy does.
type proxied struct {
	proxy *faultproxy.Proxy
	dsn   string
	ready chan struct{} // closed when proc is set
	proc  *process
	later sync.WaitGroup
	once  sync.Once
	first chan struct{}
}

// postgresLane makes a env with a schema of its own.
func postgresLane(tb testing.TB) *env {
	tb.Helper()
	l := newEnv(tb, testdb.Postgres(tb, testdb.MaxConns(8)))
	l.harm = func(p *plan) (harm, error) { return l.throughProxy(p) }
	return l
}

func (l *env) throughProxy(p *plan) (*proxied, error) {
	h := &proxied{ready: make(chan struct{}), first: make(chan struct{})}
	var faults []faultproxy.Fault
	for _, f := range p.faults {
		if f.action == none {
			continue
		}
		faults = append(faults, l.onProxy(h, f))
	}
	return h, h.begin(l.db.DSN, faults)
}

// begin starts the proxy.
func (h *proxied) begin(dsn string, faults []faultproxy.Fault) (err error) {
	if h.proxy, h.dsn, err = faultproxy.Through(dsn, faults); err != nil {
		return err
	}
	for i := range faults {
		h.later.Go(func() {
			select {
			case <-h.proxy.Hit(i):
				h.once.Do(func() { close(h.first) })
			case <-h.proxy.Closed():
			}
		})
	}
	return nil
}

// onProxy translates a fault of a plan.
func (l *env) onProxy(h *proxied, f fault) faultproxy.Fault {
	out := faultproxy.Fault{Number: f.number, Action: faultproxy.Hook}
	switch f.action {
	case cutBefore:
		out.Action = faultproxy.CutBefore
	case cutAfter:
		out.Action = faultproxy.CutAfter
	case silence:
		out.Action = faultproxy.Silence
	case delay:
		out.Action, out.Delay = faultproxy.Delay, overdue
	case terminate:
		out.Hook = func(m faultproxy.Message) {
			if m.Backend != 0 {
				// A session that has ended by itself is as good.
				_, _ = l.db.Exec("SELECT pg_terminate_backend($1, 2000)", int64(m.Backend))
			}
		}
	case kill:
		out.Hook = func(faultproxy.Message) {
			<-h.ready
			h.proc.signal(syscall.SIGKILL)
		}
	case stop:
		// Past the death of its worker, and every other time also past the
		// end that the server makes of an idle transaction.
		d := overdue
		if f.number%2 == 0 {
			d += harmedLimits.batch + time.Second
		}
		out.Hook = func(faultproxy.Message) {
			<-h.ready
			h.proc.signal(syscall.SIGSTOP)
			h.later.Go(func() {
				again := time.NewTimer(d)
				defer again.Stop()
				<-again.C
				h.proc.signal(syscall.SIGCONT)
			})
		}
	case none, failBefore, failAfter, breakBefore, breakAfter, busyBefore: // no proxy's
		panic("no proxy can do this: " + f.action)
	}
	return out
}

func (h *proxied) args(a workerArgs) workerArgs {
	a.DSN = h.dsn
	return a
}

func (h *proxied) open() (*sql.DB, error) { return openFor(workerArgs{DSN: h.dsn}) }

func (h *proxied) launched(p *process) {
	h.proc = p
	close(h.ready)
}

func (h *proxied) hit() <-chan struct{} { return h.first }

func (h *proxied) drained(ctx context.Context) error { return h.proxy.Wait(ctx) }

func (h *proxied) close() (struck []string, n int) {
	_ = h.proxy.Close() // of its listener: there is nothing left to lose
	h.later.Wait()
	for _, m := range h.proxy.Struck() {
		struck = append(struck, fmt.Sprint(m))
	}
	return struck, h.proxy.Count()
}

// On PostgreSQL a task is done once, whatever message of its worker's is lost,
// late or the last.
func TestPostgres(t *testing.T) {
	t.Parallel()
	short(t, postgresLane, postgresActions)
}
