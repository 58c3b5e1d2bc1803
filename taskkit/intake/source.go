package intake

import "context"

// Delivery is a message that a source has delivered, and by what the source knows that
// delivery.
type Delivery struct {
	Message
	Receipt any // of the source alone
}

// Source delivers the messages of a queue, a stream or a topic. A consumer calls its methods from
// one goroutine. A message that was neither acknowledged nor rejected is delivered again,
// at the latest after Close.
type Source interface {
	// Receive waits until there is a message, and returns those that are there, at most
	// limit and in their order. It connects if that is needed, also after an error, and returns
	// when ctx ends.
	Receive(ctx context.Context, limit int) ([]Delivery, error)
	// Ack tells the broker that messages have been taken in. Those of a connection that was
	// lost are left out: the broker delivers them again. The consumer has settled whatever
	// Receive has returned before it calls Receive again.
	Ack(ctx context.Context, ds []Delivery) error
	// Reject gives messages to the broker as dead letters, or drops them where it knows
	// none. It leaves out those of a lost connection as well. The consumer rejects before it acknowledges.
	Reject(ctx context.Context, ds []Delivery) error
	// Close closes the connection. The source may be used no more.
	Close() error
}
