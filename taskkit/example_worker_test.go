package taskkit_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

func ExampleWorker_Run() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		_, next := taskkit.Take(b, b.Spec.People)
		return next, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}})

	w, err := taskkit.NewWorker(db, r, taskkit.Config{Slots: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(ctx) // usually signal.NotifyContext
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()

	task, _ := taskkit.NewClient(db).Wait(ctx, id, nil)
	fmt.Println(task.Status)
	stop()
	fmt.Println(<-done)
	// Output:
	// COMPLETED
	// <nil>
}

// A forgotten executor is found before anything starts.
func ExampleRegister() {
	db := exampleDB()
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, greetKind, nil)
	_, err := taskkit.NewWorker(db, &r, taskkit.Config{})
	var missing *taskkit.MissingExecutorError
	fmt.Println(errors.As(err, &missing), missing.Kind)
	// Output: true greet
}

// Config.Context installs the security context before each transaction, and
// ends the tasks of people who may no longer act.
func ExampleConfig_context() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	leaver := uuid.New()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.OwnedBy(leaver))
	task := runToEnd(db, r, id, taskkit.Config{
		Context: func(ctx context.Context, _, runAs uuid.UUID) (context.Context, error) {
			if runAs == leaver {
				return nil, taskkit.Permanent("access_revoked", nil)
			}
			return ctx, nil // with a viewer in it
		},
	})
	fmt.Println(task.Status, task.Desc[:14])
	// Output: FAILURE access_revoked
}

// tidy is an executor that cleans up and reports.
type tidy struct{ greeter }

// Abort implements [taskkit.Aborter].
func (tidy) Abort(_ context.Context, b *greetBatch) error {
	fmt.Println("abort:", b.Ending())
	return nil
}

// Report implements [taskkit.Reporter].
func (tidy) Report(_ context.Context, b *greetBatch) (string, error) {
	return fmt.Sprint("greeted ", b.State.Greeted), nil
}

func ExampleAborter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, greetKind, tidy{func(context.Context, *greetBatch) (taskkit.Next, error) {
		return taskkit.More, taskkit.Permanent("rain", nil)
	}})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
	fmt.Println(runToEnd(db, &r, id, taskkit.Config{}).Status)
	// Output:
	// abort: failed
	// FAILURE
}

// A Reporter's result is fetched by whoever asked. Generated packages have a
// Fetch of their own.
func ExampleReporter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	text := taskkit.Reflected[string]()
	kind := taskkit.NewKind(taskkit.Definition[greetSpec, greetState]{
		Name: "greet_and_tell", Spec: taskkit.Reflected[greetSpec](), State: taskkit.Reflected[greetState](),
		Report: taskkit.ReportWith[greetSpec, greetState](text),
	})
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, kind, tidy{func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		b.State.Greeted += len(people)
		return next, nil
	}})
	id, _ := taskkit.Submit(ctx, db, kind, greetSpec{People: []string{"Ada", "Kurt"}})
	runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(taskkit.FetchResult(ctx, taskkit.NewClient(db), kind.Name(), text, id))
	// Output: greeted 2 <nil>
}
