package intake_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/taskkind"
)

// changeSpec is a change of a person's status. A message without a version is refused: as version 0 it would be older than any.
type changeSpec struct {
	Person  int    `json:"person" validate:"required"`
	Status  string `json:"status" validate:"required"`
	Version int64  `json:"version" validate:"required,min=1"`
}

var changeKind = taskkit.NewKind(taskkind.Definition[changeSpec, struct{}, struct{}]{Name: "change"})

// A handler maps each message to a task. The second delivery of a message is recognised, one that is no
// JSON or has no version is refused, and one that is older than another about the same person is superseded.
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

	newest := intake.Message{ID: "a", Body: []byte(`{"person": 4711, "status": "left", "version": 3}`)}
	none := intake.Message{ID: "d", Body: []byte(`{"person": 4711, "status": "active"}`)}
	older := intake.Message{ID: "c", Body: []byte(`{"person": 4711, "status": "active", "version": 2}`)}
	consumer, err := intake.New(intake.Config{
		DB: db, Name: "registrar",
		// In production for example rabbit.New(rabbit.Config{URL: url, Queue: "registrar"}).
		Source: newQueue(newest, newest, intake.Message{ID: "b", Body: []byte("no JSON")}, older, none),
		Handler: func(_ context.Context, m intake.Message) (intake.Decision, error) {
			var spec changeSpec
			if err := json.Unmarshal(m.Body, &spec); err != nil {
				return intake.Decision{}, err
			}
			reference := fmt.Sprint("person ", spec.Person)
			return intake.Submit(changeKind, spec, taskkit.System(), taskkit.WithCoalescing(reference), taskkit.WithVersion(spec.Version)), nil
		},
		Observe: func(_ context.Context, e intake.Event) {
			switch e := e.(type) {
			case intake.MessageRefused:
				fmt.Println("refused:", e.Err.ID, e.Err.Code)
			case intake.Received:
				fmt.Printf("%d messages, %d submitted, %d superseded, %d refused, %d duplicates\n", e.Messages, e.Submitted, e.Superseded, e.Refused, e.Duplicates)
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
	// refused: d invalid_spec
	// 5 messages, 1 submitted, 1 superseded, 2 refused, 1 duplicates
}

// A message that was refused by mistake is given back after the handler has been mended.
func ExampleRedrive() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:/example-redrive?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := taskkit.Migrate(ctx, db, taskkit.DefaultSchema); err != nil {
		panic(err)
	}
	// consume takes in messages until some were received.
	consume := func(handler intake.Handler, ms ...intake.Message) {
		ctx, stop := context.WithCancel(ctx)
		consumer, err := intake.New(intake.Config{
			DB: db, Name: "registrar", Source: newQueue(ms...), Handler: handler, Log: slog.New(slog.DiscardHandler),
			Observe: func(_ context.Context, e intake.Event) {
				if e, ok := e.(intake.Received); ok {
					fmt.Printf("%d submitted, %d refused, %d from their rows\n", e.Submitted, e.Refused, e.Redriven)
					stop()
				}
			},
		})
		if err != nil {
			panic(err)
		}
		if err := consumer.Run(ctx); err != nil {
			panic(err)
		}
	}
	consume(func(context.Context, intake.Message) (intake.Decision, error) {
		return intake.Decision{}, taskkit.Permanent("no_such_status", errors.New("the status left is unknown"))
	}, message("a", 4711))
	done, err := intake.Redrive(ctx, db, "", intake.RefusedFilter{Source: "registrar", Codes: []intake.Code{"no_such_status"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(done.Messages, "given back")
	consume(toTask)
	// Output:
	// 0 submitted, 1 refused, 0 from their rows
	// 1 given back
	// 1 submitted, 0 refused, 1 from their rows
}
