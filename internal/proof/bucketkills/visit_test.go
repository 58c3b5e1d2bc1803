package bucketkills_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// buckets is how many each task has.
const buckets = 16

// visitSpec asks to visit the rows of a round, divided by a column.
type visitSpec struct {
	Round  int    `json:"round"`
	Rows   int    `json:"rows"`
	Column string `json:"column"` // id or name
}

// visitState is how far a bucket is, and of the task how many rows were visited.
type visitState struct {
	After  int `json:"after"`
	Visits int `json:"visits"`
}

type visitBatch = taskkit.Batch[visitSpec, visitState]

var visitKind = taskkit.NewKind(taskkind.Definition[visitSpec, visitState, int]{Name: "visit", BatchSize: 20, Segments: true})

// visitor visits rows.
type visitor struct{ table string }

// Segments implements [taskkit.Segmenter].
func (v visitor) Segments(ctx context.Context, b *visitBatch) (*segment.Plan, error) {
	if b.Spec.Column == "id" {
		return segment.Numeric{To: big.NewInt(int64(b.Spec.Rows)), Count: buckets}.Plan()
	}
	even, err := segment.Even{Table: v.table, Column: "name", Type: segment.TypeText, Count: buckets}.Sample(ctx, b.Tx)
	if err != nil {
		return nil, err
	}
	return even.Plan()
}

// Execute implements [taskkit.Executor].
func (v visitor) Execute(ctx context.Context, b *visitBatch) (taskkit.Next, error) {
	where, args, err := b.Segment.SQL(b.EntDriver().Dialect(), b.Spec.Column, 4)
	if err != nil {
		return taskkit.More, err
	}
	ids, err := v.next(ctx, b, where, args)
	if err != nil {
		return taskkit.More, err
	}
	select { // so that there is a time in which it can be killed
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return taskkit.More, ctx.Err()
	}
	if len(ids) > 0 {
		if _, err := b.Tx.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET visits = visits + 1 WHERE round = %d AND id IN (%s)",
			v.table, b.Spec.Round, strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]"))); err != nil {
			return taskkit.More, err
		}
		b.State.After = ids[len(ids)-1]
		b.State.Visits += len(ids)
		b.Advance(len(ids))
	}
	if len(ids) == b.Limit {
		return taskkit.More, nil
	}
	return taskkit.Done, nil
}

// next reads the ids of the next rows of the bucket.
func (v visitor) next(ctx context.Context, b *visitBatch, where string, args []any) (ids []int, err error) {
	rows, err := b.Tx.QueryContext(ctx, "SELECT id FROM "+v.table+" WHERE round = $1 AND id > $2 AND "+where+" ORDER BY id LIMIT $3",
		append([]any{b.Spec.Round, b.State.After, b.Limit}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Merge implements [taskkit.Merger].
func (visitor) Merge(total *visitState, part visitState) error {
	total.Visits += part.Visits
	return nil
}

// Report implements [taskkit.Reporter].
func (visitor) Report(_ context.Context, b *visitBatch) (int, error) { return b.State.Visits, nil }
