package executors_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/executors/reconcile"
	"taskkit.dev/gen/reconcileapplytask"
	"taskkit.dev/gen/reconcilecaseloadtask"
	"taskkit.dev/gen/reconcilecomparetask"
	"taskkit.dev/gen/reconcileloadtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// reconciler is the composite executor as wiring makes it.
func reconciler() *reconcile.Executor {
	return &reconcile.Executor{Load: reconcileloadtask.Kind, Compare: reconcilecomparetask.Kind, Apply: reconcileapplytask.Kind}
}

// reconcileWorker runs a worker for the composite task and its stages until the test ends.
func reconcileWorker(t *testing.T, db *sql.DB) {
	t.Helper()
	reconcileWorkerWith(t, db, &reconcile.Applier{BucketSize: 10})
}

// reconcileWorkerWith does so with another executor of the last stage.
func reconcileWorkerWith(t *testing.T, db *sql.DB, x taskkit.Executor[reconcile.RunSpec, reconcile.ApplyState]) {
	t.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, reconcilecaseloadtask.Kind, reconciler())
	taskkit.Register(&r, reconcileloadtask.Kind, &reconcile.Loader{})
	taskkit.Register(&r, reconcilecomparetask.Kind, &reconcile.Comparer{})
	taskkit.Register(&r, reconcileapplytask.Kind, x)
	w, err := taskkit.NewWorker(t.Context(), db, &r, taskkit.Config{
		SystemID: "test", Slots: 3, Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxAttempts: 3,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// reconciled uploads a file, reconciles with it and returns the task, and its result if it
// has completed.
func reconciled(t *testing.T, db *sql.DB, c *ent.Client, file []byte) (*taskkit.Task, reconcile.Result) {
	t.Helper()
	upload, err := caseload.PutUpload(t.Context(), c, "registrar.csv", file)
	if err != nil {
		t.Fatal(err)
	}
	id, err := reconcilecaseloadtask.Submit(t.Context(), db, reconcile.Spec{Upload: upload}, taskkit.System())
	if err != nil {
		t.Fatal(err)
	}
	client := taskkit.NewClient(db)
	task, err := client.Wait(testdb.Within(t), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	var result reconcile.Result
	if task.Status == taskkit.StatusCompleted {
		if result, err = reconcilecaseloadtask.Fetch(t.Context(), client, id); err != nil {
			t.Fatal(err)
		}
	}
	return task, result
}

// failuresOf returns the failed items of a task and of what is below it, as "line code".
func failuresOf(t *testing.T, client *taskkit.Client, id taskkit.ID) []string {
	t.Helper()
	var all []string
	for item, err := range client.Items(t.Context(), id, taskkit.OutcomeFailed) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item.Text()+" "+item.Code)
	}
	slices.Sort(all)
	return all
}

// statusOf returns the status of the person with a school id, in the program of all.
func statusOf(t *testing.T, c *ent.Client, number string) string {
	t.Helper()
	people, err := caseload.Students(t.Context(), c, []string{number})
	if err != nil {
		t.Fatal(err)
	}
	return c.Enrolment.Query().Where(enrolment.PersonID(people[number]), enrolment.ProgramID(caseload.Success)).OnlyX(t.Context()).Status
}

// The sample has one line of each sort, and each ends as it should.
func TestReconcileSample(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		db, c, _ := filled(t, open)
		c.Enrolment.Update().Where(enrolment.ProgramID(caseload.Success)).SetStatus(caseload.Active).ExecX(t.Context())
		reconcileWorker(t, db)
		task, got := reconciled(t, db, c, reconcile.Sample)
		want := reconcile.Result{Loaded: 5, Unchanged: 1, Changed: 3, Unknown: 1, Rejected: 3}
		if task.Status != taskkit.StatusCompleted || got != want {
			t.Errorf("%s (%s) with %+v, want %+v", task.Status, task.StatusDetail, got, want)
		}
		failures := failuresOf(t, taskkit.NewClient(db), task.ID)
		if want := []string{"5 duplicate", "6 no_such_person", "7 bad_date", "8 bad_status"}; !slices.Equal(failures, want) {
			t.Errorf("failed lines %q, want %q", failures, want)
		}
		for number, want := range map[string]string{
			"S0000001": caseload.Active, "S0000002": caseload.Paused, "S0000003": caseload.Exited,
			"S0000004": caseload.Active, "S0000005": caseload.Active, "S0000006": caseload.Paused,
		} {
			if got := statusOf(t, c, number); got != want {
				t.Errorf("%s is %s, want %s", number, got, want)
			}
		}
		if n := c.RegistrarRow.Query().CountX(t.Context()); n != 0 {
			t.Errorf("%d lines are left in the table", n)
		}
	})
}

