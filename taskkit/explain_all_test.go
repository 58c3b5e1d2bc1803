package taskkit_test

import (
	"context"
	"database/sql"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
)

// counted counts the statements that are executed on a handle.
type counted struct {
	*sql.DB
	statements atomic.Int64
}

func (c *counted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.statements.Add(1)
	return c.DB.ExecContext(ctx, query, args...)
}

func (c *counted) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.statements.Add(1)
	return c.DB.QueryContext(ctx, query, args...)
}

// A page is explained with as many statements as one task of each of its causes, and with none if its tasks are done.
func TestExplainAllStatements(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ctx := t.Context()
		handle := &counted{DB: db.DB}
		schema := db.Schema
		if schema == "" {
			schema = taskkit.DefaultSchema
		}
		c := taskkit.NewClient(handle, taskkit.WithSchema(schema))
		exec := func(query string) {
			if _, err := db.ExecContext(ctx, query); err != nil {
				t.Fatal(err)
			}
		}
		plant := func() {
			ids := make([]taskkit.ID, 4)
			for i := range ids {
				ids[i] = submitted(t, db, countKind, countSpec{Items: 1}, taskkit.WithDelay(time.Hour))
			}
			if _, err := c.Pause(ctx, ids[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Stop(ctx, ids[1]); err != nil {
				t.Fatal(err)
			}
			exec("UPDATE taskkit_queued_task SET attempts = 2, waiting_reason = 'retry: x' WHERE id = '" + ids[2].String() + "'")
			exec("UPDATE taskkit_queued_task SET waiting_reason = 'waits for a permit of the limit \"a\": at most 1 at once' WHERE id = '" + ids[3].String() + "'")
		}
		explain := func() (statements int64, causes []taskcause.Cause) {
			tasks, _, err := c.Tasks(ctx, taskkit.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			before := handle.statements.Load()
			explained, err := c.ExplainAll(ctx, tasks)
			if err != nil || len(explained) != len(tasks) {
				t.Fatalf("%d explained of %d: %v", len(explained), len(tasks), err)
			}
			for i, e := range explained {
				causes = append(causes, e.Cause)
				if e.Task != tasks[i].ID {
					t.Errorf("task %s is explained as %s", tasks[i].ID, e.Task)
				}
			}
			slices.Sort(causes)
			return handle.statements.Load() - before, slices.Compact(causes)
		}
		plant()
		one, causes := explain()
		if want := []taskcause.Cause{taskcause.Limit, taskcause.Paused, taskcause.Retry, taskcause.Stopped}; !slices.Equal(causes, want) {
			t.Errorf("explained by %v, want %v", causes, want)
		}
		for range 10 {
			plant()
		}
		if many, _ := explain(); many != one || many > 7 {
			t.Errorf("%d statements for 44 tasks and %d for 4, want as many, and at most 7", many, one)
		}
		exec("DELETE FROM taskkit_queued_task WHERE workflow_status = 'QUEUED'")
		exec("UPDATE taskkit_queued_task SET partial = false")
		if none, causes := explain(); none != 0 || !slices.Equal(causes, []taskcause.Cause{taskcause.Done}) {
			t.Errorf("%d statements for tasks that are %v, want none for tasks that are done", none, causes)
		}
	})
}
