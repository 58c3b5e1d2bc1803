package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// family asks for children, each of so many items. It has at most Window of them open.
type family struct {
	First     int64                `json:"first"`
	Children  int64                `json:"children"`
	Items     int64                `json:"items"` // of a child
	Delay     int64                `json:"delay"` // of a batch of a child, in milliseconds
	Window    int64                `json:"window"`
	OnFailure taskkit.ChildFailure `json:"on_failure"`
	Breaks    bool                 `json:"breaks"`
	Nested    bool                 `json:"nested"` // its first child is a task in buckets
}

// familyState is how many children are submitted, and for what the parent waits.
type familyState struct {
	Submitted int64 `json:"submitted"`
	Waits     bool  `json:"waits"`
	AtMost    int64 `json:"at_most"`
}

var families = taskkit.NewKind(taskkind.Definition[family, familyState, struct{}]{Name: "family", BatchSize: 10, Children: true})

// The codes of the permanent errors of these executors.
const (
	codeBroken    = "broken"    // planned: it passes with a retry
	codeViolation = "violation" // seen by an executor
)

// familyWorker submits children and waits for them.
type familyWorker struct{}

// Execute implements [taskkit.Executor].
func (w *familyWorker) Execute(ctx context.Context, b *taskkit.Batch[family, familyState]) (taskkit.Next, error) {
	f, s, open := &b.Spec, &b.State, int64(b.Children.Open)
	switch {
	case s.Waits && open > s.AtMost:
		return taskkit.More, taskkit.Permanent(codeViolation, fmt.Errorf("it waits until at most %d children are open, and is executed with %d", s.AtMost, open))
	case s.Waits && f.OnFailure == taskkit.FailParent && b.Children.Failed > 0:
		return taskkit.More, taskkit.Permanent(codeViolation, fmt.Errorf("it fails with its children, and is executed with %d failed ones", b.Children.Failed))
	}
	for open < f.Window && s.Submitted < f.Children {
		if err := w.submit(ctx, b, s.Submitted); err != nil {
			return taskkit.More, err
		}
		s.Submitted++
		open++
	}
	if s.Submitted == f.Children && open == 0 {
		return taskkit.Done, nil
	}
	s.Waits, s.AtMost = true, 0
	if s.Submitted < f.Children {
		s.AtMost = f.Window / 2
	}
	return taskkit.AwaitChildren(int(s.AtMost), f.OnFailure), nil
}

// submit submits a child.
func (w *familyWorker) submit(ctx context.Context, b *taskkit.Batch[family, familyState], n int64) (err error) {
	f := &b.Spec
	first := f.First + n*f.Items
	opts := []taskkit.SubmitOption{taskkit.WithParent(b.Task)}
	if f.Nested && n == 0 {
		_, err = taskkit.Submit(ctx, b.Tx, divided, division{First: first, Items: f.Items, Delay: f.Delay, Breaks: f.Breaks}, opts...)
		return err
	}
	_, err = taskkit.Submit(ctx, b.Tx, kindOf(false), walk{From: first, Items: f.Items, Delay: f.Delay, Breaks: f.Breaks, Declares: true}, opts...)
	return err
}

// division asks for items in dividedBy buckets.
type division struct {
	First  int64 `json:"first"`
	Items  int64 `json:"items"`
	Delay  int64 `json:"delay"`
	Breaks bool  `json:"breaks"`
}

// dividedBy is how many buckets a division has. The items are a multiple of it.
const dividedBy = 5

// dividedBatch is how many items a bucket touches in a batch.
const dividedBatch = 2

// divisionState is how far a bucket is. Of the task it is the sum of them, and how many there are.
type divisionState struct {
	Begun   bool  `json:"begun"`
	Next    int64 `json:"next"`
	Touched int64 `json:"touched"`
	Buckets int   `json:"buckets"`
}

type dividedTask = taskkit.Batch[division, divisionState]

var divided = taskkit.NewKind(taskkind.Definition[division, divisionState, divisionState]{Name: "divided", BatchSize: dividedBatch, MaxBatchSize: dividedBatch, Segments: true})

// divider processes items in buckets.
type divider struct {
	o      *oracle.Oracle
	worker string
}

// Segments implements [taskkit.Segmenter].
func (divider) Segments(_ context.Context, b *dividedTask) (*segment.Plan, error) {
	return segment.Numeric{From: big.NewInt(b.Spec.First), Size: big.NewInt(b.Spec.Items / dividedBy), Count: dividedBy}.Plan()
}

