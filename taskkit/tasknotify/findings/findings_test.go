package findings_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasknotify"
	"taskkit.dev/taskkit/tasknotify/findings"
	"taskkit.dev/taskkit/taskops"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// inbox is a target that keeps the events of one finding, of planted by default.
type inbox struct {
	id     string
	mu     sync.Mutex
	events []notice.Event
}

const planted = "approval_waits"

func (x *inbox) Deliver(_ context.Context, m *tasknotify.Message) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.Code == cmp.Or(x.id, planted) {
		x.events = append(x.events, m.Event)
	}
	return nil
}

func (x *inbox) all() []notice.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.events)
}

type spec struct{}

var letter = taskkit.NewKind(taskkind.Definition[spec, spec, struct{}]{Name: "letter", Queue: "mail"})

// failing rolls back the first batches, after what they have stored.
type failing struct {
	taskkit.Executor[findings.Spec, struct{}]
	mu   sync.Mutex
	left int
}

func (x *failing) Execute(ctx context.Context, b *taskkit.Batch[findings.Spec, struct{}]) (taskkit.Next, error) {
	next, err := x.Executor.Execute(ctx, b)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil && x.left > 0 {
		x.left--
		return next, errors.New("planned")
	}
	return next, err
}

// env is a database with an inbox.
type env struct {
	*testing.T
	*testdb.DB
	schema string
	inbox  *inbox
	doctor taskdoctor.Options
	fails  int // batches of each worker that are rolled back
}

func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	e := &env{T: t, DB: db, schema: db.Schema, inbox: new(inbox)}
	if e.schema == "" {
		e.schema = taskkit.DefaultSchema
	}
	e.doctor.Schema, e.doctor.Approval = e.schema, time.Nanosecond
	return e
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *env) client() *taskkit.Client {
	return taskkit.NewClient(e.DB.DB, taskkit.WithSchema(e.schema))
}

// worker runs a worker until the function that it returns is called.
func (e *env) worker() (stop func()) {
	e.Helper()
	var r taskkit.Registry
	e.must(tasknotify.Register(&r, tasknotify.Config{DB: e.DB.DB, Schema: e.schema, Targets: map[string]tasknotify.Target{"ops": e.inbox}}))
	x, err := findings.NewExecutor(findings.Config{DB: e.DB.DB, Doctor: e.doctor})
	e.must(err)
	taskkit.Register(&r, findings.Kind, &failing{Executor: x, left: e.fails})
	w, err := taskkit.NewWorker(e.Context(), e.DB.DB, &r, taskkit.Config{
		Schema: e.schema, Slots: 4, SystemID: "test", Heartbeat: time.Second, DeadAfter: time.Minute, BatchTimeout: 40 * time.Second, Poll: 20 * time.Millisecond,
		PollListening: 100 * time.Millisecond, Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(e.Output(), nil)),
	})
	e.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.Errorf("the worker: %v", err)
		}
	})
}

