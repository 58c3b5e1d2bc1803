package main

import (
	"bytes"
	"context"
	"database/sql"
	"os/exec"
	"path/filepath"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"

	"example.com/campus/ent"
	"example.com/campus/ent/student"
	"example.com/campus/executors/setstatus"
	"example.com/campus/gen/setstatustask"
)

// The program prints what the documentation says.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", filepath.Join(t.TempDir(), "campus.db")); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "COMPLETED: 2000 of 2000 students, 2000 changed\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// What is generated is what the generator would write now.
func TestGenerated(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "tool", "taskgen", "-check").CombinedOutput(); err != nil {
		t.Errorf("taskgen -check: %v\n%s", err, out)
	}
}

// The executor survives what the runtime lets happen to it.
func TestSetStatus(t *testing.T) {
	client := func(db *sql.DB) *ent.Client {
		return ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db)))
	}
	tasktest.TestExecutor(t, tasktest.Case[setstatus.Spec, setstatus.State]{
		Kind: setstatustask.Kind,
		New: func(testing.TB, *sql.DB) taskkit.Executor[setstatus.Spec, setstatus.State] {
			return &setstatus.Executor{}
		},
		Setup: func(ctx context.Context, db *sql.DB) error {
			if err := client(db).Schema.Create(ctx); err != nil {
				return err
			}
			_, err := enrol(ctx, client(db), 10)
			return err
		},
		Spec:  setstatus.Spec{Students: []int{1, 2, 3, 4, 5, 6, 7}, Status: "paused"},
		Limit: 2,
		Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
			return client(db).Student.Query().Where(student.Status("paused")).IDs(ctx)
		},
	})
}
