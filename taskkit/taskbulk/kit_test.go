package taskbulk_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskkind"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// elsewhere is a queue that no worker serves.
const elsewhere = "elsewhere"

type spec struct {
	N int `json:"n"`
}

type job = taskkit.Kind[spec, struct{}, struct{}]

func newKind(name string) *job {
	return taskkit.NewKind(taskkind.Definition[spec, struct{}, struct{}]{Name: name})
}

var errPlanned = errors.New("planned")

// broken fails each task with the code of its number.
type broken struct{}

func (broken) Execute(_ context.Context, b *taskkit.Batch[spec, struct{}]) (taskkit.Next, error) {
	code := "even"
	if b.Spec.N%2 == 1 {
		code = "odd"
	}
	return taskkit.Done, taskkit.Permanent(code, errPlanned)
}

// bench is a database with a client.
type bench struct {
	*testing.T
	db     *testdb.DB
	schema string
	*taskkit.Client
}

func newBench(t *testing.T, db *testdb.DB) *bench {
	t.Helper()
	schema := cmp.Or(db.Schema, taskkit.DefaultSchema)
	return &bench{t, db, schema, taskkit.NewClient(db.DB, taskkit.WithSchema(schema))}
}

// each runs a test on both databases.
func each(t *testing.T, f func(b *bench)) {
	t.Helper()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) { f(newBench(t, db)) })
}

// start runs a worker that serves a queue, until the test ends.
func (b *bench) start(queue string, register func(r *taskkit.Registry)) {
	b.Helper()
	var r taskkit.Registry
	register(&r)
	w, err := taskkit.NewWorker(b.Context(), b.db.DB, &r, taskkit.Config{
		Schema: b.schema, Slots: 4, Queues: []string{queue}, SystemID: "test", Heartbeat: time.Second, DeadAfter: time.Minute, BatchTimeout: 40 * time.Second,
		Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond, Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond,
		Drain: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(b.Output(), nil)),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("the worker: %v", err)
		}
	})
}

// waiting submits n tasks of a kind that no worker executes.
func (b *bench) waiting(k *job, n int, opts ...taskkit.SubmitOption) []taskkit.ID {
	b.Helper()
	specs := make([]spec, n)
	for i := range specs {
		specs[i].N = i
	}
	ids, err := taskkit.SubmitMany(b.Context(), b.db.DB, k, specs, append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(b.schema), taskkit.WithQueue(elsewhere)}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

// failed returns n tasks of a kind that have failed.
func (b *bench) failed(k *job, n int, opts ...taskkit.SubmitOption) []taskkit.ID {
	b.Helper()
	queue := "fails-" + k.Name()
	b.start(queue, func(r *taskkit.Registry) { taskkit.Register(r, k, broken{}) })
	ids := b.waiting(k, n, append(opts, taskkit.WithQueue(queue))...)
	b.until("all have failed", func() bool {
		counts, _, err := b.Counts(b.Context(), k.Name())
		return err == nil && counts[taskkit.StatusFailure] == int64(n)
	})
	return ids
}

// submit submits a bulk operation.
func (b *bench) submit(r taskbulk.Request, opts ...taskkit.SubmitOption) (taskkit.ID, int64) {
	b.Helper()
	r.Actor = cmp.Or(r.Actor, person)
	id, n, err := taskbulk.Submit(b.Context(), b.db.DB, r, append(opts, taskkit.WithSchema(b.schema))...)
	if err != nil {
		b.Fatal(err)
	}
	return id, n
}

// person is the actor of all bulk operations.
var person = uuid.MustParse("6e8bc430-9c3a-41d9-9669-0800200c9a66")

// until polls until a condition holds.
func (b *bench) until(what string, is func() bool) {
	b.Helper()
	ctx := testdb.Within(b.T)
	for !is() {
		select {
		case <-ctx.Done():
			b.Fatalf("it never came to this: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (b *bench) task(id taskkit.ID) *taskkit.Task {
	b.Helper()
	t, err := b.Task(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// ended waits for the end of a task, which must be COMPLETED.
func (b *bench) ended(id taskkit.ID) *taskkit.Task {
	b.Helper()
	b.until("the bulk operation has ended", func() bool { return b.task(id).Ended() })
	t := b.task(id)
	if t.Status != taskkit.StatusCompleted {
		b.Fatalf("it is %s: %s", t.Status, t.StatusDetail)
	}
	return t
}

// items returns the tasks of a bulk operation with an outcome, and their codes.
func (b *bench) items(id taskkit.ID, outcome taskkit.Outcome) map[taskkit.ID]string {
	b.Helper()
	found := make(map[taskkit.ID]string)
	for i, err := range b.Items(b.Context(), id, outcome) {
		var of taskkit.ID
		if err == nil {
			err = json.Unmarshal(i.Key, &of)
		}
		if err != nil {
			b.Fatal(err)
		}
		if _, twice := found[of]; twice {
			b.Errorf("%s is listed twice", of)
		}
		found[of] = i.Code
	}
	return found
}

// count counts rows of a table.
func (b *bench) count(table, where string, args ...any) (n int) {
	b.Helper()
	if b.db.Schema != "" {
		table = `"` + b.schema + `".` + table
	}
	if err := b.db.QueryRowContext(b.Context(), "SELECT count(*) FROM "+table+" WHERE "+where, args...).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// requested checks that a request of the person is recorded once for each of these tasks, and for no other.
func (b *bench) requested(action string, ids []taskkit.ID) {
	b.Helper()
	if n := b.count("taskkit_task_event", "action = $1 AND actor = $2", action, person.String()); n != len(ids) {
		b.Errorf("%d requests to %s are recorded, want %d", n, action, len(ids))
	}
	for _, id := range ids {
		if n := b.count("taskkit_task_event", "action = $1 AND actor = $2 AND task_id = $3", action, person.String(), id.String()); n != 1 {
			b.Fatalf("%d requests to %s task %s are recorded, want 1", n, action, id)
		}
	}
}

// same checks that a set is what it is to be.
func (b *bench) same(what string, got map[taskkit.ID]string, want []taskkit.ID) {
	b.Helper()
	have := slices.SortedFunc(maps.Keys(got), compare)
	want = slices.SortedFunc(slices.Values(want), compare)
	if !slices.Equal(have, want) {
		b.Errorf("%s: %d tasks, want %d, or others", what, len(have), len(want))
	}
}

func compare(x, y taskkit.ID) int { return cmp.Compare(x.String(), y.String()) }
