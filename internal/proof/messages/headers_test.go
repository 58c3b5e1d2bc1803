package messages_test

import (
	"context"
	"maps"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit/intake/kafka"
	"taskkit.dev/taskkit/intake/rabbit"
)

// Headers of every type of AMQP come as text that a person would write, and one without a value not at all.
func TestRabbitHeaders(t *testing.T) {
	t.Parallel()
	server := testdb.Broker(t, cluster.StartRabbitMQ)
	conn, err := amqp.Dial(server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	q, err := ch.QueueDeclare("", false, true, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	err = ch.PublishWithContext(t.Context(), "", q.Name, false, false, amqp.Publishing{MessageId: "a", Headers: amqp.Table{
		"double": 1.795e+09, "fraction": 0.1, "float": float32(0.5), "nil": nil, "time": at, "long": int64(1795000000), "bool": true, "text": "x", "bytes": []byte("y"),
		"decimal": amqp.Decimal{Scale: 2, Value: -5}, "whole": amqp.Decimal{Value: 7}, "table": amqp.Table{"a": int32(1)}, "array": []any{"a", int32(1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	source, err := rabbit.New(rabbit.Config{URL: server.DSN, Queue: q.Name})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"double": "1795000000", "fraction": "0.1", "float": "0.5", "time": "2026-03-01T06:00:00Z", "long": "1795000000", "bool": "true", "text": "x", "bytes": "y",
		"decimal": "-0.05", "whole": "7", "table": `{"a":1}`, "array": `["a",1]`,
	}
	if got := receive(t, source, 1)[0].Headers; !maps.Equal(got, want) {
		t.Errorf("headers %v, want %v", got, want)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}

// A header of Kafka without a value is left out.
func TestKafkaHeaders(t *testing.T) {
	t.Parallel()
	server, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(server.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r := &kgo.Record{Topic: name, Headers: []kgo.RecordHeader{{Key: "nil"}, {Key: "empty", Value: []byte{}}, {Key: "text", Value: []byte("x")}}}
	if err := client.ProduceSync(context.WithoutCancel(t.Context()), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	source, err := kafka.New(kafka.Config{Brokers: server.ListenAddrs(), Group: name, Topics: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := receive(t, source, 1)[0].Headers, map[string]string{"empty": "", "text": "x"}; !maps.Equal(got, want) {
		t.Errorf("headers %v, want %v", got, want)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}
