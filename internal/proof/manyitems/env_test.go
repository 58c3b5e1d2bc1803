package manyitems_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// sizeEnv is the number of items in the place of the usual one.
const sizeEnv = "TASKKIT_ITEMS"

// Health of a person.
const (
	well = "well"
	ill  = "ill"
)

// sizes are the two numbers of items that a test runs with, the smaller one first: a
// tenth of the other. The long form has 1,000,000, if its budget is half a minute.
func sizes(t *testing.T) (both []int64, long bool) {
	t.Helper()
	budget, long := prove.Budget(t)
	n := int64(20_000)
	switch {
	case budget >= 30*time.Second:
		n = 1_000_000
	case long:
		n = 100_000
	}
	if s := os.Getenv(sizeEnv); s != "" {
		var err error
		if n, err = strconv.ParseInt(s, 10, 64); err != nil || n < 10_000 || n%10_000 != 0 {
			t.Fatalf("%s is %q: it must be a multiple of 10,000", sizeEnv, s)
		}
	}
	return []int64{n / 10, n}, long
}

// env is a database with people and the oracle, and the processes of a test.
type env struct {
	*testing.T
	db     *testdb.DB
	o      *oracle.Oracle
	args   processArgs
	client *taskkit.Client

	workers  []*worker
	launched int
	pauses   chan pausePoint
	peak     float64 // of the workers that have ended
}

// pausePoint is a multiple of PauseEvery at which a worker waits.
type pausePoint struct {
	at int64
	w  *worker
}

// newEnv makes a database with n people, some of whom are ill or away.
func newEnv(t *testing.T, open func(testing.TB, ...testdb.Option) *testdb.DB, n int64, health string) *env {
	t.Helper()
	db := open(t)
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(t.Context(), db.DB, schema); err != nil {
		t.Fatal(err)
	}
	o, err := oracle.New(oracle.Dialect(db.Dialect), schema)
	if err == nil {
		err = o.Install(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := &env{
		T: t, db: db, o: o, client: taskkit.NewClient(db.DB, taskkit.WithSchema(schema)),
		args:   processArgs{Dialect: db.Dialect, DSN: db.DSN, Schema: schema, Batch: int(min(max(n/200, 20), 500))},
		pauses: make(chan pausePoint, 100),
	}
	e.args.DeadAfter = time.Second
	if _, long := prove.Budget(t); long {
		e.args.DeadAfter = 4 * time.Second
	}
	series := "generate_series(1::bigint, $1::bigint) AS n(id)"
	if db.Dialect == dialect.SQLite {
		series = "(WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < $1) SELECT id FROM n) n"
	}
	e.exec("CREATE TABLE person (id bigint PRIMARY KEY, health text NOT NULL, changed integer NOT NULL)")
	e.exec("INSERT INTO person SELECT id, "+health+", 0 FROM "+series, n)
	if db.Dialect == dialect.Postgres {
		e.exec("ANALYZE person")
	}
	return e
}

func (e *env) exec(query string, args ...any) {
	e.Helper()
	if _, err := e.db.ExecContext(e.Context(), query, args...); err != nil {
		e.Fatalf("%s: %v", query, err)
	}
}

// number asks for one number.
func (e *env) number(query string, args ...any) (n int64) {
	e.Helper()
	if err := e.db.QueryRowContext(e.Context(), query, args...).Scan(&n); err != nil {
		e.Fatalf("%s: %v", query, err)
	}
	return n
}

// worker is a worker process.
type worker struct {
	*exec.Cmd
	on    io.WriteCloser
	exit  chan *os.ProcessState
	ended bool // what exit had to say has been received
}

// launch starts a worker process. It is killed when the test ends.
func (e *env) launch() {
	e.Helper()
	a := e.args
	e.launched++
	a.Name = fmt.Sprint("w", e.launched)
	w := &worker{Cmd: e.process(&a), exit: make(chan *os.ProcessState, 1)}
	var err error
	w.on, err = w.StdinPipe()
	out, outErr := w.StdoutPipe()
	if err != nil || outErr != nil {
		e.Fatal(err, outErr)
	}
	if err := w.Start(); err != nil {
		e.Fatalf("start a worker process: %v", err)
	}
	go func() { w.exit <- w.tell(out, e.pauses) }()
	e.workers = append(e.workers, w)
	e.Cleanup(func() {
		_ = w.Process.Kill()
		for !w.ended {
			select {
			case <-e.pauses: // nobody else reads them
			case <-w.exit:
				w.ended = true
			}
		}
		_ = w.on.Close()
	})
}

// tell sends the pause points of a worker until it ends, and returns how it did.
func (w *worker) tell(out io.Reader, pauses chan<- pausePoint) *os.ProcessState {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
			pauses <- pausePoint{at, w}
		}
	}
	_ = w.Wait()
	return w.ProcessState
}

