package tasktest_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasktest"
)

// visitSpec names the rooms to visit, or how many there are.
type visitSpec struct {
	Rooms []int `json:"rooms" validate:"required,dive,min=0"`
	Count int   `json:"count"`
}

// visitState is how far the search is, and then how many rooms were visited.
type visitState struct {
	From    int `json:"from"`
	Visited int `json:"visited"`
}

type visitBatch = taskkit.Batch[visitSpec, visitState]

var visitKind = taskkit.NewKind(taskkind.Definition[visitSpec, visitState, int]{
	Name: "visit", BatchSize: 300,
	Targets: taskkit.TargetsFoundIn[visitState]("rooms", func(s *visitSpec) *[]int { return &s.Rooms }),
})

// visitor finds its rooms in one table, and writes the visited ones into another.
type visitor struct{}

// Targets finds rooms in descending order. Each batch begins with the last rooms of the
// previous one.
func (visitor) Targets(ctx context.Context, b *visitBatch) (rooms []int, next taskkit.Next, err error) {
	const again = 3
	rows, err := b.Tx.QueryContext(ctx, "SELECT id FROM room WHERE id < $1 ORDER BY id DESC LIMIT $2", b.Spec.Count-b.State.From+again, b.Limit+again)
	if err != nil {
		return nil, next, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, next, err
		}
		rooms = append(rooms, id)
	}
	if err := rows.Err(); err != nil {
		return nil, next, err
	}
	if b.State.From += b.Limit; b.State.From >= b.Spec.Count {
		next = taskkit.Done
	}
	_, err = b.Tx.ExecContext(ctx, "INSERT INTO searched (state) VALUES ($1)", b.State.From)
	return rooms, next, err
}

// Execute visits the rooms in the order in which they were found.
func (visitor) Execute(ctx context.Context, b *visitBatch) (taskkit.Next, error) {
	rooms, next := taskkit.Take(b, b.Spec.Rooms)
	if b.State.From != 0 {
		return next, taskkit.Permanent("state_of_search", nil)
	}
	for _, r := range rooms {
		if _, err := b.Tx.ExecContext(ctx, "INSERT INTO visited (n, room) VALUES ($1, $2)", b.State.Visited, r); err != nil {
			return next, err
		}
		b.State.Visited++
	}
	return next, nil
}

// Report returns the number of rooms.
func (visitor) Report(_ context.Context, b *visitBatch) (int, error) { return b.State.Visited, nil }

// makeRooms makes n rooms.
func makeRooms(n int) func(ctx context.Context, db *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		for _, text := range []string{
			"CREATE TABLE room (id integer PRIMARY KEY)", "CREATE TABLE visited (n integer NOT NULL, room integer NOT NULL)",
			"CREATE TABLE searched (state integer NOT NULL)",
			fmt.Sprintf("INSERT INTO room (id) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d) SELECT i FROM n", n),
		} {
			if _, err := db.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}
}

// columnOf reads a column.
func columnOf[T any](ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string, args ...any,
) (all []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// Under each fault in or between the batches of a search, each found target is taken once, in
// the order of the search.
func TestTargetsUnderFaults(t *testing.T) {
	t.Parallel()
	for name, open := range tasktest.Databases {
		for _, c := range []struct{ rooms, limit int }{{25, 4}, {1100, 450}} {
			t.Run(fmt.Sprintf("%s/%d", name, c.rooms), func(t *testing.T) {
				t.Parallel()
				if c.limit > 100 && testing.Short() {
					t.Skip("more than a page of targets, under each fault: not with -short")
				}
				want := make([]int, c.rooms)
				for i := range want {
					want[i] = c.rooms - 1 - i
				}
				tasktest.TestExecutor(t, tasktest.Case[visitSpec, visitState, int]{
					Kind: visitKind, Open: open, Limit: c.limit, Spec: visitSpec{Count: c.rooms}, Setup: makeRooms(c.rooms),
					New: func(testing.TB, *sql.DB) taskkit.Executor[visitSpec, visitState] { return visitor{} },
					Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
						visited, err := columnOf[int](ctx, db, "SELECT room FROM visited ORDER BY n")
						if err == nil && len(visited) > 0 && !slices.Equal(visited, want) {
							err = fmt.Errorf("visited %d rooms, want %d in descending order", len(visited), c.rooms)
						}
						return visited, err
					},
				})
			})
		}
	}
}
