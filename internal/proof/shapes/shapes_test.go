package shapes_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// shapes are the shapes of a task, and how one is submitted.
var shapes = []struct {
	name   string
	submit func(s *shapeTest, opts ...taskkit.SubmitOption) (taskkit.ID, error)
}{
	{"plain", func(s *shapeTest, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return taskkit.Submit(s.Context(), s.db.DB, shapeKind, shapeSpec{s.numbers}, s.options(opts)...)
	}},
	{"frozen set", func(s *shapeTest, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return taskkit.Submit(s.Context(), s.db.DB, shapeKind, shapeSpec{}, append(s.options(opts), taskkit.WithTargets(slices.Values(s.numbers)))...)
	}},
	{"ranges", func(s *shapeTest, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return taskkit.Submit(s.Context(), s.db.DB, shapeKind, shapeSpec{s.numbers}, append(s.options(opts), taskkit.WithMaxParallel(4))...)
	}},
	{"buckets", func(s *shapeTest, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return taskkit.Submit(s.Context(), s.db.DB, shapeKind, shapeSpec{}, s.options(opts)...)
	}},
	{"stage", func(s *shapeTest, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return taskkit.Submit(s.Context(), s.db.DB, shapesKind, shapeSpec{s.numbers}, s.options(opts)...)
	}},
	{"buckets in a stage", func(s *shapeTest, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return taskkit.Submit(s.Context(), s.db.DB, shapesKind, shapeSpec{}, s.options(opts)...)
	}},
}

// shapeTest is a database with a worker for tasks of all shapes.
type shapeTest struct {
	*testing.T
	db      *testdb.DB
	schema  string
	x       *shaped
	client  *taskkit.Client
	numbers []int
	submit  func(opts ...taskkit.SubmitOption) (taskkit.ID, error)
	shape   string

	measured measured // of the worker
}

func (s *shapeTest) options(opts []taskkit.SubmitOption) []taskkit.SubmitOption {
	return append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(s.schema)}, opts...)
}

// submitted submits a task.
func (s *shapeTest) submitted(opts ...taskkit.SubmitOption) taskkit.ID {
	s.Helper()
	id, err := s.submit(opts...)
	if err != nil {
		s.Fatal(err)
	}
	return id
}

// held submits a task and waits until its batches wait for release.
func (s *shapeTest) held(opts ...taskkit.SubmitOption) (id taskkit.ID, release func()) {
	s.Helper()
	hold := make(chan struct{})
	s.x.hold.Store(&hold)
	release = sync.OnceFunc(func() {
		s.x.hold.Store(nil)
		close(hold)
	})
	s.Cleanup(release)
	id = s.submitted(opts...)
	s.until("batches run, and the total is known", func() bool {
		return s.x.running.Load() > 0 && s.task(id).Progress.Total == shapeNumbers
	})
	return id, release
}

// of is the task whose items are followed up: a composite task itself has none.
func (s *shapeTest) of(id taskkit.ID) taskkit.ID {
	s.Helper()
	if !strings.Contains(s.shape, "stage") {
		return id
	}
	if _, err := s.client.RetryFailed(s.Context(), id); err == nil || !strings.Contains(err.Error(), "stages") {
		s.Errorf("the failed items of a composite task are retried: %v", err)
	}
	return s.stage(id)
}

// seen says what is seen of a task.
func (s *shapeTest) seen(id taskkit.ID) string {
	s.Helper()
	task := s.task(id)
	text := fmt.Sprintf("%s partial=%t %+v", task.Status, task.Partial, task.Progress)
	for _, o := range []taskkit.Outcome{taskkit.OutcomeFailed, taskkit.OutcomeSkipped, taskkit.OutcomeSucceeded, taskkit.OutcomeUnprocessed} {
		items := s.all(s.client.Items(s.Context(), id, o))
		keys := itemTexts(items)
		slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		text += fmt.Sprintf("\n%s %v", o, keys)
		for _, i := range items {
			if i.Code != "" {
				text += " " + i.Code
			}
		}
	}
	return text
}

// touched returns how many numbers were processed once, and fails the test if one was twice.
func (s *shapeTest) touched() int {
	s.Helper()
	var once, most sql.NullInt64
	if err := s.db.QueryRowContext(s.Context(), "SELECT count(*), max(touched) FROM shape_numbers WHERE touched > 0").Scan(&once, &most); err != nil {
		s.Fatal(err)
	}
	if most.Int64 > 1 {
		s.Errorf("a number was processed %d times", most.Int64)
	}
	s.forget()
	return int(once.Int64)
}

