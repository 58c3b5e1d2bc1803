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
func ExampleWithUniqueKey() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.WithUniqueKey("cohort:7"), taskkit.System())
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.WithUniqueKey("cohort:7"), taskkit.System())
	var dup *taskkit.DuplicateError
	fmt.Println(errors.As(err, &dup) && dup.ID == first, dup.By)
	// Output: true unique key
}

// A request that a client repeats is submitted once, even after its task has run.
func ExampleWithIdempotencyKey() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.WithIdempotencyKey("request 4711"), taskkit.System())
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.WithIdempotencyKey("request 4711"), taskkit.System())
	var dup *taskkit.DuplicateError
	fmt.Println(errors.As(err, &dup) && dup.ID == first, dup.By)
	// Output: true idempotency key
}

// Waiting tasks with the same reference are merged.
func ExampleWithCoalescing() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.WithCoalescing("person 7"), taskkit.System())
	second, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.WithCoalescing("person 7"), taskkit.System())
	task, _ := taskkit.Get(ctx, taskkit.NewClient(db), greetKind, second)
	fmt.Println(first == second, task.Spec.People)
	// Output: true [Ada Kurt]
}

// A task that is merged into a waiting one must be of the same person.
func ExampleCoalesceError() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	reference := taskkit.WithCoalescing("person 7")
	first, _ := taskkit.Submit(ctx, db, greetKind, nobody, reference, taskkit.OwnedBy(taskkit.ID{15: 1}))
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, reference, taskkit.OwnedBy(taskkit.ID{15: 2}))
	var differ *taskkit.CoalesceError
	fmt.Println(errors.As(err, &differ), differ.ID == first, differ.Differs)
	// Output: true true [owner run-as]
}

// A message that comes late does not replace what a newer one has said.
func ExampleWithVersion() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	address := func(people []string, version int64) (taskkit.ID, error) {
		return taskkit.Submit(ctx, db, greetKind, greetSpec{People: people}, taskkit.WithCoalescing("person 7"), taskkit.WithVersion(version), taskkit.System())
	}
	first, _ := address([]string{"Ada"}, 41)
	second, _ := address([]string{"Ada", "Kurt"}, 43)
	_, err := address([]string{"Emmy"}, 42)
	task, _ := taskkit.Get(ctx, taskkit.NewClient(db), greetKind, second)
	fmt.Println(first == second, task.Spec.People, *task.Task.Version)
	fmt.Println(err)
	// Output:
	// true [Ada Kurt] 43
	// taskkit: version 42 of greet task with reference "person 7" is superseded by version 43; nothing was stored
}

// A schedule or a consumer of events submits as the system.
func ExampleSystem() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Owner == taskkit.SystemOwner, task.RunAs)
	_, err := taskkit.Submit(ctx, db, greetKind, nobody)
	fmt.Println(err)
	// Output:
	// true 00000000-0000-8000-8000-73797374656d
	// taskkit: Submit: the task has no owner: add OwnedBy(person), or System() if no person asked for it
}

func ExampleWithDelay() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.WithDelay(time.Hour), taskkit.WithQueue("night"), taskkit.System())
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Status, task.Queue, task.Wait.Round(time.Minute))
	// Output: QUEUED night 1h0m0s
}

func ExampleWithNotBefore() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.WithNotBefore(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)), taskkit.System())
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.NotBefore.UTC().Format(time.DateOnly))
	// Output: 2040-01-01
}

// The task runs as its owner unless RunAs names another person.
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
func ExampleWithQueue() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var order []string
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		order = append(order, b.Spec.People[0])
		return taskkit.Done, nil
	})
	night := taskkit.WithQueue("night")
	_, _ = taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, night, taskkit.System())
	last, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Kurt"}}, night, taskkit.WithPriority(taskkit.PriorityIdle), taskkit.System())
	_, _ = taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Emmy"}}, night, taskkit.WithPriority(taskkit.PriorityHigh), taskkit.System())
	task := runToEnd(db, r, last, taskkit.Config{Queues: []string{"night"}, Slots: 1})
	fmt.Println(order, task.Queue)
	// Output: [Emmy Ada Kurt] night
}

// A task that a batch of another submits names that one.
func ExampleWithPredecessor() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(ctx context.Context, b *greetBatch) (taskkit.Next, error) {
		if b.Spec.People[0] == "nobody" {
			return taskkit.Done, nil
		}
		// In the transaction of the batch: it exists if the batch commits.
		_, err := taskkit.Submit(ctx, b.Tx, greetKind, nobody, taskkit.WithPredecessor(b.Task), taskkit.OwnedBy(b.Owner))
		return taskkit.Done, err
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.System())
	runToEnd(db, r, id, taskkit.Config{})
	next, _, err := taskkit.NewClient(db).Tasks(ctx, taskkit.Filter{Follows: id})
	fmt.Println(len(next), err)
	// Output: 1 <nil>
}