// A file about everybody, by person id, changes exactly the people whose status differs.
func TestReconcileEverybody(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open)
		var file strings.Builder
		file.WriteString("\ufeffDate, Status,person_id,program\r\n")
		statuses, err := caseload.Statuses(t.Context(), c, people)
		if err != nil {
			t.Fatal(err)
		}
		var differ []uuid.UUID
		for i, p := range people {
			status := statuses[p][caseload.Success]
			if i%3 == 0 {
				status = map[string]string{caseload.Active: caseload.Paused, caseload.Paused: caseload.Exited, caseload.Exited: caseload.Active}[status]
				differ = append(differ, p)
			}
			fmt.Fprintf(&file, "2026-09-01,%s,%s,%s\r\n", strings.ToUpper(status), p, caseload.Success)
		}
		fmt.Fprintf(&file, "2026-09-01,active,%s,nowhere\r\n", people[0])
		reconcileWorker(t, db)
		task, got := reconciled(t, db, c, []byte(file.String()))
		want := reconcile.Result{Loaded: population + 1, Unchanged: population - len(differ), Changed: len(differ), NotEnrolled: 1}
		if task.Status != taskkit.StatusCompleted || got != want {
			t.Errorf("%s (%s) with %+v, want %+v", task.Status, task.StatusDetail, got, want)
		}
		clean(t, c, caseload.ActionStatus, task.ID, differ)
		children, err := taskkit.NewClient(db).Children(t.Context(), task.ID, taskkit.ID{}, 10)
		if err != nil || len(children) != 3 {
			t.Fatalf("%d stages, %v", len(children), err)
		}
		buckets, err := taskkit.NewClient(db).Children(t.Context(), children[2].ID, taskkit.ID{}, 100)
		if err != nil || len(buckets) != (len(differ)+9)/10 {
			t.Errorf("%d buckets for %d differences, %v", len(buckets), len(differ), err)
		}
	})
}

// failingOnce is the last stage, whose first bucket fails until it is repaired.
type failingOnce struct {
	*reconcile.Applier

	repaired atomic.Bool
}

func (x *failingOnce) Execute(ctx context.Context, b *taskkit.Batch[reconcile.RunSpec, reconcile.ApplyState]) (taskkit.Next, error) {
	if strings.HasPrefix(b.Segment.String(), "below") && !x.repaired.Load() {
		return taskkit.Done, taskkit.Permanent("planned", nil)
	}
	return x.Applier.Execute(ctx, b)
}

// A retry of a reconciliation whose last stage has failed continues there, and changes no
// person twice.
func TestReconcileRetry(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open)
		c.Enrolment.Update().Where(enrolment.ProgramID(caseload.Success)).SetStatus(caseload.Active).ExecX(t.Context())
		file := "program,person_id,status,date\n"
		for _, p := range people {
			file += fmt.Sprintf("%s,%s,%s,2026-09-01\n", caseload.Success, p, caseload.Exited)
		}
		x := &failingOnce{Applier: &reconcile.Applier{BucketSize: 40}}
		reconcileWorkerWith(t, db, x)
		task, _ := reconciled(t, db, c, []byte(file))
		if task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, reconcile.StageApply) {
			t.Fatalf("%s (%s), want FAILURE of the last stage", task.Status, task.StatusDetail)
		}
		x.repaired.Store(true)
		client := taskkit.NewClient(db)
		if _, err := client.Retry(t.Context(), task.ID); err != nil {
			t.Fatal(err)
		}
		task, err := client.Wait(testdb.Within(t), task.ID, nil)
		if err != nil || task.Status != taskkit.StatusCompleted {
			t.Fatalf("after a retry %s (%s), %v", task.Status, task.StatusDetail, err)
		}
		got, err := reconcilecaseloadtask.Fetch(t.Context(), client, task.ID)
		if want := (reconcile.Result{Loaded: population, Changed: population}); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		clean(t, c, caseload.ActionStatus, task.ID, people)
	})
}

