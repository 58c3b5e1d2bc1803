package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
	"taskkit.dev/taskkit/taskpolicy"
	"taskkit.dev/taskkit/throttle"
)

// owner is the owner of the tasks with causes.
var owner = uuid.MustParse("01890a5d-ac96-474b-bcce-b302099a8057")

// letters says what the executor does.
type letters struct {
	Do     string   `json:"do"`
	People []string `json:"people"`
}

// What the executor does.
const (
	do       = "do"
	fail     = "fail"      // for good
	hold     = "hold"      // until its worker ends
	tryAgain = "try again" // it fails for now
	failOnce = "fail once" // and then it holds
	failItem = "fail item"
	later    = "later"
)

var (
	lettersKind = taskkit.NewKind(taskkind.Definition[letters, none, struct{}]{Name: "letters", BatchSize: 1})
	// otherLetters has stored letters with a spec that lettersKind cannot read, and newLetters a revision that it does not have.
	otherLetters = taskkit.NewKind(taskkind.Definition[numbers, none, struct{}]{Name: "letters"})
	newLetters   = taskkit.NewKind(taskkind.Definition[letters, none, struct{}]{Name: "letters", Revision: 2})
	boxesKind    = taskkit.NewKind(taskkind.Definition[letters, none, struct{}]{Name: "boxes", Segments: true})
)

type lettersExecutor struct{}

func (lettersExecutor) Execute(ctx context.Context, b *taskkit.Batch[letters, none]) (taskkit.Next, error) {
	switch b.Spec.Do {
	case fail:
		return taskkit.Done, taskkit.Permanent("no_paper", errors.New("the printer has no paper\n\ttray 1"))
	case hold:
		<-ctx.Done()
		return taskkit.Done, ctx.Err()
	case failOnce:
		if b.Attempt > 1 {
			<-ctx.Done()
			return taskkit.Done, ctx.Err()
		}
		fallthrough
	case tryAgain:
		return taskkit.Done, errors.New("core banking: 503")
	case later:
		return taskkit.LaterAt(time.Now().Add(time.Hour), "the office is closed"), nil
	}
	people, next := taskkit.Take(b, b.Spec.People)
	for _, p := range people {
		if b.Spec.Do == failItem {
			b.Fail(p, errors.New("has moved"))
		}
	}
	return next, nil
}

// boxesExecutor has two buckets, which do what the spec says.
type boxesExecutor struct{}

func (boxesExecutor) Segments(context.Context, *taskkit.Batch[letters, none]) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(20), Count: 2}.Plan()
}

func (boxesExecutor) Execute(ctx context.Context, b *taskkit.Batch[letters, none]) (taskkit.Next, error) {
	return lettersExecutor{}.Execute(ctx, b)
}

// scene is where one cause is planted: a queue of its own.
type scene struct {
	*testing.T
	*causes
	queue string
	log   lastLines
}

// submitLetters submits a task for three people.
func (s *scene) submitLetters(do string, opts ...taskkit.SubmitOption) taskkit.ID {
	s.Helper()
	return submitTo(s, lettersKind, letters{do, []string{"Ada", "Kurt", "Alan"}}, opts...)
}

func submitTo[Spec, State any](s *scene, k *taskkit.Kind[Spec, State, struct{}], spec Spec, opts ...taskkit.SubmitOption) taskkit.ID {
	s.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.OwnedBy(owner), taskkit.WithSchema(s.schema), taskkit.WithQueue(s.queue)}, opts...)
	id, err := taskkit.Submit(s.Context(), s.DB.DB, k, spec, opts...)
	if err != nil {
		s.Fatal(err)
	}
	return id
}

// work runs a worker for the queue until the scene ends.
func (s *scene) work(change ...func(*taskkit.Config)) {
	s.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, lettersKind, lettersExecutor{})
	taskkit.Register(&r, boxesKind, boxesExecutor{})
	c := taskkit.Config{
		Schema: s.schema, Queues: []string{s.queue}, Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond, Drain: 5 * time.Second,
		Slots: 2, Backoff: time.Millisecond, BackoffMax: time.Millisecond, BatchTimeout: 40 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&c)
	}
	w, err := taskkit.NewWorker(s.Context(), s.DB.DB, &r, c)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("worker: %v", err)
		}
	})
}

// other registers a process that is alive until the scene ends, and does nothing by itself.
func (s *scene) other(change ...func(*store.Process)) store.Process {
	s.Helper()
	p := store.Process{
		ID: "other-20260101T000000.000Z-" + strings.ReplaceAll(uuid.NewString(), "-", ""), Version: "test", Kinds: map[string][]int{"letters": {1}}, Queues: []string{s.queue},
		Slots: 2, DeadAfter: time.Hour, MaxAttempts: 10,
	}
	for _, f := range change {
		f(&p)
	}
	if err := s.store.RegisterWorker(s.Context(), p); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		s.exec("UPDATE taskkit_task_process SET ended_date = started_date, ended_reason = 'left' WHERE id = $1", p.ID)
	})
	return p
}

