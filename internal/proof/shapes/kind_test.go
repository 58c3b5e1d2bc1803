package shapes_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// errPlanned is an error of an item.
var errPlanned = errors.New("planned")

// shapeSpec has numbers; if it has none, the task finds the numbers of the table.
type shapeSpec struct {
	Numbers []int `json:"numbers"`
}

// shapeState is how far a search is, and after it how many numbers have succeeded.
type shapeState struct {
	After int `json:"after"`
	Done  int `json:"done"`
}

type shapeBatch = taskkit.Batch[shapeSpec, shapeState]

// shapeNumbers is how many numbers a task processes.
const shapeNumbers = 120

// shaped is one executor for tasks of all shapes. Of its numbers, those that end in 0 fail, and multiples of 7 are skipped.
type shaped struct {
	repairs atomic.Bool  // nothing fails any more
	breaks  atomic.Bool  // all batches fail
	poison  atomic.Int32 // the batch that begins with this number fails
	overlap atomic.Bool  // each bucket finds all numbers
	hold    atomic.Pointer[chan struct{}]
	running atomic.Int32
	most    atomic.Int32 // how many batches ran at once
}

func (*shaped) Segments(context.Context, *shapeBatch) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(shapeNumbers + 1), Count: 4}.Plan()
}

func (x *shaped) Targets(ctx context.Context, b *shapeBatch) (found []int, next taskkit.Next, err error) {
	where, args, err := b.Segment.SQL(b.EntDriver().Dialect(), "n", 3)
	if err != nil {
		return nil, next, err
	}
	if x.overlap.Load() {
		where, args = "n > 0", nil
	}
	rows, err := b.Tx.QueryContext(ctx, "SELECT n FROM shape_numbers WHERE n > $1 AND "+where+" ORDER BY n LIMIT $2", append([]any{b.State.After, b.Limit}, args...)...)
	if err != nil {
		return nil, next, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&b.State.After); err != nil {
			return nil, next, err
		}
		found = append(found, b.State.After)
	}
	if len(found) < b.Limit {
		next = taskkit.Done
	}
	return found, next, rows.Err()
}

func (x *shaped) Execute(ctx context.Context, b *shapeBatch) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	x.most.Store(max(x.most.Load(), x.running.Add(1)))
	defer x.running.Add(-1)
	if hold := x.hold.Load(); hold != nil {
		select {
		case <-*hold:
		case <-ctx.Done():
			return next, ctx.Err()
		}
	}
	if x.breaks.Load() || len(numbers) > 0 && int32(numbers[0]) == x.poison.Load() {
		return next, taskkit.Permanent("broken", errPlanned)
	}
	for _, n := range numbers {
		switch {
		case n%10 == 0 && !x.repairs.Load():
			b.Fail(n, taskkit.Permanent("round", errPlanned))
		case n%7 == 0:
			b.Skip(n, "seven")
		default:
			b.State.Done++
			if _, err := b.Tx.ExecContext(ctx, "UPDATE shape_numbers SET touched = touched + 1 WHERE n = $1", n); err != nil {
				return next, err
			}
		}
	}
	return next, nil
}

func (*shaped) Merge(total *shapeState, part shapeState) error {
	total.Done += part.Done
	return nil
}

func (*shaped) Report(_ context.Context, b *shapeBatch) (string, error) {
	return fmt.Sprint(b.State.Done, " done"), nil
}

var (
	shapeKind = taskkit.NewKind(taskkind.Definition[shapeSpec, shapeState, string]{
		Name: "shape", BatchSize: 5, MaxBatchSize: 5, Segments: true, Merge: true, Preview: true,
		Targets: taskkit.TargetsFoundIn[shapeState]("numbers", func(s *shapeSpec) *[]int { return &s.Numbers }),
	})
	parallelKind = taskkit.NewKind(taskkind.Definition[shapeSpec, shapeState, string]{
		Name: "parallel", Merge: true, Parallel: 2, Targets: taskkind.TargetsIn("numbers", func(s *shapeSpec) *[]int { return &s.Numbers }),
	})
	shapesKind = taskkit.NewKind(taskkind.Definition[shapeSpec, struct{}, struct{}]{Name: "shapes", Stages: true})
)

// shapeStages is a composite task with a stage of the kind of shaped.
type shapeStages struct{}

func (shapeStages) Stages(_ context.Context, b *taskkit.Batch[shapeSpec, struct{}]) ([]taskkit.Stage, error) {
	return []taskkit.Stage{taskkit.NewStage("shape", shapeKind, b.Spec)}, nil
}

func (shapeStages) Execute(context.Context, *taskkit.Batch[shapeSpec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}
