package faultinject_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// mixedItems of a mixed task: the first fails, the second is deferred once, the third is
// skipped, and the others succeed.
const mixedItems = 6

// mixedSpec asks for the entities from First on, which are a frozen set.
type mixedSpec struct {
	First   int64   `json:"first"`
	Targets []int64 `json:"targets"`
}

// mixedState is in which pass it is.
type mixedState struct {
	Pass int `json:"pass"`
}

var mixedKind = taskkit.NewKind(taskkind.Definition[mixedSpec, mixedState, struct{}]{
	Name: "mixed", BatchSize: atOnce, Preview: true, DeferDelays: []time.Duration{10 * time.Millisecond},
	Targets: taskkind.TargetsIn("targets", func(s *mixedSpec) *[]int64 { return &s.Targets }),
})

// mixed touches all items but the one that it defers.
type mixed struct{ steps }

func (x mixed) Execute(ctx context.Context, b *taskkit.Batch[mixedSpec, mixedState]) (taskkit.Next, error) {
	items, next := taskkit.Take(b, b.Spec.Targets)
	for _, item := range items {
		switch item - b.Spec.First {
		case 0:
			b.Fail(item, errors.New("an item that never works"))
		case 1:
			if b.State.Pass == 0 {
				b.Defer(item, errors.New("an item that is busy"))
				continue
			}
		case 2:
			b.Skip(item, "nothing_to_do")
		}
		if err := x.oracle.Touch(ctx, b.Tx, b.Task.String(), x.worker, oracle.Range{First: item, Past: item + 1}); err != nil {
			return taskkit.More, err
		}
	}
	if next == taskkit.Done {
		b.State.Pass++
	}
	return next, nil
}

// submitMixed submits a mixed task, or a preview of one, that pauses after its first failed item.
func (l *env) submitMixed(ctx context.Context, preview bool) (id taskkit.ID, err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return id, fmt.Errorf("submit: %w", err)
	}
	defer tx.Rollback()
	set := oracle.Range{First: l.next, Past: l.next + mixedItems}
	l.next += mixedItems
	targets := make([]int64, mixedItems)
	for i := range targets {
		targets[i] = set.First + int64(i)
	}
	opts := []taskkit.SubmitOption{taskkit.WithSchema(l.schema), taskkit.System(), taskkit.WithTargets(slices.Values(targets)), taskkit.WithStopAfter("1")}
	if preview {
		opts = append(opts, taskkit.WithPreview())
	}
	id, err = taskkit.Submit(ctx, tx, mixedKind, mixedSpec{First: set.First}, opts...)
	if err != nil {
		return id, fmt.Errorf("submit: %w", err)
	}
	if err := l.oracle.Declare(ctx, tx, id.String(), set); err != nil {
		return id, err
	}
	return id, tx.Commit()
}

// resume lets a paused task go on with a limit that it does not reach.
func (l *env) resume(ctx context.Context, id taskkit.ID) error {
	_, err := taskkit.NewClient(l.db, taskkit.WithSchema(l.schema)).Resume(ctx, id, taskkit.WithStopAfter("100"))
	if _, refused := errors.AsType[*taskkit.StateError](err); refused {
		return nil // its worker has not released it yet, or it was resumed before
	}
	return err
}

// verifyMixed says what is wrong with an ended mixed task. The oracle knows that it was
// paused.
func (l *env) verifyMixed(ctx context.Context, id taskkit.ID, preview bool) error {
	var status string
	var done, failed, skipped, touches, entities, rows, pauses int64
	err := l.db.QueryRowContext(ctx, `SELECT workflow_status, items_done, items_failed, items_skipped,
  (SELECT count(*) FROM oracle_touch t WHERE t.task = $1), (SELECT count(DISTINCT entity) FROM oracle_touch t WHERE t.task = $1),
  (SELECT count(*) FROM taskkit_task_item i WHERE i.task_id = q.id),
  (SELECT count(*) FROM taskkit_task_event e WHERE e.task_id = q.id AND e.action = 'pause')
FROM taskkit_queued_task q WHERE q.id = $2`, id.String(), id.String()).Scan(&status, &done, &failed, &skipped, &touches, &entities, &rows, &pauses)
	if err != nil {
		return fmt.Errorf("read task %s: %w", id, err)
	}
	got := fmt.Sprintf("%s, %d done, %d failed, %d skipped, %d touches of %d entities, %d rows of items, %d pauses", status, done, failed, skipped, touches, entities, rows, pauses)
	want := "COMPLETED, 4 done, 1 failed, 1 skipped, 6 touches of 6 entities, 2 rows of items, 1 pauses"
	if preview {
		want = "COMPLETED, 3 done, 2 failed, 1 skipped, 0 touches of 0 entities, 3 rows of items, 1 pauses"
	}
	if got != want {
		return fmt.Errorf("task %s (preview: %t) is %s; want %s", id, preview, got, want)
	}
	return l.budget(ctx, id)
}
