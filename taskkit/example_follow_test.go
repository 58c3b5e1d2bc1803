package taskkit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// enroller enrols students, but not those with an odd number, and stops its task after
// a batch when it is told to.
type enroller struct {
	strict bool
	after  func(id taskkit.ID)
}

func (x *enroller) Execute(_ context.Context, b *taskkit.Batch[courseSpec, struct{}]) (taskkit.Next, error) {
	students, next := taskkit.Take(b, b.Spec.Students)
	for _, s := range students {
		if x.strict && s%2 == 1 {
			b.Fail(s, taskkit.Permanent("odd", nil))
			continue
		}
		fmt.Println("enrolled", s)
	}
	if x.after != nil {
		x.after(b.Task)
	}
	return next, nil
}

// A new task for the items that have failed.
func ExampleClient_RetryFailed() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	x := &enroller{strict: true}
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, x)
	id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math", Students: []int{1, 2, 3}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &r, id, taskkit.Config{})

	retry, err := taskkit.NewClient(db).RetryFailed(ctx, id, taskkit.WithReason("odd numbers are allowed now"))
	if err != nil {
		fmt.Println(err)
		return
	}
	x.strict = false
	task := runToEnd(db, &r, retry, taskkit.Config{})
	fmt.Println(task.Progress.Done, "of", task.Progress.Total, task.Follows == id)
	// Output:
	// enrolled 2
	// enrolled 1
	// enrolled 3
	// 2 of 2 true
}

// One new task for what has failed in several.
func ExampleClient_RetrySelected() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	x := &enroller{strict: true}
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, x)
	var ids []taskkit.ID
	for _, students := range [][]int{{1, 2, 3}, {3, 4, 5}} {
		id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math", Students: students}, taskkit.System())
		if err != nil {
			fmt.Println(err)
			return
		}
		runToEnd(db, &r, id, taskkit.Config{})
		ids = append(ids, id)
	}

	c := taskkit.NewClient(db)
	retry, err := c.RetrySelected(ctx, taskkit.Failures{Tasks: ids, Codes: []string{"odd"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, err := range c.Items(ctx, retry, taskkit.OutcomeUnprocessed) {
		fmt.Println(i.Text(), "of task", slices.Index(ids, i.Source)+1, err)
	}
	// Output:
	// enrolled 2
	// enrolled 4
	// 3 of task 2 <nil>
	// 5 of task 2 <nil>
	// 1 of task 1 <nil>
}

// What became of one student in all tasks of a kind.
func ExampleClient_ItemHistory() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, &enroller{strict: true})
	for _, students := range [][]int{{1, 2}, {1, 4}} {
		id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math", Students: students}, taskkit.System())
		if err != nil {
			fmt.Println(err)
			return
		}
		runToEnd(db, &r, id, taskkit.Config{})
	}
	records, err := taskkit.NewClient(db).ItemHistory(ctx, courseKind.Name(), 1, taskkit.ItemBounds{Age: time.Hour})
	for _, i := range records {
		fmt.Println(i.Text(), i.Outcome, i.Code)
	}
	fmt.Println(err)
	// Output:
	// enrolled 2
	// enrolled 4
	// 1 failed odd
	// 1 failed odd
	// <nil>
}

// The rest of a task that was stopped.
func ExampleClient_Continue() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	c := taskkit.NewClient(db)
	x := &enroller{strict: true, after: func(id taskkit.ID) {
		if _, err := c.Stop(ctx, id); err != nil {
			fmt.Println(err)
		}
	}}
	kind := taskkit.NewKind(taskkind.Definition[courseSpec, struct{}, struct{}]{
		Name: "seminar", BatchSize: 3, MaxBatchSize: 3,
		Targets: taskkind.TargetsIn("students", func(s *courseSpec) *[]int { return &s.Students }),
	})
	var r taskkit.Registry
	taskkit.Register(&r, kind, x)
	id, err := taskkit.Submit(ctx, db, kind, courseSpec{Program: "math"}, taskkit.System(), taskkit.WithTargets(slices.Values([]int{2, 4, 6, 8})))
	if err != nil {
		fmt.Println(err)
		return
	}
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println("stopped after", task.Progress.Done)

	next, err := c.Continue(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	x.after = nil
	task = runToEnd(db, &r, next, taskkit.Config{})
	fmt.Println("and then", task.Progress.Done)
	// Output:
	// enrolled 2
	// enrolled 4
	// enrolled 6
	// stopped after 3
	// enrolled 8
	// and then 1
}

// Failed items, corrected in a file.
func ExampleClient_RetryCorrected() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, &enroller{strict: true})
	id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math", Students: []int{1, 2, 3}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &r, id, taskkit.Config{})
	const file = `item,position,corrected
1,1,100
3,3,300
`
	retry, err := taskkit.NewClient(db).RetryCorrected(ctx, id, taskkit.CorrectionsFromCSV(strings.NewReader(file)))
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &r, retry, taskkit.Config{})
	// Output:
	// enrolled 2
	// enrolled 100
	// enrolled 300
}
