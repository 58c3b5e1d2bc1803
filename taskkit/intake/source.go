package intake

import (
	"context"
	"fmt"
)

// Delivery is a message that a source has delivered, with a receipt for its acknowledgement.
type Delivery struct {
	Message
	Receipt any // for the source only
}

// Source delivers the messages of a queue, a stream or a topic. A consumer calls its methods from
// one goroutine. A message that was neither acknowledged nor rejected is delivered again,
// at the latest after Close.
type Source interface {
	// Receive waits for a message, and returns all available messages in their order, at most
	// limit. It connects if necessary, also after an error, and returns when ctx ends.
	Receive(ctx context.Context, limit int) ([]Delivery, error)
	// Ack acknowledges messages that have been taken in. It omits messages of a lost
	// connection, which the broker delivers again. The consumer settles all messages of a
	// Receive before it calls Receive again.
	Ack(ctx context.Context, ds []Delivery) error
	// Reject returns messages to the broker as dead letters, or drops them if the broker has
	// none. It omits messages of a lost connection as well. The consumer rejects before it acknowledges.
	// Messages that the broker does not take as dead letters are in a *[DeadLetterError], also of the next Receive.
	Reject(ctx context.Context, ds []Delivery) error
	// Close closes the connection. The source must not be used afterwards.
	Close() error
}

// DeadLetterError: the broker does not take refused messages as dead letters, for example because they are too
// large. The consumer records the reason with them and acknowledges them.
type DeadLetterError struct {
	Deliveries []Delivery // not settled
	Err        error
}

func (e *DeadLetterError) Error() string {
	return fmt.Sprintf("intake: the broker does not take %d messages as dead letters: %v", len(e.Deliveries), e.Err)
}

func (e *DeadLetterError) Unwrap() error { return e.Err }
