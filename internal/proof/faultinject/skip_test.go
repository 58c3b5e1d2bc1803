package faultinject_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/faultinject/sqlitefault"
	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// namesSpec has the items of a task, the first of which has killed its workers.
type namesSpec struct {
	Names []string `json:"names"`
}

var skippingKind = taskkit.NewKind(taskkind.Definition[namesSpec, struct{}, struct{}]{
	Name: "skipping", BatchSize: 4, SkipPoison: true,
})

// names writes a row for each item that Take returns.
type names struct{}

func (names) Execute(ctx context.Context, b *taskkit.Batch[namesSpec, struct{}]) (taskkit.Next, error) {
	items, next := taskkit.Take(b, b.Spec.Names)
	for _, item := range items {
		if _, err := b.Tx.ExecContext(ctx, "INSERT INTO written (item) VALUES ($1)", item); err != nil {
			return taskkit.More, err
		}
	}
	return next, nil
}

// The checkpoint that skips a poison item gets no answer, after it was committed or
// instead of that. The worker reads the task back, and the item is skipped once, and
// no other.
func TestSkipUnanswered(t *testing.T) {
	t.Parallel()
	for name, committed := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *testdb.DB) {
				l := newEnv(t, db)
				exec := func(query string, args ...any) {
					t.Helper()
					if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
						t.Fatalf("%s: %v", query, err)
					}
				}
				exec("CREATE TABLE written (item text NOT NULL)")
				id, err := taskkit.Submit(t.Context(), db, skippingKind, namesSpec{Names: []string{"poison", "a", "b", "c", "d", "e"}},
					taskkit.WithSchema(l.schema), taskkit.System())
				if err != nil {
					t.Fatal(err)
				}
				// As three workers have left it that were lost in its first batch.
				exec("UPDATE taskkit_queued_task SET attempts = 3, stalled = $1 WHERE id = $2", true, id.String())
				h, err := unansweredSkip(db, committed)
				if err != nil {
					t.Fatal(err)
				}
				harmed, err := h.open()
				if err != nil {
					t.Fatal(err)
				}
				client := taskkit.NewClient(db, taskkit.WithSchema(l.schema))
				stop := skippingWorker(t, harmed, l.schema)
				task, err := client.Wait(testdb.Within(t), id, nil)
				stop()
				if err != nil {
					t.Fatal(err)
				}
				if struck, _ := h.close(); len(struck) != 1 {
					t.Errorf("struck: %v, want the COMMIT of the skip", struck)
				}
				if want := (taskkit.Progress{Total: 6, Done: 5, Failed: 1}); task.Status != taskkit.StatusCompleted || task.Progress != want || task.Fence != 1 {
					t.Errorf("ended in %s with %+v under fence %d (%s), want COMPLETED with %+v under fence 1",
						task.Status, task.Progress, task.Fence, task.StatusDetail, want)
				}
				var failed []string
				for i, err := range client.Items(t.Context(), id, taskkit.OutcomeFailed) {
					if err != nil {
						t.Fatal(err)
					}
					failed = append(failed, fmt.Sprint(i.Text(), " ", i.Code, " at ", i.Position))
				}
				if fmt.Sprint(failed) != "[poison poison at 1]" {
					t.Errorf("failed items %q, want the poison item alone", failed)
				}
				var rows, items int
				if err := db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT item) FROM written WHERE item <> 'poison'").Scan(&rows, &items); err != nil {
					t.Fatal(err)
				}
				if rows != 5 || items != 5 {
					t.Errorf("%d rows of %d other items, want 5 of 5", rows, items)
				}
			})
		})
	}
}

// skippingWorker starts a worker for the kind on a handle, and returns what stops it
// and closes the handle.
func skippingWorker(t *testing.T, db *sql.DB, schema string) (stop func()) {
	t.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, skippingKind, names{})
	w, err := taskkit.NewWorker(t.Context(), db, &r, taskkit.Config{
		Schema: schema, SystemID: "harmed", Slots: 1, BatchTimeout: 40 * time.Second, MaxAttempts: 100,
		Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		Backoff: 10 * time.Millisecond, BackoffMax: 100 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker: %v", err)
		}
		_ = db.Close()
	}
}

// unansweredSkip loses the answer to the first COMMIT of outcomes of items, or the
// COMMIT itself.
func unansweredSkip(db *testdb.DB, committed bool) (harm, error) {
	const outcomes = "taskkit_task_item"
	if db.Dialect == dialect.Postgres {
		h := &proxied{first: make(chan struct{}), ready: make(chan struct{})}
		recorded := make(map[int]bool) // connections whose transaction has recorded outcomes
		f := faultproxy.Fault{Number: 1, Action: faultproxy.CutBefore, Match: func(m faultproxy.Message) bool {
			recorded[m.Conn] = recorded[m.Conn] || strings.Contains(m.SQL, "INSERT INTO") && strings.Contains(m.SQL, outcomes)
			return recorded[m.Conn] && m.IsCommit()
		}}
		if committed {
			f.Action = faultproxy.CutAfter
		}
		return h, h.begin(db.DSN, []faultproxy.Fault{f})
	}
	h := &driven{dsn: db.DSN, first: make(chan struct{}), closed: make(chan struct{})}
	recorded := make(map[int]bool)
	f := sqlitefault.Fault{Number: 1, Action: sqlitefault.BreakBefore, Match: func(c sqlitefault.Call) bool {
		recorded[c.Conn] = recorded[c.Conn] || strings.Contains(c.SQL, "INSERT INTO "+outcomes)
		return recorded[c.Conn] && strings.EqualFold(c.SQL, "commit") && c.Name == "Exec"
	}}
	if committed {
		f.Action = sqlitefault.BreakAfter
	}
	return h, h.begin([]sqlitefault.Fault{f})
}
