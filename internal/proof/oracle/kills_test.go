package oracle_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// workerEnv makes the test binary a worker process: its value is a workerArgs.
const workerEnv = "TASKKIT_ORACLE_WORKER"

type workerArgs struct {
	Dialect dialect.Name
	DSN     string
	Schema  string
	Name    string
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(workerEnv); raw != "" {
		if err := workerProcess(raw); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testdb.LeakMain(m)
}

// chaosConfig is the workers' configuration, in which a minute is a second.
func chaosConfig(a workerArgs) taskkit.Config {
	return taskkit.Config{
		Schema: a.Schema, SystemID: a.Name, Slots: 4,
		Heartbeat: 100 * time.Millisecond, DeadAfter: time.Second, BatchTimeout: 750 * time.Millisecond,
		BatchTarget: 200 * time.Millisecond, Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 10, Drain: 5 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	}
}

// workerProcess runs a worker until its parent kills it or is gone, which closes
// its standard input.
func workerProcess(raw string) error {
	var a workerArgs
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	driver := "sqlite"
	if a.Dialect == dialect.Postgres {
		driver = "pgx"
	}
	db, err := sql.Open(driver, a.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	testdb.SetConns(db, 10)
	o, err := oracle.New(oracle.Dialect(a.Dialect), a.Schema)
	if err != nil {
		return err
	}
	var reg taskkit.Registry
	taskkit.Register(&reg, workKind(), &toucher{o: o, worker: a.Name, stubborn: 40 * time.Millisecond})
	w, err := taskkit.NewWorker(context.Background(), db, &reg, chaosConfig(a))
	if err != nil {
		return err
	}
	return w.Run(context.Background())
}

// chaos is a run in which worker processes are killed and stopped while clients
// submit and ask.
type chaos struct {
	*testing.T
	db     *testdb.DB
	args   workerArgs
	logs   string
	client *taskkit.Client
	until  time.Time
	long   bool

	mu       sync.Mutex
	next     int64
	launched int
	kills    int
	stops    int
}

// Workers are killed, and stopped for shorter and for longer than they may be
// silent. No promise is broken, and the oracle has seen takeovers. The long form
// runs for as long as TASKKIT_PROVE says.
func TestKilledWorkers(t *testing.T) {
	t.Parallel()
	budget, long := prove.Budget(t)
	if !long {
		budget = 3 * time.Second
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		o, schema := watched(t, db)
		c := &chaos{
			T: t, db: db, logs: t.TempDir(), until: time.Now().Add(budget), long: long,
			args:   workerArgs{Dialect: db.Dialect, DSN: db.DSN, Schema: schema},
			client: taskkit.NewClient(db, taskkit.WithSchema(schema)),
		}
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() { c.disturb(n) })
		}
		for n := range 2 {
			all.Go(func() { c.submitAndAsk(n) })
		}
		all.Wait()
		// Whoever is left finishes.
		c.launch("last")
		c.finish()

		config := chaosConfig(c.args)
		opts := oracle.Options{Logs: c.logs, Ended: true, MaxAttempts: config.MaxAttempts, BatchTimeout: config.BatchTimeout}
		if !long {
			opts.Slack = time.Minute // a machine that runs other tests too is no measure of time
		}
		r := check(t, db, o, opts)
		t.Logf("%v: %d kills, %d stops of %d processes", budget, c.kills, c.stops, c.launched)
		if err := r.Print(t.Output()); err != nil {
			t.Error(err)
		}
		for _, v := range r.Violations {
			t.Error(v)
		}
		if n := r.Counts; long {
			prove.Record(t, "kills-"+db.Short(), map[string]any{
				"kills": c.kills, "stops": c.stops, "processes": c.launched, "declared dead": n.Dead,
				"tasks": n.Tasks, "claims": n.Claims, "takeovers": n.Reclaims, "checkpoints": n.Checkpoints, "touches": n.Touches,
				"requests": n.Asked, "slowest takeover after it was due, ms": n.SlowestTakeover.Milliseconds(), "slowest stop, ms": n.SlowestStop.Milliseconds(),
				"violations": len(r.Violations) + r.Unlisted,
			})
		}
		if r.Counts.Acknowledged == 0 || r.Counts.Reclaims == 0 || r.Counts.Dead == 0 || c.kills == 0 || c.stops == 0 {
			t.Errorf("nothing was taken over: %+v", r.Counts)
		}
	})
}

// launch starts a worker process. It is killed at the end of the test.
func (c *chaos) launch(name string) *exec.Cmd {
	c.mu.Lock()
	c.launched++
	a := c.args
	a.Name = fmt.Sprintf("%s%d", name, c.launched)
	c.mu.Unlock()
	raw, err := json.Marshal(a)
	if err != nil {
		c.Error(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), workerEnv+"="+string(raw))
	cmd.Stderr = c.Output()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.Errorf("start a worker process: %v", err)
		return cmd
	}
	c.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// disturb keeps one worker process, until the time is over: it lets it work,
