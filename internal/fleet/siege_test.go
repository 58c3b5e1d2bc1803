package fleet_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
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

// patience is how long it may take until what must happen has happened: not a bound
// that is promised, but the end of a hang.
const patience = 3 * time.Minute

// siege is a fleet at work while something goes wrong around it. A client submits
// all the time and notes what it was told; workers write down what they complain
// of. At the end all is healed, every task ends, and the oracle is asked.
type siege struct {
	*fleet
	long     bool
	over     time.Time // when no new round begins
	clients  string    // directory of the clients' logs
	through  *sql.DB   // the clients' way to the database, where it is not that of the oracle
	dice     *rand.Rand
	stood    int
	ws       []*worker
	faults   map[string]int // what was done, and how often
	unknown  int
	afterAll func(*oracle.Report)
}

// besiege prepares a fleet. Its workers are still to be launched.
func besiege(t *testing.T, db *testdb.DB, seed uint64) *siege {
	t.Helper()
	_, long := prove.Budget(t)
	s := &siege{
		fleet: newFleet(t, db), long: long, clients: t.TempDir(), through: db.DB,
		dice: rand.New(rand.NewPCG(3, seed)), faults: make(map[string]int),
	}
	s.stood = s.dice.IntN(2)
	s.args.Slots, s.args.MaxConns, s.args.Logs = 4, 8, t.TempDir()
	s.args.Call = 2 * time.Second
	return s
}

// garrison launches the workers that are to outlive the siege.
func (s *siege) garrison(n int, change ...func(*workerArgs)) {
	s.Helper()
	for range n {
		s.ws = append(s.ws, s.launch(change...))
	}
}

// relieve replaces the oldest worker, which is about to go, and returns it. The new
// one has enrolled: one that cannot use the database when it starts ends, and says
// so.
func (s *siege) relieve() *worker {
	s.Helper()
	old, w := s.ws[0], s.launch()
	s.ws = append(s.ws[1:], w)
	s.until("the new worker has enrolled", patience, func() bool {
		n, err := s.count("SELECT count(*) FROM taskkit_task_process WHERE id LIKE '" + w.name + "-%'")
		return err == nil && n > 0
	})
	return old
}

// during submits for as long as fault runs, which does its evil and heals it. The
// client does what a good one does: a task of which it does not know whether it
// is there is submitted again, with its key, until it knows.
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
		n, known := 0, true
		var spec walk
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if known {
				// More than is at work would only say how long a queue grows.
				if left, err := s.left(); err == nil && left >= 16 {
					continue
				}
				n++
				spec = s.next10()
			}
			var err error
			if known, err = s.submitLogged(log, fmt.Sprint("key", n), spec); err != nil {
				s.Error(err)
				return
			}
		}
	})
	defer client.Wait()
	defer close(over) // also when the fault ends the test
	s.until("all workers have enrolled", patience, func() bool {
		n, err := s.count("SELECT count(*) FROM taskkit_task_process")
		return err == nil && n >= len(s.ws)
	})
	s.progress()
	fault()
	s.progress()
}

// next10 is the next ten items.
func (s *siege) next10() walk {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec := walk{From: s.next, Items: 10, Pace: 10}
	s.next += spec.Items
	return spec
}

// submitLogged submits a task, and notes that before and after. It reports whether
// the task is known to be there.
func (s *siege) submitLogged(log *oracle.Log, key string, spec walk) (known bool, err error) {
	call, err := log.Submit(oracle.Submission{Kind: "walk", Key: key, Set: []oracle.Range{{First: spec.From, Past: spec.From + spec.Items}}})
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
	defer cancel()
	id, err := taskkit.Submit(ctx, s.through, kindOf(false), spec, taskkit.InSchema(s.args.Schema), taskkit.IdempotencyKey(key))
	if _, there := errors.AsType[*taskkit.DuplicateError](err); there {
		return true, call.Duplicate()
	}
	if err != nil {
		s.mu.Lock()
		s.unknown++
		s.mu.Unlock()
		return false, call.Unknown(err)
	}
	return true, call.OK(id.String())
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
	was := -1
	s.until("items are dealt with", patience, func() bool {
		n, err := s.count("SELECT coalesce(max(id), 0) FROM oracle_touch")
		if err == nil && was < 0 {
			was = n
		}
		return err == nil && n >= was+20
	})
}

// stand lets a fault stand, by turns for less time than a worker may be silent and
// for more, and counts it. The short form has the short ones only.
func (s *siege) stand(what string) {
	d := s.args.DeadAfter/8 + time.Duration(s.dice.Int64N(int64(s.args.DeadAfter/2)))
	if s.stood++; s.stood%2 == 0 && s.long {
		d += s.args.DeadAfter
		what += ", for longer than the lease"
	}
	hold(d)
	s.faults[what]++
}

// hold lets a fault stand for a while: it is what is tested, not a way to meet.
func hold(d time.Duration) { <-time.After(d) }

// rounds calls f once, and in the long form for as long as there is time.
func (s *siege) rounds(f func()) (n int) {
	s.Helper()
	for n == 0 || time.Now().Before(s.over) {
		f()
		n++
	}
	return n
}

// complaints is how many lines of the workers' logs hold one of these texts; of
// none, how many lines there are.
func (s *siege) complaints(of ...string) (n int) {
	s.Helper()
	for _, text := range s.logs() {
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

// logs are the workers' logs.
func (s *siege) logs() map[string][]byte {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.args.Logs, "*.log"))
	if err != nil {
		s.Fatal(err)
	}
	out := make(map[string][]byte)
	for _, file := range files {
		if out[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			s.Fatal(err)
		}
	}
	return out
}

// lifted waits until every task has ended, and asks the oracle. Each fault must
// have happened, and each worker that nobody has ended must live.
func (s *siege) lifted() *oracle.Report {
	s.Helper()
	s.until("every task has ended", patience, func() bool {
		n, err := s.left()
		return err == nil && n == 0
	})
	for _, w := range s.ws {
		select {
		case <-w.gone:
			s.Errorf("worker %s has ended with status %d, and nobody asked it to", w.name, w.ProcessState.ExitCode())
		default:
		}
	}
	r := s.check(oracle.Options{Logs: s.clients, Ended: true, Call: s.args.Call, Grace: drain + 2*time.Second})
	if r.Counts.Acknowledged == 0 || r.Counts.Touches == 0 || len(s.faults) == 0 {
		s.Errorf("nothing was done: %+v, faults %v", r.Counts, s.faults)
	}
	if s.afterAll != nil {
		s.afterAll(r)
	}
	return r
}

// tellLogs shows the end of the workers' logs.
func (s *siege) tellLogs() {
	s.Helper()
	for name, text := range s.logs() {
		s.Logf("%s:\n%s", name, text[max(0, len(text)-4000):])
	}
}
