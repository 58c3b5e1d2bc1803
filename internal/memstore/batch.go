package memstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/internal/store"
)

// Tx is a batch's transaction.
type Tx struct {
	store  *Store
	hold   store.Hold
	limits store.Limits
	idle   *time.Timer // ends the transaction in the worker's stead

	// The rest is guarded by the store's mutex.
	row     *row
	over    bool
	killed  bool
	aborted bool // a statement has failed
	rows    []Row
	saved   []savepoint
	write   *store.Write // prepared
	after   *store.Task
}

type savepoint struct {
	name string
	rows int
}

var (
	errNotYours = errors.New("the batch's transaction belongs to the runtime")
	errKilled   = &Error{"25P03", "terminating connection due to idle-in-transaction timeout"}
	errAborted  = &Error{"25P02", "current transaction is aborted, commands ignored until end of transaction block"}
)

// Begin implements [store.Store].
func (s *Store) Begin(ctx context.Context, h store.Hold, l store.Limits) (store.Tx, error) {
	return s.begin(ctx, h, l)
}

func (s *Store) begin(ctx context.Context, h store.Hold, l store.Limits) (*Tx, error) {
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, err)
	}
	defer s.mu.Unlock()
	r := s.tasks[h.ID]
	if r == nil || r.Fence != h.Fence || r.Seq != h.Seq || !r.Status.InFlight() {
		return nil, fmt.Errorf("begin a batch of task %s: %w", h.ID, store.ErrLost)
	}
	t := &Tx{store: s, hold: h, limits: l, row: r}
	r.share[t] = true
	if l.Idle > 0 {
		t.idle = time.AfterFunc(l.Idle, t.Kill)
	}
	return t, nil
}

// Kill ends the transaction from the server's side, as when its connection is
// gone or has been silent for too long.
func (t *Tx) Kill() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.over {
		t.killed = true
		t.end()
	}
}

// end gives everything up that is not committed. The store's mutex is held.
func (t *Tx) end() {
	t.over = true
	if t.idle != nil {
		t.idle.Stop()
	}
	delete(t.row.share, t)
	if t.row.writer == t {
		t.row.writer = nil
	}
	t.row.unlock()
}

// ready begins a statement of the transaction. The store's mutex is held.
func (t *Tx) ready(ctx context.Context) error {
	switch {
	case t.killed:
		return errKilled
	case t.over:
		return sql.ErrTxDone
	}
	if t.idle != nil {
		t.idle.Reset(t.limits.Idle)
	}
	if err := ctx.Err(); err != nil {
		t.aborted = true // interrupted
		return err
	}
	return nil
}

// Dialect returns ent's name of the database.
func (t *Tx) Dialect() string { return string(t.store.Dialect()) }

// Raw implements [store.Tx].
func (t *Tx) Raw(query string) (store.Querier, error) {
	if ownsEnd(query) {
		return nil, errNotYours
	}
	return t, nil
}

// ExecContext implements [store.Querier] for INSERT ... VALUES into a table of
// the user's, and for savepoints.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if ownsEnd(query) {
		return nil, errNotYours
	}
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	words := strings.Fields(query)
	switch strings.ToUpper(words[0]) {
	case "SAVEPOINT", "RELEASE", "ROLLBACK":
		return affected(0), t.savepoint(words)
	}
	if t.aborted {
		return nil, errAborted
	}
	table, values, err := insertion(query, args)
	if err == nil && !t.store.tables[table] {
		err = &Error{"42P01", "relation " + table + " does not exist"}
	}
	if err != nil {
		t.aborted = true
		return nil, err
	}
	t.rows = append(t.rows, Row{Table: table, Values: values, Hold: t.hold})
	return affected(1), nil
}

// savepoint executes SAVEPOINT x, RELEASE SAVEPOINT x or ROLLBACK TO SAVEPOINT x.
func (t *Tx) savepoint(words []string) error {
	name := words[len(words)-1]
	if strings.EqualFold(words[0], "SAVEPOINT") {
		if t.aborted {
			return errAborted
		}
		t.saved = append(t.saved, savepoint{name, len(t.rows)})
		return nil
	}
	for i, p := range slices.Backward(t.saved) {
		if p.name != name {
			continue
		}
		if strings.EqualFold(words[0], "RELEASE") {
			if t.aborted {
				return errAborted
			}
			t.saved = t.saved[:i]
			return nil
		}
		t.rows, t.saved, t.aborted = t.rows[:p.rows], t.saved[:i+1], false
		return nil
	}
	t.aborted = true
	return &Error{"3B001", "savepoint does not exist"}
}

