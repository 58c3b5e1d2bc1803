package messages_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/intake/jetstream"
	"taskkit.dev/taskkit/intake/kafka"
	"taskkit.dev/taskkit/intake/rabbit"
)

// name is the name of the stream, the topic and the consumer, and of a queue that is alone on its broker.
const name = "registrar"

// A broker is one that the tests use.
type broker struct {
	kind, url string
	queue     string // of RabbitMQ
	// down kills the broker or begins to end it, and up starts it again with what it had confirmed.
	down func() error
	up   func(context.Context) error
	// database is the server of the test's database; nil: it is SQLite.
	database *cluster.Server
	// publish publishes messages, for Kafka with the header key as their key and else the id, and returns when the broker has confirmed all. After
	// an error it may have some of them.
	publish func(ctx context.Context, ms []intake.Message) error
	// left returns how many messages the broker has yet to deliver or to be told of.
	left func(ctx context.Context) (int, error)
	// dead returns how many dead letters there are.
	dead func(ctx context.Context) (int, error)
}

// brokers are the brokers of the tests by kind.
var brokers = map[string]func(t *testing.T) *broker{"rabbitmq": newRabbit, "jetstream": newJetStream, "kafka": newKafka}

// newSource returns a source of a broker for a consumer with this size of batches.
func newSource(kind, url, queue string, batch int) (intake.Source, error) {
	switch kind {
	case "rabbitmq":
		return rabbit.New(rabbit.Config{URL: url, Queue: queue, Prefetch: 2 * batch, Setup: declare(queue)})
	case "jetstream":
		return jetstream.New(jetstream.Config{URL: url, Stream: name, Consumer: name, Prefetch: 2 * batch, Setup: makeStream, ID: func(m js.Msg) string { return m.Headers().Get("Message-Id") }})
	default:
		return kafka.New(kafka.Config{
			Brokers: []string{url}, Group: name, Topics: []string{name}, DeadLetterTopic: name + "-dead",
			// A consumer that was killed is missed by the group for this long.
			Options: []kgo.Opt{kgo.SessionTimeout(time.Second), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.RebalanceTimeout(2 * time.Second)},
			ID:      recordID,
		})
	}
}

// recordID is the id of a record: its header, or else its key.
func recordID(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == "Message-Id" {
			return string(h.Value)
		}
	}
	return string(r.Key)
}

// declare declares a quorum queue and where its dead letters go. By default a dead letter may be lost while the
// broker restarts.
func declare(queue string) func(context.Context, *amqp.Channel) error {
	return func(_ context.Context, ch *amqp.Channel) error {
		if _, err := ch.QueueDeclare(queue+"-dead", true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
			return err
		}
		_, err := ch.QueueDeclare(queue, true, false, false, false, amqp.Table{
			"x-queue-type": "quorum", "x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue + "-dead",
			"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
		})
		return err
	}
}

// newRabbit starts a RabbitMQ, whose start costs more than most tests.
func newRabbit(t *testing.T) *broker {
	t.Helper()
	return rabbitQueue(testdb.Broker(t, cluster.StartRabbitMQ), name)
}

// rabbitQueue is a queue on a RabbitMQ.
func rabbitQueue(server *cluster.Server, queue string) *broker {
	// with calls f with a channel of its own.
	with := func(f func(*amqp.Channel) error) error {
		conn, err := amqp.DialConfig(server.DSN, amqp.Config{Heartbeat: 10 * time.Second, Dial: amqp.DefaultDial(5 * time.Second)})
		if err != nil {
			return err
		}
		defer conn.Close()
		ch, err := conn.Channel()
		if err != nil {
			return err
		}
		return f(ch)
	}
	inspect := func(of string) func(context.Context) (int, error) {
		return func(context.Context) (n int, err error) {
			err = with(func(ch *amqp.Channel) error {
				q, err := ch.QueueDeclarePassive(of, true, false, false, false, nil)
				n = q.Messages
				return err
			})
			return n, err
		}
	}
	return &broker{
		kind: "rabbitmq", url: server.DSN, queue: queue, left: inspect(queue), dead: inspect(queue + "-dead"),
		// It is stopped in order: after SIGKILL, version 3.10 sometimes has no leader
		// for a quorum queue on a single node any more, whoever asks.
		down: func() error { return nil }, up: server.Restart,
		publish: func(ctx context.Context, ms []intake.Message) error {
			return with(func(ch *amqp.Channel) error {
				if err := declare(queue)(ctx, ch); err != nil {
					return err
				}
				if err := ch.Confirm(false); err != nil {
					return err
				}
				confirms := make([]*amqp.DeferredConfirmation, 0, len(ms))
				for _, m := range ms {
					c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, false, false,
						amqp.Publishing{MessageId: m.ID, Timestamp: m.Timestamp, Body: m.Body, DeliveryMode: amqp.Persistent})
					if err != nil {
						return err
					}
					confirms = append(confirms, c)
				}
				for _, c := range confirms {
					if ok, err := c.WaitContext(ctx); err != nil || !ok {
						return errors.Join(err, errors.New("not confirmed"))
					}
				}
				return nil
			})
		},
	}
}

