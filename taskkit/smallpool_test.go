package taskkit_test

import (
	"slices"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Each worker on SQLite keeps a connection to write on and one to watch the file.
// Workers that share a pool with no more than these still work: they stop watching.
func TestWorkersShareASmallPool(t *testing.T) {
	t.Parallel()
	const workers = 5
	db := migrated(t, testdb.SQLite(t, testdb.MaxConns(2*workers)))
	k, x := overKind[int]("small_pool"), &takes[int]{}
	c := quick(t, db)
	c.DeadAfter, c.Heartbeat = time.Minute, time.Second
	for range workers {
		started(t, db, registered(k, x), c)
	}
	for range 5 {
		id := submitted(t, db, k, overSpec[int]{Remark: "n"}, taskkit.WithTargets(slices.Values(numbers(2500))))
		if task := ended(t, db, id); task.Progress.Done != 2500 {
			t.Fatalf("ended as %s with %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
	}
}
