// Package sqlite is the store on SQLite.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// Store is the [store.Store] on SQLite, which has one write lock for the whole file.
// The writers of this process queue for it at a semaphore, which is fair and
// costs nothing, instead of asking SQLite again and again; a second process
// waits in SQLite's busy_timeout. A write transaction takes the lock when it
// begins: one that finds out later that it wants to write cannot wait for it.
type Store struct {
	*sqlbase.Base
	db      *sql.DB
	writer  chan struct{} // holds a token during a write
	conn    *writeConn    // of the writer; nil until one has written
	reads   readCache
	applies map[applyPlan]*applyStatements // of whoever has the turn to write
	busy    time.Duration                  // the connections' busy_timeout
	file    atomic.Pointer[string]
}

// New returns the store of a file whose connections have this busy_timeout. [Open]
// checks the settings first.
func New(db *sql.DB, busy time.Duration) *Store {
	s := &Store{busy: busy, db: db, writer: make(chan struct{}, 1), applies: make(map[applyPlan]*applyStatements)}
	s.Base, s.reads.db = sqlbase.New(db, "", dialect.SQLite, s.inTx), db
	return s
}

// journalLimit bounds the file of the WAL. A long read transaction lets it grow; after that the next writer that begins the WAL anew
// truncates the file to this. Without it the file would stay as large as it once was.
const journalLimit = "PRAGMA journal_size_limit = 16777216"

// writing is a write transaction, and the turn to write.
type writing struct {
	*writeConn
	store *Store
	// cancels end the contexts of queries. Rows that were not closed would keep
	// the connection, and with it the turn to write. They are ended after the
	// transaction, so that its last statement is not interrupted.
	cancels []context.CancelFunc
}

// acquireWriter waits until no other goroutine writes. [Store.releaseWriter] ends
// the turn.
func (s *Store) acquireWriter(ctx context.Context) error {
	select {
	case s.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the turn to write: %w", context.Cause(ctx))
	}
}

func (s *Store) releaseWriter() { <-s.writer }

// Release implements [store.Workers].
func (s *Store) Release(ctx context.Context) {
	s.reads.close()
	if s.acquireWriter(ctx) == nil {
		s.drop()
		s.releaseWriter()
	}
}

// drop closes the writer's connection. Its caller has the turn.
func (s *Store) drop() {
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
}

// begin waits for the turn to write and begins a write transaction.
func (s *Store) begin(ctx context.Context) (*writing, error) {
	if err := s.acquireWriter(ctx); err != nil {
		return nil, err
	}
	if s.conn == nil {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			s.releaseWriter()
			return nil, fmt.Errorf("a connection to write on: %w", err)
		}
		s.conn = &writeConn{conn: conn, stmts: make(map[string]*sql.Stmt)}
		for _, pragma := range []string{"PRAGMA busy_timeout = 0", journalLimit} {
			if _, err := conn.ExecContext(ctx, pragma); err != nil {
				s.drop()
				s.releaseWriter()
				return nil, fmt.Errorf("set up a connection to write on: %w", err)
			}
		}
	}
	w := &writing{writeConn: s.conn, store: s}
	if err := s.beginImmediate(ctx); err != nil {
		w.release(true)
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	return w, nil
}

// beginImmediate begins a transaction with the write lock of the file. It tries again every
// few milliseconds while another process writes: SQLite's own busy_timeout comes
// to ask ten times a second, and beside a process that writes without a pause
// that is too seldom to ever find the lock free. So the writer's connection has
// none.
func (s *Store) beginImmediate(ctx context.Context) error {
	return s.execWithRetry(ctx, "BEGIN IMMEDIATE")
}

