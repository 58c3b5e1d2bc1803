package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// failing is a handle whose queries of tasks fail while broken is set.
type failing struct {
	*sql.DB
	broken atomic.Bool
	failed atomic.Int64
}

func (f *failing) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if f.broken.Load() && strings.Contains(query, "taskkit_queued_task") {
		f.failed.Add(1)
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	}
	return f.DB.QueryContext(ctx, query, args...)
}

// Wait continues after a lost connection, and returns the last status when its
// context ends.
func TestWaitSurvivesALostConnection(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		migrated(t, db)
		id := submitted(t, db, countKind, countSpec{Items: 5})
		f := &failing{DB: db.DB}
		c := taskkit.NewClient(f, taskkit.WithSchema(schemaOf(db)))
		reads := 0
		each := func(task *taskkit.Task) {
			reads++
			f.broken.Store(reads == 2)
			if task.SpecJSON != nil && !task.Ended() {
				t.Errorf("a read has the spec %s", task.SpecJSON)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go func() {
			poll := time.NewTicker(5 * time.Millisecond)
			defer poll.Stop()
			for ctx.Err() == nil && f.failed.Load() < 2 {
				<-poll.C
			}
			f.broken.Store(false)
			_, _ = clientOf(db).Stop(ctx, id)
		}()
		task, err := c.Wait(ctx, id, each)
		if err != nil || !task.Partial || f.failed.Load() < 2 {
			t.Fatalf("%+v, %v after %d failures", task, err, f.failed.Load())
		}

		id = submitted(t, db, countKind, countSpec{Items: 5})
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		task, err = c.Wait(short, id, nil)
		if !errors.Is(err, context.DeadlineExceeded) || task == nil || task.Status != taskkit.StatusQueued {
			t.Errorf("at the end of its time: %+v, %v", task, err)
		}
	})
}

// Wait ends at once when the tables are gone.
func TestWaitEndsWithoutTables(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		migrated(t, db)
		id := submitted(t, db, countKind, countSpec{Items: 5})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := clientOf(db).Wait(ctx, id, func(*taskkit.Task) {
			for _, table := range []string{"taskkit_queued_task", "taskkit_goose_version"} {
				if _, err := db.ExecContext(ctx, "ALTER TABLE "+table+" RENAME TO renamed_"+table); err != nil {
					t.Error(err)
				}
			}
		})
		if _, ok := errors.AsType[*taskkit.SchemaError](err); !ok {
			t.Errorf("%T %v, want a *SchemaError", err, err)
		}
	})
}
