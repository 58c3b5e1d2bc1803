package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"taskkit.dev/internal/dialect"
)

// sqlite is the Store on SQLite, which has one write lock for the whole file.
// The writers of this process queue for it at a semaphore, which is fair and
// costs nothing, instead of asking SQLite again and again; a second process
// waits in SQLite's busy_timeout. A write transaction takes the lock when it
// begins: one that finds out later that it wants to write cannot wait for it.
type sqlite struct {
	*base
	db       *sql.DB
	writer   chan struct{} // holds a token while somebody writes
	conn     *liteConn     // of the writer; nil until one has written
	reads    keptReads
	applyAt  applyTexts // with the time as their last parameter
	applyNow applyTexts
	claims   sync.Map      // claimTexts by the number of queues
	busy     time.Duration // the connections' busy_timeout
}

func newSQLite(db *sql.DB, busy time.Duration) *sqlite {
	s := &sqlite{busy: busy, base: newBase(db, "", dialect.SQLite), db: db, writer: make(chan struct{}, 1), applyAt: newApplyTexts("$18"), applyNow: newApplyTexts(sqliteNow)}
	s.base.write, s.reads.db = s.inTx, db
	return s
}

// writing is a write transaction, and the turn to write.
type writing struct {
	*liteConn
	store *sqlite
	// leaks end the contexts of queries. Rows that were not closed would keep
	// the connection, and with it the turn to write. They are ended after the
	// transaction, lest its last statement be interrupted.
	leaks []context.CancelFunc
}

// turn waits for the turn to write, which [sqlite.pass] gives back.
func (s *sqlite) turn(ctx context.Context) error {
	select {
	case s.writer <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the turn to write: %w", context.Cause(ctx))
	}
}

func (s *sqlite) pass() { <-s.writer }

// Release implements [Store].
func (s *sqlite) Release(ctx context.Context) {
	s.reads.close()
	if s.turn(ctx) == nil {
		s.drop()
		s.pass()
	}
}

// drop closes the writer's connection. Its caller has the turn.
func (s *sqlite) drop() {
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
}

// begin waits for the turn to write and begins a write transaction.
func (s *sqlite) begin(ctx context.Context) (*writing, error) {
	if err := s.turn(ctx); err != nil {
		return nil, err
	}
	if s.conn == nil {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			s.pass()
			return nil, fmt.Errorf("a connection to write on: %w", err)
		}
		s.conn = &liteConn{conn: conn, stmts: make(map[string]*sql.Stmt)}
		if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
			s.drop()
			s.pass()
			return nil, fmt.Errorf("set up a connection to write on: %w", err)
		}
	}
	w := &writing{liteConn: s.conn, store: s}
	if err := s.take(ctx); err != nil {
		w.release(true)
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	return w, nil
}

// take begins a transaction with the write lock of the file. It asks again every
// few milliseconds while another process writes: SQLite's own busy_timeout comes
// to ask ten times a second, and beside a process that writes without a pause
// that is too seldom to ever find the lock free. So the writer's connection has
// none.
func (s *sqlite) take(ctx context.Context) error {
	return s.patiently(ctx, "BEGIN IMMEDIATE")
}

// patiently runs a statement that may have to wait for others' locks.
func (s *sqlite) patiently(ctx context.Context, query string) error {
	// Never long, and the driver would watch its end from another goroutine.
	apart := context.WithoutCancel(ctx)
	_, err := s.conn.ExecContext(apart, query)
	for began := time.Now(); isBusy(err) && time.Since(began) < s.busy; {
		pause := time.NewTimer(time.Millisecond + rand.N(2*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("wait for others' locks: %w", context.Cause(ctx))
		}
		_, err = s.conn.ExecContext(apart, query)
	}
	return err
}

// isBusy reports whether err says that another connection has the lock.
func isBusy(err error) bool {
	var code interface{ Code() int }
	return errors.As(err, &code) && code.Code()&0xff == 5 // SQLITE_BUSY
}

// commit ends the transaction and gives the turn back. It runs to its end
// whatever becomes of the caller: an interrupted COMMIT leaves it open what
// happened. Without a WAL it may have to wait, for readers.
func (w *writing) commit(ctx context.Context) error {
	if err := w.store.patiently(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		w.rollback()
		return err
	}
	w.release(false)
	return nil
}

// release gives the connection and the turn back.
func (w *writing) release(broken bool) {
	for _, end := range w.leaks {
		end()
	}
	if broken {
		w.store.drop()
	}
	w.store.pass()
}

// rollback gives the transaction and the turn up. A connection that is not
// certainly outside a transaction is closed.
func (w *writing) rollback() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackWithin)
	defer cancel()
	_, err := w.ExecContext(ctx, "ROLLBACK")
	// An error also when SQLite has rolled back by itself, as after an interrupt.
	w.release(err != nil)
}

// inTx runs f in a write transaction.
func (s *sqlite) inTx(ctx context.Context, f func(Querier) error) error {
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
		return &UnknownError{err}
	}
	return nil
}

// watchEvery is how often the listener looks whether the file has changed. A
// look is a read of a counter in shared memory.
const watchEvery = 20 * time.Millisecond

// Watch implements [Store]. SQLite tells nobody of a change, but counts them:
// data_version differs when another connection, of whatever process, has
// committed.
func (s *sqlite) Watch(ctx context.Context, ready, wake func()) error {
	if n := s.db.Stats().MaxOpenConnections; n > 0 && n < 3 {
		return fmt.Errorf("%w: a pool of %d connections has none to spare; allow 4 or more", ErrNoWatch, n)
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("a connection to watch on: %w", err)
	}
	defer conn.Close()
	look := func() (version int64, err error) {
		err = conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
		return version, err
	}
	last, err := look()
	if err != nil {
		return errors.Join(ErrNoWatch, err)
	}
	ready()
	wake() // for what came before
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		version, err := look()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("look whether the database has changed: %w", err)
		case version != last:
			last = version
			wake()
		}
	}
}
