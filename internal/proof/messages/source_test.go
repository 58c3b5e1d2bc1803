package messages_test

import (
	"context"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/intake/rabbit"
)

// A message of a connection that was lost is delivered again, and its former delivery settles
// nothing on the new one.
func TestRabbitReconnects(t *testing.T) {
	t.Parallel()
	b := newRabbit(t)
	if err := b.publish(t.Context(), []intake.Message{{ID: "a"}, {ID: "b"}}); err != nil {
		t.Fatal(err)
	}
	var channel *amqp.Channel // the present one
	source, err := rabbit.New(rabbit.Config{URL: b.url, Queue: name, Setup: func(_ context.Context, ch *amqp.Channel) error {
		channel = ch
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	former := receive(t, source, 1)
	if err := channel.Close(); err != nil {
		t.Fatal(err)
	}
	again := receive(t, source, 2)
	if former[0].ID != "a" || again[0].ID != "a" || again[1].ID != "b" {
		t.Errorf("delivered %v, and then %v", former, again)
	}
	if err := source.Ack(t.Context(), former); err != nil {
		t.Error(err)
	}
	if err := source.Reject(t.Context(), former); err != nil {
		t.Error(err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	count(t, b.left, 2)
	count(t, b.dead, 0)
}

// count waits until a broker counts so many messages.
func count(t *testing.T, of func(context.Context) (int, error), want int) {
	t.Helper()
	late := time.After(testdb.Patience(t))
	for {
		got, err := of(t.Context())
		if err == nil && got == want {
			return
		}
		select {
		case <-late:
			t.Errorf("%d messages are left, %v, want %d", got, err, want)
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// receive receives so many messages.
func receive(t *testing.T, source intake.Source, n int) []intake.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testdb.Patience(t))
	defer cancel()
	var ds []intake.Delivery
	for len(ds) < n {
		more, err := source.Receive(ctx, n-len(ds)) // after an error it connects again
		if ctx.Err() != nil {
			t.Fatalf("%d of %d messages come, %v", len(ds), n, err)
		}
		ds = append(ds, more...)
	}
	return ds
}
