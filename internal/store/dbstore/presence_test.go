package dbstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/storetest"
	"taskkit.dev/internal/testkit/testdb"
)

// The connection of the listener is lost at each of its messages. After its next
// heartbeat the row of the process never names a lock that nobody holds.
func TestPresenceAtEveryMessage(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	opened(t, db)
	messages, err := watchThrough(t, db, "whole")
	if err != nil || messages < 20 {
		t.Fatalf("a listener sends and receives %d messages, and ends with %v", messages, err)
	}
	var all errgroup.Group
	all.SetLimit(8)
	for n := 1; n <= messages; n++ {
		for _, action := range []faultproxy.Action{faultproxy.CutBefore, faultproxy.CutAfter} {
			all.Go(func() error {
				_, err := watchThrough(t, db, fmt.Sprint(action, n), faultproxy.Fault{Number: n, Action: action})
				if err != nil {
					return fmt.Errorf("%v message %d: %w", action, n, err)
				}
				return nil
			})
		}
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// watchThrough watches through a proxy that strikes, and ends that some probes after the process has got
// presence. It returns how many messages there were, and an error if the row of the process
// names a lock after the next heartbeat. Without faults it must name one that is held before.
func watchThrough(t *testing.T, db *testdb.DB, process string, faults ...faultproxy.Fault) (messages int, err error) {
	t.Helper()
	const probeEvery = 50 * time.Millisecond
	named, err := url.Parse(db.DSN)
	if err != nil {
		return 0, err
	}
	query := named.Query()
	application := db.Schema + "_" + strings.ReplaceAll(process, " ", "_") // pgx takes the + of a query for a +, not for a space
	query.Set("application_name", application)
	named.RawQuery = query.Encode()
	proxy, dsn, err := faultproxy.Through(named.String(), faults)
	if err != nil {
		return 0, err
	}
	defer proxy.Close()
	s, err := dbstore.Open(t.Context(), db.DB, db.Schema, dbstore.Options{ListenDSN: dsn, ProbeEvery: probeEvery})
	if err != nil {
		return 0, err
	}
	register(t, s, process)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var present error
	ended := s.Watch(ctx, process, storetest.Watcher(func(w *store.Watcher) {
		w.Present = func(err error) {
			if present = err; len(faults) == 0 {
				n, counted := sessions(t.Context(), db, application)
				if counted == nil && n != 1 {
					counted = fmt.Errorf("%d sessions of %s are seen", n, application)
				}
				present = errors.Join(err, counted, namesHeldLock(t, db, process, true))
			}
			time.AfterFunc(4*probeEvery, cancel)
		}
	}))
	if len(faults) == 0 && !errors.Is(ended, context.Canceled) {
		return 0, ended
	}
	if err := sessionsEnd(t, db, application); err != nil {
		return 0, err
	}
	if err := s.Heartbeat(t.Context(), process, false); err != nil {
		return 0, err
	}
	return proxy.Count(), errors.Join(present, namesHeldLock(t, db, process, false))
}

// sessionsEnd waits until the sessions with an application's name have ended. What the listener has sent before its connection was
// cut may still be under way, and a heartbeat cannot remove the name of a lock that the row gets after it.
func sessionsEnd(t *testing.T, db *testdb.DB, application string) error {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for ctx := testdb.Within(t); ; {
		n, err := sessions(ctx, db, application)
		if n == 0 || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%d sessions of %s have not ended: %w", n, application, ctx.Err())
		}
	}
}

// sessions counts the sessions with an application's name.
func sessions(ctx context.Context, db *testdb.DB, application string) (n int, err error) {
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", application).Scan(&n)
	return n, err
}

// namesHeldLock returns an error if the row of a process names a lock that no session holds, or
// none although it should.
func namesHeldLock(t *testing.T, db *testdb.DB, process string, named bool) error {
	t.Helper()
	var lock, taken sql.NullInt64
	err := db.QueryRowContext(t.Context(), `SELECT p.presence_lock, (SELECT (l.classid::bigint << 32) | l.objid::bigint FROM pg_locks l
  WHERE l.locktype = 'advisory' AND (l.classid::bigint << 32) | l.objid::bigint = p.presence_lock)
FROM taskkit_task_process p WHERE p.id = $1`, process).Scan(&lock, &taken)
	if err == nil && (lock != taken || lock.Valid != named) {
		err = fmt.Errorf("the row of %s names the lock %v, and %v is held", process, lock, taken)
	}
	return err
}

// Workers that begin to watch at once and share a small pool of SQLite's: each gets presence or
// gives its connection back, and none waits for ever.
func TestPresenceInASmallPool(t *testing.T) {
	t.Parallel()
	const workers = 4
	db := testdb.SQLite(t, testdb.MaxConns(2*workers)) // to write and to watch
	opened(t, db)
	ctx := testdb.Within(t)
	var stores []store.Store
	for n := range workers {
		s, err := dbstore.Open(ctx, db.DB, db.Schema, dbstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		releaseAtEnd(t, s)
		register(t, s, fmt.Sprint("worker ", n)) // it keeps the connection
		stores = append(stores, s)
	}
	var all errgroup.Group
	for n, s := range stores {
		all.Go(func() error {
			watching, cancel := context.WithCancel(ctx)
			defer cancel()
			for {
				err := s.Watch(watching, fmt.Sprint("worker ", n), storetest.Watcher(func(w *store.Watcher) { w.Present = func(error) { cancel() } }))
				switch {
				case errors.Is(err, store.ErrNoWatch) || watching.Err() != nil:
					return nil
				case !errors.Is(err, context.DeadlineExceeded):
					return err
				}
				// On a busy machine the others may keep it from writing until its time to take the lock is over. It has given
				// its connection back then, and the listener of a worker tries again.
			}
		})
	}
	if err := all.Wait(); err != nil || ctx.Err() != nil {
		t.Errorf("watching ended with %v (%v)", err, ctx.Err())
	}
}

// A worker whose lock file is removed or replaced takes another lock, since others cannot tell any more
// that its lock is held.
func TestPresenceWithoutItsFile(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(file string) error{
		"removed":  os.Remove,
		"replaced": func(file string) error { return errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.SQLite(t)
			s, _ := opened(t, db)
			register(t, s, "watcher")
			register(t, s, "other")
			err := s.Watch(testdb.Within(t), "watcher", storetest.Watcher(func(w *store.Watcher) {
				w.Present = func(error) {
					files, err := lockFiles(t, db)
					if err == nil && len(files) != 1 {
						err = fmt.Errorf("there are %d lock files", len(files))
					}
					if err == nil {
						err = harm(files[0])
					}
					if err != nil {
						t.Error(err)
					}
				}
			}))
			if err == nil || !strings.Contains(err.Error(), "is gone") {
				t.Errorf("watching ended with %v", err)
			}
			if err := s.Heartbeat(t.Context(), "watcher", false); err != nil {
				t.Error(err)
			}
			if r, err := s.ReadPresence(t.Context(), "other"); err != nil || r.Present {
				t.Errorf("present without a file: %+v, %v", r, err)
			}
		})
	}
}

// lockFiles returns the lock files beside a database of SQLite's.
func lockFiles(t *testing.T, db *testdb.DB) ([]string, error) {
	t.Helper()
	var file string
	if err := db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		return nil, err
	}
	return filepath.Glob(file + "-taskkit-*.lock")
}