// Execute implements [taskkit.Executor].
func (w divider) Execute(ctx context.Context, b *dividedTask) (taskkit.Next, error) {
	if err := takeTime(ctx, b.Spec.Delay); err != nil {
		return taskkit.More, err
	}
	size := b.Spec.Items / dividedBy
	if !b.State.Begun {
		starts, err := itemsOf(ctx, b, b.Spec.First, b.Spec.First+b.Spec.Items, size)
		if err == nil && len(starts) != 1 {
			err = taskkit.Permanent(codeViolation, fmt.Errorf("the bucket has the items from each of %v on, want one", starts))
		}
		if err == nil {
			b.State.Begun, b.State.Next = true, starts[0]
			err = w.o.Declare(ctx, b.Tx, b.Task.String(), oracle.Range{First: starts[0], Past: starts[0] + size})
		}
		if err != nil {
			return taskkit.More, err
		}
	}
	if b.Spec.Breaks && breaks() {
		return taskkit.More, taskkit.Permanent(codeBroken, errBroken)
	}
	// The predicate of the bucket decides where it ends.
	found, err := itemsOf(ctx, b, b.State.Next, min(b.State.Next+dividedBatch, b.Spec.First+b.Spec.Items), 1)
	if err != nil || len(found) == 0 {
		return taskkit.Done, err
	}
	n := int64(len(found))
	if err := w.o.Touch(ctx, b.Tx, b.Task.String(), w.worker, oracle.Range{First: found[0], Past: found[0] + n}); err != nil {
		return taskkit.More, err
	}
	b.Advance(len(found))
	b.State.Next, b.State.Touched = b.State.Next+n, b.State.Touched+n
	return taskkit.More, nil
}

// itemsOf are the items of a bucket among those from one to another, by steps, by the comparison
// of the database.
func itemsOf(ctx context.Context, b *dividedTask, first, past, step int64) (found []int64, err error) {
	where, args, err := b.Segment.SQL(b.EntDriver().Dialect(), "i", 4)
	if err != nil {
		return nil, err
	}
	rows, err := b.Tx.QueryContext(ctx, `WITH RECURSIVE n(i) AS (SELECT CAST($1 AS bigint) UNION ALL SELECT i + CAST($3 AS bigint) FROM n WHERE i + CAST($3 AS bigint) < CAST($2 AS bigint))
SELECT i FROM n WHERE i < CAST($2 AS bigint) AND `+where+` ORDER BY i`, append([]any{first, past, step}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i int64
		if err := rows.Scan(&i); err != nil {
			return nil, err
		}
		found = append(found, i)
	}
	return found, rows.Err()
}

// Merge implements [taskkit.Merger].
func (divider) Merge(total *divisionState, part divisionState) error {
	total.Touched += part.Touched
	total.Buckets++
	return nil
}

// Report implements [taskkit.Reporter].
func (divider) Report(_ context.Context, b *dividedTask) (divisionState, error) { return b.State, nil }

// composite asks for stages over items: some one by one, then some in buckets, meanwhile a family,
// and at last some one by one.
type composite struct {
	First  int64 `json:"first"`
	Items  int64 `json:"items"` // of a stage, and of a child of the family
	Delay  int64 `json:"delay"`
	Breaks bool  `json:"breaks"`
}

// compositeParts is how many times Items a composite task touches.
const compositeParts = 3 + compositeChildren

// compositeChildren are the children of the family of a composite task.
const compositeChildren = 3

var composites = taskkit.NewKind(taskkind.Definition[composite, struct{}, struct{}]{Name: "composite", BatchSize: 10, Stages: true})

// compositor has the stages of a composite task.
type compositor struct{}

// Stages implements [taskkit.Stager].
func (compositor) Stages(_ context.Context, b *taskkit.Batch[composite, struct{}]) ([]taskkit.Stage, error) {
	c := b.Spec
	at := func(n int64) int64 { return c.First + n*c.Items }
	return []taskkit.Stage{
		taskkit.NewStage("load", kindOf(false), walk{From: at(0), Items: c.Items, Delay: c.Delay, Breaks: c.Breaks, Declares: true}),
		taskkit.NewStage("buckets", divided, division{First: at(1), Items: c.Items, Delay: c.Delay, Breaks: c.Breaks}),
		taskkit.NewStage("beside", families, family{
			First: at(2), Children: compositeChildren, Items: c.Items, Delay: c.Delay, Window: 2, OnFailure: taskkit.FailParent, Breaks: c.Breaks, Nested: true,
		}).After(),
		taskkit.NewStage("last", kindOf(false), walk{From: at(compositeParts - 1), Items: c.Items, Delay: c.Delay, Breaks: c.Breaks, Declares: true}).After("buckets", "beside"),
	}, nil
}

// stageOrder are the stages of a composite task that come after others.
var stageOrder = map[string][]string{"buckets": {"load"}, "last": {"buckets", "beside"}}

// Execute implements [taskkit.Executor].
func (compositor) Execute(context.Context, *taskkit.Batch[composite, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

var errBroken = errors.New("it works with a retry")

// takeTime lets a batch take so many milliseconds.
func takeTime(ctx context.Context, ms int64) error {
	if ms <= 0 {
		return nil
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
