package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// sqlBackdoor is the [Backdoor] of a database.
type sqlBackdoor struct{ *testdb.DB }

// Insert implements [Backdoor].
func (d sqlBackdoor) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	return store.Insert(ctx, d.DB.DB, d.Schema, tasks, notify)
}

// submitting is a [sqlBackdoor] that stores tasks through another handle.
type submitting struct {
	sqlBackdoor
	by *testdb.DB
}

// Insert implements [Backdoor].
func (d submitting) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	return sqlBackdoor{d.by}.Insert(ctx, tasks, notify)
}

// update sets columns of the rows of a table that have an id. Its assignments
// have a %s for their parameter.
func (d sqlBackdoor) update(ctx context.Context, table, id string, set []assignment) error {
	args := []any{id}
	var columns []string
	for _, a := range set {
		args = append(args, a.value)
		param := fmt.Sprintf("$%d", len(args))
		if at, ok := a.value.(time.Duration); ok {
			args, param = args[:len(args)-1], d.at(at)
		}
		columns = append(columns, a.column+" = "+param)
	}
	_, err := d.ExecContext(ctx, "UPDATE "+table+" SET "+strings.Join(columns, ", ")+" WHERE id = $1", args...)
	return err
}

// assignment is a column and its value; a duration stands for the time that is
// so far from now.
type assignment struct {
	column string
	value  any
}

// at is the SQL of a time so far from now by the database's clock, in whole
// seconds.
func (d sqlBackdoor) at(from time.Duration) string {
	seconds := int(from / time.Second)
	if d.Dialect == dialect.SQLite {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '%+d seconds')", seconds)
	}
	return fmt.Sprintf("clock_timestamp() + interval '%d seconds'", seconds)
}

// EditTask implements [Backdoor].
func (d sqlBackdoor) EditTask(ctx context.Context, id uuid.UUID, set TaskColumns) error {
	var as []assignment
	if set.Control != nil {
		as = append(as, assignment{"control", string(*set.Control)})
	}
	if set.Queue != nil {
		as = append(as, assignment{"queue", *set.Queue})
	}
	if set.Revision != nil {
		as = append(as, assignment{"codec_revision", int64(*set.Revision)})
	}
	if set.Stalled != nil {
		as = append(as, assignment{"stalled", *set.Stalled})
	}
	if set.Attempts != nil {
		as = append(as, assignment{"attempts", int64(*set.Attempts)})
	}
	if set.Due != nil {
		as = append(as, assignment{"not_before", *set.Due})
	}
	return d.update(ctx, "taskkit_queued_task", id.String(), as)
}

// RemoveTasks implements [Backdoor].
func (d sqlBackdoor) RemoveTasks(ctx context.Context) error {
	_, err := d.ExecContext(ctx, "DELETE FROM taskkit_queued_task")
	return err
}

// EditProcess implements [Backdoor].
func (d sqlBackdoor) EditProcess(ctx context.Context, id string, set ProcessColumns) error {
	var as []assignment
	if set.Heartbeat != nil {
		as = append(as, assignment{"last_heartbeat_date", *set.Heartbeat})
	}
	if set.Ended != nil {
		as = append(as, assignment{"ended_date", *set.Ended})
	}
	if set.Alive {
		as = append(as, assignment{"ended_date", nil})
	}
	if set.Lock != nil {
		as = append(as, assignment{"presence_lock", *set.Lock})
		if err := d.makeLockFile(ctx, *set.Lock); err != nil {
			return err
		}
	}
	if set.Absent != nil {
		as = append(as, assignment{"absent_date", *set.Absent})
	}
	return d.update(ctx, "taskkit_task_process", id, as)
}

// makeLockFile makes the file of a presence lock, which SQLite has, as a process that was
// killed leaves it.
func (d sqlBackdoor) makeLockFile(ctx context.Context, lock int64) error {
	if d.Dialect != dialect.SQLite {
		return nil
	}
	var file string
	if err := d.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		return err
	}
	return os.WriteFile(fmt.Sprintf("%s-taskkit-%d.lock", file, lock), nil, 0o600)
}

// RemoveProcess implements [Backdoor].
func (d sqlBackdoor) RemoveProcess(ctx context.Context, id string) error {
	_, err := d.ExecContext(ctx, "DELETE FROM taskkit_task_process WHERE id = $1", id)
	return err
}

// AddEvent implements [Backdoor].
func (d sqlBackdoor) AddEvent(ctx context.Context, task uuid.UUID, age time.Duration) error {
	_, err := d.ExecContext(ctx, "INSERT INTO taskkit_task_event (id, task_id, created_date, action, was) VALUES ($1, $2, "+d.at(-age)+", 'pause', 'QUEUED')",
		uuid.Must(uuid.NewV7()).String(), task.String())
	return err
}

// Count implements [Backdoor].
func (d sqlBackdoor) Count(ctx context.Context, rows Rows) (n int, err error) {
	from, ok := map[Rows]string{
		Tasks: "taskkit_queued_task", Items: "taskkit_task_item", Ledgers: "taskkit_task_ledger", Attempts: "taskkit_task_attempt",
		Results: "taskkit_task_result", FetchedResults: "taskkit_task_result WHERE fetched_date IS NOT NULL",
		Events: "taskkit_task_event",
	}[rows]
	if !ok {
		return 0, fmt.Errorf("cannot count %q", rows)
	}
	err = d.QueryRowContext(ctx, "SELECT count(*) FROM "+from).Scan(&n)
	return n, err
}

// CreateLedger implements [Backdoor].
func (d sqlBackdoor) CreateLedger(ctx context.Context) error {
	_, err := d.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS ledger (item text NOT NULL)")
	return err
}

// Ledger implements [Backdoor].
func (d sqlBackdoor) Ledger(ctx context.Context) (n int, err error) {
	err = d.QueryRowContext(ctx, "SELECT count(*) FROM ledger").Scan(&n)
	return n, err
}

// Interrupt implements [Backdoor].
func (d sqlBackdoor) Interrupt(ctx context.Context, tx store.Tx) error {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err := tx.ExecContext(ctx, `INSERT INTO ledger (item)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000000) SELECT 'n' FROM n`)
	if err == nil {
		return errors.New("inserted 200,000,000 rows within 100 ms")
	}
	return err
}
