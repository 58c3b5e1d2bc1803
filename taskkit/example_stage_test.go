package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

type (
	termSpec struct {
		City   string   `json:"city"`
		People []string `json:"people"`
	}
	termBatch = taskkit.Batch[termSpec, struct{}]
)

// termExecutor ends a term. Its fields are set in main, to the kinds of generated packages.
type termExecutor struct {
	Bill *taskkit.Kind[billSpec, billState, struct{}]
	Fine *taskkit.Kind[fineSpec, struct{}, struct{}]
}

// Stages implements [taskkit.Stager].
func (x *termExecutor) Stages(_ context.Context, b *termBatch) ([]taskkit.Stage, error) {
	return []taskkit.Stage{
		taskkit.NewStage("bill", x.Bill, billSpec{City: b.Spec.City}),
		taskkit.NewStage("try_fines", x.Fine, fineSpec{People: b.Spec.People}, taskkit.WithPreview()).After(),
		taskkit.NewStage("fine", x.Fine, fineSpec{People: b.Spec.People}).After("bill", "try_fines"),
	}, nil
}

// Execute is called when all stages are complete.
func (x *termExecutor) Execute(context.Context, *termBatch) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// A composite task has a stage for each of its parts. Two of these start at once, and the
// third when both are complete.
func ExampleNewStage() {
	var x taskkit.Stager[termSpec, struct{}] = &termExecutor{Bill: billKind, Fine: fineKind}
	stages, err := x.Stages(context.Background(), &termBatch{Spec: termSpec{City: "Bern", People: []string{"Ada"}}})
	fmt.Println(len(stages), "stages", err)
	// Output:
	// 3 stages <nil>
}

var termKind = taskkit.NewKind(taskkind.Definition[termSpec, struct{}, struct{}]{Name: "term", Stages: true})

// A submission gives stages options besides those that the code of the composite task gives them.
func ExampleWithStage() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, err := taskkit.Submit(ctx, db, termKind, termSpec{City: "Bern", People: []string{"Ada", "Kurt"}}, taskkit.System(),
		taskkit.WithStage("fine", taskkit.WithPreview()),
		taskkit.WithStage("bill", taskkit.WithPriority(taskkit.PriorityLow), taskkit.WithMaxRate(50)))
	fmt.Println(id != taskkit.ID{}, err)
	_, err = taskkit.Submit(ctx, db, termKind, termSpec{}, taskkit.System(), taskkit.WithStage("fine", taskkit.WithUniqueKey("Ada")))
	fmt.Println(err)
	// Output:
	// true <nil>
	// taskkit: WithUniqueKey: used for a stage: a stage is identified by its composite task and its name: give the option to that task
}

type (
	auditSpec  struct{}
	auditState struct {
		Wrong int `json:"wrong"`
	}
	auditBatch = taskkit.Batch[auditSpec, auditState]
)

type auditExecutor struct{}

var (
	_ taskkit.Segmenter[auditSpec, auditState] = auditExecutor{}
	_ taskkit.Merger[auditState]               = auditExecutor{}
)

// Segments implements [taskkit.Segmenter]: 256 buckets by the first byte of the id.
func (auditExecutor) Segments(context.Context, *auditBatch) (*segment.Plan, error) {
	return segment.UUID{Depth: 2}.Plan()
}

// Merge implements [taskkit.Merger].
func (auditExecutor) Merge(total *auditState, part auditState) error {
	total.Wrong += part.Wrong
	return nil
}

// A task is split into buckets, and their states are folded into one.
func ExampleSegmenter() {
	x := auditExecutor{}
	plan, err := x.Segments(context.Background(), &auditBatch{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var total auditState
	for _, part := range []auditState{{Wrong: 2}, {Wrong: 5}} {
		if err := x.Merge(&total, part); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(plan.Len(), "buckets,", total.Wrong, "wrong")
	// Output:
	// 256 buckets, 7 wrong
}
