package tasktest_test

import (
	"context"
	"database/sql"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// Effects elsewhere, which stay when a batch is rolled back, are no mistake if Tables leaves them out.
func TestEffectsOutsideTheDatabase(t *testing.T) {
	t.Parallel()
	c := greetCase()
	var mails map[string]bool
	c.Open = func(tb testing.TB) *sql.DB {
		tb.Helper()
		mails = make(map[string]bool)
		return tasktest.Open(tb)
	}
	c.New = func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return mailing{mails: mails} }
	c.Part = nil
	c.Tables = snapshot
	c.Snapshot = func(ctx context.Context, db *sql.DB) (any, error) {
		people, err := snapshot(ctx, db)
		return []any{people, mails}, err
	}
	tasktest.TestExecutor(t, c)
}

// mailing is a greeter that also sends a mail to each person.
type mailing struct {
	greeter

	mails map[string]bool
}

func (x mailing) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	people, _ := taskkit.Take(b, b.Spec.People)
	for _, p := range people {
		x.mails[p] = true
	}
	return x.greeter.Execute(ctx, b)
}

// Of a task with many batches, few are watched.
func TestFewSnapshots(t *testing.T) {
	t.Parallel()
	calls := 0
	c := greetCase()
	c.Spec.People = make([]string, 12)
	c.Limit, c.Part = 1, nil
	c.Tables = func(ctx context.Context, db *sql.DB) (any, error) {
		calls++
		return snapshot(ctx, db)
	}
	tasktest.TestExecutor(t, c)
	if calls == 0 || calls > 18 {
		t.Errorf("%d snapshots in two runs, want at most three for each of three batches", calls)
	}
}
