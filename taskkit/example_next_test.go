package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// inviter greets people and then submits a task that greets their friends. An
// executor cannot import the generated package of another kind, because generated
// code imports executors. So it has a field for the function that submits:
//
//	&invite.Executor{SubmitGreeting: greettask.Submit}
type inviter struct {
	SubmitGreeting func(ctx context.Context, tx taskkit.Execer, spec greetSpec, opts ...taskkit.SubmitOption) (taskkit.ID, error)
}

// Execute implements [taskkit.Executor]. That task is submitted through b.Tx, so
// it exists if, and only if, the last batch commits.
func (x *inviter) Execute(ctx context.Context, b *greetBatch) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	b.State.Greeted += len(people)
	if next != taskkit.Done {
		return next, nil
	}
	friends := greetSpec{People: []string{"Emmy", "Rosa"}}
	_, err := x.SubmitGreeting(ctx, b.Tx, friends, taskkit.OwnedBy(b.Owner), taskkit.WithPredecessor(b.Task))
	return next, err
}

// An executor submits the task that follows its own.
func ExampleWithPredecessor_executor() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	inviteKind := taskkit.NewKind(taskkind.Definition[greetSpec, greetState, struct{}]{
		Name: "invite", BatchSize: 2,
	})
	var r taskkit.Registry
	taskkit.Register(&r, inviteKind, &inviter{
		// What taskgen writes as greettask.Submit.
		SubmitGreeting: func(ctx context.Context, tx taskkit.Execer, spec greetSpec, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
			return taskkit.Submit(ctx, tx, greetKind, spec, opts...)
		},
	})
	id, err := taskkit.Submit(ctx, db, inviteKind, greetSpec{People: []string{"Ada", "Kurt", "Paul"}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &r, id, taskkit.Config{})
	next, _, err := taskkit.NewClient(db).Tasks(ctx, taskkit.Filter{Follows: id})
	fmt.Println(len(next), next[0].Kind, next[0].Status, err)
	// Output: 1 greet QUEUED <nil>
}
