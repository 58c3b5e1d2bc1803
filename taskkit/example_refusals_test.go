package taskkit_test

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// An interface shows a button for each request that would be accepted of the person who sees it.
func ExampleClient_Refusals() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	ada, grace := uuid.New(), uuid.New()
	id, err := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Grace"}}, taskkit.OwnedBy(ada), taskkit.WithApproval())
	if err != nil {
		fmt.Println(err)
		return
	}
	c := taskkit.NewClient(db)
	task, err := c.Task(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, person := range []uuid.UUID{ada, grace} {
		refusals, err := c.Refusals(ctx, person, task)
		if err != nil {
			fmt.Println(err)
			return
		}
		r := refusals[id]
		fmt.Println("stop", r.Stop == nil, "resume", r.Resume == nil, "approve", r.Approve == nil)
	}
	fmt.Println("continue", c.CheckContinue(ctx, id) == nil)
	// Output:
	// stop true resume false approve false
	// stop true resume false approve true
	// continue false
}

// Whether a task could be followed by another one is known without submitting it.
func ExampleClient_CheckRetryFailed() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	c := taskkit.NewClient(db)
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, &enroller{strict: true})
	for _, students := range [][]int{{2}, {1, 2}} {
		id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math", Students: students}, taskkit.System())
		if err != nil {
			fmt.Println(err)
			return
		}
		runToEnd(db, &r, id, taskkit.Config{})
		fmt.Println("retry failed", c.CheckRetryFailed(ctx, id) == nil, "apply", c.CheckApply(ctx, id) == nil)
	}
	// Output:
	// enrolled 2
	// retry failed false apply false
	// enrolled 2
	// retry failed true apply false
}

// The failed items of a task are read page by page.
func ExampleClient_ItemsPage() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, &enroller{strict: true})
	id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math", Students: []int{1, 3, 5}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &r, id, taskkit.Config{})
	for cursor := ""; ; {
		page, next, err := taskkit.NewClient(db).ItemsPage(ctx, id, taskkit.OutcomeFailed, cursor, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, item := range page {
			fmt.Println(string(item.Key), item.Code)
		}
		fmt.Println("end of a page")
		if cursor = next; next == "" {
			break
		}
	}
	// Output:
	// 1 odd
	// 3 odd
	// end of a page
	// 5 odd
	// end of a page
}
