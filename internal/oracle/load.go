package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// row is a task's row as history tells it.
type row struct {
	status                              string
	fence, seq, attempts                int64
	control, process                    string
	state, spec                         string
	total, taken, done, failed, skipped int64
	started, stopped, due               int64
	reason                              string
}

// targets are the places for the columns of watchedColumns, in their order.
func (r *row) targets() []any {
	return []any{
		&r.status, &r.fence, &r.seq, &r.attempts, &r.control, &r.process, &r.state, &r.spec,
		&r.total, &r.taken, &r.done, &r.failed, &r.skipped, &r.started, &r.stopped, &r.due, &r.reason,
	}
}

func (r *row) dealt() int64   { return r.done + r.failed + r.skipped }
func (r *row) inFlight() bool { return r.status == scheduling || r.status == executing }
func (r *row) terminal() bool {
	return r.status == completed || r.status == failure || r.status == errored
}

// change is one row of history.
type change struct {
	id, at, txid int64
	op           string
	old, new     row
}

// checkpoint reports whether the change is a committed batch.
func (h *change) checkpoint() bool { return h.op == "UPDATE" && h.new.seq == h.old.seq+1 }

// claim reports whether the change is a claim.
func (h *change) claim() bool { return h.op == "UPDATE" && h.new.fence > h.old.fence }

// touches are those of one call of Touch or several alike.
type touches struct {
	fence, seq, txid int64
	worker, holder   string
	seen             string
	n, first, last   int64
}

// attempt is a recorded failed attempt.
type attempt struct {
	fence, seq, attempt int64
	class, code, detail string
}

// task is all that is known of one task.
type task struct {
	id       string
	kind     string
	changes  []*change
	touches  []touches
	attempts []attempt
	events   map[string]int64 // operators' actions
	current  *row             // nil: the row does not exist; only what stands compares
	declared bool
	set      []Range
	size     int64 // of the set
	ledger   ledger
}

// last is the task's row as the last change left it; deleted says that it is
// gone.
func (t *task) last() (r *row, deleted bool) {
	h := t.changes[len(t.changes)-1]
	if h.op == "DELETE" {
		return &h.old, true
	}
	return &h.new, false
}

// each calls f with every row of a query.
func (c *checker) each(ctx context.Context, query string, args []any, f func(*sql.Rows) error) error {
	query = c.o.sql(query)
	rows, err := c.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return c.problem(query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return c.problem(query, err)
		}
	}
	if err := rows.Err(); err != nil {
		return c.problem(query, err)
	}
	return nil
}

func (c *checker) problem(query string, err error) error {
	first, _, _ := strings.Cut(query, "\n")
	return fmt.Errorf("oracle: ask %q (is the oracle installed here?): %w", first, err)
}

// pageSize is how many tasks are checked at a time.
const pageSize = 500

// zeroID comes before every task.
const zeroID = "00000000-0000-0000-0000-000000000000"

// page reads the tasks after one, in the order of their ids.
func (c *checker) page(ctx context.Context, after string) ([]*task, error) {
	var tasks []*task
	err := c.each(ctx, `SELECT task, kind FROM {s}oracle_history WHERE op = 'INSERT' AND task > $1
ORDER BY task, id LIMIT $2`, []any{after, pageSize}, func(rows *sql.Rows) error {
		t := &task{events: make(map[string]int64)}
		if err := rows.Scan(&t.id, &t.kind); err != nil {
			return err
		}
		if n := len(tasks); n == 0 || tasks[n-1].id != t.id {
			tasks = append(tasks, t)
		}
		return nil
	})
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	byID := make(map[string]*task, len(tasks))
	for _, t := range tasks {
		byID[t.id] = t
	}
	bounds := []any{after, tasks[len(tasks)-1].id}
	for _, load := range []func(context.Context, []any, map[string]*task) error{
		c.loadChanges, c.loadTouches, c.loadLedger, c.loadAttempts, c.loadEvents, c.loadCurrent,
	} {
		if err := load(ctx, bounds, byID); err != nil {
			return nil, err
		}
	}
	return tasks, nil
}

// between limits a column of tasks to a page. Texts of ids have the order of the
// ids.
const between = " > $1 AND task <= $2 "

// idBetween limits a column of ids to a page.
func (c *checker) idBetween(column string) string {
	if c.o.dialect == SQLite {
		return column + " > $1 AND " + column + " <= $2"
	}
	return column + " > CAST($1 AS text)::uuid AND " + column + " <= CAST($2 AS text)::uuid"
}

