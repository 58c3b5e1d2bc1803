package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
)

// submissions prints what is submitted.
type submissions struct{}

// Submitting implements [taskkit.SubmitObserver].
func (submissions) Submitting(ctx context.Context, s *taskkit.Submitting) (context.Context, func([]taskkit.ID, error)) {
	fmt.Println("submitting", s.Tasks, s.Kind)
	s.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	return ctx, func(ids []taskkit.ID, err error) { fmt.Println("stored", len(ids), err) }
}

// An observer follows a submission, and may give it a trace context.
func ExampleWithObserver() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.System(), taskkit.WithObserver(submissions{}))
	task, err := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Traceparent, err)
	// Output:
	// submitting 1 greet
	// stored 1 <nil>
	// 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 <nil>
}
