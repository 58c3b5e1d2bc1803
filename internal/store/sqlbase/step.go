package sqlbase

import (
	"context"
	"database/sql"
	"fmt"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// Step is a statement that can be sent together with others, since nothing waits for its result.
type Step struct {
	Text string
	Args []any
	// Row is called for each row, with what scans it; nil: no row is read.
	Row func(scan func(...any) error) error
	// Affected gets the number of rows that a step without Row has changed; nil if it is not needed.
	Affected *int64
	// What describes the statement in its error; "" adds nothing to the error.
	What string
}

// Err is the error of the step.
func (s Step) Err(err error) error {
	if err == nil || s.What == "" {
		return err
	}
	return fmt.Errorf("%s: %w", s.What, err)
}

// Run runs the step by itself. It returns the error of the database.
func (s Step) Run(ctx context.Context, q store.Querier) error {
	if s.Row != nil {
		_, err := sqlrows.Query(ctx, q, s.Text, s.Args, func(rows *sql.Rows) error { return s.Row(rows.Scan) })
		return err
	}
	r, err := q.ExecContext(ctx, s.Text, s.Args...)
	if err == nil && s.Affected != nil {
		*s.Affected, err = r.RowsAffected()
	}
	return err
}

// Queue is a transaction in which steps wait for each other: they are sent together, in their order, before the
// next statement that is no step, or with the COMMIT.
type Queue interface {
	Add(steps ...Step)
	Flush(ctx context.Context) error
}

// do runs steps in a transaction, or adds them to those that wait in it. Their results, and their errors, are there after
// [flush] or any other statement, and otherwise when the transaction has been committed.
func do(ctx context.Context, q store.Querier, steps ...Step) error {
	if queue, ok := q.(Queue); ok {
		queue.Add(steps...)
		return nil
	}
	for _, s := range steps {
		if err := s.Err(s.Run(ctx, q)); err != nil {
			return err
		}
	}
	return nil
}

// flush waits for the results of all steps of a transaction.
func flush(ctx context.Context, q store.Querier) error {
	if queue, ok := q.(Queue); ok {
		return queue.Flush(ctx)
	}
	return nil
}

// idInto appends the id in each row of a step to a list.
func idInto[T any](to *[]T) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var id T
		err := scan(&id)
		*to = append(*to, id)
		return err
	}
}
