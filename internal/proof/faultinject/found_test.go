package faultinject_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/faultinject/sqlitefault"
	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/testdb"
)

// known reports whether an outcome shows nothing but what PostgreSQL before 17 has
// no limit for: a client that fell silent in the middle of a statement. The task is
// stuck, or another session waits for the same lock although its client has gone.
// Such runs are counted as known failures, and fail no test.
func (o outcome) known() bool {
	_, ok := errors.AsType[*stuckError](o.err)
	ok = ok || errors.Is(o.err, faultproxy.ErrOpen)
	silenced := slices.ContainsFunc(o.plan.faults, func(f fault) bool { return f.action == silence })
	return ok && silenced && slices.ContainsFunc(o.struck, halfStatement.MatchString)
}

// halfStatement is a message to the server in the middle of a statement, or of
// statements that are sent together. When a client falls silent there, what came
// before has been executed and holds its locks, and none of PostgreSQL's limits is
// running: the session is not idle, and a statement's time is not checked while a
// message is waited for. Only transaction_timeout
// (PostgreSQL 17) or the death of the TCP connection, which a proxy keeps alive,
// ends it. A client sends these messages in one piece, so that it takes a
// statement longer than a packet to be cut here.
var halfStatement = regexp.MustCompile(`, in a series\) \w+ to server`)

// A claim takes effect, and its answer is lost. The worker lives on; the task
// must be done all the same.
func TestClaimUnanswered(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		l := newEnv(t, db)
		l.harmed = healthyLimits // it must claim before it is lost
		l.harm = func(*plan) (harm, error) { return unansweredClaim(db) }
		out := l.run(t.Context(), &plan{faults: []fault{{1, cutAfter}}, sure: true})
		if out.err != nil || len(out.struck) != 1 {
			t.Errorf("%v\nstruck: %s\n%s", out.err, out.struck, out.log)
		}
	})
}

// unansweredClaim loses the answer to the first claim that finds something.
func unansweredClaim(db *testdb.DB) (harm, error) {
	const claims = "SET workflow_status = 'SCHEDULING'"
	if db.Dialect == dialect.Postgres {
		h := &proxied{first: make(chan struct{}), ready: make(chan struct{})}
		return h, h.begin(db.DSN, []faultproxy.Fault{{
			Number: 1, Direction: faultproxy.ToServer, Action: faultproxy.CutAfter,
			Match: executed(claims),
		}})
	}
	claiming := 0 // the connection that claims
	h := &driven{dsn: db.DSN, first: make(chan struct{}), closed: make(chan struct{})}
	return h, h.begin([]sqlitefault.Fault{{
		Number: 1, Action: sqlitefault.BreakAfter,
		Match: func(c sqlitefault.Call) bool {
			if strings.Contains(c.SQL, claims) {
				claiming = c.Conn
			}
			return c.Conn == claiming && strings.EqualFold(c.SQL, "commit")
		},
	}})
}

// executed is the condition for the Sync of a statement's execution, which
// commits it where there is no transaction.
func executed(part string) func(faultproxy.Message) bool {
	bound := make(map[int]bool) // connections that are about to execute it
	return func(m faultproxy.Message) bool {
		if m.Direction != faultproxy.ToServer || !strings.Contains(m.SQL, part) {
			return false
		}
		if m.Name == "Bind" {
			bound[m.Conn] = true
		}
		return m.Name == "Sync" && bound[m.Conn]
	}
}

// batchCommit is the condition for the COMMIT of a batch.
func batchCommit() func(faultproxy.Message) bool {
	touched := make(map[int]bool) // connections whose transaction has touched
	return func(m faultproxy.Message) bool {
		if strings.Contains(m.SQL, "INTO oracle_touch") || strings.Contains(m.SQL, ".oracle_touch") {
			touched[m.Conn] = true
		}
		return touched[m.Conn] && m.IsCommit()
	}
}

