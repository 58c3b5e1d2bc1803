package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// billSpec has the list that the directive names, targets=customers, and what to search
// for if that is empty.
type billSpec struct {
	City      string `json:"city"`
	Customers []int  `json:"customers"`
}

// billState is how far the search is.
type billState struct {
	Last int `json:"last"`
}

// billKind is the kind as taskgen writes it for an executor with a method Targets.
var billKind = taskkit.NewKind(taskkind.Definition[billSpec, billState, struct{}]{
	Name:    "bill",
	Targets: taskkit.TargetsFoundIn[billState]("customers", func(s *billSpec) *[]int { return &s.Customers }),
})

type billExecutor struct{}

// Targets reads the next customers of the city.
func (billExecutor) Targets(ctx context.Context, b *taskkit.Batch[billSpec, billState]) (found []int, next taskkit.Next, err error) {
	rows, err := b.Tx.QueryContext(ctx, "SELECT id FROM customer WHERE city = $1 AND id > $2 ORDER BY id LIMIT $3",
		b.Spec.City, b.State.Last, b.Limit)
	if err != nil {
		return nil, next, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&b.State.Last); err != nil {
			return nil, next, err
		}
		found = append(found, b.State.Last)
	}
	if len(found) < b.Limit {
		next = taskkit.Done
	}
	return found, next, rows.Err()
}

func (billExecutor) Execute(_ context.Context, b *taskkit.Batch[billSpec, billState]) (taskkit.Next, error) {
	customers, next := taskkit.Take(b, b.Spec.Customers)
	fmt.Println("bill customers", customers)
	return next, nil
}

// A task that is submitted without targets finds them when it starts. Customers who come
// to the city after that are not billed.
func ExampleTargeter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, err := db.ExecContext(ctx, "CREATE TABLE customer (id integer PRIMARY KEY, city text NOT NULL)")
	if err == nil {
		_, err = db.ExecContext(ctx, "INSERT INTO customer VALUES (1, 'Bern'), (2, 'Basel'), (3, 'Bern'), (7, 'Bern')")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := taskkit.Submit(ctx, db, billKind, billSpec{City: "Bern"}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	var r taskkit.Registry
	taskkit.Register(&r, billKind, billExecutor{})
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done, "of", task.Progress.Total)
	// Output:
	// bill customers [1 3 7]
	// COMPLETED 3 of 3
}