func (s *scene) exec(query string, args ...any) {
	s.Helper()
	if _, err := s.DB.ExecContext(context.WithoutCancel(s.Context()), query, args...); err != nil {
		s.Fatal(err)
	}
}

// claim lets a process take the only due task of the queue and begin it.
func (s *scene) claim(p store.Process) store.Lease {
	s.Helper()
	r, err := s.store.Claim(s.Context(), store.Claim{Process: p.ID, Queues: p.Queues, Kinds: p.Kinds, Limit: 1})
	if err != nil || len(r.Tasks) != 1 {
		s.Fatalf("claimed %d tasks: %v", len(r.Tasks), err)
	}
	t := r.Tasks[0]
	s.apply(p, &store.Write{Lease: t.Lease, To: lifecycle.Executing, Attempts: t.Attempts})
	return t.Lease
}

func (s *scene) apply(p store.Process, w *store.Write) {
	s.Helper()
	if a, err := s.store.Apply(s.Context(), p.ID, []*store.Write{w}); err != nil || !a[0].OK {
		s.Fatalf("a write of %s was not applied: %v", p.ID, err)
	}
}

// silence lets a process be silent for longer than it may.
func (s *scene) silence(p store.Process) {
	s.Helper()
	s.exec("UPDATE taskkit_task_process SET last_heartbeat_date = '2020-01-01 00:00:00.000' WHERE id = $1", p.ID)
}

// lose lets workers that have begun the task be lost at its second item, so often.
func (s *scene) lose(times int) {
	s.Helper()
	for i := range times {
		p := s.other()
		l := s.claim(p)
		if i == 0 { // it has passed the first item
			s.apply(p, &store.Write{
				Lease: l, To: lifecycle.Executing, Begun: true, Checkpoint: true, Revision: 1, State: []byte("{}"),
				Progress: lifecycle.Progress{Total: 3, Done: 1, Position: 1},
			})
			l.Seq++
			s.apply(p, &store.Write{Lease: l, To: lifecycle.Queued})
			s.claim(p)
		}
		s.silence(p)
		if r, err := s.store.Reap(s.Context(), nil); err != nil || len(r.Released) != 1 {
			s.Fatalf("%d tasks released: %v", len(r.Released), err)
		}
	}
}