// A worker is killed, and the one whose reaper declares it dead falls silent
// before it hears of that. The next worker must take the task over all the same.
func TestReaperFallsSilent(t *testing.T) {
	t.Parallel()
	l := postgresLane(t)
	id, err := l.submit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	// The first worker holds the task: it is killed in its first batch. On a busy machine it
	// may give up before that, and the next one has more time.
	slower := 1
	for late := time.After(testdb.Patience(t)); !killedInBatch(t, l, log, slower); slower = min(2*slower, 16) {
		select {
		case <-late:
			t.Fatalf("no worker has come as far as its first batch\n%s", log)
		default:
		}
	}

	// The second one's reaper has found it dead, and is heard of no more.
	silent := &proxied{first: make(chan struct{}), ready: make(chan struct{})}
	if err := silent.begin(l.db.DSN, []faultproxy.Fault{{
		Number: 1, Action: faultproxy.Silence,
		Match: func(m faultproxy.Message) bool {
			return m.Direction == faultproxy.ToClient && m.Name == "DataRow" && strings.HasPrefix(m.SQL, "WITH gone")
		},
	}}); err != nil {
		t.Fatal(err)
	}
	db, err := silent.open()
	if err != nil {
		t.Fatal(err)
	}
	patient := harmedLimits
	patient.deadAfter = healthyLimits.deadAfter // it lives until its reaper has run, on a slow machine too
	second := l.here(db, "harmed", 1, patient, true, log)
	select {
	case <-silent.hit():
	case <-time.After(testdb.Patience(t)):
		t.Fatalf("no reaper has found the killed worker\n%s", log)
	}
	third := l.here(l.db.DB, "healthy", 1, healthyLimits, true, log)
	if err := l.wait(t.Context(), id, &plan{}, idle{}, nil, func() {}); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	if err := errors.Join(second.stop(), third.stop(), db.Close()); err != nil {
		t.Error(err)
	}
	_, _ = silent.close()
	if err := l.verify(t.Context(), id, &outcome{}); err != nil {
		t.Error(err)
	}
}

// killedInBatch runs a worker process that is killed before it commits its first batch, and reports
// whether it came so far.
func killedInBatch(t *testing.T, l *env, log *logBuffer, slower int) bool {
	t.Helper()
	killed := &proxied{first: make(chan struct{}), ready: make(chan struct{})}
	if err := killed.begin(l.db.DSN, []faultproxy.Fault{{
		Number: 1, Match: batchCommit(), Action: faultproxy.Hook,
		Hook: func(faultproxy.Message) { <-killed.ready; _ = killed.proc.cmd.Process.Kill() },
	}}); err != nil {
		t.Fatal(err)
	}
	proc, err := launch(killed.args(workerArgs{Dialect: l.db.Dialect, Schema: l.schema, Name: "harmed", Slower: slower}), log)
	if err != nil {
		t.Fatal(err)
	}
	killed.launched(proc)
	<-proc.done
	struck, _ := killed.close()
	return len(struck) > 0
}

// bothHit is a harm whose second fault strikes after its first.
type bothHit struct{ *proxied }

func (h bothHit) hit() <-chan struct{} { return h.proxy.Hit(1) }

// A worker falls silent in a heartbeat, while it is busy with
// a batch. Another must take the task over.
func TestHeartbeatFallsSilent(t *testing.T) {
	t.Parallel()
	l := postgresLane(t)
	// It must start, claim and begin a batch within its limits, with nobody to help it.
	const slower = 4
	l.harmed = harmedLimits.times(slower)
	l.harm = func(*plan) (harm, error) {
		h := &proxied{first: make(chan struct{}), ready: make(chan struct{})}
		var touching atomic.Bool
		touches := executed("oracle_touch")
		return bothHit{h}, h.begin(l.db.DSN, []faultproxy.Fault{
			{Number: 1, Action: faultproxy.Delay, Delay: slower * overdue, Match: func(m faultproxy.Message) bool { // the batch is long
				is := touches(m)
				touching.Store(touching.Load() || is)
				return is
			}},
			{Number: 1, Action: faultproxy.Silence, Match: func(m faultproxy.Message) bool {
				return touching.Load() && m.Name == "CommandComplete" && strings.Contains(m.SQL, "SET last_heartbeat_date")
			}},
		})
	}
	if out := l.run(t.Context(), &plan{faults: []fault{{1, delay}, {1, silence}}, sure: true}); out.err != nil || len(out.struck) != 2 {
		t.Errorf("%v\nstruck: %s\n%s", out.err, out.struck, out.log)
	}
}
