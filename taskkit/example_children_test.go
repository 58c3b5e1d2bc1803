package taskkit_test

import (
	"context"
	"fmt"
	"math/big"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

type (
	courierSpec  struct{ Routes []string }
	courierState struct{ Sent bool }
	courierBatch = taskkit.Batch[courierSpec, courierState]

	routeSpec struct{ Name string }
)

var (
	courierKind = taskkit.NewKind(taskkind.Definition[courierSpec, courierState, struct{}]{Name: "courier", Children: true})
	routeKind   = taskkit.NewKind(taskkind.Definition[routeSpec, struct{}, struct{}]{Name: "route"})
)

type routeExecutor struct{}

// Execute drives one route.
func (routeExecutor) Execute(context.Context, *taskkit.Batch[routeSpec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

//taskkit:executor courier children
type courierExecutor struct{}

// Execute submits a child for each route and waits for all of them.
func (courierExecutor) Execute(ctx context.Context, b *courierBatch) (taskkit.Next, error) {
	if b.State.Sent {
		return taskkit.Done, nil
	}
	b.State.Sent = true
	routes := make([]routeSpec, len(b.Spec.Routes))
	for i, name := range b.Spec.Routes {
		routes[i].Name = name
	}
	_, err := taskkit.SubmitMany(ctx, b.Tx, routeKind, routes, taskkit.WithParent(b.Task))
	return taskkit.AwaitChildren(0, taskkit.FailParent), err
}

// A task submits children in a batch, and goes on when they have ended.
func ExampleWithParent() {
	db := exampleDB()
	defer db.Close()
	var reg taskkit.Registry
	taskkit.Register(&reg, courierKind, courierExecutor{})
	taskkit.Register(&reg, routeKind, routeExecutor{})
	id, err := taskkit.Submit(context.Background(), db, courierKind, courierSpec{Routes: []string{"north", "south"}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	task := runToEnd(db, &reg, id, taskkit.Config{})
	fmt.Println(task.Status, task.Children.Completed, "children")
	// Output:
	// COMPLETED 2 children
}

// A list has the children of a task when it is asked for them.
func ExampleFilter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var reg taskkit.Registry
	taskkit.Register(&reg, courierKind, courierExecutor{})
	taskkit.Register(&reg, routeKind, routeExecutor{})
	id, err := taskkit.Submit(ctx, db, courierKind, courierSpec{Routes: []string{"north", "south"}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &reg, id, taskkit.Config{})
	for _, f := range []taskkit.Filter{{}, {Children: true}, {Parent: id}, {Running: true}} {
		tasks, _, err := taskkit.NewClient(db).Tasks(ctx, f)
		fmt.Println(len(tasks), err)
	}
	// Output:
	// 1 <nil>
	// 3 <nil>
	// 2 <nil>
	// 0 <nil>
}

type (
	readingSpec  struct{ Sensors int64 }
	readingState struct{ Buckets int }
	readingBatch = taskkit.Batch[readingSpec, readingState]
)

var readingKind = taskkit.NewKind(taskkind.Definition[readingSpec, readingState, string]{Name: "reading", Segments: true})

type readingExecutor struct{}

// Segments splits the sensors by their numbers, 1,000 in a bucket.
func (readingExecutor) Segments(_ context.Context, b *readingBatch) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(b.Spec.Sensors), Size: big.NewInt(1000)}.Plan()
}

// Execute is called for each bucket. A real one uses the predicate of the segment in its
// query, and keeps its position in b.State.
func (readingExecutor) Execute(_ context.Context, b *readingBatch) (taskkit.Next, error) {
	where, args, err := b.Segment.SQL(b.EntDriver().Dialect(), "sensor", 1)
	b.Log.Info("reads", "where", where, "args", args)
	b.State.Buckets++
	return taskkit.Done, err
}

// Merge adds up what the buckets have counted.
func (readingExecutor) Merge(total *readingState, part readingState) error {
	total.Buckets += part.Buckets
	return nil
}

// Report sees the total.
func (readingExecutor) Report(_ context.Context, b *readingBatch) (string, error) {
	return fmt.Sprintf("%d buckets", b.State.Buckets), nil
}

// A task is done in buckets, at most four of them at once.
func ExampleWithMaxParallel() {
	db := exampleDB()
	defer db.Close()
	var reg taskkit.Registry
	taskkit.Register(&reg, readingKind, readingExecutor{})
	ctx := context.Background()
	id, err := taskkit.Submit(ctx, db, readingKind, readingSpec{Sensors: 10_000}, taskkit.System(), taskkit.WithMaxParallel(4))
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &reg, id, taskkit.Config{})
	fmt.Println(taskkit.Fetch(ctx, taskkit.NewClient(db), readingKind, id))
	children, err := taskkit.NewClient(db).Children(ctx, id, taskkit.ID{}, 2)
	for _, c := range children {
		fmt.Println(c.Bucket, c.Segment, c.Status)
	}
	fmt.Println(err)
	// Output:
	// 10 buckets <nil>
	// 1 below 1000 or NULL COMPLETED
	// 2 from 1000 to below 2000 COMPLETED
	// <nil>
}
