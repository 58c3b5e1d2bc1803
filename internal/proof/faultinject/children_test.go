package faultinject_test

import (
	"context"
	"fmt"
	"math/big"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// familyItems of a task in buckets, and how many a bucket has: three buckets of two batches.
const (
	familyItems = 12
	bucketItems = 4
	bucketBatch = 2
)

// familySpec asks for the entities from First on.
type familySpec struct {
	First int64 `json:"first"`
}

// familyState is how far a bucket is, and of the task how many entities all have touched.
type familyState struct {
	Begun   bool  `json:"begun"`
	After   int64 `json:"after"`
	Touched int   `json:"touched"`
}

type familyBatch = taskkit.Batch[familySpec, familyState]

var familyKind = taskkit.NewKind(taskkind.Definition[familySpec, familyState, int]{
	Name: "family", BatchSize: bucketBatch, MaxBatchSize: bucketBatch, Segments: true,
})

// family touches its entities in buckets.
type family struct{ steps }

// Segments implements [taskkit.Segmenter].
func (family) Segments(_ context.Context, b *familyBatch) (*segment.Plan, error) {
	return segment.Numeric{From: big.NewInt(b.Spec.First), Size: big.NewInt(bucketItems), Count: familyItems / bucketItems}.Plan()
}

func (x family) Execute(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
	where, args, err := b.Segment.SQL(b.EntDriver().Dialect(), "i", 4)
	if err != nil {
		return taskkit.More, err
	}
	all, err := x.entities(ctx, b, where, args)
	if err != nil || len(all) == 0 {
		return taskkit.Done, err
	}
	if !b.State.Begun { // nobody else knows the id of a bucket
		b.State.Begun, b.State.After = true, all[0]-1
		if err := x.oracle.Declare(ctx, b.Tx, b.Task.String(), oracle.Range{First: all[0], Past: all[len(all)-1] + 1}); err != nil {
			return taskkit.More, err
		}
	}
	first := b.State.After + 1
	past := min(first+bucketBatch, all[len(all)-1]+1)
	if err := x.oracle.Touch(ctx, b.Tx, b.Task.String(), x.worker, oracle.Range{First: first, Past: past}); err != nil {
		return taskkit.More, err
	}
	n := int(past - first)
	b.Total(len(all))
	b.Advance(n)
	b.State.After, b.State.Touched = past-1, b.State.Touched+n
	if past == all[len(all)-1]+1 {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// entities returns the entities of a bucket, by the database's own comparison.
func (x family) entities(ctx context.Context, b *familyBatch, where string, args []any) (all []int64, err error) {
	rows, err := b.Tx.QueryContext(ctx, `WITH RECURSIVE n(i) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($2 AS bigint))
SELECT i FROM n WHERE i >= CAST($3 AS bigint) AND `+where+` ORDER BY i`, append([]any{b.Spec.First, b.Spec.First + familyItems, b.Spec.First}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i int64
		if err := rows.Scan(&i); err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, rows.Err()
}

// Merge implements [taskkit.Merger].
func (family) Merge(total *familyState, part familyState) error {
	total.Touched += part.Touched
	return nil
}

// Report implements [taskkit.Reporter].
func (family) Report(_ context.Context, b *familyBatch) (int, error) { return b.State.Touched, nil }

// submitFamily submits a task in buckets, two of them at once.
func (l *env) submitFamily(ctx context.Context) (id taskkit.ID, err error) {
	first := l.next
	l.next += familyItems
	id, err = taskkit.Submit(ctx, l.db.DB, familyKind, familySpec{First: first}, taskkit.WithSchema(l.schema), taskkit.System(), taskkit.WithMaxParallel(2))
	if err != nil {
		return id, fmt.Errorf("submit: %w", err)
	}
	return id, nil
}

// verifyFamily says what is wrong with an ended task in buckets.
func (l *env) verifyFamily(ctx context.Context, id taskkit.ID) error {
	var status, desc string
	var done, buckets, completed, late, touches, entities int64
	err := l.db.QueryRowContext(ctx, `SELECT workflow_status, coalesce(workflow_status_desc, ''), items_done,
  (SELECT count(*) FROM taskkit_queued_task c WHERE c.parent_id = q.id),
  (SELECT count(*) FROM taskkit_queued_task c WHERE c.parent_id = q.id AND c.workflow_status = 'COMPLETED' AND NOT c.partial),
  (SELECT count(*) FROM taskkit_queued_task c WHERE c.parent_id = q.id AND c.workflow_stopped_date > q.workflow_stopped_date),
  (SELECT count(*) FROM oracle_touch t JOIN taskkit_queued_task c ON CAST(c.id AS text) = t.task WHERE c.parent_id = q.id),
  (SELECT count(DISTINCT entity) FROM oracle_touch t JOIN taskkit_queued_task c ON CAST(c.id AS text) = t.task WHERE c.parent_id = q.id)
FROM taskkit_queued_task q WHERE q.id = $1`, id.String()).Scan(&status, &desc, &done, &buckets, &completed, &late, &touches, &entities)
	if err != nil {
		return fmt.Errorf("read task %s: %w", id, err)
	}
	got := fmt.Sprintf("%s, %d done, %d buckets, %d completed, %d later than the task, %d touches of %d entities", status, done, buckets, completed, late, touches, entities)
	if want := "COMPLETED, 12 done, 3 buckets, 3 completed, 0 later than the task, 12 touches of 12 entities"; got != want {
		return fmt.Errorf("task %s in buckets is %s (%s); want %s", id, got, desc, want)
	}
	total, err := taskkit.Fetch(ctx, taskkit.NewClient(l.db, taskkit.WithSchema(l.schema)), familyKind, id)
	if err != nil || total != familyItems {
		return fmt.Errorf("the merged buckets of task %s have touched %d entities (%w), want %d", id, total, err, familyItems)
	}
	return l.budget(ctx, id)
}
