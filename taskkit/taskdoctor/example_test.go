package taskdoctor_test

import (
	"context"
	"database/sql"
	"fmt"

	_ "modernc.org/sqlite"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskkind"
)

type greetSpec struct {
	Name string `json:"name"`
}

// greetKind is a kind as taskgen generates it.
var greetKind = taskkit.NewKind(taskkind.Definition[greetSpec, struct{}, struct{}]{Name: "greet"})

// exampleDB returns a migrated SQLite database in memory.
func exampleDB(name string) *sql.DB {
	db, err := sql.Open("sqlite", "file:/"+name+"?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		panic(err)
	}
	if err := taskkit.Migrate(context.Background(), db, taskkit.DefaultSchema); err != nil {
		panic(err)
	}
	return db
}

func ExampleRun() {
	ctx, db := context.Background(), exampleDB("doctor")
	defer db.Close()
	if _, err := taskkit.Submit(ctx, db, greetKind, greetSpec{"Ada"}, taskkit.System()); err != nil {
		panic(err)
	}
	report, err := taskdoctor.Run(ctx, db, taskdoctor.Options{})
	if err != nil {
		panic(err)
	}
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.ID, len(f.Affected))
		fmt.Println(f.Fix)
	}
	fmt.Println(len(report.Unknown), report.ExitStatus(false))
	// Output:
	// error no_worker 1
	// Start a worker that serves the queue and executes these kinds.
	// 0 2
}

// A check of a program's own.
func ExampleCheck() {
	ctx, db := context.Background(), exampleDB("check")
	defer db.Close()
	letters := taskdoctor.Check{Name: "letters", Read: func(ctx context.Context, r *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
		counts, _, err := r.Client.Counts(ctx, "letter")
		if err != nil || counts[taskkit.StatusFailure] > 0 {
			return nil, err
		}
		return []taskdoctor.Finding{{
			ID: "no_failed_letter", Severity: taskdoctor.Info, Text: "No letter has failed, which is unlikely.", Fix: "See whether the printer reports its errors.",
		}}, nil
	}}
	report, err := taskdoctor.Run(ctx, db, taskdoctor.Options{Checks: []taskdoctor.Check{letters}})
	if err != nil {
		panic(err)
	}
	for _, f := range report.Findings {
		fmt.Println(f.ID, f.Text)
	}
	// Output:
	// no_failed_letter No letter has failed, which is unlikely.
}

func ExampleFindings() {
	for _, k := range taskdoctor.Findings()[:3] {
		fmt.Println(k.ID, k.Severity)
	}
	// Output:
	// no_worker error
	// safe_mode warning
	// queue_paused warning
}
