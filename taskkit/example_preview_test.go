package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

type fineSpec struct {
	People []string `json:"people" validate:"required"`
}

// fineKind is the kind of //taskkit:executor fine targets=people preview.
var fineKind = taskkit.NewKind(taskkind.Definition[fineSpec, struct{}, struct{}]{
	Name: "fine", Preview: true,
	Targets: taskkind.TargetsIn("people", func(s *fineSpec) *[]string { return &s.People }),
})

type fineExecutor struct{}

func (fineExecutor) Execute(ctx context.Context, b *taskkit.Batch[fineSpec, struct{}]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	for _, p := range people {
		b.Note(p, "fined 5")
	}
	_, err := b.Tx.ExecContext(ctx, "UPDATE account SET balance = balance - 5")
	return next, err
}

// A preview shows what a task would change, and changes nothing.
func ExampleWithPreview() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE account (person text, balance integer)`)
	_, _ = db.Exec(`INSERT INTO account VALUES ('Ada', 20), ('Kurt', 3)`)
	var r taskkit.Registry
	taskkit.Register(&r, fineKind, fineExecutor{})
	people := []string{"Ada", "Kurt"}
	id, err := taskkit.Submit(ctx, db, fineKind, fineSpec{People: people}, taskkit.System(), taskkit.WithPreview())
	if err != nil {
		fmt.Println(err)
		return
	}
	task := runToEnd(db, &r, id, taskkit.Config{})
	report, err := taskkit.NewClient(db).Preview(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	var sum int
	_ = db.QueryRow("SELECT sum(balance) FROM account").Scan(&sum)
	fmt.Println(task.Status, report.Changes, report.Notes, "balance", sum)
	// Output:
	// COMPLETED [{account update 2}] [{fined 5 2}] balance 23
}
