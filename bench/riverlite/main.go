// Command riverlite measures River on SQLite for package bench, and prints one
// sample as JSON. It is a module of its own because River's SQLite driver is
// published up to v0.43 and does not build with the River of the other module.
//
//	riverlite drain|submit|submitmany|latency N FILE
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "riverlite:", err)
		os.Exit(1)
	}
}

// tiny is a job that does nothing.
type tiny struct {
	Stamp int64 `json:"t"`
}

// Kind implements [river.JobArgs].
func (tiny) Kind() string { return "tiny" }

type worker struct {
	river.WorkerDefaults[tiny]
	ran func(int64)
}

// Work implements [river.Worker].
func (w *worker) Work(_ context.Context, job *river.Job[tiny]) error {
	w.ran(job.Args.Stamp)
	return nil
}

// run measures the mode of the arguments.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: riverlite drain|submit|submitmany|latency N FILE")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 {
		return fmt.Errorf("N is %q: want a number above 0", args[1])
	}
	db, err := sql.Open("sqlite", "file:"+args[2]+
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)")
	if err != nil {
		return fmt.Errorf("open %s: %w", args[2], err)
	}
	db.SetMaxOpenConns(1) // as River's driver requires
	defer db.Close()
	log := slog.New(slog.DiscardHandler)
	m, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: log})
	if err != nil {
		return fmt.Errorf("make River's migrator: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate River: %w", err)
	}
	measure, ok := map[string]func(context.Context, *sql.DB, int) (map[string]float64, error){
		"drain": drain, "latency": latency,
		"submit": func(ctx context.Context, db *sql.DB, n int) (map[string]float64, error) { return submit(ctx, db, n, 1) },
		"submitmany": func(ctx context.Context, db *sql.DB, n int) (map[string]float64, error) {
			return submit(ctx, db, n, page)
		},
	}[args[0]]
	if !ok {
		return fmt.Errorf("there is no mode %q", args[0])
	}
	sample, err := measure(ctx, db, n)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(sample)
}

// page is how many jobs a bulk call queues.
const page = 1000

// client makes a client that works if ran is not nil.
func client(db *sql.DB, c river.Config, ran func(int64)) (*river.Client[*sql.Tx], error) {
	c.Logger = slog.New(slog.DiscardHandler)
	if ran != nil {
		c.Workers = river.NewWorkers()
		river.AddWorker(c.Workers, &worker{ran: ran})
	}
	r, err := river.NewClient(riversqlite.New(db), &c)
	if err != nil {
		return nil, fmt.Errorf("make River's client: %w", err)
	}
	return r, nil
}

// insert queues n jobs in calls of a page.
func insert(ctx context.Context, c *river.Client[*sql.Tx], n int) error {
	for ; n > 0; n -= page {
		params := make([]river.InsertManyParams, min(n, page))
		for i := range params {
			params[i].Args = tiny{}
		}
		if _, err := c.InsertManyFast(ctx, params); err != nil {
			return fmt.Errorf("queue %d jobs: %w", len(params), err)
		}
	}
	return nil
}

// drain measures until n jobs are completed in the database, with the best configuration
// that was found.
func drain(ctx context.Context, db *sql.DB, n int) (map[string]float64, error) {
	var (
		mu  sync.Mutex
		ran int
		all = make(chan struct{})
	)
	c, err := client(db, river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
	}, func(int64) {
		mu.Lock()
		defer mu.Unlock()
		if ran++; ran == n {
			close(all)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := insert(ctx, c, n); err != nil {
		return nil, err
	}
	cpu, began := cpuTime(), time.Now()
	if err := c.Start(ctx); err != nil {
		return nil, fmt.Errorf("start River: %w", err)
	}
	<-all
	for left := true; left; {
		if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM river_job WHERE state <> 'completed')").Scan(&left); err != nil {
			return nil, fmt.Errorf("ask what is left: %w", err)
		}
	}
	took := time.Since(began)
	cpu = cpuTime() - cpu
	return map[string]float64{
		"tasks/s":            float64(n) / took.Seconds(),
		"client CPU us/task": float64(cpu.Microseconds()) / float64(n),
	}, c.Stop(ctx)
}

// submit measures calls, of one job or of a page.
func submit(ctx context.Context, db *sql.DB, calls, size int) (map[string]float64, error) {
	c, err := client(db, river.Config{}, nil)
	if err != nil {
		return nil, err
	}
	if err := insert(ctx, c, 1); err != nil {
		return nil, err
	}
	cpu, began := cpuTime(), time.Now()
	for range calls {
		if size > 1 {
			err = insert(ctx, c, size)
		} else {
			_, err = c.Insert(ctx, tiny{}, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("submit: %w", err)
		}
	}
	took, n := time.Since(began), float64(calls*size)
	cpu = cpuTime() - cpu
	return map[string]float64{"tasks/s": n / took.Seconds(), "client CPU us/task": float64(cpu.Microseconds()) / n}, nil
}

// latency measures from the return of Insert to the job, at 50 a second, with
// River's defaults.
func latency(ctx context.Context, db *sql.DB, n int) (map[string]float64, error) {
	var (
		mu      sync.Mutex
		started = make([]time.Time, n)
		left    = n
		all     = make(chan struct{})
	)
	c, err := client(db, river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}}, func(stamp int64) {
		mu.Lock()
		defer mu.Unlock()
		started[stamp] = time.Now()
		if left--; left == 0 {
			close(all)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, fmt.Errorf("start River: %w", err)
	}
	<-time.After(time.Second) // it is up
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	committed := make([]time.Time, n)
	for i := range n {
		<-tick.C
		if _, err := c.Insert(ctx, tiny{int64(i)}, nil); err != nil {
			return nil, fmt.Errorf("submit: %w", err)
		}
		committed[i] = time.Now()
	}
	<-all
	waits := make([]float64, n)
	for i := range n {
		waits[i] = float64(max(started[i].Sub(committed[i]), 0).Microseconds()) / 1000
	}
	slices.Sort(waits)
	return map[string]float64{"p50 ms": waits[n/2], "p95 ms": waits[n*95/100], "p99 ms": waits[n*99/100]}, c.Stop(ctx)
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
