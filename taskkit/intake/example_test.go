package intake_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// A handler maps each message to a task. The second delivery of a message is recognised, and one that is no
// JSON is refused.
func ExampleConsumer() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := sql.Open("sqlite", "file:/example-intake?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := taskkit.Migrate(ctx, db, taskkit.DefaultSchema); err != nil {
		panic(err)
	}

	consumer, err := intake.New(intake.Config{
		DB: db, Name: "registrar",
		// In production for example rabbit.New(rabbit.Config{URL: url, Queue: "registrar"}).
		Source: newQueue(message("a", 4711), message("a", 4711), intake.Message{ID: "b", Body: []byte("no JSON")}),
		Handler: func(_ context.Context, m intake.Message) (intake.Decision, error) {
			var spec statusSpec
			if err := json.Unmarshal(m.Body, &spec); err != nil {
				return intake.Decision{}, err
			}
			return intake.Submit(statusKind, spec, taskkit.System(), taskkit.WithCoalescing(fmt.Sprint("person ", spec.Person))), nil
		},
		Observe: func(_ context.Context, e intake.Event) {
			switch e := e.(type) {
			case intake.MessageRefused:
				fmt.Println("refused:", e.Err.ID, e.Err.Code)
			case intake.Received:
				fmt.Printf("%d messages, %d submitted, %d refused, %d duplicates\n", e.Messages, e.Submitted, e.Refused, e.Duplicates)
				stop()
			}
		},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// refused: b undecodable
	// 3 messages, 1 submitted, 1 refused, 1 duplicates
}