// process is this program as another process.
func (e *env) process(a *processArgs) *exec.Cmd {
	e.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		e.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")                     //nolint:gosec // it is this test
	cmd.Env = append(os.Environ(), processEnv+"="+string(raw), "GOGC=") // its memory is measured
	cmd.Stderr = e.Output()
	return cmd
}

// kill kills a worker with SIGKILL, and starts another in its place.
func (e *env) kill(w *worker) {
	e.Helper()
	e.peak = max(e.peak, peakMB(w.Process.Pid))
	if err := w.Process.Signal(syscall.SIGKILL); err != nil {
		e.Fatal(err)
	}
	<-w.exit
	w.ended = true
	e.launch()
}

// peaks is the most memory that a worker has had.
func (e *env) peaks() float64 {
	for _, w := range e.workers {
		if !w.isGone() {
			e.peak = max(e.peak, peakMB(w.Process.Pid))
		}
	}
	return e.peak
}

// isGone reports whether the worker has ended, after it said that it waits.
func (w *worker) isGone() bool {
	select {
	case <-w.exit:
		w.ended = true
	default:
	}
	return w.ended
}

// letOn lets the batch of a worker go on. It may have been killed.
func (w *worker) letOn() { _, _ = io.WriteString(w.on, "\n") }

// call makes one call in a process of its own.
func (e *env) call(a processArgs) answer {
	e.Helper()
	var got answer
	out, err := e.process(&a).Output()
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		e.Fatalf("call %s: %v: %s", a.Call, err, out)
	}
	return got
}

// submit submits a task over the people 1 to n.
func (e *env) submit(n int64, spec peopleSpec) answer {
	e.Helper()
	a := e.args
	a.Call, a.Last, a.Spec = "submit", n, spec
	return e.call(a)
}

// follow continues or retries a task.
func (e *env) follow(call string, id taskkit.ID) answer {
	e.Helper()
	a := e.args
	a.Call, a.Task = call, id
	return e.call(a)
}

// ended waits for the end of a task. atPause is called for each pause point at which a worker
// waits, once for each, and must let it go on or kill it.
func (e *env) ended(id taskkit.ID, atPause func(m pausePoint)) (*taskkit.Task, time.Duration) {
	e.Helper()
	began, ctx, seen := time.Now(), testdb.Within(e.T), make(map[int64]bool)
	if _, long := prove.Budget(e.T); long {
		ctx = e.Context() // it takes as long as it takes
	}
	done := make(chan waited, 1)
	go func() { done <- e.wait(ctx, id) }()
	for {
		select {
		case m := <-e.pauses:
			if m.w.isGone() || seen[m.at] || atPause == nil { // its batch was rolled back
				m.w.letOn()
				continue
			}
			seen[m.at] = true
			atPause(m)
		case w := <-done:
			if w.err != nil {
				e.Fatalf("wait for task %s: %v", id, w.err)
			}
			return w.task, time.Since(began)
		}
	}
}

// waited is what Wait returned.
type waited struct {
	task *taskkit.Task
	err  error
}

func (e *env) wait(ctx context.Context, id taskkit.ID) (w waited) {
	w.task, w.err = e.client.Wait(ctx, id, nil)
	return w
}

// rows calls f for each row of a query.
func (e *env) rows(f func(*sql.Rows) error, query string, args ...any) {
	e.Helper()
	rows, err := e.db.QueryContext(e.Context(), query, args...)
	if err != nil {
		e.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			e.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		e.Fatal(err)
	}
}

// each calls f with the number and the outcome of each item of a task with one of these
// outcomes.
func (e *env) each(id taskkit.ID, f func(person int64, o taskkit.Outcome), outcomes ...taskkit.Outcome) {
	e.Helper()
	for _, o := range outcomes {
		for i, err := range e.client.Items(e.Context(), id, o) {
			var person int64
			if err == nil {
				person, err = strconv.ParseInt(strings.TrimSpace(string(i.Key)), 10, 64)
			}
			if err != nil {
				e.Fatalf("the %s items of task %s: %v", o, id, err)
			}
			f(person, o)
		}
	}
}
