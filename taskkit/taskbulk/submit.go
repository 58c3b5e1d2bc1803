package taskbulk

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
)

// Submit freezes the tasks that match and submits the bulk operation for them, in one transaction: the caller's, or one of its own if tx is a
// *sql.DB. It returns how many tasks were frozen. They are read page by page, so that the memory that it needs does not grow with
// their number but for 16 to 64 bytes each.
//
// It checks no right of the actor: the caller does, and sets Filter.Owner for one who may act on tasks of their own only. Options are those of
// [taskkit.Submit], such as WithIdempotencyKey, by which a repeated submission is one. OwnedBy need not be given, and priority is high
// by default.
//
// A request that cannot be is an *[taskkit.OptionError] or a *[FilterError], more than Max tasks are a *[TooManyError], and none is [ErrNone]. After an error nothing is
// stored on a *sql.DB; a caller's transaction must be rolled back.
func Submit(ctx context.Context, tx taskkit.ExecQuerier, r Request, opts ...taskkit.SubmitOption) (id taskkit.ID, frozen int64, err error) {
	verb, err := r.check()
	if err != nil {
		return id, 0, err
	}
	db, ok := tx.(*sql.DB)
	if !ok || db == nil {
		return r.submit(ctx, tx, &verb, opts)
	}
	own, err := db.BeginTx(ctx, nil)
	if err != nil {
		return id, 0, fmt.Errorf("taskbulk: begin: %w", err)
	}
	defer func() { _ = own.Rollback() }()
	if id, frozen, err = r.submit(ctx, own, &verb, opts); err != nil {
		return taskkit.ID{}, 0, err
	}
	if err := own.Commit(); err != nil {
		return taskkit.ID{}, 0, fmt.Errorf("taskbulk: commit: %w", err)
	}
	return id, frozen, nil
}

// submit is [Submit] in a transaction.
func (r *Request) submit(ctx context.Context, tx taskkit.ExecQuerier, verb *rules, opts []taskkit.SubmitOption) (id taskkit.ID, frozen int64, err error) {
	owner := taskkit.System()
	if r.Actor != uuid.Nil {
		owner = taskkit.OwnedBy(r.Actor)
	}
	opts = append([]taskkit.SubmitOption{owner, taskkit.WithPriority(taskkit.PriorityHigh)}, opts...)
	if r.Reason != "" {
		opts = append(opts, taskkit.WithReason(r.Reason))
	}
	given, _ := access.SubmissionOf(opts) // Submit refuses what cannot be
	client := taskkit.NewClient(tx, taskkit.WithSchema(given.Schema))
	if err := writer(ctx, tx); err != nil {
		return id, 0, err
	}
	limit := cmp.Or(r.Max, most)
	tasks := func(yield func(taskkit.ID) bool) {
		for t, found := range r.matches(ctx, client, verb, false) {
			switch {
			case found != nil:
				err = found
				return
			case frozen == limit:
				err = &TooManyError{limit}
				return
			}
			frozen++
			if !yield(t.ID) {
				return
			}
		}
	}
	spec := Spec{Verb: r.Verb, Selection: describe(r.filter(verb)), Actor: r.Actor, Reason: r.Reason}
	id, submitted := taskkit.Submit(ctx, tx, Kind, spec, append(opts, taskkit.WithTargets(tasks))...)
	var none *taskkit.TargetsError
	switch {
	case err != nil:
		return taskkit.ID{}, 0, err
	case frozen == 0 && errors.As(submitted, &none):
		return taskkit.ID{}, 0, ErrNone
	case submitted != nil:
		return taskkit.ID{}, 0, submitted
	}
	return id, frozen, nil
}

// writer makes a transaction on SQLite one that writes before it reads: one that finds out later cannot wait for the lock.
func writer(ctx context.Context, tx taskkit.ExecQuerier) error {
	name, err := dialect.Detect(ctx, tx)
	if err != nil || name != dialect.SQLite {
		return err //nolint:wrapcheck // Submit explains the same error
	}
	if _, err = tx.ExecContext(ctx, "UPDATE taskkit_queued_task SET modified_date = modified_date WHERE false"); err != nil {
		return fmt.Errorf("taskbulk: begin to write: %w", err)
	}
	return nil
}

// Count counts the tasks that [Submit] would freeze, up to a limit. exact is false if there may be more: at the limit, or after some 100,000 tasks were read. Its errors are
// those of Submit, except that no task is no error. It needs no reason.
func Count(ctx context.Context, c *taskkit.Client, r Request, limit int64) (n int64, exact bool, err error) {
	r.Reason = cmp.Or(r.Reason, "counted") // which Submit needs
	verb, err := r.check()
	if err != nil {
		return 0, false, err
	}
	for _, err := range r.matches(ctx, c, &verb, true) {
		switch {
		case n == limit, errors.Is(err, errMore):
			return n, false, nil
		case err != nil:
			return n, false, err
		}
		n++
	}
	return n, true, nil
}