// execWithRetry runs a statement, again and again while another process holds the
// lock that it needs, for at most the busy_timeout.
func (s *Store) execWithRetry(ctx context.Context, query string) error {
	// The statement is short, and for a cancellable context the driver starts a
	// goroutine.
	detached := context.WithoutCancel(ctx)
	_, err := s.conn.ExecContext(detached, query)
	for began := time.Now(); classify.Busy(err) && time.Since(began) < s.busy; {
		pause := time.NewTimer(time.Millisecond + rand.N(2*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("wait for others' locks: %w", context.Cause(ctx))
		}
		_, err = s.conn.ExecContext(detached, query)
	}
	return err
}

// commit ends the transaction and gives the turn back. It runs to its end
// whatever becomes of the caller: an interrupted COMMIT leaves it open what
// happened. Without a WAL it may have to wait, for readers.
func (w *writing) commit(ctx context.Context) error {
	if err := w.store.execWithRetry(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		w.rollback()
		return err
	}
	w.release(false)
	return nil
}

// release gives the connection and the turn back.
func (w *writing) release(broken bool) {
	for _, end := range w.cancels {
		end()
	}
	if broken {
		w.store.drop()
	}
	w.store.releaseWriter()
}

// rollback gives the transaction and the turn up. A connection that is not
// certainly outside a transaction is closed.
func (w *writing) rollback() {
	ctx, cancel := context.WithTimeout(context.Background(), sqlbase.RollbackWithin)
	defer cancel()
	_, err := w.ExecContext(ctx, "ROLLBACK")
	// An error also when SQLite has rolled back by itself, as after an interrupt.
	w.release(err != nil)
}

// inTx runs f in a write transaction.
func (s *Store) inTx(ctx context.Context, f func(store.Querier) error) error {
	w, err := s.begin(ctx)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			w.rollback()
		}
	}()
	if err := f(w); err != nil {
		return err
	}
	done = true
	if err := w.commit(ctx); err != nil {
		return &store.UnknownError{Err: err}
	}
	return nil
}

// checkLockEvery is how often a worker checks that its lock file is still there.
const checkLockEvery = time.Second

// watchEvery is the interval at which the listener polls for changes of the file. A
// poll reads a counter in shared memory.
const watchEvery = 20 * time.Millisecond

// Watch implements [store.Workers]. SQLite sends no notifications, but it counts
// changes: data_version differs after another connection, in any process, has
// committed. The process has its presence lock while it watches.
func (s *Store) Watch(ctx context.Context, process string, w store.Watcher) error {
	if n := s.db.Stats().MaxOpenConnections; n > 0 && n < 3 {
		return fmt.Errorf("%w: a pool of %d connections has none to spare; allow 4 or more", store.ErrNoWatch, n)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("a connection to watch on: %w", err)
	}
	defer conn.Close()
	read := func() (version int64, err error) {
		err = conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
		return version, err
	}
	last, err := read()
	if err != nil {
		return errors.Join(store.ErrNoWatch, err)
	}
	w.Ready()
	w.Wake() // for changes before the first read
	p, err := s.takePresence(ctx, conn, process)
	switch {
	case err == nil:
		defer p.end()
		w.Present(nil)
	case errors.Is(err, store.ErrNoPresence):
		w.Present(err)
	case errors.Is(err, context.DeadlineExceeded) && s.exhausted():
		return errExhausted(s.db.Stats().MaxOpenConnections)
	default:
		return err
	}
	files, checked := s.lockFiles(ctx), time.Now()
	pool := jam{waits: s.db.Stats().WaitCount}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		// Each store keeps a connection to write on and this one. When several stores
		// share the pool these may be all there are, and whoever waits for another
		// would wait for ever.
		if stats := s.db.Stats(); pool.seen(stats, time.Now()) {
			return errExhausted(stats.MaxOpenConnections)
		}
		if p != nil && time.Since(checked) > checkLockEvery {
			checked = time.Now()
			if err := p.check(); err != nil {
				return err
			}
		}
		version, err := read()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("read the version of the database's data: %w", err)
		case version != last:
			last = version
			w.Wake()
			if now := s.lockFiles(ctx); !now.Equal(files) {
				files = now
				w.Joined()
			}
		}
	}
}

// exhausted reports whether all connections of the pool are in use.
func (s *Store) exhausted() bool {
	pool := s.db.Stats()
	return pool.InUse == pool.MaxOpenConnections
}

func errExhausted(connections int) error {
	return fmt.Errorf("%w: all %d connections of the pool are in use, and others wait for one; allow Slots + 3 for each worker",
		store.ErrNoWatch, connections)
}
