package taskops_test

import (
	"context"
	"database/sql"
	"log/slog"
	"sync/atomic"

	_ "modernc.org/sqlite"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// exampleDB returns a migrated SQLite database in memory.
func exampleDB() *sql.DB {
	db, err := sql.Open("sqlite", "file:/example-"+exampleName()+"?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		panic(err)
	}
	db.SetMaxIdleConns(8)
	if err := taskkit.Migrate(context.Background(), db, taskkit.DefaultSchema); err != nil {
		panic(err)
	}
	return db
}

var examples atomic.Int64

func exampleName() string {
	return string(rune('a'+examples.Add(1)%26)) + string(rune('a'+examples.Load()/26))
}

// runToEnd runs a worker until a task has ended, and returns the task.
func runToEnd(db *sql.DB, r *taskkit.Registry, id taskkit.ID, c taskkit.Config) *taskkit.Task {
	c.Logger = slog.New(slog.DiscardHandler)
	w, err := taskkit.NewWorker(context.Background(), db, r, c)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t, err := taskkit.NewClient(db).Wait(ctx, id, nil)
	if err != nil {
		panic(err)
	}
	stop()
	if err := <-done; err != nil {
		panic(err)
	}
	return t
}

// greetSpec names people to greet.
type greetSpec struct {
	People []string `json:"people" validate:"required,max=1000,unique"`
}

// greetState counts greetings.
type greetState struct {
	Greeted int `json:"greeted"`
}

// greetKind is a kind as taskgen generates it.
var greetKind = taskkit.NewKind(taskkind.Definition[greetSpec, greetState, struct{}]{
	Name: "greet", BatchSize: 2,
})

type greetBatch = taskkit.Batch[greetSpec, greetState]

// greeter is an executor whose Execute is a function.
type greeter func(ctx context.Context, b *greetBatch) (taskkit.Next, error)

func (g greeter) Execute(ctx context.Context, b *greetBatch) (taskkit.Next, error) { return g(ctx, b) }

// greeting registers a function as the executor of greetKind.
func greeting(g greeter) *taskkit.Registry {
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, greetKind, g)
	return &r
}

// nobody are specs for examples whose tasks do not run.
var nobody = greetSpec{People: []string{"nobody"}}
