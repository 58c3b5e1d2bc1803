package targets

import (
	"context"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/taskkit/segment"
)

// The buckets of a query.
const (
	// BucketSize is about how many people a bucket has.
	BucketSize = 2_000
	// MaxBuckets bounds the buckets of a task. Buckets of a larger query have more people.
	MaxBuckets = 64
)

// Segments divides the people for the buckets of a task. Each has about perBucket people, or
// [BucketSize] if that is 0. An executor returns the plan from its method Segments, and the people of a bucket by [Find].
//
// The people of a query are divided by their ids. These begin with a time, so equal parts of
// the space of ids would have very different numbers of people, and the boundaries are sampled
// from the table. Each bucket finds its people when it begins. A person who is entered after the
// task has begun is thus processed if the last bucket has not begun yet.
func (t Targets) Segments(ctx context.Context, c *ent.Client, db segment.Querier, perBucket int) (*segment.Plan, error) {
	count := 1
	if t.Query != nil {
		total, _, err := t.Query.count(ctx, c)
		if err != nil {
			return nil, err
		}
		if perBucket <= 0 {
			perBucket = BucketSize
		}
		count = min(max(1, (total+perBucket-1)/perBucket), MaxBuckets)
	}
	// One segment with everybody needs a sample of only a few pages.
	even, err := segment.Even{Table: person.Table, Column: person.FieldID, Type: segment.TypeUUID, Count: count}.Sample(ctx, db)
	if err != nil {
		return nil, err
	}
	return even.Plan()
}