// stops it or kills it, and begins anew.
func (c *chaos) disturb(n int) {
	dice := rand.New(rand.NewPCG(1, uint64(n)))
	cmd := c.launch(fmt.Sprintf("w%d.", n))
	for !c.over() {
		wait(300*time.Millisecond + some(dice, 700*time.Millisecond))
		if cmd.Process == nil {
			return
		}
		if dice.IntN(2) == 0 {
			if cmd.Process.Kill() == nil {
				_ = cmd.Wait()
				c.count(&c.kills)
			}
			cmd = c.launch(fmt.Sprintf("w%d.", n))
			continue
		}
		if cmd.Process.Signal(syscall.SIGSTOP) == nil {
			c.count(&c.stops)
			wait(100*time.Millisecond + some(dice, 2*time.Second))
			_ = cmd.Process.Signal(syscall.SIGCONT)
		}
	}
}

// over reports whether the time is over. The short form also goes on until a worker
// has been killed, one has been stopped, and others have taken over: on a busy machine
// that may take longer than its time.
func (c *chaos) over() bool {
	if time.Now().Before(c.until) {
		return false
	}
	if c.long || time.Since(c.until) > testdb.Patience(c.T) {
		return true
	}
	c.mu.Lock()
	harmed := c.kills > 0 && c.stops > 0
	c.mu.Unlock()
	return harmed && c.number(`SELECT count(*) FROM oracle_history
WHERE op = 'UPDATE' AND old_status = 'EXECUTING' AND new_status = 'QUEUED' AND new_reason = 'its worker was lost'`) > 0
}

func (c *chaos) count(n *int) {
	c.mu.Lock()
	*n++
	c.mu.Unlock()
}

// wait lets time pass: it is what is tested, not a way to meet.
func wait(d time.Duration) { <-time.After(d) }

// some is a part of a duration.
func some(dice *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(dice.Int64N(int64(d)))
}

// submitAndAsk is a client that submits, and requests stops, pauses and the like of what it has
// submitted, until the time is over.
func (c *chaos) submitAndAsk(n int) {
	log, err := oracle.OpenLog(c.logs, fmt.Sprintf("client%d", n))
	if err != nil {
		c.Error(err)
		return
	}
	defer log.Close()
	dice := rand.New(rand.NewPCG(2, uint64(n)))
	var ids []taskkit.ID
	for i := 0; !c.over(); i++ {
		// More than the workers can do would only say how long a queue grows.
		for c.left() > 40 && !c.over() {
			wait(20 * time.Millisecond)
		}
		id, err := c.submit(log, fmt.Sprintf("%d-%d", n, i), 20+dice.Int64N(400), []string{"", "", "transient", "permanent"}[dice.IntN(4)])
		if err != nil {
			c.Error(err)
			return
		}
		if id == (taskkit.ID{}) {
			continue
		}
		ids = append(ids, id)
		if dice.IntN(3) == 0 {
			name := []string{"stop", "pause", "resume", "retry", "delete"}[dice.IntN(5)]
			if err := c.request(log, name, ids[dice.IntN(len(ids))]); err != nil {
				c.Error(err)
				return
			}
		}
		wait(some(dice, 60*time.Millisecond))
	}
}

// submit submits a task of entities of its own. The id is zero when it is not
// known whether there is one.
func (c *chaos) submit(log *oracle.Log, key string, items int64, trouble string) (taskkit.ID, error) {
	c.mu.Lock()
	spec := workSpec{From: c.next, Items: items, Trouble: trouble}
	c.next += items
	c.mu.Unlock()
	call, err := log.Submit(oracle.Submission{Kind: "work", Key: key, Set: []oracle.Range{{First: spec.From, Past: spec.From + items}}})
	if err != nil {
		return taskkit.ID{}, err
	}
	id, err := taskkit.Submit(c.Context(), c.db, workKind(), spec, taskkit.WithSchema(c.args.Schema), taskkit.WithIdempotencyKey(key), taskkit.System())
	if err != nil {
		// As when the file's only write lock is with a process that was stopped.
		c.Logf("submit: %v", err)
		return taskkit.ID{}, call.Unknown(err)
	}
	return id, call.OK(id.String())
}

// request asks something of a task, which may be refused.
func (c *chaos) request(log *oracle.Log, name string, id taskkit.ID) error {
	call, err := log.Control(name, id.String())
	if err != nil {
		return err
	}
	do := map[string]func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error){
		"stop": c.client.Stop, "pause": c.client.Pause, "resume": c.client.Resume, "retry": c.client.Retry, "delete": c.client.Delete,
	}[name]
	_, err = do(c.Context(), id)
	_, refused := errors.AsType[*taskkit.StateError](err)
	switch {
	case err == nil:
		return call.OK(id.String())
	case refused || errors.Is(err, taskkit.ErrNotFound):
		return call.Refused(err)
	default:
		c.Logf("%s: %v", name, err)
		return call.Unknown(err)
	}
}

// left is how many tasks wait or run.
func (c *chaos) left() int {
	return c.number(`SELECT count(*) FROM taskkit_queued_task
WHERE workflow_status IN ('SCHEDULING', 'EXECUTING') OR workflow_status = 'QUEUED' AND control <> 'PAUSE'`)
}

// number asks the database for a number.
func (c *chaos) number(query string) (n int) {
	if err := c.db.QueryRowContext(c.Context(), query).Scan(&n); err != nil {
		c.Errorf("%s: %v", query, err)
	}
	return n
}

// finish waits until every task has ended or is paused.
func (c *chaos) finish() {
	c.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testdb.Patience(c.T))
	for c.left() > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			c.Errorf("after %v %d tasks have not ended", testdb.Patience(c.T), c.left())
			return
		}
	}
}