// plants make a task with a cause, or one that will soon have it.
var plants = map[taskcause.Cause]func(*scene) taskkit.ID{
	taskcause.Done: func(s *scene) taskkit.ID { s.work(); return s.submitLetters(do) },
	taskcause.Stopped: func(s *scene) taskkit.ID {
		s.work()
		id := s.submitLetters(later)
		s.until(id, taskcause.Later)
		_, err := s.client.Stop(s.Context(), id, taskkit.WithActor(owner), taskkit.WithReason("not needed"))
		s.must(err)
		return id
	},
	taskcause.Failed: func(s *scene) taskkit.ID { s.work(); return s.submitLetters(fail) },
	taskcause.CrashLoop: func(s *scene) taskkit.ID {
		id := s.submitLetters(do)
		s.lose(2)
		s.work(func(c *taskkit.Config) { c.MaxAttempts = 2 })
		return id
	},
	taskcause.NotRun: func(s *scene) taskkit.ID { s.work(); return submitTo(s, otherLetters, numbers{Buckets: 3}) },

	taskcause.Running: func(s *scene) taskkit.ID { s.work(); return s.begun(s.submitLetters(hold)) },
	taskcause.Requested: func(s *scene) taskkit.ID {
		s.work()
		id := s.begun(s.submitLetters(hold))
		_, err := s.client.Stop(s.Context(), id, taskkit.WithActor(owner), taskkit.WithReason("wrong people"))
		s.must(err)
		return id
	},
	taskcause.TriedAgain: func(s *scene) taskkit.ID { s.work(); return s.submitLetters(failOnce) },
	taskcause.WorkersLost: func(s *scene) taskkit.ID {
		id := s.submitLetters(hold)
		s.lose(3)
		s.work()
		return s.begun(id)
	},
	taskcause.WorkerSilent: func(s *scene) taskkit.ID {
		id := s.submitLetters(hold)
		p := s.other()
		s.claim(p)
		s.silence(p)
		return id
	},
	taskcause.WorkerEnded: func(s *scene) taskkit.ID {
		id := s.submitLetters(hold)
		p := s.other()
		s.claim(p)
		s.exec("UPDATE taskkit_task_process SET ended_date = last_heartbeat_date, ended_reason = '"+store.EndedAbsent+"' WHERE id = $1", p.ID)
		return id
	},

	taskcause.Paused: func(s *scene) taskkit.ID {
		id := s.submitLetters(do)
		_, err := s.client.Pause(s.Context(), id, taskkit.WithActor(owner), taskkit.WithReason("lunch"))
		s.must(err)
		return id
	},
	taskcause.Approval:   func(s *scene) taskkit.ID { s.work(); return s.submitLetters(do, taskkit.WithCanary(2)) },
	taskcause.StopPolicy: func(s *scene) taskkit.ID { s.work(); return s.submitLetters(failItem, taskkit.WithStopAfter("1")) },
	taskcause.Rule: func(s *scene) taskkit.ID {
		s.work()
		return s.submitLetters(failItem, taskkit.WithStrategy(taskpolicy.Strategy{{Do: taskpolicy.PauseTask}}))
	},
	taskcause.ChildFailed: func(s *scene) taskkit.ID {
		s.work()
		return submitTo(s, boxesKind, letters{Do: fail}, taskkit.WithChildFailure(taskkit.PauseParent), taskkit.WithMaxParallel(1))
	},

	taskcause.Start: func(s *scene) taskkit.ID { s.work(); return s.submitLetters(do, taskkit.WithDelay(time.Hour)) },
	taskcause.Later: func(s *scene) taskkit.ID { s.work(); return s.submitLetters(later) },
	taskcause.Retry: func(s *scene) taskkit.ID {
		s.work(func(c *taskkit.Config) { c.Backoff, c.BackoffMax = time.Hour, time.Hour })
		return s.submitLetters(tryAgain)
	},
	taskcause.Window: func(s *scene) taskkit.ID {
		s.work()
		now := time.Now().UTC()
		return s.submitLetters(do, taskkit.WithWindow(fmt.Sprintf("%s-%s UTC", now.Add(2*time.Hour).Format("15:04"), now.Add(3*time.Hour).Format("15:04"))))
	},
	taskcause.Rate: func(s *scene) taskkit.ID { s.work(); return s.submitLetters(do, taskkit.WithMaxRate(0.01)) },
	taskcause.Throttled: func(s *scene) taskkit.ID {
		s.work(func(c *taskkit.Config) {
			c.Throttle.Interval = 30 * time.Second
			c.Throttle.Indicators = []throttle.Indicator{{Name: "mails", Check: func(context.Context) (string, error) { return "12 wait", nil }}}
		})
		return s.submitLetters(do)
	},
	taskcause.Limit: func(s *scene) taskkit.ID {
		s.work()
		s.begun(s.submitLetters(hold, taskkit.WithLimit("bank", 1)))
		return s.submitLetters(do, taskkit.WithLimit("bank", 1))
	},
	taskcause.Children: func(s *scene) taskkit.ID { s.work(); return submitTo(s, boxesKind, letters{Do: hold}) },
	taskcause.QueuePaused: func(s *scene) taskkit.ID {
		s.work()
		s.must(taskops.New(s.client).PauseQueue(s.Context(), s.queue, taskkit.WithActor(owner), taskkit.WithReason("upgrade")))
		return s.submitLetters(do)
	},

	taskcause.NoWorker: func(s *scene) taskkit.ID { return s.submitLetters(do) },
	taskcause.Draining: func(s *scene) taskkit.ID {
		s.must(s.store.Heartbeat(s.Context(), s.other().ID, true))
		return s.submitLetters(do)
	},
	taskcause.SafeMode: func(s *scene) taskkit.ID {
		s.work(func(c *taskkit.Config) { c.SafeMode = true })
		return s.submitLetters(do)
	},
	taskcause.UnknownKind:     func(s *scene) taskkit.ID { s.work(); return submitTo(s, oneKind, numbers{}) },
	taskcause.UnknownRevision: func(s *scene) taskkit.ID { s.work(); return submitTo(s, newLetters, letters{}) },
	taskcause.QueueNotServed: func(s *scene) taskkit.ID {
		s.work(func(c *taskkit.Config) { c.Queues = []string{"day"} })
		return s.submitLetters(do)
	},
	taskcause.SlotsBusy: func(s *scene) taskkit.ID {
		s.work(func(c *taskkit.Config) { c.Slots, c.ClaimMax = 1, 1 })
		s.begun(s.submitLetters(hold))
		s.submitLetters(do) // which the worker may have claimed before the slot was busy
		return s.submitLetters(do)
	},
	taskcause.Due: func(s *scene) taskkit.ID { s.other(); return s.submitLetters(do) },
}

// must fails the test for an error.
func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// begun waits until a worker executes a task, and returns its id.
func (s *scene) begun(id taskkit.ID) taskkit.ID {
	s.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		t, err := s.client.Task(s.Context(), id)
		s.must(err)
		if t.Status == taskkit.StatusExecuting {
			return id
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.Context().Done():
		}
	}
	s.Fatal("no worker executes the task")
	return id
}

// lastLines is the log of a worker.
type lastLines struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

// Write implements io.Writer.
func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

// of returns the last line about a task that says more than that it was claimed; without one, the last warning.
func (l *lastLines) of(id taskkit.ID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, warning := "", "-"
	for text := range strings.Lines(l.lines.String()) {
		_, text, _ = strings.Cut(strings.TrimSpace(text), "level=")
		switch {
		case strings.Contains(text, "no presence lock"), strings.Contains(text, "released the tasks of lost workers"): // of other scenes
		case strings.Contains(text, "task="+id.String()):
			found = text
		case strings.HasPrefix(text, "WARN"):
			warning = text
		}
	}
	if found == "" {
		return warning
	}
	return found
}