// QueryContext implements [store.Querier]. There is nothing to ask: *sql.Rows
// come from drivers only.
func (t *Tx) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, &Error{"0A000", "the store in memory answers no queries"}
}

// Commit implements [store.Tx].
func (t *Tx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	a, err := t.Prepare(ctx, w)
	if err != nil || !a.OK {
		return a, err
	}
	if err := t.Finish(); err != nil {
		return store.Applied{}, &store.UnknownError{Err: err}
	}
	return a, nil
}

// Prepare makes the batch's last write inside the transaction and keeps the row
// locked. Nobody sees the write before [Tx.Finish]. On an error, and when the
// hold is gone, the transaction has ended.
func (t *Tx) Prepare(ctx context.Context, w store.Write) (store.Applied, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	err := t.ready(ctx)
	if errors.Is(err, sql.ErrTxDone) || t.killed {
		return store.Applied{}, err
	}
	if err == nil && t.aborted {
		err = errAborted
	}
	if err == nil && t.write != nil {
		err = errors.New("the batch has had its last write")
	}
	lock := ctx
	if t.limits.Lock > 0 {
		var cancel context.CancelFunc
		lock, cancel = context.WithTimeout(ctx, t.limits.Lock)
		defer cancel()
	}
	for err == nil {
		r := t.store.tasks[w.ID]
		if r == nil || !holds(r, &w) {
			t.end()
			return store.Applied{}, nil
		}
		if !t.store.waits(r, &w, t) {
			t.after, err = t.store.after(r, &w)
			break
		}
		if err = t.store.await(lock, r); err == nil {
			err = t.ready(ctx)
		} else if ctx.Err() == nil {
			err = &Error{"55P03", "canceling statement due to lock timeout"}
		}
	}
	if err != nil {
		if !t.over {
			t.end()
		}
		return store.Applied{}, fmt.Errorf("write the end of a batch of task %s: %w", w.ID, err)
	}
	t.write, t.row.writer = &w, t
	a := store.Applied{OK: true, Control: t.row.Control}
	if t.after != nil {
		a.Control = t.after.Control
	}
	return a, nil
}

// Finish commits what has been prepared.
func (t *Tx) Finish() error {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	switch {
	case t.killed:
		return errKilled
	case t.over || t.write == nil:
		return sql.ErrTxDone
	}
	commit, at := t.store.commit(), t.store.now()
	for _, r := range t.rows {
		r.Commit, r.At = commit, at
		t.store.rows = append(t.store.rows, r)
	}
	t.store.make(commit, "Commit", t.row, t.after, t.write)
	t.end()
	return nil
}

// Rollback implements [store.Tx].
func (t *Tx) Rollback() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.over {
		t.end()
	}
}

// ownsEnd reports whether a text has a statement that would end the transaction
// or begin one. No string that this store is given holds a semicolon.
func ownsEnd(query string) bool {
	for statement := range strings.SplitSeq(query, ";") {
		if endsTransaction(statement) {
			return true
		}
	}
	return false
}

func endsTransaction(query string) bool {
	for {
		query = strings.TrimSpace(query)
		if strings.HasPrefix(query, "--") {
			_, query, _ = strings.Cut(query, "\n")
			continue
		}
		if strings.HasPrefix(query, "/*") {
			_, query, _ = strings.Cut(query, "*/")
			continue
		}
		break
	}
	words := strings.Fields(strings.ToUpper(query))
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "COMMIT", "END", "ABORT", "BEGIN", "START":
		return true
	case "ROLLBACK":
		return len(words) < 2 || words[1] != "TO"
	case "PREPARE":
		return len(words) > 1 && words[1] == "TRANSACTION"
	}
	return false
}

// affected is a count of rows as a driver gives it.
type affected int64

func (affected) LastInsertId() (int64, error) { return 0, errors.New("no ids are given out") }

func (n affected) RowsAffected() (int64, error) { return int64(n), nil }
