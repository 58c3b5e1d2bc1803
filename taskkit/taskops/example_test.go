package taskops_test

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Workers lists the live workers, and those that ended in the last hour and why.
func ExampleOperator_Workers() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	runToEnd(db, r, id, taskkit.Config{Slots: 4})
	workers, err := taskops.New(taskkit.NewClient(db)).Workers(ctx)
	for _, w := range workers {
		fmt.Println(w.Kinds, w.Queues, w.Slots, "alive:", w.Alive)
	}
	fmt.Println(err)
	// Output:
	// map[greet:[1]] [default] 4 alive: false
	// <nil>
}

// Waiting says how many tasks wait for something else than a worker.
func ExampleOperator_Waiting() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System(), taskkit.WithDelay(time.Hour))
	fmt.Println(taskops.New(taskkit.NewClient(db)).Waiting(ctx))
	// Output: map[start:1] <nil>
}

// Ended counts the tasks that ended in a span of time: in the last hour.
func ExampleOperator_Ended() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	runToEnd(db, r, id, taskkit.Config{})
	now := time.Now()
	fmt.Println(taskops.New(taskkit.NewClient(db)).Ended(ctx, now.Add(-time.Hour), now.Add(time.Hour)))
	// Output: 1 true <nil>
}

// While a queue is paused its tasks wait, and whoever asks learns why.
func ExampleOperator_PauseQueue() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	ops := taskops.New(taskkit.NewClient(db))
	_, _ = taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	_ = ops.PauseQueue(ctx, "default", taskkit.WithReason("the mail server is down"))
	queues, err := ops.Queues(ctx)
	fmt.Println(queues[0].Name, queues[0].Paused, queues[0].PausedReason, queues[0].Waiting, err)
	fmt.Println(ops.ResumeQueue(ctx, "default"))
	// Output:
	// default true the mail server is down 1 <nil>
	// <nil>
}

// Tasks that have failed for the same reason are retried together once the reason is gone.
func ExampleOperator_RetryDead() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	ops := taskops.New(taskkit.NewClient(db))
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) {
		return taskkit.More, taskkit.Permanent("mail_server_down", nil)
	})
	for range 2 {
		id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
		runToEnd(db, r, id, taskkit.Config{})
	}
	groups, _ := ops.Dead(ctx, taskops.DeadFilter{})
	fmt.Println(groups.Groups[0].Code, groups.Groups[0].Tasks)
	report, err := ops.RetryDead(ctx, taskops.DeadFilter{Code: groups.Groups[0].Code}, taskkit.WithReason("it is up again"))
	fmt.Println(report.Done, report.Refused, err)
	// Output:
	// mail_server_down 2
	// 2 0 <nil>
}

func ExampleOperator_SetLimit() {
	ctx := context.Background()
	db := exampleDB()
	defer db.Close()
	ops := taskops.New(taskkit.NewClient(db))
	if err := ops.SetLimit(ctx, "mail server", 2, taskkit.WithActor(taskkit.SystemOwner)); err != nil {
		fmt.Println(err)
		return
	}
	limits, err := ops.Limits(ctx, "", 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range limits {
		fmt.Printf("%s: at most %d, %d execute, %d wait\n", l.Key, l.AtMost, l.Executing, l.Waiting)
	}
	// Output: mail server: at most 2, 0 execute, 0 wait
}

// Each change of a queue, a limit or a schedule is recorded with its actor and its reason.
func ExampleOperator_SettingChanges() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	ops := taskops.New(taskkit.NewClient(db))
	_ = ops.SetLimit(ctx, "mail server", 2)
	_ = ops.SetLimit(ctx, "mail server", 4, taskkit.WithReason("it has been replaced"))
	_ = ops.PauseQueue(ctx, "default")
	changes, err := ops.SettingChanges(ctx, taskops.ChangeFilter{Setting: taskops.SettingLimit, Name: "mail server"})
	for _, c := range changes {
		fmt.Printf("%s: from %q to %q, reason %q\n", c.Action, c.From, c.To, c.Reason)
	}
	fmt.Println(err)
	// Output:
	// set: from "2" to "4", reason "it has been replaced"
	// set: from "" to "2", reason ""
	// <nil>
}

// Events are kept until they are pruned, a page in each transaction.
func ExampleOperator_PruneEvents() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	ops := taskops.New(client)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	_, _ = client.Pause(ctx, id)
	const page = 1000
	for {
		n, err := ops.PruneEvents(ctx, 90*24*time.Hour, page)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("deleted", n)
		if n < page {
			break
		}
	}
	events, err := client.Events(ctx, id, 1)
	fmt.Println("kept", len(events), err)
	// Output:
	// deleted 0
	// kept 1 <nil>
}

// Dead letters that nobody needs any more are listed and deleted.
func ExampleOperator_DropDead() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	ops := taskops.New(taskkit.NewClient(db))
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) {
		return taskkit.More, taskkit.Permanent("party_cancelled", nil)
	})
	id, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, r, id, taskkit.Config{})
	f := taskops.DeadFilter{Code: "party_cancelled"}
	dead, _, err := ops.DeadTasks(ctx, f, taskkit.ID{}, 100)
	fmt.Println(len(dead), err)
	report, err := ops.DropDead(ctx, f, taskkit.WithReason("the party is over"))
	fmt.Println("deleted", report.Done, "refused", report.Refused, err)
	// Output:
	// 1 <nil>
	// deleted 1 refused 0 <nil>
}
