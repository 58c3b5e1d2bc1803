// Package rows inserts rows of which a constraint refuses one in each batch.
package rows

import (
	"context"

	"taskkit.dev/taskkit"
)

// Spec is the number of rows, and how they are inserted.
type Spec struct {
	Rows  int `json:"rows"`
	Batch int `json:"batch"` // rows in a transaction, instead of b.Limit
	// Alone: each row is inserted by a statement of its own in a savepoint of its
	// own, instead of all by Each.
	Alone bool `json:"alone"`
}

// State counts the processed rows, and has the largest number of calls of a batch.
type State struct {
	Done  int `json:"done"`
	Calls int `json:"calls"`
}

// Executor inserts rows.
//
//taskkit:executor rows batch=500
type Executor struct {
	Insert func(rows int) string // the statement: id and value of each row
	Ended  func(stamp int64)
}

// Execute implements [taskkit.Executor].
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	from, to := b.State.Done, min(b.State.Done+b.Spec.Batch, b.Spec.Rows)
	bad := from + 7*from/b.Spec.Batch%b.Spec.Batch // elsewhere in each batch
	ids := make([]int, to-from)
	for i := range ids {
		ids[i] = from + i
	}
	calls := 0
	insert := func(ctx context.Context, ids []int) error {
		calls++
		args := make([]any, 0, 2*len(ids))
		for _, id := range ids {
			value := 1
			if id == bad {
				value = -1
			}
			args = append(args, id, value)
		}
		_, err := b.Tx.ExecContext(ctx, x.Insert(len(ids)), args...)
		return err
	}
	if b.Spec.Alone {
		for _, id := range ids {
			if err := b.Try(ctx, func() error { return insert(ctx, []int{id}) }); err != nil {
				b.Fail(id, err)
			}
		}
	} else if err := taskkit.Each(ctx, b, ids, insert); err != nil {
		return taskkit.More, err
	}
	b.Total(b.Spec.Rows)
	b.Advance(len(ids))
	b.State.Done, b.State.Calls = to, max(b.State.Calls, calls)
	if to < b.Spec.Rows {
		return taskkit.More, nil
	}
	x.Ended(0)
	return taskkit.Done, nil
}
