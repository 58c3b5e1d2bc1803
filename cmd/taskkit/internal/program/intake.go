package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/command"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/targets"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/intake/rabbit"
)

// addIntake adds the demonstration of package intake to the command for messages.
func (p *program) addIntake(c *cobra.Command) {
	var url, queue string
	var deadLetter, declare bool
	c.Use, c.Short = "intake --amqp URL", "Turn the messages of a registrar into tasks, as a demonstration"
	c.Long = `Turn the messages of a registrar into tasks, as a demonstration of package intake.

A message says that the status of a person in a program changes on a date:

  {"person": "01890a5d-ac96-774b-bcce-b302099a8057", "program": "math", "status": "exited", "on": "2026-12-01", "version": 1}

Each becomes a task of the kind program_status that waits for that date; without a date it may
start at once. Of the messages about the same person, program and date the one with the highest version
wins, in whatever order they come: an older one is superseded. A message needs a message id, by which a repetition is recognised. Messages that can
never become a task are recorded, logged and counted: taskkit intake refused lists the refused
messages of any program, and taskkit intake redrive gives them back to it.

The tables must exist (taskkit migrate), and the queue too; --declare declares it as a quorum queue. The
command ends on an interrupt.`
	c.Example = `  taskkit intake --amqp amqp://guest:guest@localhost:5672/ --declare

  a message, sent with RabbitMQ's own tool:
  rabbitmqadmin publish routing_key=registrar properties='{"message_id": "m1", "delivery_mode": 2}' \
    payload='{"person": "01890a5d-ac96-774b-bcce-b302099a8057", "program": "math", "status": "exited", "version": 1}'`
	c.RunE = func(c *cobra.Command, _ []string) error {
		if url == "" {
			return command.Usage("--amqp is missing: name the broker, as in amqp://user:password@host:5672/")
		}
		config := rabbit.Config{URL: url, Queue: queue}
		if declare {
			config.Setup = declareQueue(queue)
		}
		source, err := rabbit.New(config)
		if err != nil {
			return command.Usage("cannot use --amqp and --queue: %s", command.Sentence(err))
		}
		db, err := p.Connect(c.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		consumer, err := intake.New(intake.Config{
			DB: db.DB, Schema: p.Schema(), Name: queue, Source: source, Handler: registrarMessage, DeadLetter: deadLetter,
			Log: slog.New(slog.NewTextHandler(p.Err(), nil)),
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(p.Err(), "taking messages in from queue %s\n", screen.Clean(queue))
		if err := consumer.Run(c.Context()); err != nil {
			return err
		}
		s := consumer.Stats()
		fmt.Fprintf(p.Out(), "%d received: %d submitted, %d superseded, %d refused, %d duplicates\n", s.Received, s.Submitted, s.Superseded, s.Refused, s.Duplicates)
		if s.Paused > 0 {
			fmt.Fprintf(p.Out(), "%d of those submitted were merged into paused tasks\n", s.Paused)
		}
		return nil
	}
	c.Flags().StringVar(&url, "amqp", "", "`URL` of the broker")
	c.Flags().StringVar(&queue, "queue", "registrar", "`name` of the queue")
	c.Flags().BoolVar(&declare, "declare", false, "declare the queue as a quorum queue without a delivery limit; it must not exist with other properties")
	c.Flags().BoolVar(&deadLetter, "dead-letter", false, "give refused messages to the broker as dead letters instead of acknowledging them")
}

// declareQueue returns a function that declares a queue as docs/intake.md recommends it.
func declareQueue(name string) func(context.Context, *amqp.Channel) error {
	return func(_ context.Context, ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": -1})
		return err
	}
}

// statusMessage is a message of the registrar.
type statusMessage struct {
	Person  uuid.UUID `json:"person"`
	Program string    `json:"program"`
	Status  string    `json:"status"`
	On      string    `json:"on"`      // a date, or ""
	Version int64     `json:"version"` // of the change, which the registrar counts from 1 on
}

// registrarMessage is the handler of the registrar's messages.
func registrarMessage(_ context.Context, m intake.Message) (intake.Decision, error) {
	var s statusMessage
	if err := json.Unmarshal(m.Body, &s); err != nil {
		return intake.Decision{}, fmt.Errorf("decode the message: %w", err)
	}
	if s.Person == uuid.Nil {
		return intake.Decision{}, taskkit.Permanent("no_person", errors.New("person is missing"))
	}
	if s.Version < 1 {
		return intake.Decision{}, taskkit.Permanent("no_version", errors.New("version is missing, or less than 1"))
	}
	// Changes on two dates are both made, so the date is in the reference.
	reference := s.Person.String() + "/" + s.Program + "/" + s.On
	options := []taskkit.SubmitOption{taskkit.System(), taskkit.WithCoalescing(reference), taskkit.WithVersion(s.Version)}
	if s.On != "" {
		on, err := time.ParseInLocation(time.DateOnly, s.On, time.Local)
		if err != nil {
			return intake.Decision{}, taskkit.Permanent("invalid_date", fmt.Errorf("on is %q, want a date like 2026-12-01", s.On))
		}
		options = append(options, taskkit.WithNotBefore(on), taskkit.WithReason("next-change: status="+s.Status+" on="+s.On))
	}
	return intake.Submit(programstatustask.Kind, programstatus.Spec{
		Targets: targets.Targets{People: []uuid.UUID{s.Person}}, Program: s.Program, Status: s.Status,
	}, options...), nil
}