// idText is an id as text. On SQLite a column of ids has the affinity of a
// number, and compared with a column of texts it would keep the index of that
// from being used.
func (c *checker) idText(column string) string { return "CAST(" + column + " AS text)" }

func (c *checker) loadChanges(ctx context.Context, page []any, tasks map[string]*task) error {
	columns := []string{"task", "id", "at", "txid", "op"}
	for _, side := range []string{"old_", "new_"} {
		for _, w := range watchedColumns {
			none := "0"
			if w.text {
				none = "''"
			}
			columns = append(columns, "coalesce("+side+w.name+", "+none+")")
		}
	}
	return c.each(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM {s}oracle_history WHERE task"+between+"ORDER BY id", page,
		func(rows *sql.Rows) error {
			var (
				id string
				h  change
			)
			to := append([]any{&id, &h.id, &h.at, &h.txid, &h.op}, h.old.targets()...)
			if err := rows.Scan(append(to, h.new.targets()...)...); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.changes = append(t.changes, &h)
			}
			return nil
		})
}

func (c *checker) loadTouches(ctx context.Context, page []any, tasks map[string]*task) error {
	return c.each(ctx, `SELECT task, seq, fence, txid, worker, holder, seen, count(*), min(entity), max(entity)
FROM {s}oracle_touch WHERE task`+between+`GROUP BY task, seq, fence, txid, worker, holder, seen ORDER BY min(id)`, page,
		func(rows *sql.Rows) error {
			var (
				id string
				b  touches
			)
			if err := rows.Scan(&id, &b.seq, &b.fence, &b.txid, &b.worker, &b.holder, &b.seen, &b.n, &b.first, &b.last); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.touches = append(t.touches, b)
			}
			return nil
		})
}

func (c *checker) loadAttempts(ctx context.Context, page []any, tasks map[string]*task) error {
	return c.each(ctx, "SELECT "+c.idText("task_id")+", fence, checkpoint_seq, attempt, class, code, detail FROM {s}taskkit_task_attempt\nWHERE "+
		c.idBetween("task_id"), page, func(rows *sql.Rows) error {
		var (
			id string
			a  attempt
		)
		if err := rows.Scan(&id, &a.fence, &a.seq, &a.attempt, &a.class, &a.code, &a.detail); err != nil {
			return err
		}
		if t := tasks[id]; t != nil {
			t.attempts = append(t.attempts, a)
		}
		return nil
	})
}

func (c *checker) loadEvents(ctx context.Context, page []any, tasks map[string]*task) error {
	return c.each(ctx, "SELECT "+c.idText("task_id")+", action, count(*) FROM {s}taskkit_task_event\nWHERE "+
		c.idBetween("task_id")+" GROUP BY task_id, action", page, func(rows *sql.Rows) error {
		var (
			id, action string
			n          int64
		)
		if err := rows.Scan(&id, &action, &n); err != nil {
			return err
		}
		if t := tasks[id]; t != nil {
			t.events[action] = n
		}
		return nil
	})
}

func (c *checker) loadCurrent(ctx context.Context, page []any, tasks map[string]*task) error {
	columns := []string{c.idText("q.id")}
	for _, w := range watchedColumns {
		columns = append(columns, w.of(c.o.dialect, "q"))
	}
	return c.each(ctx, "SELECT "+strings.Join(columns, ", ")+"\nFROM {s}taskkit_queued_task q WHERE "+c.idBetween("q.id"), page,
		func(rows *sql.Rows) error {
			var (
				id string
				r  row
			)
			if err := rows.Scan(append([]any{&id}, r.targets()...)...); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.current = &r
			}
			return nil
		})
}

func (c *checker) loadSets(ctx context.Context, page []any, tasks map[string]*task) error {
	for id, t := range tasks {
		if set, ok := c.logged[id]; ok {
			t.declared, t.set = true, append(t.set, set...)
		}
	}
	return c.each(ctx, "SELECT task, first, past FROM {s}oracle_set WHERE task"+between, page, func(rows *sql.Rows) error {
		var (
			id string
			r  Range
		)
		if err := rows.Scan(&id, &r.First, &r.Past); err != nil {
			return err
		}
		if t := tasks[id]; t != nil {
			t.declared, t.set = true, append(t.set, r)
		}
		return nil
	})
}
