package executors_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/earlyalerttask"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// Each of the five actions is previewed, executed for the first ten people, approved, and retried for the person who was
// missing.
func TestCareOfAllExecutors(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open0)
		ghost := uuid.Must(uuid.NewV7())
		to := targets.Targets{People: append(people[:50:50], ghost)}
		client := tasktest.Start(t, db,
			tasktest.WithKind(watchtask.Kind, &watch.Executor{}),
			tasktest.WithKind(programstatustask.Kind, &programstatus.Executor{}),
			tasktest.WithKind(earlyalerttask.Kind, &earlyalert.Executor{SubmitMail: sendemailtask.Submit, BucketSize: bucketSize}),
			tasktest.WithKind(exportcaseloadtask.Kind, &exportcaseload.Executor{Caseload: c, Dir: t.TempDir(), BucketSize: bucketSize}),
			tasktest.WithKind(sendemailtask.Kind, &sendemail.Executor{Caseload: c, Mailer: &collected{}}))
		preview := taskkit.WithPreview()
		for name, submit := range map[string]func() (taskkit.ID, error){
			"watch": func() (taskkit.ID, error) {
				return watchtask.Submit(t.Context(), db, watch.Spec{Targets: to, Action: watch.Start}, preview, taskkit.System())
			},
			"program_status": func() (taskkit.ID, error) {
				return programstatustask.Submit(t.Context(), db, programstatus.Spec{Targets: to, Program: caseload.Success, Status: caseload.Paused}, preview, taskkit.System())
			},
			"early_alert": func() (taskkit.ID, error) {
				return earlyalerttask.Submit(t.Context(), db, earlyalert.Spec{Targets: to, Category: "grades", Reason: "midterms"}, preview, taskkit.System())
			},
			"export_caseload": func() (taskkit.ID, error) {
				return exportcaseloadtask.Submit(t.Context(), db, exportcaseload.Spec{Targets: to, Format: "csv"}, preview, taskkit.System())
			},
			"send_email": func() (taskkit.ID, error) {
				return sendemailtask.Submit(t.Context(), db, sendemail.Spec{Targets: to, Letter: sendemail.Letter{Subject: "s", Body: "b"}}, preview, taskkit.System())
			},
		} {
			id, err := submit()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			previewed := waited(t, client, id)
			if _, err := client.Preview(t.Context(), id); err != nil || previewed.Progress.Processed() != 51 {
				t.Errorf("%s: the preview has processed %+v: %v", name, previewed.Progress, err)
			}
			applied, err := client.Apply(t.Context(), id, taskkit.WithCanary(10), taskkit.WithApproval())
			if err != nil {
				t.Fatalf("%s: apply: %v", name, err)
			}
			if p := approved(t, client, applied); p.Progress.Processed() != 10 {
				t.Errorf("%s: the canary has processed %+v", name, p.Progress)
			}
			ended := waited(t, client, applied)
			if ended.Status != taskkit.StatusCompleted || ended.Progress.Processed() != 51 || ended.Progress.Failed != previewed.Progress.Failed || !failedFor(t, client, applied, ghost) {
				t.Errorf("%s: %s (%s) with %+v, previewed as %+v", name, ended.Status, ended.StatusDetail, ended.Progress, previewed.Progress)
			}
			returns(t, c, ghost)
			retry, err := client.RetryFailed(t.Context(), applied)
			if err != nil {
				t.Fatalf("%s: retry: %v", name, err)
			}
			approved(t, client, retry) // as the first task was
			if again := waited(t, client, retry); again.Status != taskkit.StatusCompleted || again.Progress.Total != ended.Progress.Failed || failedFor(t, client, retry, ghost) {
				t.Errorf("%s: the retry is %s (%s) with %+v", name, again.Status, again.StatusDetail, again.Progress)
			}
			c.Person.Delete().Where(person.ID(ghost)).ExecX(t.Context())
		}
	})
}

// An alert fails in any bucket for a person without a coach, and one task retries them all.
func TestEarlyAlertWithoutCoach(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open0)
		coach := c.Person.GetX(t.Context(), people[0]).Coach
		without := []uuid.UUID{people[5], people[50], people[100]}
		set := func(coach string) {
			c.Person.Update().Where(person.IDIn(without...)).SetCoach(coach).ExecX(t.Context())
		}
		set("")
		client := tasktest.Start(t, db, tasktest.WithKind(earlyalerttask.Kind, &earlyalert.Executor{BucketSize: bucketSize}))
		id, err := earlyalerttask.Submit(t.Context(), db, earlyalert.Spec{Targets: everyone(), Category: "grades", Reason: "midterms"}, taskkit.System())
		if err != nil {
			t.Fatal(err)
		}
		if first := waited(t, client, id); first.Progress.Failed != 3 || first.Progress.Done != population-3 {
			t.Fatalf("%s (%s) with %+v", first.Status, first.StatusDetail, first.Progress)
		}
		set(coach)
		retry, err := client.RetryFailed(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if again := waited(t, client, retry); again.Status != taskkit.StatusCompleted || again.Progress.Done != 3 || again.Progress.Total != 3 {
			t.Errorf("%s (%s) with %+v", again.Status, again.StatusDetail, again.Progress)
		}
		clean(t, c, caseload.ActionAlert, retry, without)
	})
}

// waited returns a task when it has ended.
func waited(t *testing.T, c *taskkit.Client, id taskkit.ID) *taskkit.Task {
	t.Helper()
	task, err := c.Wait(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// approved approves a task that waits for that, and returns it as it waited.
func approved(t *testing.T, c *taskkit.Client, id taskkit.ID) *taskkit.Task {
	t.Helper()
	deadline := time.After(testdb.Patience(t))
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		task, err := c.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if task.Status == taskkit.StatusQueued && task.Control == taskkit.ControlPause {
			if _, err := c.Approve(t.Context(), id, taskkit.WithActor(uuid.New())); err != nil {
				t.Fatal(err)
			}
			return task
		}
		select {
		case <-deadline:
			t.Fatalf("it does not wait for an approval: %s (%s)", task.Status, task.StatusDetail)
		case <-tick.C:
		}
	}
}

// failedFor reports whether a person is among the failed items of a task.
func failedFor(t *testing.T, c *taskkit.Client, id taskkit.ID, person uuid.UUID) bool {
	t.Helper()
	for item, err := range c.Items(t.Context(), id, taskkit.OutcomeFailed) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Text() == person.String() {
			return true
		}
	}
	return false
}

// returns enters a person who is in the program.
func returns(t *testing.T, c *ent.Client, id uuid.UUID) {
	t.Helper()
	c.Person.Create().SetID(id).SetSchoolID("ghost").SetFirstName("G").SetLastName("H").SetNameKey("h, g").SetEmail("g@students.example.edu").
		SetCoach("k").SetCreatedDate(time.Now().UTC()).ExecX(t.Context())
	c.Enrolment.Create().SetPersonID(id).SetProgramID(caseload.Success).SetStatus(caseload.Active).ExecX(t.Context())
}