// makeStream makes the stream and its durable consumer.
func makeStream(ctx context.Context, s js.JetStream) error {
	if _, err := s.CreateOrUpdateStream(ctx, js.StreamConfig{Name: name, Subjects: []string{name}, Storage: js.FileStorage}); err != nil {
		return err
	}
	_, err := s.CreateOrUpdateConsumer(ctx, name, js.ConsumerConfig{
		Durable: name, AckPolicy: js.AckExplicitPolicy, AckWait: 2 * time.Second, MaxDeliver: -1, MaxAckPending: 5000,
	})
	return err
}

func newJetStream(t *testing.T) *broker {
	t.Helper()
	server := testdb.Broker(t, cluster.StartNATS)
	with := func(ctx context.Context, f func(context.Context, js.JetStream) error) error {
		conn, err := nats.Connect(server.DSN, nats.Timeout(5*time.Second), nats.NoReconnect())
		if err != nil {
			return err
		}
		defer conn.Close()
		stream, err := js.New(conn)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		return f(ctx, stream)
	}
	return &broker{
		kind: "jetstream", url: server.DSN, down: server.Down, up: server.Up,
		left: func(ctx context.Context) (n int, err error) {
			err = with(ctx, func(ctx context.Context, s js.JetStream) error {
				c, err := s.Consumer(ctx, name, name)
				if err != nil {
					return err
				}
				info, err := c.Info(ctx)
				if err == nil {
					n = int(info.NumPending) + info.NumAckPending //nolint:gosec // a small number
				}
				return err
			})
			return n, err
		},
		publish: func(ctx context.Context, ms []intake.Message) error {
			return with(ctx, func(ctx context.Context, s js.JetStream) error {
				if err := makeStream(ctx, s); err != nil {
					return err
				}
				futures := make([]js.PubAckFuture, 0, len(ms))
				for _, m := range ms {
					// Without the header by which the server itself would drop a repetition.
					f, err := s.PublishMsgAsync(&nats.Msg{Subject: name, Data: m.Body, Header: nats.Header{"Message-Id": {m.ID}}})
					if err != nil {
						return err
					}
					futures = append(futures, f)
				}
				for _, f := range futures {
					select {
					case <-f.Ok():
					case err := <-f.Err():
						return err
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				return nil
			})
		},
	}
}

// newKafka starts a kfake in a process of its own, which can be killed.
func newKafka(t *testing.T) *broker {
	t.Helper()
	port, err := cluster.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	args := processArgs{Kafka: t.TempDir(), URL: net.JoinHostPort("127.0.0.1", port)}
	var kill func()
	b := &broker{
		kind: "kafka", url: args.URL,
		down: func() error { kill(); return nil },
		up: func(ctx context.Context) error {
			kill, _ = launch(t, args)
			return answers(ctx, args.URL)
		},
		publish: func(ctx context.Context, ms []intake.Message) error {
			client, err := kgo.NewClient(kgo.SeedBrokers(args.URL), kgo.RecordDeliveryTimeout(20*time.Second))
			if err != nil {
				return err
			}
			defer client.Close()
			records := make([]*kgo.Record, 0, len(ms))
			for _, m := range ms {
				r := &kgo.Record{Topic: name, Key: []byte(cmp.Or(m.Headers["key"], m.ID)), Value: m.Body, Timestamp: m.Timestamp}
				r.Headers = []kgo.RecordHeader{{Key: "Message-Id", Value: []byte(m.ID)}}
				records = append(records, r)
			}
			return client.ProduceSync(ctx, records...).FirstErr()
		},
	}
	if err := b.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill() })
	return b
}

// serveKafka is a kfake on an address until its process is killed. It keeps what it has written in a directory.
func serveKafka(dir, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	_, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(n), kfake.DataDir(dir),
		kfake.GroupMinSessionTimeout(100*time.Millisecond), kfake.SeedTopics(4, name, name+"-dead"))
	if err != nil {
		return err
	}
	select {}
}

// answers waits until somebody listens on an address.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}
