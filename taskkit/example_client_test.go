package taskkit_test

import (
	"context"
	"errors"
	"fmt"

	"taskkit.dev/taskkit"
)

func ExampleClient_Tasks() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	for range 3 {
		_, _ = taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	}
	client, page := taskkit.NewClient(db), taskkit.Filter{Kinds: []string{"greet"}, Limit: 2}
	for {
		tasks, next, err := client.Tasks(ctx, page)
		if err != nil {
			break
		}
		fmt.Println("a page of", len(tasks))
		if page.Before = next; next == (taskkit.ID{}) {
			break
		}
	}
	// Output:
	// a page of 2
	// a page of 1
}

// Explain says in one sentence why a task is not running.
func ExampleClient_Explain() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	fmt.Println(taskkit.NewClient(db).Explain(ctx, id))
	// Output: It is due but no worker can take it: no worker is alive. <nil>
}

// A task can be identified by its id, by the end of the id, or by @last.
func ExampleClient_Resolve() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	last, _ := client.Resolve(ctx, "@last")
	short, _ := client.Resolve(ctx, id.String()[28:])
	_, err := client.Resolve(ctx, "x")
	fmt.Println(last == id, short == id)
	fmt.Println(err)
	// Output:
	// true true
	// taskkit: "x" does not identify a task: want a full id, its last 4 or more characters, or @last
}

// A client on a transaction takes part in it.
func ExampleNewClient() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	tx, _ := db.BeginTx(ctx, nil)
	_, _ = taskkit.NewClient(tx).Delete(ctx, id)
	_ = tx.Rollback()
	task, err := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Status, err)
	// Output: QUEUED <nil>
}

func ExampleClient_Task() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.WithReason("her birthday"), taskkit.System())
	task, err := client.Task(ctx, id)
	fmt.Println(task.Kind, task.Status, string(task.SpecJSON), task.Reason, err)
	_, err = client.Task(ctx, taskkit.ID{})
	fmt.Println(errors.Is(err, taskkit.ErrNotFound))
	// Output:
	// greet QUEUED {"people":["Ada"]} her birthday <nil>
	// true
}

// Wait polls until the task has ended, and calls a function with every poll.
func ExampleClient_Wait() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	task, err := client.Wait(ctx, id, func(t *taskkit.Task, err error) {
		if err != nil {
			fmt.Println("trying again:", err)
			return
		}
		fmt.Println(t.Status)
		if !t.Ended() {
			_, _ = client.Stop(ctx, id)
		}
	})
	fmt.Println(task.Partial, err)
	// Output:
	// QUEUED
	// COMPLETED
	// true <nil>
}

// Items reads in pages, so a task may have any number of them.
func ExampleClient_Items() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			b.Fail(p, taskkit.Permanent("asleep", fmt.Errorf("%s does not answer", p)))
		}
		return next, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt", "Emmy"}}, taskkit.System())
	runToEnd(db, r, id, taskkit.Config{})
	for item, err := range taskkit.NewClient(db).Items(ctx, id, taskkit.OutcomeFailed) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(item.Text(), item.Code)
	}
	// Output:
	// Ada asleep
	// Kurt asleep
	// Emmy asleep
}

func ExampleClient_Counts() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = taskkit.SubmitMany(ctx, db, greetKind, []greetSpec{nobody, nobody}, taskkit.System())
	fmt.Println(taskkit.NewClient(db).Counts(ctx, "greet"))
	// Output: map[QUEUED:2] true <nil>
}

// Get decodes the spec and the state. Generated packages have one of their own.
func ExampleGet() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.System())
	task, err := taskkit.Get(ctx, taskkit.NewClient(db), greetKind, id)
	fmt.Println(task.Task.Status, task.Spec.People, task.State.Greeted, err)
	// Output: QUEUED [Ada Kurt] 0 <nil>
}
