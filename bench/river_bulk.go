package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// riverPerson is a job for one person.
type riverPerson struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
}

// Kind implements [river.JobArgs].
func (riverPerson) Kind() string { return "person" }

// riverPersonWorker changes a person in a statement of its own: River then
// completes many jobs in one statement. In a transaction with the completion it
// would be slower, and safe.
type riverPersonWorker struct {
	river.WorkerDefaults[riverPerson]
	pool *pgxpool.Pool
	ran  func(int64)
}

// Work implements [river.Worker].
func (w *riverPersonWorker) Work(ctx context.Context, job *river.Job[riverPerson]) error {
	if _, err := w.pool.Exec(ctx, updatePeople, job.Args.Status, job.Args.ID-1, job.Args.ID); err != nil {
		return err
	}
	w.ran(0)
	return nil
}

// riverPeople is a job for everybody, in batches.
type riverPeople struct {
	Status string `json:"status"`
	To     int64  `json:"to"`
	Batch  int64  `json:"batch"`
}

// Kind implements [river.JobArgs].
func (riverPeople) Kind() string { return "people" }

// riverPeopleWorker keeps its cursor in the transaction of each batch.
type riverPeopleWorker struct {
	river.WorkerDefaults[riverPeople]
	pool *pgxpool.Pool
	ran  func(int64)
}

// Timeout implements [river.Worker]: River's minute is too short for everybody.
func (w *riverPeopleWorker) Timeout(*river.Job[riverPeople]) time.Duration { return -1 }

// Work implements [river.Worker].
func (w *riverPeopleWorker) Work(ctx context.Context, job *river.Job[riverPeople]) error {
	river.ResumableStepCursor(ctx, "update", nil, func(ctx context.Context, from int64) error {
		for from < job.Args.To {
			to := min(from+job.Args.Batch, job.Args.To)
			if err := w.batch(ctx, job, from, to); err != nil {
				return err
			}
			from = to
		}
		w.ran(0)
		return nil
	})
	return nil
}

// batch changes people and saves the cursor in one transaction.
func (w *riverPeopleWorker) batch(ctx context.Context, job *river.Job[riverPeople], from, to int64) error {
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if _, err := tx.Exec(ctx, updatePeople, job.Args.Status, from, to); err != nil {
		return err
	}
	if _, err := river.ResumableSetStepCursorTx[*riverpgxv5.Driver](ctx, tx, job, to); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
