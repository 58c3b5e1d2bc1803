package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/oracle"
	"taskkit.dev/internal/prove"
	"taskkit.dev/internal/testdb"
	"taskkit.dev/taskkit"
)

// siege is a fleet at work while something goes wrong around it. A client submits
// all the time and notes what it was told; workers write down what they complain
// of. At the end all is healed, every task ends, and the oracle is asked.
type siege struct {
	*fleet
	clients   string // directory of the clients' logs
	submitted int
	unknown   int
	faults    map[string]int // what was done, and how often
}

// sieges is into how many parts the time of the long form goes: about as many
// tests as there are, of which two run at a time.
const sieges = 8

// siegeTime is how long the faults of a test go on: in the short form each comes
// once, however long that takes.
func siegeTime(t *testing.T) (budget time.Duration, long bool) {
	t.Helper()
	budget, long = prove.Budget(t)
	return budget / sieges, long
}

// besiege prepares a fleet. Its workers are still to be launched.
func besiege(t *testing.T, db *testdb.DB) *siege {
	t.Helper()
	if _, long := prove.Budget(t); !long {
		t.Skip("a siege takes minutes: set " + prove.BudgetEnv)
	}
	s := &siege{fleet: newFleet(t, db), clients: t.TempDir(), faults: make(map[string]int)}
	s.args.Slots, s.args.MaxConns, s.args.Logs = 4, 8, t.TempDir()
	s.args.Call = 2 * time.Second
	return s
}

// during submits for as long as fault runs, which does its evil and heals it.
func (s *siege) during(fault func()) {
	s.Helper()
	log, err := oracle.OpenLog(s.clients, "client")
	if err != nil {
		s.Fatal(err)
	}
	over := make(chan struct{})
	var client sync.WaitGroup
	client.Go(func() {
		defer log.Close()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			// More than is at work would only say how long a queue grows.
			if left, err := s.left(); err == nil && left >= 16 {
				continue
			}
			if err := s.submitLogged(log, fmt.Sprint("key", n)); err != nil {
				s.Error(err)
				return
			}
		}
	})
	defer client.Wait()
	defer close(over) // also when the fault ends the test
	s.progress()
	fault()
	s.progress()
}

// submitLogged submits a task, and notes that before and after.
func (s *siege) submitLogged(log *oracle.Log, key string) error {
	const items = 10
	s.mu.Lock()
	spec := walk{From: s.next, Items: items, Pace: 10}
	s.next += items
	s.submitted++
	s.mu.Unlock()
	call, err := log.Submit(oracle.Submission{Kind: "walk", Key: key, Set: []oracle.Range{{First: spec.From, Past: spec.From + items}}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
	defer cancel()
	id, err := taskkit.Submit(ctx, s.db, kindOf(false), spec, taskkit.InSchema(s.args.Schema), taskkit.IdempotencyKey(key))
	if err != nil {
		s.mu.Lock()
		s.unknown++
		s.mu.Unlock()
		return call.Unknown(err)
	}
	return call.OK(id.String())
}

// left is how many tasks have not ended. The database may not answer.
func (s *siege) left() (n int, err error) {
	return s.count("SELECT count(*) FROM taskkit_queued_task WHERE workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')")
}

// count asks for one number, for at most two seconds.
func (s *siege) count(query string, args ...any) (n int, err error) {
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
	defer cancel()
	err = s.db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// progress waits until some items more have been dealt with than at its call.
func (s *siege) progress() {
	s.Helper()
	const touches = "SELECT coalesce(max(id), 0) FROM oracle_touch"
	was := -1
	s.until("items are dealt with", time.Minute, func() bool {
		n, err := s.count(touches)
		if err == nil && was < 0 {
			was = n
		}
		return err == nil && n >= was+20
	})
}

// complaints is how many lines of the workers' logs hold one of these texts; of
// none, how many lines there are.
func (s *siege) complaints(of ...string) (n int) {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.args.Logs, "*.log"))
	if err != nil {
		s.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			s.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			hit := len(of) == 0
			for _, what := range of {
				hit = hit || bytes.Contains(line, []byte(what))
			}
			if hit {
				n++
			}
		}
	}
	return n
}

// lifted waits until every task has ended, asks the oracle, and records the
// counts of the long form under a name. Each fault must have happened.
func (s *siege) lifted(name string, more map[string]any) *oracle.Report {
	s.Helper()
	left := 0
	s.until("every task has ended", 2*time.Minute, func() bool {
		n, err := s.left()
		left = n
		return err == nil && n == 0
	})
	r := s.check(oracle.Options{Logs: s.clients, Ended: true, Call: s.args.Call, Grace: drain + 2*time.Second})
	if len(r.Violations) > 0 {
		s.tellLogs()
	}
	if r.Counts.Acknowledged == 0 || r.Counts.Touches == 0 || len(s.faults) == 0 || left != 0 {
		s.Errorf("nothing was done: %+v, faults %v", r.Counts, s.faults)
	}
	counts := map[string]any{
		"tasks": r.Counts.Tasks, "touches": r.Counts.Touches, "claims": r.Counts.Claims, "takeovers": r.Counts.Reclaims,
		"submits without an answer": s.unknown, "workers' complaints": s.complaints(),
		"uncertain commits": s.complaints("uncertain commit", "group commit failed"),
		"violations":        len(r.Violations) + r.Unlisted,
	}
	for what, n := range s.faults {
		counts[what] = n
		if n == 0 {
			s.Errorf("it never happened: %s", what)
		}
	}
	maps.Copy(counts, more)
	if _, long := prove.Budget(s.T); long {
		prove.Record(s.T, "siege-"+name, counts)
	} else {
		s.Logf("%v", counts)
	}
	return r
}

// tellLogs shows the end of the workers' logs.
func (s *siege) tellLogs() {
	s.Helper()
	files, _ := filepath.Glob(filepath.Join(s.args.Logs, "*.log"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			s.Logf("%s:\n%s", filepath.Base(file), text[max(0, len(text)-4000):])
		}
	}
}

// rounds calls f once, and in the long form for as long as there is time.
func (s *siege) rounds(f func(round int)) {
	s.Helper()
	budget, _ := siegeTime(s.T)
	begin := time.Now()
	for n := 0; n == 0 || time.Since(begin) < budget; n++ {
		f(n)
	}
}

// hold lets a fault stand for a while: it is what is tested, not a way to meet.
func hold(d time.Duration) { <-time.After(d) }
