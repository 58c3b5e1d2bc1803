// Package rabbit is a source of messages from a queue of RabbitMQ.
//
// The queue should be a quorum queue without a delivery limit (x-delivery-limit: -1 on RabbitMQ
// 4, where the default is 20). Each death of a consumer counts as a delivery of all messages that
// it had prefetched, so a limit would drop or dead-letter valid messages. The consumer of package
// intake refuses messages that can never become a task.
package rabbit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// Config configures a [Source]. URL and Queue are required.
type Config struct {
	// ConnectTimeout bounds the time to connect. Defaults to 10 s.
	ConnectTimeout time.Duration

	// Heartbeat is the interval of the protocol's heartbeats. The connection ends when the
	// broker is silent for longer. Defaults to 10 s.
	Heartbeat time.Duration

	// ID returns the id of a message. Defaults to its property message_id.
	ID func(d *amqp.Delivery) string

	// Prefetch is how many messages the broker sends ahead. It should be at least
	// intake.Config.BatchSize. Defaults to 200.
	Prefetch int

	// Queue is the name of the queue. It must exist, or Setup must declare it.
	Queue string

	// Setup is called on each new connection, before messages are consumed, for example
	// to declare the queue. Defaults to none.
	Setup func(ctx context.Context, ch *amqp.Channel) error

	// URL names the broker, such as amqp://user:password@host:5672/vhost.
	URL string
}

// Source is a queue of RabbitMQ. The first Receive connects, and the next one after a failure
// connects again.
type Source struct {
	config     Config
	conn       *amqp.Connection
	channel    *amqp.Channel
	deliveries <-chan amqp.Delivery
	closed     chan *amqp.Error
	generation int // of the connection
}

// receipt identifies a delivery.
type receipt struct {
	generation int
	tag        uint64
}

// linger is how long Receive waits for one more message.
const linger = 2 * time.Millisecond

// New returns a source. It does not connect. Mistakes in the configuration are
// *[taskkit.OptionError].
func New(c Config) (*Source, error) {
	var errs []error
	bad := func(field, problem string) {
		errs = append(errs, &taskkit.OptionError{Option: "rabbit: Config." + field, Problem: problem})
	}
	if c.Prefetch == 0 {
		c.Prefetch = 200
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 10 * time.Second
	}
	if c.ID == nil {
		c.ID = func(d *amqp.Delivery) string { return d.MessageId }
	}
	if c.Queue == "" {
		bad("Queue", "empty: name the queue")
	}
	if c.Prefetch < 1 || c.Prefetch > 65535 {
		bad("Prefetch", fmt.Sprintf("%d: want 1 to 65535", c.Prefetch))
	}
	if c.ConnectTimeout < 0 || c.Heartbeat < time.Second {
		bad("Heartbeat", "want a Heartbeat of at least 1s and a positive ConnectTimeout")
	}
	if _, err := amqp.ParseURI(c.URL); err != nil {
		// The error may quote the URL, which has a password.
		bad("URL", "not of the form amqp://user:password@host:5672/vhost")
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Source{config: c}, nil
}

// Receive implements [intake.Source].
func (s *Source) Receive(ctx context.Context, limit int) ([]intake.Delivery, error) {
	if s.channel == nil {
		if err := s.connect(ctx); err != nil {
			return nil, fmt.Errorf("consume queue %s: %w", s.config.Queue, err)
		}
	}
	var ds []intake.Delivery
	var wait <-chan time.Time
	for len(ds) < limit {
		select {
		case <-ctx.Done():
			return ds, nil
		case <-wait:
			return ds, nil
		case d, ok := <-s.deliveries:
			if !ok {
				err := s.lost()
				if len(ds) > 0 {
					return ds, nil // they can be taken in; the next call connects
				}
				return nil, fmt.Errorf("consume queue %s: %w", s.config.Queue, err)
			}
			ds = append(ds, s.delivery(&d))
			if wait == nil {
				timer := time.NewTimer(linger)
				defer timer.Stop()
				wait = timer.C
			}
		}
	}
	return ds, nil
}

// errClosed: the broker has closed the connection without a reason.
var errClosed = errors.New("the broker has closed the connection or deleted the queue")

// lost drops a broken connection, and returns the reason.
func (s *Source) lost() error {
	err := errClosed
	select {
	case why, ok := <-s.closed:
		if ok && why != nil {
			err = why
		}
	default:
	}
	_ = s.disconnect()
	return err
}

// connect connects and begins to consume. The library's calls have no timeout, and a queue in
// recovery does not answer for a while, so a timer closes the connection.
func (s *Source) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	var raw net.Conn
	conn, err := amqp.DialConfig(s.config.URL, amqp.Config{
		Heartbeat:  s.config.Heartbeat,
		Properties: amqp.Table{"connection_name": "taskkit intake"},
		Dial: func(network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			raw = c
			// The library removes the deadline once the connection is open.
			return c, c.SetDeadline(time.Now().Add(s.config.ConnectTimeout))
		},
	})
	if err != nil {
		return err
	}
	s.conn = conn
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	err = s.consume(ctx)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, s.disconnect())
	}
	return nil
}

