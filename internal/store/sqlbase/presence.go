package sqlbase

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// NewPresenceLock draws the number of a presence lock. It is above 2^62, where
// applications hardly have locks of their own.
func NewPresenceLock() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see its documentation
	return int64(binary.BigEndian.Uint64(b[:])>>2 | 1<<62)
}

// NamePresence names a lock in the row of a process that holds it, renews the heartbeat, and
// notifies the others. It returns ErrDead when the process has been declared dead or has left.
func (b *Base) NamePresence(ctx context.Context, q store.Querier, process string, lock int64) error {
	r, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_task_process SET presence_lock = $2, absent_date = NULL, last_heartbeat_date = {now}
WHERE id = $1 AND ended_date IS NULL`), process, lock)
	if err != nil {
		return fmt.Errorf("name the presence lock of process %s: %w", process, err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, store.ErrDead)
	}
	if err := b.notify(ctx, q, store.WorkerPresent); err != nil {
		return fmt.Errorf("tell the others of process %s: %w", process, err)
	}
	return nil
}

// LosePresence records that a process has lost its lock. The next heartbeat removes the lock from its
// row; a row that names another one by then keeps that.
func (b *Base) LosePresence(process string, lock int64) { b.lost.Store(process, lock) }

// lostLock returns the lock that a process lost last, 0 if it has lost none.
func (b *Base) lostLock(process string) int64 {
	if lock, ok := b.lost.Load(process); ok {
		return lock.(int64) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	return 0
}

// FoundAlive implements [store.Workers].
func (b *Base) FoundAlive(ctx context.Context, process string) (declaredDead bool, err error) {
	err = b.writeOne(ctx, func(q store.Querier) error {
		r, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_task_process SET found_alive_date = {now}
WHERE id = $1 AND ended_reason IN ('`+store.EndedSilent+`', '`+store.EndedAbsent+`') AND found_alive_date IS NULL`), process)
		if err != nil {
			return fmt.Errorf("record that process %s runs: %w", process, err)
		}
		n, err := r.RowsAffected()
		declaredDead = n > 0
		return err
	})
	return declaredDead, err
}

// FreeLocks finds out which presence locks are free.
type FreeLocks struct {
	With string // SQL before the SELECT
	Free string // SQL of whether p.presence_lock may be free
	// Taken reports whether a lock is held; nil means that no lock is.
	Taken func(lock int64) bool
}

// ReadLocks is ReadPresence of [store.Workers], with the locks of a database.
func (b *Base) ReadLocks(ctx context.Context, process string, how FreeLocks) (store.PresenceReading, error) {
	var (
		reading store.PresenceReading
		missing []int64
		lost    bool // the process's own lock
	)
	_, err := sqlrows.Query(ctx, b.q, b.SQL(how.With+`SELECT p.id, coalesce(p.presence_lock, 0), `+how.Free+`, p.absent_date IS NOT NULL, coalesce(p.absent_date < `+b.ago("$1")+`, false), {now}
FROM {s}taskkit_task_process p WHERE p.ended_date IS NULL ORDER BY p.id`),
		[]any{Millis(store.AbsentFor)}, func(rows *sql.Rows) error {
			var (
				id               string
				lock             int64
				free, seen, long bool
			)
			if err := rows.Scan(&id, &lock, &free, &seen, &long, sqlrows.Time(&reading.At)); err != nil {
				return err
			}
			free = lock != 0 && free && (how.Taken == nil || !how.Taken(lock))
			if id == process {
				lost = free
				return nil
			}
			reading.Others = append(reading.Others, id)
			reading.Present = reading.Present || lock != 0
			switch {
			case !free:
			case long:
				reading.Absent = append(reading.Absent, lock)
			default:
				reading.Missing = true
				if !seen {
					missing = append(missing, lock)
				}
			}
			return nil
		})
	if err != nil {
		return store.PresenceReading{}, fmt.Errorf("read the presence of workers: %w", err)
	}
	if lost {
		reading.Absent, reading.Missing = nil, false
		return reading, nil
	}
	if len(missing) > 0 {
		err = b.markAbsent(ctx, missing)
	}
	return reading, err
}

// NamedLocks returns the presence locks in the rows of live processes.
func (b *Base) NamedLocks(ctx context.Context) (map[int64]bool, error) {
	named := make(map[int64]bool)
	_, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT presence_lock FROM {s}taskkit_task_process WHERE ended_date IS NULL AND presence_lock IS NOT NULL"), nil,
		func(rows *sql.Rows) error {
			var lock int64
			err := rows.Scan(&lock)
			named[lock] = true
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the presence locks of workers: %w", err)
	}
	return named, nil
}

// markAbsent records when locks were first seen to be free. A row that names another
// lock meanwhile keeps that.
func (b *Base) markAbsent(ctx context.Context, locks []int64) error {
	return b.writeOne(ctx, func(q store.Querier) error {
		_, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_task_process SET absent_date = {now} WHERE id IN (
  SELECT p.id FROM {s}taskkit_task_process p
  WHERE p.presence_lock `+b.anyNumber("$1")+` AND p.ended_date IS NULL AND p.absent_date IS NULL ORDER BY p.id `+b.skipLocked()+")"), b.numbersArg(locks))
		if err != nil {
			return fmt.Errorf("record that presence locks are free: %w", err)
		}
		return nil
	})
}

// absent is the condition that the presence lock of a process p is in the list of a
// parameter, and was found to be free at least as long ago as another parameter.
func (t Statements) absent(locks, milliseconds string) string {
	return "p.presence_lock " + t.anyNumber(locks) + " AND p.absent_date < " + t.ago(milliseconds)
}

// anyNumber is the condition, after a column, that it is one of the numbers of a
// parameter, which [Statements.numbersArg] makes.
func (t Statements) anyNumber(param string) string { return t.anyOf(param, "::bigint[]") }

// numbersArg is the parameter of anyNumber.
func (t Statements) numbersArg(numbers []int64) any {
	values := make([]string, len(numbers))
	for i, n := range numbers {
		values[i] = strconv.FormatInt(n, 10)
	}
	if t.dialect == dialect.SQLite {
		return "[" + strings.Join(values, ",") + "]"
	}
	return values
}
