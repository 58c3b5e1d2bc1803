package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/takeover"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// executorFunc is an executor made of a function.
type executorFunc func(ctx context.Context, b *batch) (taskkit.Next, error)

func (f executorFunc) Execute(ctx context.Context, b *batch) (taskkit.Next, error) { return f(ctx, b) }

// Counters that an executor drives beyond what can be counted stop there: the
// task is not lost for it, and no counter goes down or below zero.
func TestCountsTooMuch(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		id := w.submit("")
		w.work(executorFunc(func(_ context.Context, b *batch) (taskkit.Next, error) {
			b.Advance(math.MaxInt)
			b.Advance(math.MaxInt)
			b.Fail("one", errors.New("one"))
			b.Skip("two", "two")
			b.Total(-1)
			if b.State.Next++; b.State.Next < 4 {
				return taskkit.More, nil
			}
			return taskkit.Done, nil
		}))
		task := w.ended("too much", id)
		if p := task.Progress; task.Status != taskkit.StatusCompleted || p.Failed != 4 || p.Done < 1<<60-10 || p.Skipped != 4 || p.Processed() < p.Done {
			t.Errorf("ended in %s %q with %+v", task.Status, task.StatusDetail, p)
		}
	})
}

// Very many failed items in one batch are all recorded: more than the parameters of
// one statement could be.
func TestFailsMany(t *testing.T) {
	t.Parallel()
	const many = 10_000
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		id := w.submit("")
		w.work(executorFunc(func(_ context.Context, b *batch) (taskkit.Next, error) {
			for i := range many {
				b.Fail(i, fmt.Errorf("no %d", i))
			}
			return taskkit.Done, nil
		}))
		task := w.ended("fails many", id)
		if task.Status != taskkit.StatusCompleted || task.Progress.Failed != many {
			t.Fatalf("ended in %s %.300q with %+v", task.Status, task.StatusDetail, task.Progress)
		}
		seen := 0
		for item, err := range w.client.Items(t.Context(), id, taskkit.OutcomeFailed) {
			if err != nil {
				t.Fatal(err)
			}
			if item.Text() != strconv.Itoa(seen) {
				t.Fatalf("item %d is %s", seen, item.Text())
			}
			seen++
		}
		if seen != many {
			t.Errorf("%d failed items, want %d", seen, many)
		}
	})
}

// rude is a spec whose decoding does what it says.
type rude struct {
	Case string `json:"case"`
}

func (r *rude) UnmarshalJSON(raw []byte) error {
	var s struct {
		Case string `json:"case"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	switch r.Case = s.Case; r.Case {
	case "panic":
		panic("rude")
	case "goexit":
		runtime.Goexit()
	case "error that panics":
		return &planned{}
	}
	return nil
}

type rudeFunc func() (taskkit.Next, error)

func (f rudeFunc) Execute(context.Context, *taskkit.Batch[rude, state]) (taskkit.Next, error) {
	return f()
}

// Code of the user's that runs before a batch, the decoding of a spec and
// Config.Context, cannot cost the worker its slot, though there is but one.
func TestBeforeTheBatch(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		k := taskkit.NewKind(taskkind.Definition[rude, state, struct{}]{Name: "rude"})
		var r taskkit.Registry
		taskkit.Register(&r, k, rudeFunc(func() (taskkit.Next, error) { return taskkit.Done, nil }))
		somebody, panics, leaves := uuid.New(), uuid.New(), uuid.New()
		c := config(slog.New(slog.NewTextHandler(t.Output(), nil)), w.schema)
		c.Slots = 1
		c.Context = func(ctx context.Context, owner, _ uuid.UUID) (context.Context, error) {
			switch owner {
			case panics:
				panic("nobody knows you")
			case leaves:
				runtime.Goexit()
			}
			return ctx, nil
		}
		type want struct {
			status taskkit.Status
			code   string
		}
		wants := make(map[taskkit.ID]want)
		submit := func(name string, owner uuid.UUID, s taskkit.Status, code string) {
			id, err := taskkit.Submit(t.Context(), db, k, rude{name}, taskkit.OwnedBy(owner), taskkit.WithSchema(w.schema))
			if err != nil {
				t.Fatal(err)
			}
			wants[id] = want{s, code}
		}
		submit("panic", somebody, taskkit.StatusError, "undecodable: ")
		submit("goexit", somebody, taskkit.StatusError, "undecodable: ")
		submit("error that panics", somebody, taskkit.StatusError, "undecodable: ")
		submit("", panics, taskkit.StatusFailure, "panic: nobody knows you")
		submit("", leaves, taskkit.StatusFailure, "goexit: ")
		submit("", somebody, taskkit.StatusCompleted, "")
		worker, err := taskkit.NewWorker(t.Context(), db.DB, &r, c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- worker.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("worker: %v", err)
			}
		})
		for id, want := range wants {
			if task := w.ended(want.code, id); task.Status != want.status || !strings.HasPrefix(task.StatusDetail, want.code) {
				t.Errorf("ended in %s %.200q, want %s %q", task.Status, task.StatusDetail, want.status, want.code)
			}
		}
	})
}

// processEnv makes the test binary a worker that poison kills: driver, DSN and
// schema, by lines.
const processEnv = "TASKKIT_TEST_POISON"

// poisoned runs a worker until its standard input ends or poison kills it.
func poisoned(args string) error {
	part := strings.Split(args, "\n")
	db, err := openDB(part[0], part[1])
	if err != nil {
		return err
	}
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register(&r, kind, executorFunc(func(_ context.Context, b *batch) (taskkit.Next, error) {
		if b.Spec.Case == "poison" {
			os.Exit(7)
		}
		return taskkit.Done, nil
	}))
	c := config(slog.New(slog.DiscardHandler), part[2])
	c.Slots, c.MaxAttempts = 2, 3
	worker, err := taskkit.NewWorker(context.Background(), db, &r, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
	}()
	return worker.Run(ctx)
}

// A task that kills its worker whenever it runs ends in ERROR, and those beside
// it are done.
func TestPoison(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		id := w.submit("poison")
		var healthy []taskkit.ID
		for range 10 {
			healthy = append(healthy, w.submit(""))
		}
		driver := "sqlite"
		if db.Dialect == dialect.Postgres {
			driver = "pgx"
		}
		over, ctx := make(chan struct{}), testdb.Within(t)
		var all sync.WaitGroup
		defer all.Wait()
		defer close(over)
		all.Go(func() {
			for {
				cmd := exec.Command(os.Args[0], "-test.run=^$")
				cmd.Env = append(os.Environ(), processEnv+"="+driver+"\n"+db.DSN+"\n"+w.schema)
				stdin, err := cmd.StdinPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Errorf("start a worker process: %v", err)
					return
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case err := <-ended:
					t.Logf("a worker ended: %v", err)
					if err := takeover.Declare(ctx, db, w.schema, system); err != nil {
						t.Error(err)
						return
					}
				case <-over:
					_ = stdin.Close()
					t.Logf("the last worker ended: %v", <-ended)
					return
				}
			}
		})
		task := w.ended("poison", id)
		if task.Status != taskkit.StatusError || !strings.HasPrefix(task.StatusDetail, "crash_loop: ") {
			t.Errorf("ended in %s %q, want ERROR crash_loop", task.Status, task.StatusDetail)
		}
		for _, id := range healthy {
			if task := w.ended("healthy", id); task.Status != taskkit.StatusCompleted {
				t.Errorf("a healthy task ended in %s %q", task.Status, task.StatusDetail)
			}
		}
	})
}
