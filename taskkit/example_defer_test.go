package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// callKind tries deferred items once again, at once. taskgen writes the delays from
// defer=30m,6h in the directive.
var callKind = taskkit.NewKind(taskkind.Definition[callSpec, struct{}, struct{}]{
	Name: "call", DeferDelays: []time.Duration{time.Millisecond},
	Targets: taskkind.TargetsIn("numbers", func(s *callSpec) *[]int { return &s.Numbers }),
})

type callSpec struct {
	Numbers []int `json:"numbers" validate:"required"`
}

// callExecutor finds the even numbers busy the first time.
type callExecutor struct{ calls int }

func (x *callExecutor) Execute(_ context.Context, b *taskkit.Batch[callSpec, struct{}]) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	x.calls++
	first := x.calls == 1
	fmt.Println("call", numbers)
	for _, n := range numbers {
		if n%2 == 0 && first {
			b.Defer(n, errors.New("the line is busy"))
		}
	}
	return next, nil
}

// Items that cannot be processed now are tried again after the others.
func ExampleBatch_Defer() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, err := taskkit.Submit(ctx, db, callKind, callSpec{Numbers: []int{1, 2, 3, 4}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	var r taskkit.Registry
	taskkit.Register(&r, callKind, &callExecutor{})
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done)
	// Output:
	// call [1 2 3 4]
	// call [2 4]
	// COMPLETED 4
}
