package taskkit_test

import (
	"context"
	"fmt"
	"slices"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// courseSpec has the list that the directive names: targets=students.
type courseSpec struct {
	Program  string `json:"program" validate:"required"`
	Students []int  `json:"students" validate:"required"`
}

// courseKind is the kind as taskgen writes it.
var courseKind = taskkit.NewKind(taskkind.Definition[courseSpec, struct{}, struct{}]{
	Name: "course", BatchSize: 500,
	Targets: taskkind.TargetsIn("students", func(s *courseSpec) *[]int { return &s.Students }),
})

type courseExecutor struct{}

func (courseExecutor) Execute(_ context.Context, b *taskkit.Batch[courseSpec, struct{}]) (taskkit.Next, error) {
	students, next := taskkit.Take(b, b.Spec.Students)
	fmt.Println(len(students), "students for", b.Spec.Program)
	return next, nil
}

// A task over a frozen set, which may be of any length. The executor is the same as for
// a list in the spec.
func ExampleWithTargets() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	students := []int{7, 3, 9, 3}
	person := taskkit.SystemOwner

	id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math"},
		taskkit.OwnedBy(person), taskkit.WithTargets(slices.Values(students)))
	if err != nil {
		fmt.Println(err)
		return
	}
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, courseExecutor{})
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done)
	// Output:
	// 3 students for math
	// COMPLETED 3
}

// A set of targets is divided into ranges, of which two are executed at once.
func ExampleWithMaxParallel_ranges() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math"}, taskkit.System(),
		taskkit.WithTargets(slices.Values([]int{7, 3, 9, 4})), taskkit.WithMaxParallel(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, courseExecutor{})
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done)
	ranges, err := taskkit.NewClient(db).Children(ctx, id, taskkit.ID{}, 10)
	for _, r := range ranges {
		fmt.Println(r.First, "to", r.Last, r.Status)
	}
	fmt.Println(err)
	// Output:
	// 2 students for math
	// 2 students for math
	// COMPLETED 4
	// 1 to 2 COMPLETED
	// 3 to 4 COMPLETED
	// <nil>
}

// A dry run counts what a task would process. Its items are executed when it is continued.
func ExampleWithDryRun() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math"}, taskkit.System(),
		taskkit.WithTargets(slices.Values([]int{7, 3, 9})), taskkit.WithDryRun())
	if err != nil {
		fmt.Println(err)
		return
	}
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, courseExecutor{})
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done, "of", task.Progress.Total)
	next, err := taskkit.NewClient(db).Continue(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &r, next, taskkit.Config{})
	// Output:
	// COMPLETED 0 of 3
	// 3 students for math
}
