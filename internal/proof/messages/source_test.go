package messages_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/intake/kafka"
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

// Dead letters of Kafka that cannot be produced are produced before anything else is received, and the
// offset of the messages before them does not take theirs back.
func TestKafkaDeadLetters(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond), kfake.SeedTopics(1, name, name+"-dead"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics(name+"-dead"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	publish := func(ids ...string) {
		for _, id := range ids {
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: name, Key: []byte(id)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	newSource := func() intake.Source {
		s, err := kafka.New(kafka.Config{
			Brokers: cluster.ListenAddrs(), Group: name, Topics: []string{name}, DeadLetterTopic: name + "-dead",
			ID: func(r *kgo.Record) string { return string(r.Key) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	publish("good1", "bad1", "good2", "bad2")
	source := newSource()
	ds := receive(t, source, 4)
	refused := 0
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if refused == 2 {
			return nil, nil, false
		}
		refused++
		produce, _ := r.(*kmsg.ProduceRequest)
		answer, _ := produce.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range produce.Topics {
			of := kmsg.NewProduceResponseTopic()
			of.Topic, of.TopicID = topic.Topic, topic.TopicID
			for _, p := range topic.Partitions {
				part := kmsg.NewProduceResponseTopicPartition()
				part.Partition, part.ErrorCode = p.Partition, kerr.PolicyViolation.Code
				of.Partitions = append(of.Partitions, part)
			}
			answer.Topics = append(answer.Topics, of)
		}
		return answer, nil, true
	})
	if err := source.Reject(t.Context(), []intake.Delivery{ds[1], ds[3]}); err == nil {
		t.Error("dead letters that cannot be produced are no error")
	}
	if err := source.Ack(t.Context(), []intake.Delivery{ds[0], ds[2]}); err == nil || refused != 2 {
		t.Errorf("offsets after dead letters that were refused %d times: %v", refused, err)
	}
	publish("good3", "bad3", "good4")
	ds = receive(t, source, 3)
	if err := source.Reject(t.Context(), ds[1:2]); err != nil {
		t.Error(err)
	}
	if err := source.Ack(t.Context(), ds[:1]); err != nil {
		t.Error(err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
	var dead []string
	for ctx := t.Context(); len(dead) < 3 && ctx.Err() == nil; {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { dead = append(dead, string(r.Key)) })
	}
	if fmt.Sprint(dead) != "[bad1 bad2 bad3]" {
		t.Errorf("dead letters %v", dead)
	}
	source = newSource()
	if again := receive(t, source, 1); again[0].ID != "good4" {
		t.Errorf("delivered again: %v", again)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}
