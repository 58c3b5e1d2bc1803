package taskkit_test

import (
	"context"
	"fmt"
	"slices"

	"taskkit.dev/taskkit"
)

// A canary that sees items of all parts of the set.
func ExampleWithSample() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	c := taskkit.NewClient(db)
	var r taskkit.Registry
	taskkit.Register(&r, courseKind, &enroller{})
	id, err := taskkit.Submit(ctx, db, courseKind, courseSpec{Program: "math"}, taskkit.System(),
		taskkit.WithTargets(slices.Values([]int{11, 12, 13, 21, 22, 23, 31, 32, 33})),
		taskkit.WithCanary(3), taskkit.WithSample(taskkit.Sample{Every: 3}))
	if err != nil {
		fmt.Println(err)
		return
	}
	for item, err := range c.Items(ctx, id, taskkit.OutcomeUnprocessed) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(item.Text(), " ")
	}
	// Output:
	// 11 21 31 12 13 22 23 32 33
}

// A preview of a random sample. The same seed chooses the same targets.
func ExampleSample() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var people []string
	for id := range 40_000 {
		people = append(people, fmt.Sprint(id))
	}
	for range 2 {
		id, err := taskkit.Submit(ctx, db, fineKind, fineSpec{}, taskkit.System(), taskkit.WithPreview(),
			taskkit.WithTargets(slices.Values(people)), taskkit.WithSample(taskkit.Sample{Size: 2, Seed: 7}))
		if err != nil {
			fmt.Println(err)
			return
		}
		for item, err := range taskkit.NewClient(db).Items(ctx, id, taskkit.OutcomeUnprocessed) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(item.Text())
		}
	}
	// Output:
	// 33652
	// 37328
	// 33652
	// 37328
}
