package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
)

// A task notifies a target of its end, by a task that package tasknotify executes.
func ExampleWithNotifications() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System(), taskkit.WithNotifications("ops", notice.DeadLetter, notice.Partial))
	client := taskkit.NewClient(db)
	_, _ = client.Stop(ctx, id)
	notifications, _, _ := client.Tasks(ctx, taskkit.Filter{Follows: id})
	for _, n := range notifications {
		fmt.Println(n.Kind, n.Status)
	}
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System(), taskkit.WithNotifications("ops", "end"))
	fmt.Println(err)
	// Output:
	// taskkit_notification QUEUED
	// taskkit: WithNotifications: target ops: "end" is no event: use started, approval, canary, policy, throttled, overdue, completed, partial, dead_letter, late or ended
}
