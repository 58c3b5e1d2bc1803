package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

type parcelBatch = taskkit.Batch[parcelSpec, struct{}]

// parcelSpec lists parcels by their weight in kilograms.
type parcelSpec struct{ Weights []int }

func weights(s *parcelSpec) *[]int { return &s.Weights }

var parcelKind = taskkit.NewKind(taskkind.Definition[parcelSpec, struct{}, struct{}]{
	Name: "parcel", Targets: taskkind.TargetsIn("Weights", weights), CheckItems: taskkit.ItemsCheckedIn[struct{}](weights),
})

//taskkit:executor parcel targets=Weights
type parcelExecutor struct{}

// CheckItems implements [taskkit.ItemChecker].
func (parcelExecutor) CheckItems(_ context.Context, _ *parcelBatch, weights []int) ([]taskkit.Processing, error) {
	decided := make([]taskkit.Processing, len(weights))
	for i, w := range weights {
		if w > 30 {
			decided[i] = taskkit.Skip("too_heavy")
		}
	}
	return decided, nil
}

// Execute sends parcels, none of them too heavy.
func (parcelExecutor) Execute(_ context.Context, b *parcelBatch) (taskkit.Next, error) {
	weights, next := taskkit.Take(b, b.Spec.Weights)
	fmt.Println("send", weights)
	return next, nil
}

// Items that a condition leaves out do not reach Execute.
func ExampleItemChecker() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var reg taskkit.Registry
	taskkit.Register(&reg, parcelKind, parcelExecutor{})
	id, err := taskkit.Submit(ctx, db, parcelKind, parcelSpec{[]int{2, 45, 7}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	task := runToEnd(db, &reg, id, taskkit.Config{})
	fmt.Println(task.Progress.Done, "done,", task.Progress.Skipped, "skipped")
	// Output:
	// send [2 7]
	// 2 done, 1 skipped
}

var meterKind = taskkit.NewKind(taskkind.Definition[readingSpec, readingState, string]{Name: "meter", Segments: true, CheckBucket: true})

// meterExecutor reads sensors in buckets, of which those without a sensor are left out.
type meterExecutor struct{ readingExecutor }

// CheckBucket implements [taskkit.BucketChecker].
func (meterExecutor) CheckBucket(ctx context.Context, b *readingBatch) (taskkit.Processing, error) {
	where, args, err := b.Segment.SQL(b.EntDriver().Dialect(), "id", 1)
	if err != nil {
		return taskkit.Process, err
	}
	rows, err := b.Tx.QueryContext(ctx, "SELECT 1 FROM sensor WHERE "+where+" LIMIT 1", args...)
	if err != nil {
		return taskkit.Process, err
	}
	defer rows.Close()
	if !rows.Next() {
		return taskkit.Skip("no_sensors"), rows.Err()
	}
	return taskkit.Process, nil
}

// No child is submitted for a bucket that a condition leaves out.
func ExampleBucketChecker() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE sensor AS SELECT 1500 AS id"); err != nil {
		fmt.Println(err)
		return
	}
	var reg taskkit.Registry
	taskkit.Register(&reg, meterKind, meterExecutor{})
	id, err := taskkit.Submit(ctx, db, meterKind, readingSpec{Sensors: 3000}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &reg, id, taskkit.Config{})
	fmt.Println(taskkit.Fetch(ctx, taskkit.NewClient(db), meterKind, id))
	for bucket, err := range taskkit.NewClient(db).Items(ctx, id, taskkit.OutcomeSkipped) {
		fmt.Println(bucket.Position, bucket.Code, err)
	}
	// Output:
	// 1 buckets <nil>
	// 1 no_sensors <nil>
	// 3 no_sensors <nil>
}
