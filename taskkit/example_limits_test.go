package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// statusSpec asks to set the status of people in a program.
type statusSpec struct {
	Program int   `json:"program"`
	People  []int `json:"people"`
}

var statusKind = taskkit.NewKind(taskkind.Definition[statusSpec, struct{}, struct{}]{Name: "set_status"})

// statusSetter is a Limiter: of each program two tasks execute at once.
type statusSetter struct{}

func (statusSetter) Limits(t taskkit.LimitedTask[statusSpec]) map[string]int {
	return map[string]int{fmt.Sprintf("program %d", t.Spec.Program): 2}
}

func (statusSetter) Execute(context.Context, *taskkit.Batch[statusSpec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

func ExampleLimiter() {
	var limiter taskkit.Limiter[statusSpec] = statusSetter{}
	limits := limiter.Limits(taskkit.LimitedTask[statusSpec]{Spec: statusSpec{Program: 7}})
	fmt.Println(limits)
	// Output: map[program 7:2]
}

func ExampleWithLimit() {
	ctx := context.Background()
	db := exampleDB()
	defer db.Close()
	_, err := taskkit.Submit(ctx, db, statusKind, statusSpec{Program: 7}, taskkit.System(),
		taskkit.WithLimit("mail server", 4), // shared by all kinds that send mail
		taskkit.WithLimit("tenant 12", 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = taskkit.Submit(ctx, db, statusKind, statusSpec{Program: 7}, taskkit.System(), taskkit.WithLimit("tenant 12", 0))
	if _, ok := errors.AsType[*taskkit.OptionError](err); ok {
		fmt.Println("a limit of 0 is refused")
	}
	// Output: a limit of 0 is refused
}

func ExampleWithWindow() {
	ctx := context.Background()
	db := exampleDB()
	defer db.Close()
	_, err := taskkit.Submit(ctx, db, statusKind, statusSpec{Program: 7}, taskkit.System(),
		taskkit.WithWindow("Mon-Fri 22:00-06:00 Europe/Oslo"),
		taskkit.WithDeadline(time.Now().AddDate(0, 0, 14)),
		taskkit.WithMaxRate(50))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = taskkit.Submit(ctx, db, statusKind, statusSpec{Program: 7}, taskkit.System(), taskkit.WithWindow("22:00-22:00 Europe/Oslo"))
	if _, ok := errors.AsType[*taskkit.OptionError](err); ok {
		fmt.Println("an empty window is refused")
	}
	// Output: an empty window is refused
}

func ExampleClient_Change_maxRate() {
	ctx := context.Background()
	db := exampleDB()
	defer db.Close()
	id, err := taskkit.Submit(ctx, db, statusKind, statusSpec{Program: 7}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	client := taskkit.NewClient(db)
	if _, err := client.Change(ctx, id, taskkit.Settings{MaxRate: new(float64(50))}, taskkit.WithReason("the registrar is busy")); err != nil {
		fmt.Println(err)
		return
	}
	events, err := client.Events(ctx, id, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(events[0].Reason)
	// Output: max rate 50: the registrar is busy
}
