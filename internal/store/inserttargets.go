package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/internal/dialect"
)

// Where the targets of a task are, in the column targets of its plan.
const (
	TargetsFrozen  = "frozen"  // in pages
	TargetsFinding = "finding" // in pages, and the set is not complete
)

// maxPages bounds the pages of one statement. It is a power of two.
const maxPages = 16

// maxPlans bounds the plans of one statement, and is a power of two. planColumns is how many
// parameters each has.
const (
	maxPlans    = 64
	planColumns = 7
)

// hasTargetPages reports whether targets are stored with the task.
func (t *NewTask) hasTargetPages() bool { return t.Targets != nil && !t.Targets.Finding }

// withPlan stores a task with its plan and its frozen targets.
func (i *inserter) withPlan(ctx context.Context, t *NewTask) error {
	if err := i.withTargets(ctx, t); err != nil {
		return err
	}
	if err := i.plans(ctx, []*NewTask{t}); err != nil {
		return err
	}
	return i.awaiting(ctx, []*NewTask{t})
}

// withPlans stores tasks with plans, and without pages of targets.
func (i *inserter) withPlans(ctx context.Context, tasks []*NewTask) error {
	if err := i.many(ctx, tasks); err != nil {
		return err
	}
	for len(tasks) > 0 {
		n := maxPlans
		for n > len(tasks) {
			n /= 2
		}
		if err := i.plans(ctx, tasks[:n]); err != nil {
			return err
		}
		if err := i.awaiting(ctx, tasks[:n]); err != nil {
			return err
		}
		tasks = tasks[n:]
	}
	return nil
}

// plans stores the plans of tasks. Their number is a power of two, so that there are few
// texts of the statement to prepare.
func (i *inserter) plans(ctx context.Context, tasks []*NewTask) error {
	args := make([]any, 0, (planColumns+1)*len(tasks))
	now := time.Now()
	for _, t := range tasks {
		t.SetTimes(now)
	}
	expires := slices.ContainsFunc(tasks, func(t *NewTask) bool { return t.Options != nil && !t.Options.Expiry(now, false).IsZero() })
	for _, t := range tasks {
		options, err := t.Options.encode()
		if err != nil {
			return err
		}
		var where, field, total any
		switch {
		case t.hasTargetPages():
			where, field, total = TargetsFrozen, t.Targets.Field, t.Total
		case t.Targets != nil:
			where, field, total = TargetsFinding, t.Targets.Field, int64(0)
		}
		args = append(args, NewID().String(), t.ID.String(), where, field, total, orNull(string(t.Spec)), orNull(options))
		if expires {
			args = append(args, expiryOf(t, now))
		}
	}
	columns, rows := "id, task_id, targets, targets_field, targets_total, spec, options", rowsOf(len(tasks), planColumns)
	if expires {
		columns, rows = columns+", expiry_date", expiringRows(len(tasks))
	}
	_, err := i.handle.ExecContext(ctx, "INSERT INTO "+i.beside("taskkit_task_plan")+" ("+columns+")\nVALUES "+rows, args...)
	if err != nil {
		return fmt.Errorf("store the plans of %d tasks, the first is %s: %w", len(tasks), tasks[0].ID, err)
	}
	return nil
}

// expiryOf is when the options of a task may end or remove it first, as a parameter.
func expiryOf(t *NewTask, now time.Time) any {
	if t.Options == nil {
		return nil
	}
	at := t.Options.Expiry(now, false)
	if at.IsZero() {
		return nil
	}
	return at.UTC().Format("2006-01-02 15:04:05.000000") + "+00:00"
}

// expiringRows are the parameters of n rows of a plan with an expiry.
func expiringRows(n int) string {
	var rows []string
	for j := range n {
		var row []string
		for c := range planColumns + 1 {
			row = append(row, "$"+strconv.Itoa(j*(planColumns+1)+c+1))
		}
		at := &row[planColumns]
		*at = dialect.Either(*at+"::text::timestamptz", "strftime('%Y-%m-%d %H:%M:%f', "+*at+")")
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	return strings.Join(rows, ", ")
}

// withTargets stores a task with its frozen targets, and sets its total. When all targets
// fit one statement they have been checked before the first. Otherwise the task is
// stored first, its total is set at the end, and an error may come after statements
// that only a rollback undoes.
func (i *inserter) withTargets(ctx context.Context, t *NewTask) error {
	pages, streams := newTargetPages(t.Targets), false
	for keys, err := range keyBatches(t.Targets.Keys) {
		if err == nil {
			err = pages.addAll(keys)
		}
		if err != nil {
			return err
		}
		if len(pages.complete) < maxPages && pages.size < maxBytes {
			continue
		}
		if !streams {
			t.Total = -1
			if err := i.many(ctx, []*NewTask{t}); err != nil {
				return err
			}
			streams = true
		}
		if err := i.pages(ctx, t, pages); err != nil {
			return err
		}
	}
	pages.finish()
	total := int64(pages.kept)
	switch {
	case total == 0:
		return pages.errNone()
	case !streams:
		t.Total = total
		if err := i.many(ctx, []*NewTask{t}); err != nil {
			return err
		}
	default:
		t.Total = total
		if _, err := i.handle.ExecContext(ctx, "UPDATE "+i.table+" SET items_total = $2 WHERE id = $1", t.ID.String(), total); err != nil {
			return fmt.Errorf("set the number of targets of task %s: %w", t.ID, err)
		}
	}
	return i.pages(ctx, t, pages)
}

// pages stores the complete pages. The number of pages of a statement is a power of
// two, so that there are few texts of it to prepare.
func (i *inserter) pages(ctx context.Context, t *NewTask, from *targetPages) error {
	number, pages := from.take()
	for len(pages) > 0 {
		n := maxPages
		for n > len(pages) {
			n /= 2
		}
		args := make([]any, 0, 4*n)
		for j, page := range pages[:n] {
			args = append(args, NewID().String(), t.ID.String(), int64(number+j), page)
		}
		if _, err := i.handle.ExecContext(ctx, insertPages(i.beside("taskkit_task_target"), n), args...); err != nil {
			return fmt.Errorf("store the targets %d to %d of task %s: %w",
				number*TargetsPerPage, (number+n)*TargetsPerPage-1, t.ID, err)
		}
		number, pages = number+n, pages[n:]
	}
	return nil
}

// insertPages is the text of an INSERT of n pages.
func insertPages(table string, n int) string {
	return "INSERT INTO " + table + " (id, task_id, page, keys)\nVALUES " + rowsOf(n, 4)
}

// rowsOf are the parameters of n rows of some columns.
func rowsOf(n, columns int) string {
	var b strings.Builder
	for j := range n * columns {
		switch {
		case j == 0:
			b.WriteString("($")
		case j%columns == 0:
			b.WriteString("), ($")
		default:
			b.WriteString(", $")
		}
		b.WriteString(strconv.Itoa(j + 1))
	}
	return b.String() + ")"
}

// beside is another table of the schema.
func (i *inserter) beside(table string) string {
	return dialect.Either(`"`+i.schema+`".`+table, table)
}
