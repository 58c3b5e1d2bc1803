package chaos_test

import (
	"syscall"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
)

// standstill: workers stand still for shorter than they may be silent, and for
// longer, and go on. What they assume afterwards is stale, and nobody is harmed.
func standstill(s *scenario) func() {
	s.startWorkers(3)
	return func() {
		for _, w := range s.ws[:2] {
			s.signal(w, syscall.SIGSTOP)
			s.keepFault("stopped")
			s.signal(w, syscall.SIGCONT)
			s.progress()
		}
	}
}

// kills: workers are killed, also one that stands still, and others come.
func kills(s *scenario) func() {
	s.startWorkers(3)
	return func() {
		w := s.replaceWorker()
		s.signal(w, syscall.SIGKILL)
		s.faults["killed"]++
		s.progress()
		w = s.replaceWorker()
		s.signal(w, syscall.SIGSTOP)
		s.keepFault("stopped")
		s.signal(w, syscall.SIGKILL)
		s.faults["killed while stopped"]++
		s.progress()
	}
}

// deploys: workers are replaced one after the other, as a deployment does it. Each
// leaves in time and without an error, what it held goes on elsewhere, and no
// attempt is spent.
func deploys(s *scenario) func() {
	// Nothing here is a takeover, and no batch or call is too long, on a busy machine either.
	s.args.DeadAfter, s.args.Heartbeat, s.args.Batch, s.args.Call = time.Minute, time.Second, 20*time.Second, 20*time.Second
	s.afterAll = func(r *oracle.Report) {
		if n, err := s.count("SELECT count(*) FROM taskkit_task_attempt"); err != nil || n != 0 {
			s.Errorf("%d attempts have failed (%v)", n, err)
		}
		if r.Counts.Dead != 0 {
			s.Errorf("%d workers were declared dead: none was silent", r.Counts.Dead)
		}
	}
	s.startWorkers(3)
	return func() {
		old := s.replaceWorker()
		s.until("it executes a task", func() bool {
			n, err := s.count("SELECT count(*) FROM taskkit_queued_task WHERE workflow_status = 'EXECUTING' AND scheduled_by_process LIKE '" + old.name + "-%'")
			return err == nil && n > 0
		})
		log, err := oracle.OpenLog(s.clients, "operator")
		if err != nil {
			s.Fatal(err)
		}
		defer log.Close()
		call, err := log.Drain()
		if err != nil {
			s.Fatal(err)
		}
		s.signal(old, syscall.SIGTERM)
		select {
		case <-old.gone:
		case <-time.After(testdb.Patience(s.T)):
			s.Fatalf("worker %s has not left after SIGTERM", old.name)
		}
		if err := call.OK(""); err != nil {
			s.Error(err)
		}
		if code := old.ProcessState.ExitCode(); code != 0 {
			s.Errorf("worker %s left with status %d", old.name, code)
		}
		s.faults["left while executing tasks"]++
	}
}

// horizon: a reader keeps its snapshot for the whole scenario, so that nothing of what
// is written meanwhile can be cleaned away: no dead row, on SQLite no page of the
// log.
func horizon(s *scenario) func() {
	s.startWorkers(2)
	conn, err := s.db.Conn(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	begin := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	if s.db.Dialect == dialect.SQLite {
		begin = "BEGIN DEFERRED"
	}
	seen := func() (n int) {
		if err := conn.QueryRowContext(s.Context(), "SELECT count(*) FROM oracle_touch").Scan(&n); err != nil {
			s.Fatal(err)
		}
		return n
	}
	if _, err := conn.ExecContext(s.Context(), begin); err != nil {
		s.Fatal(err)
	}
	was := seen()
	s.afterAll = func(*oracle.Report) {
		if n := seen(); n != was {
			s.Errorf("the reader saw %d rows and sees %d: its snapshot was not kept", was, n)
		}
		if _, err := conn.ExecContext(s.Context(), "ROLLBACK"); err != nil {
			s.Error(err)
		}
		_ = conn.Close()
	}
	return func() {
		s.keepFault("read on")
		s.progress()
	}
}
