package rabbit_test

import (
	"context"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"taskkit.dev/taskkit/intake/rabbit"
)

// A source declares its queue when it connects, with the first call of its Receive.
func ExampleNew() {
	source, err := rabbit.New(rabbit.Config{
		URL: "amqp://guest:guest@localhost:5672/", Queue: "registrar",
		// Not needed for a queue that exists.
		Setup: func(_ context.Context, ch *amqp.Channel) error {
			_, err := ch.QueueDeclare("registrar", true, false, false, false, amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": -1})
			return err
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(source.Close()) // by intake.Consumer.Run
	_, err = rabbit.New(rabbit.Config{URL: "localhost", Queue: "registrar"})
	fmt.Println(err)
	// Output:
	// <nil>
	// taskkit: rabbit: Config.URL: not of the form amqp://user:password@host:5672/vhost
}
