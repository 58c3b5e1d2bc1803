package bucketkills_test

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
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
	IDs    []int  `json:"ids"`    // found by the buckets
}

// visitState is how far a search is, and then how many rows were visited.
type visitState struct {
	After  int `json:"after"`
	Visits int `json:"visits"`
}

type visitBatch = taskkit.Batch[visitSpec, visitState]

var visitKind = taskkit.NewKind(taskkind.Definition[visitSpec, visitState, int]{
	Name: "visit", BatchSize: 20, MaxBatchSize: 20, Segments: true, Merge: true, Preview: true,
	Targets: taskkit.TargetsFoundIn[visitState]("ids", func(s *visitSpec) *[]int { return &s.IDs }),
})

// fails and skips report what becomes of a row.
func fails(id int) bool { return id%50 == 0 }
func skips(id int) bool { return id%33 == 0 && !fails(id) }

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

// Targets implements [taskkit.Targeter].
func (v visitor) Targets(ctx context.Context, b *visitBatch) (ids []int, next taskkit.Next, err error) {
	where, args, err := b.Segment.SQL(b.EntDriver().Dialect(), b.Spec.Column, 4)
	if err != nil {
		return nil, next, err
	}
	rows, err := b.Tx.QueryContext(ctx, "SELECT id FROM "+v.table+" WHERE round = $1 AND id > $2 AND "+where+" ORDER BY id LIMIT $3",
		append([]any{b.Spec.Round, b.State.After, b.Limit}, args...)...)
	if err != nil {
		return nil, next, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&b.State.After); err != nil {
			return nil, next, err
		}
		ids = append(ids, b.State.After)
	}
	if len(ids) < b.Limit {
		next = taskkit.Done
	}
	return ids, next, rows.Err()
}

// Execute implements [taskkit.Executor].
func (v visitor) Execute(ctx context.Context, b *visitBatch) (taskkit.Next, error) {
	ids, next := taskkit.Take(b, b.Spec.IDs)
	select { // so that there is a time in which it can be killed
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return taskkit.More, ctx.Err()
	}
	visited := []string{"0"}
	for _, id := range ids {
		switch {
		case fails(id):
			b.Fail(id, taskkit.Permanent("fifty", nil))
		case skips(id):
			b.Skip(id, "thirty_three")
		default:
			visited = append(visited, strconv.Itoa(id))
		}
	}
	b.State.Visits += len(visited) - 1
	_, err := b.Tx.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET visits = visits + 1 WHERE round = %d AND id IN (%s)", v.table, b.Spec.Round, strings.Join(visited, ", ")))
	return next, err
}

// Merge implements [taskkit.Merger].
func (visitor) Merge(total *visitState, part visitState) error {
	total.Visits += part.Visits
	return nil
}

// Report implements [taskkit.Reporter].
func (visitor) Report(_ context.Context, b *visitBatch) (int, error) { return b.State.Visits, nil }