func (s *Source) consume(ctx context.Context) error {
	ch, err := s.conn.Channel()
	if err != nil {
		return err
	}
	if s.config.Setup != nil {
		if err := s.config.Setup(ctx, ch); err != nil {
			return fmt.Errorf("run Config.Setup: %w", err)
		}
	}
	if err := ch.Qos(s.config.Prefetch, 0, false); err != nil {
		return err
	}
	deliveries, err := ch.ConsumeWithContext(context.WithoutCancel(ctx), s.config.Queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	s.closed = ch.NotifyClose(make(chan *amqp.Error, 1))
	s.channel, s.deliveries = ch, deliveries
	s.generation++
	return nil
}

func (s *Source) disconnect() error {
	conn := s.conn
	s.conn, s.channel, s.deliveries = nil, nil, nil
	if conn == nil || conn.IsClosed() {
		return nil
	}
	return conn.CloseDeadline(time.Now().Add(s.config.ConnectTimeout))
}

// delivery converts a message for the consumer.
func (s *Source) delivery(d *amqp.Delivery) intake.Delivery {
	headers := make(map[string]string, len(d.Headers))
	for name, v := range d.Headers {
		if v != nil {
			headers[name] = headerText(v)
		}
	}
	return intake.Delivery{
		Message: intake.Message{ID: s.config.ID(d), Body: d.Body, Headers: headers, Timestamp: d.Timestamp.UTC()},
		Receipt: receipt{s.generation, d.DeliveryTag},
	}
}

// headerText returns the value of a header as text: numbers without an exponent, times in RFC 3339, tables and arrays as JSON.
func headerText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 32)
	case amqp.Decimal:
		text := strconv.FormatInt(int64(v.Value), 10)
		if v.Scale == 0 {
			return text
		}
		sign, scale := "", int(v.Scale)
		if digits, is := strings.CutPrefix(text, "-"); is {
			sign, text = "-", digits
		}
		digits := strings.Repeat("0", max(scale+1-len(text), 0)) + text
		return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	case amqp.Table, []any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

// Ack implements [intake.Source]. All deliveries before the last of these are settled or among
// them, so one acknowledgement is enough.
func (s *Source) Ack(_ context.Context, ds []intake.Delivery) error {
	tags := s.tags(ds)
	if len(tags) == 0 {
		return nil
	}
	if err := s.channel.Ack(tags[len(tags)-1], true); err != nil {
		return errors.Join(fmt.Errorf("acknowledge %d messages of queue %s: %w", len(tags), s.config.Queue, err), s.disconnect())
	}
	return nil
}

// Reject implements [intake.Source]: the messages go to the dead-letter exchange of the
// queue, if it has one.
func (s *Source) Reject(_ context.Context, ds []intake.Delivery) error {
	for _, tag := range s.tags(ds) {
		if err := s.channel.Reject(tag, false); err != nil {
			return errors.Join(fmt.Errorf("reject a message of queue %s: %w", s.config.Queue, err), s.disconnect())
		}
	}
	return nil
}

// tags returns the tags of deliveries of the present connection, in their order.
func (s *Source) tags(ds []intake.Delivery) []uint64 {
	var tags []uint64
	for _, d := range ds {
		if r, ok := d.Receipt.(receipt); ok && s.channel != nil && r.generation == s.generation {
			tags = append(tags, r.tag)
		}
	}
	return tags
}

// Close implements [intake.Source].
func (s *Source) Close() error { return s.disconnect() }
