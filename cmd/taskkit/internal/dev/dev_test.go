package dev

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/cmd/taskkit/internal/mailserver"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/demo/caseload/ent/touch"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// A demonstration runs its own program as workers, which in a test is the test
// binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == WorkerCommand {
		if err := Worker(context.Background(), os.Stdin, os.Stdout); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	testdb.LeakMain(m)
}

// options returns the options of a small demonstration on a test's database.
func options(t *testing.T, db *testdb.DB) (o Options, out func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	o = Options{Out: screen.New(f), People: 120, Seed: 1, Workers: 2, Exit: true}
	text := filepath.Join(t.TempDir(), "dev.db")
	if db.Dialect == dialect.Postgres {
		text = db.DSN
	}
	if o.At, err = database.Parse(text); err != nil {
		t.Fatal(err)
	}
	return o, func() string {
		said, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(said)
	}
}

// start prepares a demonstration without workers.
func start(t *testing.T, o Options) *run {
	t.Helper()
	p, err := prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.remove(Options{Out: o.Out}, nil); err != nil {
			t.Error(err)
		}
	})
	r := newRun(o)
	r.workspace = p
	r.view = &lines{run: r}
	if r.people, err = r.populate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.mail, err = mailserver.Start(mailserver.Config{Refuse: refused}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.mail.Close() })
	r.client = taskkit.NewClient(p.db, taskkit.WithSchema(p.schema))
	if r.web, err = r.serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.web.close(); err != nil {
			t.Error(err)
		}
	})
	r.workers = newWorkers(p, r.mail.Addr(), o.Workers, o.People)
	t.Cleanup(func() {
		if err := r.workers.end(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Each case damages a correct database, or what was found on the way, and the checks
// find it.
func TestChecksFindDamage(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		o, out := options(t, db)
		ctx := t.Context()
		r := start(t, o)
		if _, err := r.workers.add(holdNothing); err != nil {
			t.Fatal(err)
		}
		if err := r.work(ctx); err != nil {
			t.Fatal(err)
		}
		if err := r.report(ctx); err != nil {
			t.Fatalf("before any damage: %v\n%s", err, out())
		}
		exec := func(statement string) {
			t.Helper()
			if _, err := r.workspace.db.ExecContext(ctx, statement); err != nil {
				t.Fatal(err)
			}
		}
		wrong := func(part string) {
			t.Helper()
			before := len(out())
			err := r.report(ctx)
			said := out()[before:]
			for line := range strings.Lines(said) {
				if errors.Is(err, ErrChecks) && strings.HasPrefix(line, "FAILED") && strings.Contains(line, part) {
					return
				}
			}
			t.Errorf("%v, want ErrChecks and %q:\n%s", err, part, said)
		}
		damageAlerts(t, r, wrong)
		damageChange(t, r, exec, wrong)
		damageReconcile(t, r, wrong)
		right := r.exported
		for _, damage := range []func(e *exported){
			func(e *exported) { e.err = taskhttp.ErrNotDone },
			func(e *exported) { e.last.ID = r.actions[0].id },
			func(e *exported) { e.last.Status = taskhttp.Failed },
			func(e *exported) { e.hash = nil },
		} {
			damage(&r.exported)
			wrong("over HTTP: ")
			r.exported = right
		}
		columns := "task, person, action, worker, batch, at"
		exec("INSERT INTO caseload_touch (" + columns + ") SELECT " + columns + " FROM caseload_touch WHERE action = 'watch' ORDER BY id LIMIT 1")
		wrong("processed twice: 1, missed: 0, according to the ledger, the exported")
		exec("DELETE FROM caseload_touch WHERE action = 'early_alert'")
		wrong("processed twice: 1, missed: 95, according to the ledger, the exported")
	})
}

// damageAlerts is the part of the preview and the retry of the early alerts.
func damageAlerts(t *testing.T, r *run, wrong func(string)) {
	t.Helper()
	right := *r.alerts
	if len(right.coaches) != coachlessCount {
		t.Errorf("%d people had no coach, want %d", len(right.coaches), coachlessCount)
	}
	damage := func(part string, f func(a *alerts)) {
		t.Helper()
		a := right
		f(&a)
		r.alerts = &a
		wrong(part)
		r.alerts = &right
	}
	damage("preview of the alerts: ", func(a *alerts) { a.after = nil })
	damage("preview of the alerts: ", func(a *alerts) {
		p := *a.report
		p.Progress.Failed, a.report = 0, &p
	})
	damage("retry of the alerts: ", func(a *alerts) { a.paused = nil })
	damage("retry of the alerts: ", func(a *alerts) { a.approvers = []uuid.UUID{coach} })
	for person := range right.coaches {
		r.people.domain.Touch.Delete().Where(touch.Task(right.retry.id), touch.Person(person)).ExecX(t.Context())
		break
	}
	wrong("before a second person approved; processed twice: 0, missed: 1")
}

// damageChange is the part of the change that was previewed and approved.
func damageChange(t *testing.T, r *run, exec, wrong func(string)) {
	t.Helper()
	ctx, right := t.Context(), *r.change
	damage := func(part string, f func(c *change)) {
		t.Helper()
		c := right
		f(&c)
		r.change = &c
		wrong(part)
		r.change = &right
	}
	exec("UPDATE caseload_person SET coach = 'nobody' WHERE school_id = 'S0000001'")
	now, err := caseload.Fingerprints(ctx, r.workspace.db)
	if err != nil {
		t.Fatal(err)
	}
	damage("no row of the domain changed", func(c *change) {
		c.after = maps.Clone(c.before)
		c.after["caseload_person"] = now["caseload_person"]
	})
	damage("its report says what", func(c *change) {
		p := *c.report
		p.Changes, c.report = nil, &p
	})
	damage("its report says what", func(c *change) { c.wantNotes = map[string]int64{"-> exited": 120} })
	damage("apply: ", func(c *change) { c.applied = false })
	damage("apply: ", func(c *change) { c.people = c.people[1:] })
	damage("canary: ", func(c *change) { c.paused = nil })
	damage("canary: ", func(c *change) { c.canary++ })
	damage("canary: ", func(c *change) { c.first.Outside = 1 })
	damage("approval: ", func(c *change) { c.refused = false })
	damage("approval: ", func(c *change) { c.approvers = []uuid.UUID{coach} })
	damage("approval: ", func(c *change) {
		p := *c.report
		p.Progress.Skipped++
		c.report = &p
	})
	damage("failures: ", func(c *change) { c.leavers = c.leavers[1:] })
	damage("retry: ", func(c *change) { c.retryWaited = false })
	damage("retry: ", func(c *change) { c.retryApprovers = nil })
	if len(right.leavers) != leaverCount {
		t.Errorf("%d people had left, want %d", len(right.leavers), leaverCount)
	}
	of := func(a *action) *ent.TouchDelete {
		return r.people.domain.Touch.Delete().Where(touch.Task(a.id))
	}
	of(right.retry).Where(touch.Person(right.leavers[0])).ExecX(ctx)
	wrong("together processed twice: 0, missed: 1,")
	of(right.real).Where(touch.Person(right.people[0])).ExecX(ctx)
	wrong("of the others processed twice: 0, missed: 1,")
}

// damageReconcile is the part of the registrar's file, and of the buckets.
func damageReconcile(t *testing.T, r *run, wrong func(string)) {
	t.Helper()
	right := *r.sheet
	for _, d := range []struct {
		part   string
		damage func(s *sheet)
	}{
		{"changed nothing, and 4 failed", func(s *sheet) { s.want.Changed-- }},
		{"changed nothing, and 5 failed", func(s *sheet) { s.failed++ }},
		{"whose status differed; processed twice: 0, missed: 0", func(s *sheet) { s.differ = s.differ[1:] }},
		{"whose status differed; processed twice: 0, missed: 0", func(s *sheet) { s.wrong++ }},
		{"4 buckets of the last", func(s *sheet) { s.lines = s.lines[1:] }},
	} {
		s := right
		d.damage(&s)
		r.sheet = &s
		wrong(d.part)
		r.sheet = &right
	}
	ctx, c := t.Context(), r.people.domain
	c.Touch.Delete().Where(touch.Task(right.task.id), touch.Person(right.differ[0])).ExecX(ctx)
	wrong("whose status differed; processed twice: 0, missed: 1,")
	// Somebody who is entered later was in no bucket.
	c.Person.Create().SetID(uuid.Must(uuid.NewV7())).SetSchoolID("late").SetFirstName("L").SetLastName("C").SetNameKey("c, l").
		SetCoach("k").SetCreatedDate(time.Now().UTC()).ExecX(ctx)
	wrong("buckets: 24, complete and without an overlap")
	c.Person.Delete().Where(person.SchoolID("late")).ExecX(ctx)
}

// A change that is interrupted leaves no task.
func TestInterruptedChange(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		o, _ := options(t, db)
		o.Keep = true
		r := start(t, o)
		interrupt(t, r, r.makeChange, func(tasks []*taskkit.Task) bool { return len(tasks) == 1 }) // nobody runs them
		if tasks, _, err := r.client.Tasks(t.Context(), taskkit.Filter{Queue: r.workspace.queue, Children: true}); err != nil || len(tasks) != 0 {
			t.Errorf("%d tasks were left (%v)", len(tasks), err)
		}
	})
}

