package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
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
	applySQL string
	busy     time.Duration // the connections' busy_timeout
}

func newSQLite(db *sql.DB, busy time.Duration) *sqlite {
	s := &sqlite{busy: busy, base: newBase(db, "", dialect.SQLite), db: db, writer: make(chan struct{}, 1), applySQL: sqliteApplySQL()}
	s.base.write = s.inTx
	return s
}

// writing is a write transaction on a connection of its own, and the turn to
// write.
type writing struct {
	conn   *sql.Conn
	writer chan struct{}
	// leaks end the contexts of queries. Rows that were not closed would keep
	// the connection, and with it the turn to write. They are ended after the
	// transaction, lest its last statement be interrupted.
	leaks []context.CancelFunc
}

// begin waits for the turn to write and begins a write transaction.
func (s *sqlite) begin(ctx context.Context) (*writing, error) {
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the turn to write: %w", context.Cause(ctx))
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		<-s.writer
		return nil, fmt.Errorf("a connection to write on: %w", err)
	}
	w := &writing{conn: conn, writer: s.writer}
	if err := s.take(ctx, conn); err != nil {
		w.release(true) // its settings are not the pool's any more
		return nil, fmt.Errorf("begin to write: %w", err)
	}
	return w, nil
}

// take begins a transaction with the write lock of the file. It asks again every
// few milliseconds while another process writes: SQLite's own busy_timeout comes
// to ask ten times a second, and beside a process that writes without a pause
// that is too seldom to ever find the lock free.
func (s *sqlite) take(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE")
	for began := time.Now(); isBusy(err) && time.Since(began) < s.busy; {
		pause := time.NewTimer(time.Millisecond + rand.N(2*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("wait for another process: %w", context.Cause(ctx))
		}
		_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		return err
	}
	// In the transaction, and for whoever has the connection next, it holds.
	_, err = conn.ExecContext(ctx, "PRAGMA busy_timeout = "+strconv.FormatInt(s.busy.Milliseconds(), 10))
	return err
}

// isBusy reports whether err says that another connection has the lock.
func isBusy(err error) bool {
	var code interface{ Code() int }
	return errors.As(err, &code) && code.Code()&0xff == 5 // SQLITE_BUSY
}

// commit ends the transaction and gives the turn back. It runs to its end
// whatever becomes of the caller: an interrupted COMMIT leaves it open what
// happened.
func (w *writing) commit(ctx context.Context) error {
	ctx, cancel := detached(ctx, commitWithin)
	defer cancel()
	if _, err := w.conn.ExecContext(ctx, "COMMIT"); err != nil {
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
		discard(w.conn)
	} else {
		_ = w.conn.Close()
	}
	<-w.writer
}

// rollback gives the transaction and the turn up. A connection that is not
// certainly outside a transaction is closed.
func (w *writing) rollback() {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackWithin)
	defer cancel()
	_, err := w.conn.ExecContext(ctx, "ROLLBACK")
	// An error also when SQLite has rolled back by itself, as after an interrupt.
	w.release(err != nil)
}

// inTx runs f in a write transaction.
func (s *sqlite) inTx(ctx context.Context, f func(Querier) error) error {
	return s.onConn(ctx, func(conn *sql.Conn) error { return f(conn) })
}

// onConn runs f in a write transaction on its connection.
func (s *sqlite) onConn(ctx context.Context, f func(*sql.Conn) error) error {
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
	if err := f(w.conn); err != nil {
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
