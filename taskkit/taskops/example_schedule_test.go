package taskops_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// A program sets its schedules whenever it starts. Nothing changes if nothing is different.
func ExampleSetSchedule() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	everyNight := taskops.Schedule{Cron: "30 2 * * *", Zone: "Europe/Oslo"}
	for range 2 {
		if err := taskops.SetSchedule(ctx, db, greetKind, "greet-nightly", nobody, everyNight, taskkit.WithPriority(taskkit.PriorityLow)); err != nil {
			panic(err)
		}
	}
	s, err := taskops.New(taskkit.NewClient(db)).Schedule(ctx, "greet-nightly")
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Kind, s.Cron, s.Zone, s.Next.Wall[11:], len(s.Fires), "fires, version", s.Version)

	err = taskops.SetSchedule(ctx, db, greetKind, "never", nobody, taskops.Schedule{Cron: "0 0 30 2 *"})
	refused, _ := errors.AsType[*taskops.ScheduleError](err)
	fmt.Println(refused.Field, "refused:", refused.Problem)
	// Output:
	// greet 30 2 * * * Europe/Oslo 02:30 5 fires, version 1
	// Cron refused: "0 0 30 2 *" never fires: no year has such a day
}

// A fire while the last task has not ended is buffered, and its tasks have a limit.
func ExampleSchedule_overlap() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	hourly := taskops.Schedule{Cron: "H * * * *", Overlap: taskops.OverlapBuffer}
	if err := taskops.SetSchedule(ctx, db, greetKind, "greet-hourly", nobody, hourly, taskkit.WithLimit("mail server", 2), taskkit.WithTimeLimit(50*time.Minute)); err != nil {
		panic(err)
	}
	s, err := taskops.New(taskkit.NewClient(db)).Schedule(ctx, "greet-hourly")
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Overlap, s.Limits, s.TimeLimit)

	err = taskops.SetSchedule(ctx, db, greetKind, "greet-hourly", nobody, hourly, taskkit.WithCoalescing("greetings"))
	fmt.Println(err != nil)
	// Output:
	// buffer map[mail server:2] 50m0s
	// true
}

// A wall time that a clock change skips fires at the first instant after it.
func ExampleNextFires() {
	before := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	fires, err := taskops.NextFires("30 2 * * *", "Europe/Oslo", "nightly", before, 3)
	if err != nil {
		panic(err)
	}
	for _, f := range fires {
		fmt.Println(f.Wall, "is", f.At.Format(time.RFC3339))
	}
	// Output:
	// 2026-03-28 02:30 is 2026-03-28T01:30:00Z
	// 2026-03-29 02:30 is 2026-03-29T01:00:00Z
	// 2026-03-30 02:30 is 2026-03-30T00:30:00Z
}

// An operator pauses a schedule, tries it out and lets it go on.
func ExampleOperator_PauseSchedule() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	if err := taskops.SetSchedule(ctx, db, greetKind, "greet-hourly", nobody, taskops.Schedule{Cron: "H * * * *"}); err != nil {
		panic(err)
	}
	ops := taskops.New(taskkit.NewClient(db))
	s, _ := ops.PauseSchedule(ctx, "greet-hourly", taskkit.WithReason("the mail server is being replaced"))
	fmt.Println("paused:", s.Paused, s.PausedReason)
	s, _ = ops.TriggerSchedule(ctx, "greet-hourly", taskkit.WithReason("try the new server"))
	fmt.Println("to be fired once:", s.Triggered)
	s, _ = ops.ResumeSchedule(ctx, "greet-hourly")
	fmt.Println("paused:", s.Paused)
	// Output:
	// paused: true the mail server is being replaced
	// to be fired once: true
	// paused: false
}

// A schedule that no program sets any more is deleted. Who has done so is recorded.
func ExampleOperator_DeleteSchedule() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	if err := taskops.SetSchedule(ctx, db, greetKind, "greet-weekly", nobody, taskops.Schedule{Cron: "@weekly"}); err != nil {
		panic(err)
	}
	ops := taskops.New(taskkit.NewClient(db))
	all, err := ops.Schedules(ctx)
	fmt.Println(len(all), err)
	fmt.Println(ops.DeleteSchedule(ctx, "greet-weekly", taskkit.WithReason("nobody reads them")))
	changes, err := ops.SettingChanges(ctx, taskops.ChangeFilter{Setting: taskops.SettingSchedule, Limit: 1})
	fmt.Println(changes[0].Action, changes[0].Name, changes[0].Reason, err)
	// Output:
	// 1 <nil>
	// <nil>
	// delete greet-weekly nobody reads them <nil>
}
