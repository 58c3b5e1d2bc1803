package chaos_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
)

// The connection on which workers listen, and hold their presence locks, is cut again and again
// under load, at default settings. No worker that can connect again within a second is
// declared dead: the long form cuts 1,000 times, if there is time, and checks that; a machine that runs
// other tests too may be too slow to connect. Then all connections of a worker are cut
// for longer, so that it may be declared dead although it runs, which does no harm.
func TestListenerCut(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	seed := uint64(time.Now().UnixNano()) & 0xffff
	s := setUp(t, db, seed)
	s.args.Defaults = true
	listening, all := s.gate(), s.gate()
	s.startWorkers(2, func(a *workerArgs) { a.ListenDSN = listening.dsn })
	s.startWorkers(1, func(a *workerArgs) { a.DSN = all.dsn })
	over, longer := s.within(6, 1000), 1
	if s.long {
		longer = 40
	}
	s.during(func() {
		for n := 0; !over(n); n++ {
			before := s.locks()
			switch n % 5 {
			case 0:
				listening.refuseFor("refused for less than a second", s.between(0, 900*time.Millisecond))
			case 1:
				listening.silentFor(s.between(0, 900*time.Millisecond))
			default:
				s.terminateListeners()
			}
			s.untilRelocked(before, 2)
		}
		if n := s.declaredDead(); n > 0 && s.long {
			s.Errorf("%d workers were declared dead although they ran", n)
		}
		for range longer {
			all.refuseFor("all refused for longer", s.between(time.Second, 5*time.Second))
			s.untilPresent(len(s.ws))
		}
	})
	s.until("all tasks have ended", func() bool {
		n, err := s.left()
		return err == nil && n == 0
	})
	r := s.check(oracle.Options{Logs: s.clients, Ended: true})
	falsely := s.declaredDead()
	t.Logf("seed %d: %v; %d false takeovers after longer cuts; %d touches", seed, s.faults, falsely, r.Counts.Touches)
	if s.long {
		prove.Record(t, "listener-cuts", map[string]any{
			"faults": s.faults, "false takeovers after longer cuts": falsely, "touches": r.Counts.Touches, "violations": len(r.Violations),
		})
	}
}

// between draws a duration.
func (s *scenario) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.rng.Int64N(int64(most-least)))
}

// refuseFor ends all connections through the gate, and accepts none for a while.
func (g *gate) refuseFor(what string, d time.Duration) {
	g.s.Helper()
	g.proxy.Stop()
	pause(d)
	g.open()
	g.s.faults[what]++
}

// silentFor loses what is sent through the gate for a while, and then ends its connections.
func (g *gate) silentFor(d time.Duration) {
	g.s.Helper()
	g.addToxic(lost, up)
	g.addToxic(lost, down)
	pause(d)
	g.removeToxics()
	g.s.faults["silent for less than a second"]++
}

// heldLocks selects the presence locks of live workers that sessions hold, and their sessions.
const heldLocks = ` FROM pg_locks l, taskkit_task_process p
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND (l.classid::bigint << 32) | l.objid::bigint = p.presence_lock AND p.ended_date IS NULL`

// terminateListeners has the server end the sessions that hold presence locks.
func (s *scenario) terminateListeners() {
	s.Helper()
	n, err := s.count("SELECT count(pg_terminate_backend(l.pid))" + heldLocks)
	if err != nil || n < len(s.ws) {
		s.Fatalf("%d sessions of listeners were ended, %v", n, err)
	}
	s.faults["listeners terminated"] += n
}

// locks returns the presence locks that are held now, when all workers hold one.
func (s *scenario) locks() map[int64]bool {
	s.Helper()
	locks := map[int64]bool{}
	s.until("all workers hold their locks", func() bool {
		clear(locks)
		rows, err := s.db.QueryContext(s.Context(), "SELECT p.presence_lock"+heldLocks)
		if err != nil {
			return false
		}
		defer rows.Close()
		for rows.Next() {
			var lock int64
			if err := rows.Scan(&lock); err != nil {
				return false
			}
			locks[lock] = true
		}
		return rows.Err() == nil && len(locks) == len(s.ws)
	})
	return locks
}

// untilRelocked waits until all workers hold locks, and so many of them other ones than before.
func (s *scenario) untilRelocked(before map[int64]bool, n int) {
	s.Helper()
	s.until("the workers hold other locks", func() bool {
		others := 0
		for lock := range s.locks() {
			if !before[lock] {
				others++
			}
		}
		return others >= n
	})
}

// declaredDead counts the workers that were declared dead. All of them run.
func (s *scenario) declaredDead() int {
	s.Helper()
	n, err := s.count("SELECT count(*) FROM taskkit_task_process WHERE ended_reason <> 'left'")
	if err != nil {
		s.Fatal(err)
	}
	return n
}
