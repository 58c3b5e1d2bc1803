package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// The file of a presence lock lies beside the database, for example
// tasks.db-taskkit-4611686018427387904.lock.
const (
	lockInfix  = "-taskkit-"
	lockSuffix = ".lock"
)

// lockFile returns the name of the file of a presence lock.
func lockFile(database string, lock int64) string {
	return database + lockInfix + strconv.FormatInt(lock, 10) + lockSuffix
}

// lockOf returns the presence lock of a file.
func lockOf(database, file string) (int64, bool) {
	number, isLock := strings.CutPrefix(strings.TrimSuffix(file, lockSuffix), database+lockInfix)
	lock, err := strconv.ParseInt(number, 10, 64)
	return lock, isLock && err == nil && lockFile(database, lock) == file
}

// path returns the file of the database, "" if it is in memory. A nil connection is one of
// the pool.
func (s *Store) path(ctx context.Context, conn *sql.Conn) (string, error) {
	if known := s.file.Load(); known != nil {
		return *known, nil
	}
	var (
		path string
		row  *sql.Row
	)
	const query = "SELECT file FROM pragma_database_list WHERE name = 'main'"
	if conn != nil {
		row = conn.QueryRowContext(ctx, query)
	} else {
		row = s.db.QueryRowContext(ctx, query)
	}
	if err := row.Scan(&path); err != nil {
		return "", fmt.Errorf("ask for the file of the database: %w", err)
	}
	s.file.Store(&path)
	return path, nil
}

// ReadPresence implements [store.Workers]. A lock whose file is gone, or cannot be read by this
// user, counts as held: whether its process runs cannot be found out from here.
func (s *Store) ReadPresence(ctx context.Context, process string) (store.PresenceReading, error) {
	database, err := s.path(ctx, nil)
	if err != nil {
		return store.PresenceReading{}, err
	}
	return s.ReadLocks(ctx, process, sqlbase.FreeLocks{Free: "true", Taken: func(lock int64) bool {
		free, err := isFree(lockFile(database, lock))
		return err != nil || !free
	}})
}

// isFree reports whether the lock of a file is free. It takes the lock for a moment,
// shared, so that two readers do not see each other.
func isFree(file string) (bool, error) {
	l := flock.New(file, flock.SetFlag(os.O_RDONLY))
	defer l.Close()
	return l.TryRLock()
}

// Reap implements [store.Upkeep]. It removes the lock files of the processes that it declares
// dead because of them.
func (s *Store) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	r, err := s.Base.Reap(ctx, absent)
	if err != nil || len(absent) == 0 || len(r.Dead) == 0 {
		return r, err
	}
	if database, err := s.path(ctx, nil); err == nil && database != "" {
		for _, lock := range absent {
			_ = os.Remove(lockFile(database, lock))
		}
	}
	return r, nil
}

// takePresence takes a presence lock and names it in the row of the process. Whoever calls
// it ends it. Where several stores share a small pool, each may have a connection to watch on
// and wait for one to write on: so it does not wait for long.
func (s *Store) takePresence(ctx context.Context, conn *sql.Conn, process string) (*presence, error) {
	ctx, cancel := context.WithTimeout(ctx, presenceWithin)
	defer cancel()
	database, err := s.path(ctx, conn)
	if err != nil {
		return nil, err
	}
	if database == "" {
		return nil, store.ErrInMemory
	}
	s.removeLeftLocks(ctx, database)
	p := &presence{store: s, process: process}
	// A reader may lock the file before this process does.
	for range 3 {
		p.number = sqlbase.NewPresenceLock()
		if p.lock, err = lock(lockFile(database, p.number)); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrNoPresence, err)
	}
	err = s.inTx(ctx, func(q store.Querier) error { return s.NamePresence(ctx, q, process, p.number) })
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// presenceWithin is how long it may take to take a presence lock.
const presenceWithin = 2 * time.Second

// presence is the presence lock of a process.
type presence struct {
	store   *Store
	process string
	number  int64
	lock    *flock.Flock
}

// check returns an error if the file of the lock has been removed or replaced: others could not tell
// any more that it is locked.
func (p *presence) check() error {
	mine, err := p.lock.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(p.lock.Path()); err == nil && !os.SameFile(mine, there) {
			err = errors.New("another file is in its place")
		}
	}
	if err != nil {
		return fmt.Errorf("the lock file %s is gone: %w", p.lock.Path(), err)
	}
	return nil
}

// end frees the lock. The next heartbeat removes it from the row of the process. The file is
// removed first, where the system allows that: others conclude nothing from a missing file.
func (p *presence) end() {
	p.store.LosePresence(p.process, p.number)
	err := os.Remove(p.lock.Path())
	_ = p.lock.Close()
	if err != nil {
		_ = os.Remove(p.lock.Path())
	}
}

// lock makes a file and locks it. The file system must keep others from locking it,
// which some network file systems do not.
func lock(file string) (*flock.Flock, error) {
	const readByAll = 0o644 // workers of other users look whether it is locked
	l := flock.New(file, flock.SetPermissions(readByAll))
	locked, err := l.TryLock()
	if err == nil && !locked {
		err = errors.New("another process has locked it")
	}
	if err == nil {
		var free bool
		if free, err = isFree(file); err == nil && free {
			err = errors.New("its file system does not keep others from locking it too")
		}
	}
	if err != nil {
		_ = l.Close()
		if locked {
			_ = os.Remove(file)
		}
		return nil, fmt.Errorf("lock the file %s: %w", file, err)
	}
	return l, nil
}

// removeLeftLocks removes the lock files of processes that have ended without doing so and that
// others have declared dead because of their silence. The file of a process which has not yet
// named its lock is young.
func (s *Store) removeLeftLocks(ctx context.Context, database string) {
	dir := filepath.Dir(database)
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var named map[int64]bool
	for _, f := range files {
		file := filepath.Join(dir, f.Name())
		lock, ok := lockOf(database, file)
		if info, err := f.Info(); !ok || err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if named == nil {
			if named, err = s.NamedLocks(ctx); err != nil {
				return
			}
		}
		if free, err := isFree(file); err == nil && free && !named[lock] {
			_ = os.Remove(file)
		}
	}
}

// lockFiles returns when a file was last made or removed in the directory of the database, as each
// lock file is.
func (s *Store) lockFiles(ctx context.Context) time.Time {
	database, err := s.path(ctx, nil)
	if err != nil || database == "" {
		return time.Time{}
	}
	dir, err := os.Stat(filepath.Dir(database))
	if err != nil {
		return time.Time{}
	}
	return dir.ModTime()
}
