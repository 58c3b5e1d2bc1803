package fleet_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"taskkit.dev/internal/oracle"
	"taskkit.dev/internal/testdb"
)

// Workers stand still for shorter than they may be silent, and for longer, and
// go on. What they believe afterwards is old, and nobody is harmed.
func TestSiegeStandstill(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := besiege(t, db)
		s.args.DeadAfter = 1500 * time.Millisecond
		ws := []*worker{s.launch(), s.launch()}
		s.during(func() {
			s.rounds(func(n int) {
				w := ws[n%2]
				for what, d := range map[string]time.Duration{
					"stopped for less than the lease": s.args.DeadAfter / 3,
					"stopped for more than the lease": s.args.DeadAfter + time.Second,
				} {
					s.signal(w, syscall.SIGSTOP)
					hold(d)
					s.signal(w, syscall.SIGCONT)
					s.faults[what]++
					s.progress()
				}
			})
		})
		s.lifted("standstill-"+short(db), nil)
	})
}

// Workers are replaced one after the other, as a deployment does it. Each leaves
// in time and without an error, what it held goes on elsewhere, and no attempt is
// spent.
func TestSiegeDeploys(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := besiege(t, db)
		s.args.DeadAfter = 30 * time.Second // nothing here is a takeover
		s.args.Heartbeat = time.Second
		log, err := oracle.OpenLog(s.clients, "operator")
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		ws := []*worker{s.launch(), s.launch(), s.launch()}
		slowest := time.Duration(0)
		s.faults["left with tasks in hand"] = 0
		s.during(func() {
			s.rounds(func(int) {
				for range ws {
					old := ws[0]
					ws = append(ws[1:], s.launch())
					s.until("it has a task in hand", time.Minute, func() bool {
						n, err := s.count("SELECT count(*) FROM taskkit_queued_task WHERE workflow_status = 'EXECUTING' AND scheduled_by_process LIKE '" + old.name + "-%'")
						return err == nil && n > 0
					})
					call, err := log.Drain()
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					s.signal(old, syscall.SIGTERM)
					select {
					case <-old.gone:
					case <-time.After(time.Minute):
						t.Fatalf("worker %s has not left a minute after SIGTERM", old.name)
					}
					slowest = max(slowest, time.Since(began))
					if err := call.OK(""); err != nil {
						t.Error(err)
					}
					if code := old.ProcessState.ExitCode(); code != 0 {
						t.Errorf("worker %s left with status %d", old.name, code)
					}
					s.faults["left with tasks in hand"]++
				}
			})
		})
		r := s.lifted("deploys-"+short(db), map[string]any{"slowest leave": fmt.Sprint(slowest.Round(time.Millisecond))})
		if n, err := s.count("SELECT count(*) FROM taskkit_task_attempt"); err != nil || n != 0 {
			t.Errorf("%d attempts have failed (%v)", n, err)
		}
		if r.Counts.Dead != 0 {
			t.Errorf("%d workers were declared dead: none was silent", r.Counts.Dead)
		}
	})
}
