package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"

	"example.com/campus/ent"
	"example.com/campus/ent/student"
	"example.com/campus/executors/setstatus"
	"example.com/campus/gen"
	"example.com/campus/gen/setstatustask"
)

// campus is the application while its worker runs.
type campus struct {
	*testing.T
	db       *sql.DB
	ent      *ent.Client
	tasks    *taskkit.Client
	students []int
	refuse   string // lets the database refuse that ten students exit
	allow    string // undoes refuse
}

// The executor of this module knows nothing of items but three lines. Its tasks have
// frozen sets, previews, stop policies, a canary, failed items and their retry.
func TestItems(t *testing.T) {
	c := opened(t)
	c.exec(c.refuse)
	exit := setstatus.Spec{Status: "exited"}
	frozen := []taskkit.SubmitOption{taskkit.System(), taskkit.WithTargets(slices.Values(c.students))}

	// A list in the spec: its length is known when the task is submitted, and its items
	// can be listed.
	all := setstatus.Spec{Students: c.students, Status: "paused"}
	list := c.submit(all, taskkit.System(), taskkit.WithDelay(time.Hour))
	if total := c.task(list).Progress.Total; total != 1000 {
		t.Errorf("a list of 1000 students has the total %d", total)
	}
	if left := c.items(list, taskkit.OutcomeUnprocessed); !slices.Equal(left, c.students) {
		t.Errorf("%d students are left, want all", len(left))
	}

	// A preview reports, and changes nothing.
	preview := c.submit(exit, append(frozen, taskkit.WithPreview())...)
	c.ended(preview)
	report, err := c.tasks.Preview(t.Context(), preview)
	if err != nil {
		t.Fatal(err)
	}
	if want := []taskkit.TableChange{{Table: "students", Verb: "update", Rows: 990}}; !slices.Equal(report.Changes, want) || report.Progress.Failed != 10 {
		t.Errorf("the preview reports %+v with %+v, want %+v and 10 failed", report.Changes, report.Progress, want)
	}
	if n := c.exited(); n != 0 {
		t.Errorf("the preview has changed %d students", n)
	}

	// The canary: 50 students, of whom one fails, and then a person approves.
	id := c.submit(exit, append(frozen, taskkit.WithCanary(50), taskkit.WithStopAfter("5"))...)
	if p := c.paused(id).Progress; p.Done != 49 || p.Failed != 1 {
		t.Errorf("after the canary %+v, want 49 done and 1 failed", p)
	}
	if _, err := c.tasks.Approve(t.Context(), id, taskkit.WithActor(uuid.New())); err != nil {
		t.Fatal(err)
	}
	// The stop policy: too many have failed, and a person raises the limit.
	if p := c.paused(id).Progress; p.Failed < 5 || p.Done+p.Failed == p.Total {
		t.Errorf("after the stop policy %+v, want at least 5 failed and not the end", p)
	}
	if _, err := c.tasks.Resume(t.Context(), id, taskkit.WithStopAfter("50%")); err != nil {
		t.Fatal(err)
	}
	if p := c.ended(id).Progress; p.Done != 990 || p.Failed != 10 {
		t.Errorf("at the end %+v, want 990 done and 10 failed", p)
	}

	// The failed items, and all others.
	var refused []int
	for i := 6; i < 1000; i += 100 {
		refused = append(refused, c.students[i])
	}
	if got := c.items(id, taskkit.OutcomeFailed); !slices.Equal(got, refused) {
		t.Errorf("failed are %v, want %v", got, refused)
	}
	if n := len(c.items(id, taskkit.OutcomeSucceeded)); n != 990 || c.exited() != 990 {
		t.Errorf("%d succeeded and %d have exited, want 990", n, c.exited())
	}

	// They are retried alone, when they can.
	c.exec(c.allow)
	retry, err := c.tasks.RetryFailed(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.ended(retry).Progress; p.Total != 10 || p.Done != 10 || c.exited() != 1000 {
		t.Errorf("after the retry %+v, and %d have exited, want 10 and 1000", p, c.exited())
	}
}

// opened opens the database, makes 1,000 students and starts a worker.
func opened(t *testing.T) *campus {
	t.Helper()
	db, client, err := open(os.Getenv("DATABASE_URL"), filepath.Join(t.TempDir(), "campus.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c := &campus{
		T: t, db: db, ent: client, tasks: taskkit.NewClient(db),
		refuse: "ALTER TABLE students ADD CONSTRAINT loan CHECK (status <> 'exited' OR id % 100 <> 7)",
		allow:  "ALTER TABLE students DROP CONSTRAINT loan",
	}
	if os.Getenv("DATABASE_URL") == "" {
		c.refuse = "CREATE TRIGGER loan BEFORE UPDATE ON students WHEN NEW.status = 'exited' AND NEW.id % 100 = 7 BEGIN SELECT RAISE(ABORT, 'there is a loan'); END"
		c.allow = "DROP TRIGGER loan"
	}
	cohort := 0
	for _, f := range []func() error{
		func() error { return client.Schema.Create(t.Context()) },
		func() error { return taskkit.Migrate(t.Context(), db, taskkit.DefaultSchema) },
		func() (err error) { cohort, err = createCohort(t.Context(), client, 1000); return err },
		func() (err error) {
			c.students, err = client.Student.Query().Order(student.ByID()).IDs(t.Context())
			return err
		},
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	if cohort == 0 || len(c.students) != 1000 || c.students[999] != 1000 {
		t.Fatalf("the students are %d, up to %d", len(c.students), c.students[len(c.students)-1])
	}
	var r taskkit.Registry
	gen.Executors{SetStatus: &setstatus.Executor{}}.Register(&r)
	w, err := taskkit.NewWorker(t.Context(), db, &r, taskkit.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *campus) exec(statement string) {
	c.Helper()
	if _, err := c.db.ExecContext(c.Context(), statement); err != nil {
		c.Fatalf("%s: %v", statement, err)
	}
}

func (c *campus) submit(spec setstatus.Spec, opts ...taskkit.SubmitOption) taskkit.ID {
	c.Helper()
	id, err := setstatustask.Submit(c.Context(), c.db, spec, opts...)
	if err != nil {
		c.Fatal(err)
	}
	return id
}

func (c *campus) task(id taskkit.ID) *taskkit.Task {
	c.Helper()
	t, err := c.tasks.Task(c.Context(), id)
	if err != nil {
		c.Fatal(err)
	}
	return t
}

// ended waits for the end of a task.
func (c *campus) ended(id taskkit.ID) *taskkit.Task {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Minute)
	defer cancel()
	t, err := c.tasks.Wait(ctx, id, nil)
	if err != nil || t.Status != taskkit.StatusCompleted {
		c.Fatalf("the task ended in %+v, %v", t, err)
	}
	return t
}

// paused waits until a task has been paused, which has no signal.
func (c *campus) paused(id taskkit.ID) *taskkit.Task {
	c.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if t := c.task(id); t.Status == taskkit.StatusQueued && t.Control == taskkit.ControlPause {
			return t
		}
	}
	c.Fatalf("the task is %+v, want it paused", c.task(id))
	return nil
}

// items are the students with an outcome.
func (c *campus) items(id taskkit.ID, outcome taskkit.Outcome) (students []int) {
	c.Helper()
	for i, err := range c.tasks.Items(c.Context(), id, outcome) {
		var s int
		if err == nil {
			err = json.Unmarshal(i.Key, &s)
		}
		if err != nil {
			c.Fatal(fmt.Errorf("read the %s items: %w", outcome, err))
		}
		students = append(students, s)
	}
	return students
}

// exited is how many students have exited.
func (c *campus) exited() int {
	c.Helper()
	n, err := c.ent.Student.Query().Where(student.Status("exited")).Count(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return n
}
