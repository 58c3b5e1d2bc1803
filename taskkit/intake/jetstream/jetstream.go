// Package jetstream is a source of messages from a stream of NATS JetStream.
//
// The consumer should be durable, with explicit acknowledgement and without a limit of
// deliveries (MaxDeliver -1), since each death of a consumer with unacknowledged messages
// counts towards such a limit.
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// Config configures a [Source]. URL, Stream and Consumer are required.
type Config struct {
	// ConnectTimeout bounds the connection and each request to the server. Defaults to 10 s.
	ConnectTimeout time.Duration

	// Consumer is the name of the durable consumer. It must exist, or Setup must make it.
	Consumer string

	// ID returns the id of a message. Defaults to the header Nats-Msg-Id, and without that header to
	// the name of the stream and the number of the message in it.
	ID func(m js.Msg) string

	// Options are further options of the connection, such as credentials.
	Options []nats.Option

	// Prefetch is how many messages the server sends ahead. It should be at least
	// intake.Config.BatchSize. Defaults to 200.
	Prefetch int

	// Setup is called on each new connection, before messages are consumed, for example to make
	// the stream and the consumer. Defaults to none.
	Setup func(ctx context.Context, s js.JetStream) error

	// Stream is the name of the stream.
	Stream string

	// URL names the servers, such as nats://host:4222; several by comma.
	URL string
}

// Source is a consumer of a stream. The first Receive connects, and the next one after a
// failure connects again.
type Source struct {
	config   Config
	conn     *nats.Conn
	messages js.MessagesContext
	lost     <-chan struct{} // closed when the connection is lost
}

// linger is how long Receive waits for one more message.
const linger = 2 * time.Millisecond

// New returns a source. It does not connect. Mistakes in the configuration are
// *[taskkit.OptionError].
func New(c Config) (*Source, error) {
	var errs []error
	for _, f := range []struct{ name, value string }{{"URL", c.URL}, {"Stream", c.Stream}, {"Consumer", c.Consumer}} {
		if f.value == "" {
			errs = append(errs, &taskkit.OptionError{Option: "jetstream: Config." + f.name, Problem: "empty"})
		}
	}
	if c.Prefetch < 0 || c.ConnectTimeout < 0 {
		errs = append(errs, &taskkit.OptionError{Option: "jetstream: Config", Problem: "Prefetch and ConnectTimeout must be positive, or 0 for their defaults"})
	}
	if c.Prefetch == 0 {
		c.Prefetch = 200
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.ID == nil {
		c.ID = defaultID
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Source{config: c}, nil
}

// defaultID is the default of Config.ID.
func defaultID(m js.Msg) string {
	if id := m.Headers().Get(js.MsgIDHeader); id != "" {
		return id
	}
	meta, err := m.Metadata()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s/%d", meta.Stream, meta.Sequence.Stream)
}

// Receive implements [intake.Source].
func (s *Source) Receive(ctx context.Context, limit int) ([]intake.Delivery, error) {
	if s.messages == nil {
		if err := s.connect(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("consume stream %s: %w", s.config.Stream, err), s.Close())
		}
	}
	var ds []intake.Delivery
	// The library would connect again and again, and Next would wait for that without an error.
	connected, cancel := context.WithCancel(ctx)
	defer cancel()
	go func(lost <-chan struct{}) {
		defer cancel()
		select {
		case <-lost:
		case <-connected.Done():
		}
	}(s.lost)
	first, until := js.NextContext(connected), time.Time{}
	for len(ds) < limit {
		next := first
		if len(ds) > 0 {
			left := time.Until(until)
			if left <= 0 {
				break
			}
			next = js.NextMaxWait(left)
		}
		m, err := s.messages.Next(next)
		if err != nil {
			if len(ds) == 0 && ctx.Err() == nil {
				if connected.Err() != nil {
					err = errors.Join(errLost, s.conn.LastError())
				}
				return nil, errors.Join(fmt.Errorf("consume stream %s: %w", s.config.Stream, err), s.Close())
			}
			break // a lasting failure occurs again at the next call
		}
		if len(ds) == 0 {
			until = time.Now().Add(linger)
		}
		headers := make(map[string]string, len(m.Headers()))
		for name := range m.Headers() {
			headers[name] = m.Headers().Get(name)
		}
		d := intake.Delivery{Message: intake.Message{ID: s.config.ID(m), Body: m.Data(), Headers: headers}, Receipt: m}
		if meta, err := m.Metadata(); err == nil {
			d.Sequence, d.Timestamp = int64(meta.Sequence.Stream), meta.Timestamp.UTC() //nolint:gosec // a stream has fewer messages
		}
		ds = append(ds, d)
	}
	return ds, nil
}

// errLost: the connection was lost. The next Receive makes another one.
var errLost = errors.New("the connection to the server is lost")

// connect connects and begins to consume.
func (s *Source) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	options := append([]nats.Option{nats.Name("taskkit intake"), nats.Timeout(s.config.ConnectTimeout), nats.MaxReconnects(-1)}, s.config.Options...)
	conn, err := nats.Connect(s.config.URL, options...)
	if err != nil {
		return err
	}
	s.conn = conn
	status, lost := conn.StatusChanged(nats.RECONNECTING, nats.CLOSED), make(chan struct{})
	go func() { // until Close at the latest
		defer close(lost)
		<-status
	}()
	s.lost = lost
	stream, err := js.New(conn)
	if err != nil {
		return err
	}
	if s.config.Setup != nil {
		if err := s.config.Setup(ctx, stream); err != nil {
			return fmt.Errorf("run Config.Setup: %w", err)
		}
	}
	consumer, err := stream.Consumer(ctx, s.config.Stream, s.config.Consumer)
	if err != nil {
		return fmt.Errorf("find consumer %s: %w", s.config.Consumer, err)
	}
	s.messages, err = consumer.Messages(js.PullMaxMessages(s.config.Prefetch))
	return err
}

// Ack implements [intake.Source].
func (s *Source) Ack(ctx context.Context, ds []intake.Delivery) error {
	return s.each(ctx, ds, "acknowledge", js.Msg.Ack)
}

// Reject implements [intake.Source]. JetStream has no dead letters: the server publishes an
// advisory that the message was terminated, and does not deliver it again.
func (s *Source) Reject(ctx context.Context, ds []intake.Delivery) error {
	return s.each(ctx, ds, "terminate", js.Msg.Term)
}

// each settles messages, and waits until the server has received the answers.
func (s *Source) each(ctx context.Context, ds []intake.Delivery, what string, answer func(js.Msg) error) error {
	if s.conn == nil {
		return nil
	}
	var errs []error
	for _, d := range ds {
		m, ok := d.Receipt.(js.Msg)
		if !ok {
			continue
		}
		if err := answer(m); err != nil {
			errs = append(errs, fmt.Errorf("%s message %s of stream %s: %w", what, d.ID, s.config.Stream, err))
			break // the others would fail for the same reason
		}
	}
	if err := s.conn.FlushWithContext(ctx); err != nil {
		errs = append(errs, fmt.Errorf("%s messages of stream %s: %w", what, s.config.Stream, err))
	}
	return errors.Join(errs...)
}

// Close implements [intake.Source].
func (s *Source) Close() error {
	if s.messages != nil {
		s.messages.Stop()
	}
	if s.conn != nil {
		s.conn.Close()
	}
	s.messages, s.conn = nil, nil
	return nil
}