// A file that cannot be read as one changes nothing.
func TestReconcileRefusesFiles(t *testing.T) {
	t.Parallel()
	db, c, _ := filled(t, tasktest.Open)
	reconcileWorker(t, db)
	const head = "program,student_number,status,date\n"
	for file, want := range map[string]string{
		"":                              "the file is empty",
		"program,status,date\n":         "exactly one of the columns",
		"program,student_number,date":   "the column status is missing",
		head[:len(head)-1] + ",grade\n": `"grade" is unknown`,
		head[:len(head)-1] + ",date\n":  "there twice",
		head + "success,S0000001,active,2026-09-01\nsuccess,S\"1\",active,2026-09-01\n": "line 3",
	} {
		task, _ := reconciled(t, db, c, []byte(file))
		if task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, want) {
			t.Errorf("%q: %s (%s), want FAILURE with %q", file, task.Status, task.StatusDetail, want)
		}
	}
	if task, got := reconciled(t, db, c, []byte(head)); task.Status != taskkit.StatusCompleted || got != (reconcile.Result{}) {
		t.Errorf("a file without lines: %s (%s) with %+v", task.Status, task.StatusDetail, got)
	}
}

// run is the composite task whose lines the tests of the stages use.
var run = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8059")

// stageCase is a test of a stage under faults, on lines that setUp prepares.
func stageCase[Spec, State any](open func(testing.TB) *sql.DB, k *taskkit.Kind[Spec, State, struct{}], x taskkit.Executor[Spec, State], spec Spec, setUp func(context.Context, *ent.Client) error) tasktest.Case[Spec, State, struct{}] {
	return tasktest.Case[Spec, State, struct{}]{
		Kind: k, Open: open, Limit: limit, Spec: spec,
		New: func(testing.TB, *sql.DB) taskkit.Executor[Spec, State] { return x },
		Setup: func(ctx context.Context, db *sql.DB) error {
			if err := setup(ctx, db); err != nil {
				return err
			}
			c, err := caseload.Open(ctx, db)
			if err != nil {
				return err
			}
			return setUp(ctx, c)
		},
		Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
			rows, err := lines(ctx, db, "SELECT line, student || ' ' || status, outcome FROM caseload_registrar_row")
			if err != nil {
				return nil, err
			}
			touched, err := ledger(ctx, db)
			return append(rows, touched...), err
		},
	}
}

// sheet is a registrar's file of some lines about the first people and others. Every tenth line
// repeats the line before it.
func sheet() []caseload.RegistrarRow {
	statuses := []string{caseload.Active, caseload.Paused, caseload.Exited}
	rows := make([]caseload.RegistrarRow, 90)
	for i := range rows {
		n := i + 1
		if i%10 == 9 {
			n--
		}
		rows[i] = caseload.RegistrarRow{
			Line: i + 2, Student: fmt.Sprintf("S%07d", 25+n), Program: caseload.Success,
			Status: statuses[i%3], Since: "2026-09-01", Outcome: caseload.RowLoaded,
		}
	}
	return rows
}

func TestReconcileLoadUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		upload := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8060")
		tasktest.TestExecutor(t, stageCase(open, reconcileloadtask.Kind, &reconcile.Loader{}, reconcile.LoadSpec{Run: run, Upload: upload},
			func(ctx context.Context, c *ent.Client) error {
				file := "program,student_number,name,status,date\n"
				for _, r := range sheet() {
					file += fmt.Sprintf("%s,%s,\"Doe,\nJ\",%s,%s\n", r.Program, r.Student, r.Status, r.Since)
				}
				return c.Upload.Create().SetID(upload).SetName("registrar.csv").SetData([]byte(file)).Exec(ctx)
			}))
	})
}

func TestReconcileCompareUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		tasktest.TestExecutor(t, stageCase(open, reconcilecomparetask.Kind, &reconcile.Comparer{}, reconcile.RunSpec{Run: run},
			func(ctx context.Context, c *ent.Client) error { return caseload.AddRegistrarRows(ctx, c, run, sheet()) }))
	})
}

func TestReconcileApplyUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		tasktest.TestExecutor(t, stageCase(open, reconcileapplytask.Kind, &reconcile.Applier{BucketSize: 30}, reconcile.RunSpec{Run: run},
			func(ctx context.Context, c *ent.Client) error {
				rows := sheet()
				for i := range rows {
					rows[i].Outcome = caseload.RowDiffers
				}
				return caseload.AddRegistrarRows(ctx, c, run, rows)
			}))
	})
}