// Nor do actions that are interrupted while they have buckets, whose tasks a worker must delete.
func TestInterruptedBuckets(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		o, _ := options(t, db)
		o.Keep, o.People = true, 600
		r := start(t, o)
		if _, err := r.workers.add(holdBuckets); err != nil {
			t.Fatal(err)
		}
		interrupt(t, r, r.work, func(tasks []*taskkit.Task) bool {
			return slices.ContainsFunc(tasks, func(t *taskkit.Task) bool { return t.Parent != (taskkit.ID{}) })
		})
	})
}

// interrupt runs a part of a run, interrupts it once when returns true for the tasks that have not
// ended, and abandons the run. It checks that no such task is left.
func interrupt(t *testing.T, r *run, part func(context.Context) error, when func([]*taskkit.Task) bool) {
	t.Helper()
	tasks := func() []*taskkit.Task {
		t.Helper()
		found, err := r.live(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- part(ctx) }()
	deadline := time.After(testdb.Patience(t))
	for tick := time.NewTicker(20 * time.Millisecond); !when(tasks()); {
		select {
		case err := <-done:
			t.Fatalf("ended too early: %v", err)
		case <-deadline:
			t.Fatal("the tasks are never as they should be")
		case <-tick.C:
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if err := r.abandon(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	for _, left := range tasks() {
		t.Errorf("a task of %s was left: %s, %s", left.Kind, left.Status, left.Control)
	}
}

// A worker ends when its parent has ended, in whatever way: its standard input is
// closed then.
func TestWorkerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	o, _ := options(t, testdb.SQLite(t))
	p, err := prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.remove(o, nil); err != nil {
			t.Error(err)
		}
	}()
	c := newWorkers(p, "127.0.0.1:1", 1, o.People)
	m, err := c.add(holdNothing)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.done:
	case <-time.After(testdb.Patience(t)):
		_ = m.cmd.Process.Kill()
		t.Fatal("the worker is still running")
	}
	if err := c.unexpectedEnd(m); !strings.Contains(err.Error(), "ended unexpectedly (exit status 1)") {
		t.Errorf("%v", err)
	}
}

// A demonstration that is interrupted leaves no process, no directory and no task
// that another worker could run.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		o, out := options(t, db)
		o.People = 20_000
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- Run(ctx, o) }()
		deadline := time.After(testdb.Patience(t))
		for tick := time.NewTicker(20 * time.Millisecond); !strings.Contains(out(), "program_status"); {
			select {
			case err := <-done:
				t.Fatalf("ended too early: %v\n%s", err, out())
			case <-deadline:
				t.Fatalf("does not start:\n%s", out())
			case <-tick.C:
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want context.Canceled", err)
		}
		if o.At.Dialect == dialect.Postgres {
			_, name, _ := strings.Cut(out(), ", schema ")
			name, _, _ = strings.Cut(name, "\n")
			var n int
			err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname = $1", name).Scan(&n)
			if err != nil || n != 0 {
				t.Errorf("%d schemas are left (%v)", n, err)
			}
			return
		}
		left, err := o.At.Open(t.Context(), database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer left.Close()
		tasks, _, err := taskkit.NewClient(left).Tasks(t.Context(), taskkit.Filter{Children: true, Statuses: []taskkit.Status{taskkit.StatusQueued, taskkit.StatusScheduling, taskkit.StatusExecuting}})
		if err != nil || len(tasks) != 0 {
			t.Errorf("%d tasks were left (%v)", len(tasks), err)
		}
	})
}
