package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
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
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, countKind, countSpec{Items: 5})
		f := &failing{DB: db.DB}
		c := taskkit.NewClient(f, taskkit.WithSchema(schemaOf(db)))
		reads, failures := 0, 0
		each := func(task *taskkit.Task, err error) {
			if err != nil {
				failures++
				if _, ok := errors.AsType[*net.OpError](err); !ok || task == nil || task.Status != taskkit.StatusQueued {
					t.Errorf("a failed read: %+v, %v", task, err)
				}
				return
			}
			reads++
			f.broken.Store(reads == 2)
			if task.SpecJSON != nil && !task.Ended() {
				t.Errorf("a read has the spec %s", task.SpecJSON)
			}
		}
		ctx := testdb.Within(t)
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
		if err != nil || !task.Partial || failures < 2 {
			t.Fatalf("%+v, %v after %d failures", task, err, failures)
		}

		id = submitted(t, db, countKind, countSpec{Items: 5})
		short, end := context.WithCancelCause(t.Context()) // of a deadline that passes after the first read
		task, err = c.Wait(short, id, func(*taskkit.Task, error) { end(context.DeadlineExceeded) })
		if !errors.Is(err, context.DeadlineExceeded) || task == nil || task.Status != taskkit.StatusQueued {
			t.Errorf("at the end of its time: %+v, %v", task, err)
		}
	})
}

// Wait continues while its server restarts, also if the first read fails.
func TestWaitSurvivesARestart(t *testing.T) {
	t.Parallel()
	server := testdb.OwnServer(t)
	db := testdb.On(t, server)
	migrated(t, db)
	id := submitted(t, db, countKind, countSpec{Items: 5})
	ctx := testdb.Within(t)

	seen := 0 // reads that succeeded
	first, err := true, server.Fast(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := taskkit.NewClient(db.DB, taskkit.WithSchema(schemaOf(db)))
	task, err := c.Wait(ctx, id, func(task *taskkit.Task, err error) {
		switch {
		case err != nil && first:
			first = false
			if task != nil {
				t.Errorf("before the first successful read: %+v", task)
			}
			if err := server.Start(ctx); err != nil {
				t.Error(err)
			}
		case err != nil && seen == 1:
			if task == nil || task.Status != taskkit.StatusQueued {
				t.Errorf("after a failed read: %+v", task)
			}
			if err := server.Start(ctx); err != nil {
				t.Error(err)
			}
		case err == nil:
			seen++
			if seen == 1 {
				if err := server.Immediate(ctx); err != nil {
					t.Error(err)
				}
				return
			}
			if _, err := clientOf(db).Stop(ctx, id); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || !task.Partial || first || seen < 3 {
		t.Errorf("%+v, %v after %d successful reads; first read failed: %t", task, err, seen, !first)
	}
}

// Wait continues while another process has locked the file.
func TestWaitSurvivesALockedFile(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	migrated(t, db)
	id := submitted(t, db, countKind, countSpec{Items: 5})
	if err := db.Close(); err != nil { // the lock needs that nobody uses the file
		t.Fatal(err)
	}
	path, _, _ := strings.Cut(db.DSN, "?")
	opened := func(settings string) *sql.DB {
		handle, err := sql.Open("sqlite", path+settings)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = handle.Close() }) // twice for the one that is locked
		return handle
	}
	locked := opened("?_pragma=locking_mode(EXCLUSIVE)")
	if _, err := locked.ExecContext(t.Context(), "UPDATE taskkit_queued_task SET modified_date = modified_date"); err != nil {
		t.Fatal(err)
	}
	ctx := testdb.Within(t)
	c := taskkit.NewClient(opened("?_txlock=immediate"))
	failures := 0
	task, err := c.Wait(ctx, id, func(task *taskkit.Task, err error) {
		switch {
		case err == nil && !task.Ended():
			if _, err := c.Stop(ctx, id); err != nil {
				t.Error(err)
			}
		case err != nil:
			if failures++; failures == 2 {
				if err := locked.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if err != nil || !task.Partial || failures < 2 {
		t.Errorf("%+v, %v after %d failures", task, err, failures)
	}
}

// Errors that do not pass end Wait at its first read, and its end names the last read
// if that failed.
func TestWaitNamesItsError(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	for name, change := range map[string]func(*url.URL){
		"no such role":     func(u *url.URL) { u.User = url.User("nobody_of_this_name") },
		"no such database": func(u *url.URL) { u.Path = "/none_of_this_name" },
	} {
		u, err := url.Parse(db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		refused, err := sql.Open("pgx", u.String())
		if err != nil {
			t.Fatal(err)
		}
		defer refused.Close()
		_, err = taskkit.NewClient(refused).Wait(t.Context(), taskkit.ID{}, func(_ *taskkit.Task, err error) { t.Errorf("%s is tried again: %v", name, err) })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	migrated(t, db)
	f := &failing{DB: db.DB}
	f.broken.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	task, err := taskkit.NewClient(f, taskkit.WithSchema(schemaOf(db))).Wait(ctx, taskkit.ID{}, func(*taskkit.Task, error) { cancel() })
	if _, ok := errors.AsType[*net.OpError](err); !ok || !errors.Is(err, context.Canceled) || task != nil {
		t.Errorf("%+v, %v; want the cause and the error of the last read", task, err)
	}
}

// Wait ends at once when the tables are gone.
func TestWaitEndsWithoutTables(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		migrated(t, db)
		id := submitted(t, db, countKind, countSpec{Items: 5})
		ctx := testdb.Within(t)
		_, err := clientOf(db).Wait(ctx, id, func(*taskkit.Task, error) {
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