// task reads a task.
func (s *shapeTest) task(id taskkit.ID) *taskkit.Task {
	s.Helper()
	task, err := s.client.Task(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	return task
}

// stage returns the stage of a composite task.
func (s *shapeTest) stage(id taskkit.ID) taskkit.ID {
	s.Helper()
	children, err := s.client.Children(s.Context(), id, taskkit.ID{}, 1)
	if err != nil || len(children) == 0 {
		s.Fatalf("the task has no stage: %v", err)
	}
	return children[0].ID
}

// ended waits until a task has ended.
func (s *shapeTest) ended(id taskkit.ID) *taskkit.Task {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), testdb.Patience(s))
	defer cancel()
	task, err := s.client.Wait(ctx, id, nil)
	if err != nil {
		why, _ := s.client.Explain(s.Context(), id)
		s.Fatalf("wait for task %s: %v (%s)", id, err, why)
	}
	return task
}

// until polls a condition on the database.
func (s *shapeTest) until(what string, f func() bool) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(testdb.Patience(s)); !f(); {
		select {
		case <-tick.C:
		case <-late:
			s.Fatalf("still not so: %s", what)
		}
	}
}

// all reads the items of a sequence.
func (s *shapeTest) all(items iter.Seq2[taskkit.Item, error]) (list []taskkit.Item) {
	s.Helper()
	for i, err := range items {
		if err != nil {
			s.Fatal(err)
		}
		list = append(list, i)
	}
	return list
}

// itemTexts returns the texts of items.
func itemTexts(items []taskkit.Item) (keys []string) {
	for _, i := range items {
		keys = append(keys, i.Text())
	}
	return keys
}

// started runs a worker until the test ends.
func started(t *testing.T, db *testdb.DB, r *taskkit.Registry, schema string, o taskevent.Observer) {
	t.Helper()
	w, err := taskkit.NewWorker(t.Context(), db.DB, r, taskkit.Config{
		Schema: schema, Slots: 4, SystemID: "test", Poll: 20 * time.Millisecond, PollListening: 200 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxAttempts: 3, Drain: 20 * time.Second,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Observer: o,
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
			t.Errorf("worker: %v", err)
		}
	})
}

// prepared returns a test with the numbers in a table, and a worker.
func prepared(t *testing.T, db *testdb.DB) *shapeTest {
	t.Helper()
	for _, q := range []string{
		"CREATE TABLE shape_numbers (n integer PRIMARY KEY, touched integer NOT NULL DEFAULT 0)",
		fmt.Sprintf("INSERT INTO shape_numbers (n) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT i FROM c", shapeNumbers),
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	x, schema := new(shaped), cmp.Or(db.Schema, taskkit.DefaultSchema)
	var r taskkit.Registry
	taskkit.Register(&r, shapeKind, x)
	taskkit.Register(&r, shapesKind, shapeStages{})
	m := newMeasured(t)
	started(t, db, &r, schema, m)
	numbers := make([]int, shapeNumbers)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return &shapeTest{T: t, db: db, x: x, schema: schema, client: taskkit.NewClient(db.DB, taskkit.WithSchema(schema)), numbers: numbers, measured: m}
}

// Each feature has the same result for a task of each shape, or is refused by the name of the option.
func TestShapes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		of := prepared(t, db)
		for _, f := range shapeFeatures {
			t.Run(f.name, func(t *testing.T) { //nolint:paralleltest // one worker, whose batches a feature holds
				want := ""
				for _, shape := range shapes {
					t.Run(shape.name, func(t *testing.T) { //nolint:paralleltest // as above
						s := &shapeTest{T: t, db: db, x: of.x, schema: of.schema, client: of.client, numbers: of.numbers, shape: shape.name, measured: of.measured}
						s.submit = func(opts ...taskkit.SubmitOption) (taskkit.ID, error) { return shape.submit(s, opts...) }
						got := f.run(s)
						switch {
						case slices.Contains(f.refused, shape.name):
							if !strings.HasPrefix(got, "refused: With") {
								t.Errorf("not refused: %s", got)
							}
						case want == "":
							want = got
							t.Logf("%s", got)
						case got != want:
							t.Errorf("got\n%s\nwant, as %s:\n%s", got, shapes[0].name, want)
						}
					})
				}
			})
		}
	})
}
