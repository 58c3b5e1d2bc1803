package chaos_test

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

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// scenario is a harness whose workers run while faults are injected around them. A
// client submits all the time and logs the responses; workers log their warnings. At
// the end every fault is removed, every task must end, and the oracle checks.
type scenario struct {
	*harness
	over     time.Time // when no new round begins
	clients  string    // directory of the clients' logs
	clientDB *sql.DB   // the clients' handle, where it is not the oracle's
	rng      *rand.Rand
	turn     int
	ws       []*worker
	faults   map[string]int // what was done, and how often
	unknown  int
	// stopWithin, if any, is how long a request may stand in the long form.
	stopWithin time.Duration
	// beforeEnd, if any, is called when the faults are over.
	beforeEnd func()
	afterAll  func(*oracle.Report)
}

// setUp prepares a scenario. Its workers are not started yet.
func setUp(t *testing.T, db *testdb.DB, seed uint64) *scenario {
	t.Helper()
	s := &scenario{
		harness: newHarness(t, db), clients: t.TempDir(), clientDB: db.DB,
		rng: rand.New(rand.NewPCG(3, seed)), faults: make(map[string]int),
	}
	s.turn = s.rng.IntN(2)
	s.args.Slots, s.args.MaxConns, s.args.Logs = 4, 8, t.TempDir()
	if s.long {
		s.args.Call = 2 * time.Second
	}
	return s
}

// startWorkers starts workers that must survive the scenario.
func (s *scenario) startWorkers(n int, change ...func(*workerArgs)) {
	s.Helper()
	for range n {
		s.ws = append(s.ws, s.launch(change...))
	}
}

// replaceWorker starts a worker in the place of the oldest, which is about to end,
// and returns the old one. The new one has registered: a worker that cannot use the
// database when it starts, because the machine is too busy, ends with an error, and another is started.
func (s *scenario) replaceWorker() *worker {
	s.Helper()
	old, w := s.ws[0], s.launch()
	s.ws = append(s.ws[1:], w)
	s.until("the new worker has registered", func() bool {
		select {
		case <-w.gone:
			s.Logf("worker %s ended before it had registered", w.name)
			w = s.launch()
			s.ws[len(s.ws)-1] = w
		default:
		}
		n, err := s.count("SELECT count(*) FROM taskkit_task_process WHERE id LIKE '" + w.name + "-%'")
		return err == nil && n > 0
	})
	return old
}

// during submits for as long as fault runs, which injects its fault and removes it. The
// client does what a good one does: a task of which it does not know whether it
// is there is submitted again, with its key, until it knows.
func (s *scenario) during(fault func()) {
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
	s.until("all workers have registered", func() bool {
		n, err := s.count("SELECT count(*) FROM taskkit_task_process")
		return err == nil && n >= len(s.ws)
	})
	s.progress()
	fault()
	s.progress()
}

// next10 is the next ten items.
func (s *scenario) next10() walk {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec := walk{From: s.next, Items: 10, Delay: 10}
	s.next += spec.Items
	return spec
}

// submitLogged submits a task, and notes that before and after. It reports whether
// the task is known to be there.
func (s *scenario) submitLogged(log *oracle.Log, key string, spec walk) (known bool, err error) {
	call, err := log.Submit(oracle.Submission{Kind: "walk", Key: key, Set: []oracle.Range{{First: spec.From, Past: spec.From + spec.Items}}})
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
	defer cancel()
	opts := append(spec.options(s.args.Schema), taskkit.WithIdempotencyKey(key))
	id, err := taskkit.Submit(ctx, s.clientDB, kindOf(false), spec, opts...)
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
func (s *scenario) left() (n int, err error) {
	return s.count("SELECT count(*) FROM taskkit_queued_task WHERE workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')")
}

// count asks for one number, for at most two seconds.
func (s *scenario) count(query string, args ...any) (n int, err error) {
	ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
	defer cancel()
	err = s.db.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// progress waits until some items more have been processed than at its call.
func (s *scenario) progress() {
	s.Helper()
	was := -1
	s.until("items are processed", func() bool {
		n, err := s.count("SELECT coalesce(max(id), 0) FROM oracle_touch")
		if err == nil && was < 0 {
			was = n
		}
		return err == nil && n >= was+20
	})
}

// keepFault lets a fault last, alternately shorter and longer than DeadAfter, and
// counts it. The short form has the short ones only.
func (s *scenario) keepFault(what string) {
	d := s.args.DeadAfter/8 + time.Duration(s.rng.Int64N(int64(s.args.DeadAfter/2)))
	if s.turn++; s.turn%2 == 0 && s.long {
		d += s.args.DeadAfter
		what += ", for longer than DeadAfter"
	}
	pause(d)
	s.faults[what]++
}

// pause lets a fault last for a while. The duration is what is tested; nothing is
// waited for.
func pause(d time.Duration) { <-time.After(d) }

// rounds calls f once, and in the long form for as long as there is time.
func (s *scenario) rounds(f func()) (n int) {
	s.Helper()
	for n == 0 || time.Now().Before(s.over) {
		f()
		n++
	}
	return n
}

// warnings is how many lines of the workers' logs contain one of these texts, or
// how many lines there are if no text is given.
func (s *scenario) warnings(of ...string) (n int) {
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
func (s *scenario) logs() map[string][]byte {
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

// finish waits until every task has ended and lets the oracle check. Each fault must
// have happened, and each worker that nobody has ended must be alive.
func (s *scenario) finish() *oracle.Report {
	s.Helper()
	if s.beforeEnd != nil {
		s.beforeEnd()
	}
	s.until("every task has ended", func() bool {
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
	opts := oracle.Options{Logs: s.clients, Ended: true, Call: s.args.Call, Grace: drain + 2*time.Second}
	if s.long {
		opts.StopWithin = s.stopWithin
	}
	r := s.check(opts)
	// The answer to each submission may have been lost.
	if r.Counts.Acknowledged+r.Counts.Completed == 0 || r.Counts.Touches == 0 || len(s.faults) == 0 {
		s.Errorf("nothing was done: %+v, faults %v", r.Counts, s.faults)
	}
	if s.afterAll != nil {
		s.afterAll(r)
	}
	return r
}

// printLogs prints the end of the workers' logs.
func (s *scenario) printLogs() {
	s.Helper()
	for name, text := range s.logs() {
		s.Logf("%s:\n%s", name, text[max(0, len(text)-4000):])
	}
}
