package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

type scanSpec struct {
	Files []string `json:"files" validate:"required"`
}

// scanState is what a scan has found so far.
type scanState struct {
	Infected int `json:"infected"`
}

// scanProgress is the progress of a scan, for those who wait for it.
type scanProgress struct {
	Scanned  int64 `json:"scanned"`
	Infected int   `json:"infected"`
}

func (s scanState) Progress(p taskkit.Progress) scanProgress {
	return scanProgress{Scanned: p.Processed(), Infected: s.Infected}
}

var scanKind = taskkit.NewKind(taskkind.Definition[scanSpec, scanState, struct{}]{
	Name: "scan", Targets: taskkind.TargetsIn("files", func(s *scanSpec) *[]string { return &s.Files }),
})

type scanExecutor struct{}

func (scanExecutor) Execute(_ context.Context, b *taskkit.Batch[scanSpec, scanState]) (taskkit.Next, error) {
	files, next := taskkit.Take(b, b.Spec.Files)
	for _, f := range files {
		if f == "setup.exe" {
			b.State.Infected++
		}
	}
	return next, nil
}

// Progress says how far a task is, and how long the rest takes once that can be known.
func ExampleClient_Progress() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, err := taskkit.Submit(ctx, db, scanKind, scanSpec{Files: []string{"a.txt", "setup.exe", "b.txt"}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := taskkit.NewClient(db).Progress(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Remaining, "items remain, the task", p.Waiting)
	fmt.Println(p.State()+":", p.Text())
	if p.TimeLeft != nil {
		fmt.Println("the rest takes", p.TimeLeft)
	}
	// Output:
	// 3 items remain, the task waits for a worker
	// queued: 0 of 3
}

// The progress of a kind's own is a method of its state.
func ExampleGet_progress() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, err := taskkit.Submit(ctx, db, scanKind, scanSpec{Files: []string{"a.txt", "setup.exe", "b.txt"}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	var r taskkit.Registry
	taskkit.Register(&r, scanKind, scanExecutor{})
	runToEnd(db, &r, id, taskkit.Config{})
	t, err := taskkit.Get(ctx, taskkit.NewClient(db), scanKind, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", t.State.Progress(t.Task.Progress))
	// Output:
	// {Scanned:3 Infected:1}
}
