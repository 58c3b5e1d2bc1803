package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// At most one live task of a kind has a unique key.
func ExampleUniqueKey() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.UniqueKey("cohort:7"))
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.UniqueKey("cohort:7"))
	var dup *taskkit.DuplicateError
	fmt.Println(errors.As(err, &dup) && dup.ID == first)
	// Output: true
}

// A request that a client repeats is submitted once, also after it has run.
func ExampleIdempotencyKey() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.IdempotencyKey("request 4711"))
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.IdempotencyKey("request 4711"))
	var dup *taskkit.DuplicateError
	fmt.Println(errors.As(err, &dup) && dup.ID == first)
	// Output: true
}

// Tasks about one thing are merged while they wait.
func ExampleCoalesce() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.Coalesce("person 7"))
	second, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.Coalesce("person 7"))
	task, _ := taskkit.Get(ctx, taskkit.NewClient(db), greetKind, second)
	fmt.Println(first == second, task.Spec.People)
	// Output: true [Ada Kurt]
}

func ExampleDelay() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.Delay(time.Hour), taskkit.InQueue("night"))
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Status, task.Queue, task.Wait.Round(time.Minute))
	// Output: QUEUED night 1h0m0s
}

func ExampleNotBefore() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.NotBefore(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)))
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.NotBefore.UTC().Format(time.DateOnly))
	// Output: 2040-01-01
}

// The owner asked; the task runs as the owner unless RunAs says otherwise.
func ExampleOwnedBy() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	asked, acts := uuid.New(), uuid.New()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.OwnedBy(asked), taskkit.RunAs(acts))
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Owner == asked, task.RunAs == acts)
	// Output: true true
}

// A queue is served by the workers that name it, in Config.Queues. Of the tasks
// that are due, those of the highest priority are claimed first.
func ExampleInQueue() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var order []string
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		order = append(order, b.Spec.People[0])
		return taskkit.Done, nil
	})
	night := taskkit.InQueue("night")
	_, _ = taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, night)
	last, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Kurt"}}, night, taskkit.WithPriority(taskkit.PriorityIdle))
	_, _ = taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Emmy"}}, night, taskkit.WithPriority(taskkit.PriorityHigh))
	task := runToEnd(db, r, last, taskkit.Config{Queues: []string{"night"}, Slots: 1})
	fmt.Println(order, task.Queue)
	// Output: [Emmy Ada Kurt] night
}

// A task that another submits names it as its parent.
func ExampleChildOf() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(ctx context.Context, b *greetBatch) (taskkit.Next, error) {
		if b.Spec.People[0] == "nobody" {
			return taskkit.Done, nil
		}
		// In the transaction of the batch: the child exists if the batch commits.
		_, err := taskkit.Submit(ctx, b.Tx, greetKind, nobody, taskkit.ChildOf(b.Task), taskkit.OwnedBy(b.Owner))
		return taskkit.Done, err
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}})
	runToEnd(db, r, id, taskkit.Config{})
	children, err := taskkit.NewClient(db).Tasks(ctx, taskkit.Filter{Parent: id})
	fmt.Println(len(children), err)
	// Output: 1 <nil>
}
