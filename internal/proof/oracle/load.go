package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// targets are the places for the columns of watchedColumns, in their order.
func (r *Row) targets() []any {
	return []any{
		&r.Status, &r.Fence, &r.Seq, &r.Attempts, &r.Control, &r.Process, &r.State, &r.Spec,
		&r.Total, &r.Position, &r.Round, &r.Done, &r.Failed, &r.Skipped, &r.Started, &r.Stopped, &r.Due, &r.Reason, &r.Partial,
	}
}

// last is the task's row as the last change left it; deleted says that it is
// gone.
func (t *Task) last() (r *Row, deleted bool) {
	h := t.Changes[len(t.Changes)-1]
	if h.Op == "DELETE" {
		return &h.Old, true
	}
	return &h.New, false
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
func (c *checker) page(ctx context.Context, after string) ([]*Task, error) {
	var tasks []*Task
	err := c.each(ctx, `SELECT task, kind FROM {s}oracle_history WHERE op = 'INSERT' AND task > $1
ORDER BY task, id LIMIT $2`, []any{after, pageSize}, func(rows *sql.Rows) error {
		t := &Task{Events: make(map[string]int64)}
		if err := rows.Scan(&t.ID, &t.Kind); err != nil {
			return err
		}
		if n := len(tasks); n == 0 || tasks[n-1].ID != t.ID {
			tasks = append(tasks, t)
		}
		return nil
	})
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	byID := make(map[string]*Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
	}
	bounds := []any{after, tasks[len(tasks)-1].ID}
	for _, load := range []func(context.Context, []any, map[string]*Task) error{
		c.loadChanges, c.loadTouches, c.loadLedger, c.loadAttempts, c.loadOutcomes, c.loadEvents, c.loadDeletedAbove, c.loadFailedChildren, c.loadCurrent,
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

func (c *checker) loadChanges(ctx context.Context, page []any, tasks map[string]*Task) error {
	columns := []string{"task", "id", "at", "txid", "op", "options"}
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
				id, options string
				h           Change
			)
			to := append([]any{&id, &h.ID, &h.At, &h.Tx, &h.Op, &options}, h.Old.targets()...)
			if err := rows.Scan(append(to, h.New.targets()...)...); err != nil {
				return err
			}
			if err := h.Conditions.decode(options); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.Changes = append(t.Changes, &h)
			}
			return nil
		})
}

func (c *checker) loadTouches(ctx context.Context, page []any, tasks map[string]*Task) error {
	return c.each(ctx, `SELECT task, seq, fence, txid, worker, holder, seen, count(*), min(entity), max(entity)
FROM {s}oracle_touch WHERE task`+between+`GROUP BY task, seq, fence, txid, worker, holder, seen ORDER BY min(id)`, page,
		func(rows *sql.Rows) error {
			var (
				id string
				b  Touches
			)
			if err := rows.Scan(&id, &b.Seq, &b.Fence, &b.Tx, &b.Worker, &b.Holder, &b.Seen, &b.N, &b.First, &b.Last); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.Touches = append(t.Touches, b)
			}
			return nil
		})
}

func (c *checker) loadAttempts(ctx context.Context, page []any, tasks map[string]*Task) error {
	return c.each(ctx, "SELECT "+c.idText("task_id")+", fence, checkpoint_seq, attempt, class, code, detail FROM {s}taskkit_task_attempt\nWHERE "+
		c.idBetween("task_id"), page, func(rows *sql.Rows) error {
		var (
			id string
			a  Attempt
		)
		if err := rows.Scan(&id, &a.Fence, &a.Seq, &a.Number, &a.Class, &a.Code, &a.Detail); err != nil {
			return err
		}
		if t := tasks[id]; t != nil {
			t.Attempts = append(t.Attempts, a)
		}
		return nil
	})
}

func (c *checker) loadEvents(ctx context.Context, page []any, tasks map[string]*Task) error {
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
			t.Events[action] = n
		}
		return nil
	})
}

// loadDeletedAbove reads which tasks are children, to any depth, of one whose delete was requested. Those
// that have ended go with it, without an event.
func (c *checker) loadDeletedAbove(ctx context.Context, page []any, tasks map[string]*Task) error {
	parent := "a.parent"
	if c.o.dialect == Postgres {
		parent = "CAST(a.parent AS uuid)"
	}
	return c.each(ctx, `WITH RECURSIVE above (task, parent) AS (
  SELECT task, parent FROM {s}oracle_history WHERE op = 'INSERT' AND parent <> '' AND task`+between+`
  UNION ALL SELECT a.task, h.parent FROM above a JOIN {s}oracle_history h ON h.task = a.parent WHERE h.op = 'INSERT' AND h.parent <> ''
) SELECT DISTINCT a.task FROM above a JOIN {s}taskkit_task_event e ON e.task_id = `+parent+` WHERE e.action = 'delete'`, page,
		func(rows *sql.Rows) error {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.DeletedAbove = true
			}
			return nil
		})
}

func (c *checker) loadFailedChildren(ctx context.Context, page []any, tasks map[string]*Task) error {
	const query = `SELECT DISTINCT parent FROM {s}oracle_history
WHERE parent <> '' AND new_status IN ('FAILURE', 'ERROR') AND parent > $1 AND parent <= $2`
	return c.each(ctx, query, page, func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if t := tasks[id]; t != nil {
			t.FailedChild = true
		}
		return nil
	})
}

func (c *checker) loadOutcomes(ctx context.Context, page []any, tasks map[string]*Task) error {
	return c.each(ctx, "SELECT "+c.idText("i.task_id")+", i.outcome, count(*) FROM {s}taskkit_task_item i WHERE "+
		c.idBetween("i.task_id")+" GROUP BY i.task_id, i.outcome", page,
		func(rows *sql.Rows) error {
			var (
				id, outcome string
				n           int64
			)
			if err := rows.Scan(&id, &outcome, &n); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				if t.Outcomes == nil {
					t.Outcomes = make(map[string]int64)
				}
				t.Outcomes[outcome] = n
			}
			return nil
		})
}

func (c *checker) loadCurrent(ctx context.Context, page []any, tasks map[string]*Task) error {
	columns := []string{c.idText("q.ID")}
	for _, w := range watchedColumns {
		columns = append(columns, w.of(c.o.dialect, "q"))
	}
	return c.each(ctx, "SELECT "+strings.Join(columns, ", ")+"\nFROM {s}taskkit_queued_task q WHERE "+c.idBetween("q.ID"), page,
		func(rows *sql.Rows) error {
			var (
				id string
				r  Row
			)
			if err := rows.Scan(append([]any{&id}, r.targets()...)...); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.Current = &r
			}
			return nil
		})
}

func (c *checker) loadSets(ctx context.Context, page []any, tasks map[string]*Task) error {
	for id, t := range tasks {
		if set, ok := c.logged[id]; ok {
			t.Declared, t.Set = true, append(t.Set, set...)
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
			t.Declared, t.Set = true, append(t.Set, r)
		}
		return nil
	})
}
