package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"taskkit.dev/bench/gen/touchtask"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/intake/rabbit"
)

// byHand is the loop of a service without package intake: it inserts a row for each message
// and acknowledges it.
const byHand = "consume, INSERT, acknowledge"

// messagesPerSecond is a metric.
const messagesPerSecond = "messages/s"

// intakePrefetch is how many messages the broker sends ahead, to both sides.
const intakePrefetch = 200

// intakeMessages is the scenario of messages that wait in a quorum queue of RabbitMQ and become tasks.
func intakeMessages(h *host, o options) ([]contest, error) {
	n := o.scaled(20_000, 200)
	c := contest{
		title: fmt.Sprintf("%s messages of RabbitMQ, PostgreSQL", figure(float64(n))), metrics: []metric{{name: messagesPerSecond}},
		sides: []side{
			{us, func(ctx context.Context) (sample, error) { return takeIn(ctx, h, n, consumeByIntake) }},
			{byHand, func(ctx context.Context) (sample, error) { return takeIn(ctx, h, n, consumeByHand) }},
		},
		goals: []goal{{byHand, messagesPerSecond, 0.8}},
	}
	return []contest{c}, nil
}

// takeIn fills a queue of its own and measures how long it takes until all is taken in.
func takeIn(ctx context.Context, h *host, n int, consume func(ctx context.Context, k *kit, url, queue string, n int) error) (s sample, err error) {
	p, err := openTaskkit(ctx, h, setup{})
	if err != nil {
		return nil, err
	}
	k := p.(*kit) //nolint:errcheck,forcetypeassert // openTaskkit returns no other
	defer func() { err = errors.Join(err, k.close()) }()
	queue := "bench" + strconv.FormatInt(h.last.Add(1), 10)
	conn, err := amqp.Dial(h.rabbit.DSN)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return nil, err
	}
	if _, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		return nil, err
	}
	if err := publishAll(ctx, ch, queue, n); err != nil {
		return nil, err
	}
	if err := k.rest(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := consume(ctx, k, h.rabbit.DSN, queue, n); err != nil {
		return nil, err
	}
	took := time.Since(began)
	_, err = ch.QueueDelete(queue, false, false, false)
	return sample{messagesPerSecond: float64(n) / took.Seconds()}, err
}

// publishAll publishes messages and waits until the broker has them.
func publishAll(ctx context.Context, ch *amqp.Channel, queue string, n int) error {
	if err := ch.Confirm(false); err != nil {
		return err
	}
	var last *amqp.DeferredConfirmation
	for i := range n {
		var err error
		last, err = ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, false, false, amqp.Publishing{
			MessageId: strconv.Itoa(i), Body: []byte(strconv.Itoa(i)), DeliveryMode: amqp.Persistent,
		})
		if err != nil {
			return err
		}
		if i%1000 == 999 || i == n-1 {
			if _, err := last.WaitContext(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// consumeByIntake takes the messages in by a consumer.
func consumeByIntake(ctx context.Context, k *kit, url, queue string, n int) error {
	source, err := rabbit.New(rabbit.Config{URL: url, Queue: queue, Prefetch: intakePrefetch})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	taken := 0
	c, err := intake.New(intake.Config{
		DB: k.db, Name: queue, Source: source, Log: slog.New(slog.DiscardHandler),
		Handler: func(_ context.Context, m intake.Message) (intake.Decision, error) {
			stamp, err := strconv.ParseInt(string(m.Body), 10, 64)
			return intake.Submit(touchtask.Kind, touchtask.Spec{Stamp: stamp}, taskkit.System()), err
		},
		Observe: func(_ context.Context, e intake.Event) {
			if r, ok := e.(intake.Received); ok {
				if taken += r.Submitted; taken >= n {
					stop()
				}
			}
		},
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// consumeByHand inserts a row for each message and acknowledges it.
func consumeByHand(ctx context.Context, k *kit, url, queue string, n int) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := ch.Qos(intakePrefetch, 0, false); err != nil {
		return err
	}
	messages, err := ch.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	for range n {
		select {
		case m, ok := <-messages:
			if !ok {
				return errors.New("the broker has closed the channel")
			}
			stamp, err := strconv.ParseInt(string(m.Body), 10, 64)
			if err != nil {
				return err
			}
			if _, err := k.db.ExecContext(ctx, "INSERT INTO touched (stamp) VALUES ($1)", stamp); err != nil {
				return err
			}
			if err := m.Ack(false); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