// examine runs the doctor so many times at once, and waits until all notifications were delivered.
func (e *env) examine(times int) {
	e.Helper()
	for range times {
		_, err := taskkit.Submit(e.Context(), e.DB.DB, findings.Kind, findings.Spec{Targets: []string{"ops"}}, taskkit.System(), taskkit.WithSchema(e.schema))
		e.must(err)
	}
	ctx := testdb.Within(e)
	for {
		tasks, _, err := e.client().Tasks(ctx, taskkit.Filter{Kinds: []string{findings.Kind.Name(), notice.Kind}, Limit: 1000})
		e.must(err)
		if !slices.ContainsFunc(tasks, func(t *taskkit.Task) bool { return !t.Ended() }) {
			for _, t := range tasks {
				if t.Status != taskkit.StatusCompleted {
					e.Errorf("%s ended as %s: %s", t.Kind, t.Status, t.StatusDetail)
				}
			}
			return
		}
		select {
		case <-ctx.Done():
			e.Fatal("the doctor or its notifications never ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// want compares the notifications of the planted finding.
func (e *env) want(when string, want ...notice.Event) {
	e.Helper()
	if got := e.inbox.all(); !slices.Equal(got, want) {
		e.Errorf("%s: notified of %v, want %v", when, got, want)
	}
}

// A finding is notified of once when it opens and once when it is over, although workers come and go, batches are rolled back after they have stored the
// notification, and several tasks run at once.
func TestMID59Findings(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		id, err := taskkit.Submit(t.Context(), db.DB, letter, spec{}, taskkit.System(), taskkit.WithSchema(e.schema), taskkit.WithApproval())
		e.must(err)
		e.fails = 3
		stop := e.worker()
		defer func() { stop() }()
		e.examine(8)
		e.want("open", notice.FindingOpened)
		stop()
		stop = e.worker()
		e.examine(2)
		e.want("after a restart", notice.FindingOpened)
		_, err = e.client().Stop(t.Context(), id)
		e.must(err)
		e.examine(8)
		e.want("over", notice.FindingOpened, notice.FindingClosed)
		_, err = taskkit.Submit(t.Context(), db.DB, letter, spec{}, taskkit.System(), taskkit.WithSchema(e.schema), taskkit.WithApproval())
		e.must(err)
		e.examine(1)
		e.want("open again", notice.FindingOpened, notice.FindingClosed, notice.FindingOpened)
	})
}

// A finding of a check that could not read, or that a program does not make, is not over.
func TestMID59UnknownCheck(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	e := newEnv(t, db)
	e.must(taskkit.Migrate(t.Context(), db.DB, e.schema))
	var (
		mu   sync.Mutex
		find = []taskdoctor.Finding{{ID: planted, Severity: taskdoctor.Warning, Text: "Planted.", Fix: "Nothing."}}
		fail error
	)
	e.doctor.Checks = []taskdoctor.Check{{Name: "mail", Read: func(context.Context, *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(find), fail
	}}}
	stop := e.worker()
	defer func() { stop() }()
	e.examine(1)
	e.want("open", notice.FindingOpened)
	stop()
	own := e.doctor.Checks
	e.doctor.Checks = nil
	stop = e.worker()
	e.examine(1)
	e.want("examined by a program without the check", notice.FindingOpened)
	stop()
	e.doctor.Checks = own
	stop = e.worker()
	set := func(found []taskdoctor.Finding, err error) {
		mu.Lock()
		defer mu.Unlock()
		find, fail = found, err
	}
	set(nil, errors.New("the mail server does not answer"))
	e.examine(1)
	e.want("unknown", notice.FindingOpened)
	set(nil, nil)
	e.examine(1)
	e.want("over", notice.FindingOpened, notice.FindingClosed)
}

// A finding of Options.Config is over when a program with a Config no longer finds it. A program without one neither opens nor closes it.
func TestMID59ConfigFinding(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	e := newEnv(t, db)
	e.must(taskkit.Migrate(t.Context(), db.DB, e.schema))
	e.inbox.id = "config_refused"
	refused := &taskkit.Config{Schema: e.schema, Heartbeat: time.Minute, DeadAfter: time.Second}
	for _, step := range []struct {
		when   string
		config *taskkit.Config
		want   []notice.Event
	}{
		{"a program without a Config", nil, nil},
		{"a Config that is refused", refused, []notice.Event{notice.FindingOpened}},
		{"a program without a Config, while it is open", nil, []notice.Event{notice.FindingOpened}},
		{"the refused Config again", refused, []notice.Event{notice.FindingOpened}},
		{"a Config that is accepted", &taskkit.Config{Schema: e.schema}, []notice.Event{notice.FindingOpened, notice.FindingClosed}},
	} {
		e.doctor.Config = step.config
		stop := e.worker()
		e.examine(1)
		stop()
		e.want(step.when, step.want...)
	}
}

// A schedule submits the tasks.
func TestMID59ScheduledFindings(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	e := newEnv(t, db)
	e.must(taskkit.Migrate(t.Context(), db.DB, e.schema))
	_, err := taskkit.Submit(t.Context(), db.DB, letter, spec{}, taskkit.System(), taskkit.WithApproval())
	e.must(err)
	e.must(taskops.SetSchedule(t.Context(), db.DB, findings.Kind, "findings", findings.Spec{Targets: []string{"ops"}}, taskops.Schedule{Cron: "@every 5m"},
		taskkit.WithRetention(24*time.Hour)))
	_, err = taskops.New(e.client()).TriggerSchedule(t.Context(), "findings")
	e.must(err)
	defer e.worker()()
	for ctx := testdb.Within(t); len(e.inbox.all()) == 0; {
		select {
		case <-ctx.Done():
			t.Fatal("not notified")
		case <-time.After(10 * time.Millisecond):
		}
	}
	e.want("open", notice.FindingOpened)
}

// What is wrong is a typed error before a worker begins, or a task is stored.
func TestMID59RefusedFindings(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	var option *taskkit.OptionError
	for name, c := range map[string]findings.Config{
		"no database": {},
		"a schema":    {DB: db.DB, Doctor: taskdoctor.Options{Schema: "No schema"}},
		"an option":   {DB: db.DB, Doctor: taskdoctor.Options{Due: -1}},
	} {
		if err := findings.Register(new(taskkit.Registry), c); !errors.As(err, &option) {
			t.Errorf("%s: %v, want an *OptionError", name, err)
		}
	}
	for _, targets := range [][]string{nil, {"Ops"}} {
		_, err := taskkit.Submit(t.Context(), db.DB, findings.Kind, findings.Spec{Targets: targets}, taskkit.System())
		if _, ok := errors.AsType[*taskkit.SpecError](err); !ok {
			t.Errorf("targets %v: %v, want a *SpecError", targets, err)
		}
	}
}
