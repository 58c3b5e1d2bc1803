// Package intake turns the messages of a broker into tasks, each message into one.
//
// A [Consumer] receives messages from a [Source], calls a [Handler] for each of them, and
// submits the tasks, many messages in one transaction. The same transaction records
// which messages were taken in, and only after its commit are they acknowledged. A message that
// the broker delivers again is recognised by its row and acknowledged, wherever the consumer
// was killed.
//
// A message that can never become a task is refused: it is recorded with the reason, and
// acknowledged or given to the broker as a dead letter. While the database cannot be reached,
// the consumer keeps what it has received and receives nothing more.
//
// The packages below this one are sources for RabbitMQ, NATS JetStream and Kafka. Another
// broker needs the four methods of a [Source]. See docs/intake.md.
package intake
