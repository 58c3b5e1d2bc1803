package taskbulk

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit"
)

// Submit freezes the tasks that match and submits the bulk operation for them, in one transaction: the caller's, or one of its own if tx is a
// *sql.DB. It returns how many tasks were frozen. They are read page by page, so that the memory that it needs does not grow with
// their number but for 16 to 64 bytes each.
//
// It checks no right of the actor: the caller does, and sets Filter.Owner for one who may act on tasks of their own only. Options are as for
// [taskkit.Submit], such as WithIdempotencyKey, by which a repeated submission is one. OwnedBy need not be given, and priority is high
// by default.
//
// A request that cannot be is an *[taskkit.OptionError] or a *[FilterError], more than Max tasks are a *[TooManyError], and none is [ErrNone]. After another error than
// one of COMMIT nothing is stored on a *sql.DB; after that one it is unknown, and a second call with the same WithIdempotencyKey finds out. A caller's
// transaction must be rolled back after an error.
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

// Spec returns the spec of the bulk operation that [Submit] stores for the request.
func (r *Request) Spec() Spec {
	verb, _ := of(r.Verb)
	return Spec{Verb: r.Verb, Selection: describe(r.filter(&verb)), Actor: r.Actor, Reason: r.Reason}
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
	lent := access.ClientOf(client)
	if _, err := lent.Store(ctx); err != nil { // checks the handle and the schema
		return id, 0, err
	}
	// The first statement writes on SQLite: a transaction that finds out later cannot wait for the lock.
	_, schema := lent.DB()
	if _, err := tx.ExecContext(ctx, dialect.Either("SELECT 1", "UPDATE taskkit_queued_task SET modified_date = modified_date WHERE false")); err != nil {
		return id, 0, lent.Public(ctx, err)
	}
	if err := repeated(ctx, tx, schema, given.IdempotencyKey); err != nil {
		return id, 0, lent.Public(ctx, err)
	}
	limit := cmp.Or(r.Max, most)
	tasks := func(yield func(taskkit.ID) bool) {
		for t, found := range r.matches(ctx, client, verb, 0) {
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
	id, submitted := taskkit.Submit(ctx, tx, Kind, r.Spec(), append(opts, taskkit.WithTargets(tasks))...)
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

// repeated returns a [store.DuplicateError] if a bulk operation has the idempotency key of a submission: after it, other tasks match, or none.
func repeated(ctx context.Context, tx taskkit.ExecQuerier, schema, key string) error {
	if key == "" {
		return nil
	}
	ids, err := sqlrows.IDs(ctx, tx, "SELECT id FROM "+dialect.Either(`"`+schema+`".taskkit_queued_task`, "taskkit_queued_task")+
		" WHERE execution_component_name = $1 AND idempotency_key = $2", Kind.Name(), key)
	if err != nil || len(ids) == 0 {
		return err
	}
	return &store.DuplicateError{Kind: Kind.Name(), Column: "idempotency_key", Key: key, ID: ids[0]}
}

// Count counts the tasks that [Submit] would freeze, up to a limit. exact is false if there may be more: at the limit, or after so many tasks were read, at least 20,000. Its errors are
// as of Submit, except that no task is no error. It needs no reason.
func Count(ctx context.Context, c *taskkit.Client, r Request, limit int64) (n int64, exact bool, err error) {
	r.Reason = cmp.Or(r.Reason, "counted") // which Submit needs
	verb, err := r.check()
	if err != nil {
		return 0, false, err
	}
	for _, err := range r.matches(ctx, c, &verb, max(counted, limit)) {
		switch {
		case errors.Is(err, errMore):
			return n, false, nil
		case err != nil:
			return n, false, err
		}
		if n++; n == limit {
			return n, false, nil
		}
	}
	return n, true, nil
}

// Queue returns a queue in which a live worker has the kind of bulk operations, for [taskkit.WithQueue]: the kind's own, or else the first by name. served is false if
// there is none, and a bulk operation would wait.
func Queue(ctx context.Context, c *taskkit.Client) (queue string, served bool, err error) {
	lent := access.ClientOf(c)
	op, err := lent.Store(ctx)
	if err != nil {
		return "", false, err
	}
	processes, err := op.Processes(ctx, 0)
	if err != nil {
		return "", false, lent.Public(ctx, err)
	}
	var queues []string
	for _, p := range processes {
		if _, ok := p.Kinds[Kind.Name()]; ok && p.Alive() && !p.Draining {
			queues = append(queues, p.Queues...)
		}
	}
	if len(queues) == 0 || slices.Contains(queues, ownQueue) {
		return ownQueue, len(queues) > 0, nil
	}
	return slices.Min(queues), true, nil
}
