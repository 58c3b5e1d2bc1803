package taskkit_test

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
)

// A page of tasks with the causes for which they are where they are. It takes the same few statements for
// any number of tasks.
func ExampleClient_ExplainAll() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	for _, o := range []taskkit.SubmitOption{taskkit.WithApproval(), taskkit.WithDelay(24 * time.Hour)} {
		if _, err := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.System(), o); err != nil {
			fmt.Println(err)
		}
	}
	client := taskkit.NewClient(db)
	tasks, _, err := client.Tasks(ctx, taskkit.Filter{})
	if err != nil {
		fmt.Println(err)
	}
	explained, err := client.ExplainAll(ctx, tasks)
	for _, e := range explained {
		fmt.Println(e.Cause)
	}
	fmt.Println(explained[1].Note, err)
	// Output:
	// start
	// approval
	// waits for approval before its first batch, by a second person <nil>
}
