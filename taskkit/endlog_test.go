package taskkit_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// logged collects what a worker logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The log line of an end has the counters of the task, also of a FAILURE.
func TestLogLineOfTheEnd(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		x := &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			if b.State.Next == 1 {
				return taskkit.Done, taskkit.Permanent("broken", errors.New("broken"))
			}
			b.State.Next++
			b.Advance(3)
			b.Fail("one of them", nil)
			b.Skip("another", "not_needed")
			return taskkit.More, nil
		}}
		var l logged
		cfg := quick(t, db)
		cfg.Logger = slog.New(slog.NewTextHandler(&l, nil))
		started(t, db, registered[countSpec, countState](k, x), cfg)
		if task := ended(t, db, submitted(t, db, k, countSpec{})); task.Status != taskkit.StatusFailure {
			t.Fatalf("the task is %s", task.Status)
		}
		const want = "status=FAILURE done=1 failed=1 skipped=1"
		until(t, "logged", func() bool { return strings.Contains(l.String(), "task ended") })
		if !strings.Contains(l.String(), want) {
			t.Errorf("%q is not in\n%s", want, l.String())
		}
	})
}
