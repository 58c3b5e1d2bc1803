package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// leaveSpec selects people by their status.
type leaveSpec struct {
	Status string `json:"status" validate:"required"`
}

// leaveState is the position in the table. The first batch sets Last, so that people
// who are added later do not prevent the task from ending.
type leaveState struct {
	After int `json:"after"`
	Last  int `json:"last"`
}

var leaveKind = taskkit.NewKind(taskkind.Definition[leaveSpec, leaveState, struct{}]{
	Name: "leave", BatchSize: 2,
})

// leaver is an executor whose targets are a query.
type leaver struct{}

// Execute implements [taskkit.Executor].
func (leaver) Execute(ctx context.Context, b *taskkit.Batch[leaveSpec, leaveState]) (taskkit.Next, error) {
	s := &b.State
	if s.Last == 0 {
		total, last, err := countOf(ctx, b.Tx, b.Spec.Status)
		if err != nil || total == 0 {
			return taskkit.Done, err
		}
		b.Total(total)
		s.Last = last
	}
	people, err := peopleAfter(ctx, b.Tx, b.Spec.Status, s.After, s.Last, b.Limit)
	if err != nil || len(people) == 0 {
		return taskkit.Done, err
	}
	for _, p := range people {
		if _, err := b.Tx.ExecContext(ctx, `UPDATE person SET status = 'exited' WHERE id = $1`, p); err != nil {
			return taskkit.More, err
		}
	}
	b.Advance(len(people))
	s.After = people[len(people)-1]
	return taskkit.More, nil
}

// countOf returns how many people have a status, and the greatest id of them.
func countOf(ctx context.Context, tx taskkit.ExecQuerier, status string) (total, last int, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT count(*), coalesce(max(id), 0) FROM person WHERE status = $1`, status)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&total, &last); err != nil {
			return 0, 0, err
		}
	}
	return total, last, rows.Err()
}

// peopleAfter returns the next people of a status after one of them.
func peopleAfter(ctx context.Context, tx taskkit.ExecQuerier, status string, after, last, limit int) ([]int, error) {
	rows, err := tx.QueryContext(ctx,
		`SELECT id FROM person WHERE status = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4`, status, after, last, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// An executor that iterates over a table keeps the last key in its state. It may
// change the column that it filters by.
func ExampleExecutor_query() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE person (id integer PRIMARY KEY, status text)`)
	_, _ = db.Exec(`INSERT INTO person (status) VALUES ('active'), ('exited'), ('active'), ('active'), ('active')`)
	r := &taskkit.Registry{}
	taskkit.Register[leaveSpec, leaveState](r, leaveKind, leaver{})
	id, _ := taskkit.Submit(ctx, db, leaveKind, leaveSpec{Status: "active"}, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	var exited int
	_ = db.QueryRow(`SELECT count(*) FROM person WHERE status = 'exited'`).Scan(&exited)
	fmt.Println(task.Status, task.Progress.Done, "of", task.Progress.Total, "left;", exited, "are gone")
	// Output: COMPLETED 4 of 4 left; 5 are gone
}
