package messages_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/intake/kafka"
)

func isDeadLetter(err error) bool {
	_, is := errors.AsType[*intake.DeadLetterError](err)
	return is
}

// Dead letters of Kafka that cannot be produced while no broker answers are produced before anything else is received,
// and the offset of the messages before them does not take theirs back.
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
	var away atomic.Bool
	away.Store(true)
	drop := func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return nil, errors.New("gone"), away.Load()
	}
	cluster.ControlKey(int16(kmsg.Produce), drop)
	cluster.ControlKey(int16(kmsg.Metadata), drop)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := source.Reject(short, []intake.Delivery{ds[1], ds[3]}); err == nil || isDeadLetter(err) {
		t.Errorf("dead letters while no broker answers: %v", err)
	}
	if err := source.Ack(short, []intake.Delivery{ds[0], ds[2]}); err == nil || isDeadLetter(err) {
		t.Errorf("offsets while no broker answers: %v", err)
	}
	away.Store(false)
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

// A record that is refused because of its size becomes a dead letter if the topic takes it. If not, the reason is recorded, and
// the records behind it become tasks.
func TestKafkaLargeDeadLetters(t *testing.T) {
	t.Parallel()
	for of, takes := range map[string]string{"taken": "4000000", "too large": "1000000"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(100*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Close)
			client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ProducerBatchMaxBytes(8<<20), kgo.ConsumeTopics(name+"-dead"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			makeTopic(t, client, name, "4000000")
			makeTopic(t, client, name+"-dead", takes)
			large := make([]byte, 1<<20+1)
			_, _ = rand.NewChaCha8([32]byte{}).Read(large)
			for id, body := range map[string][]byte{"large": large, "small": []byte("no JSON"), "good": []byte(`{"message":"good"}`)} {
				if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: name, Key: []byte(id), Value: body}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
			db := testdb.SQLite(t)
			if err := taskkit.Migrate(t.Context(), db.DB, taskkit.DefaultSchema); err != nil {
				t.Fatal(err)
			}
			c, err := newConsumer(db.DB, processArgs{Broker: "kafka", URL: cluster.ListenAddrs()[0], Batch: 3}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			var dead []string
			for within := testdb.Within(t); len(dead) < map[string]int{"taken": 2, "too large": 1}[of] && within.Err() == nil; {
				client.PollFetches(within).EachRecord(func(r *kgo.Record) { dead = append(dead, fmt.Sprint(string(r.Key), " ", len(r.Value))) })
			}
			slices.Sort(dead)
			if want := map[string]string{"taken": "[large 1048577 small 7]", "too large": "[small 7]"}[of]; fmt.Sprint(dead) != want {
				t.Errorf("dead letters %v, want %s", dead, want)
			}
			// What comes after it.
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: name, Key: []byte("next"), Value: []byte(`{"message":"next"}`)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			count(t, func(context.Context) (int, error) { return int(c.Stats().Submitted), nil }, 2)
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
			refused, err := intake.Refused(t.Context(), db.DB, "", intake.RefusedFilter{Source: name}, uuid.Nil, 10)
			if err != nil || len(refused) != 2 {
				t.Fatalf("refused %+v, %v", refused, err)
			}
			for _, m := range refused {
				if reason := m.DeadLetterError; strings.Contains(reason, "MESSAGE_TOO_LARGE") != (m.ID == "large" && of == "too large") {
					t.Errorf("the row of %s has the reason %q", m.ID, reason)
				}
			}
		})
	}
}

// makeTopic makes a topic that takes records of a size.
func makeTopic(t *testing.T, client *kgo.Client, topic, size string) {
	t.Helper()
	r := kmsg.NewCreateTopicsRequest()
	of, config := kmsg.NewCreateTopicsRequestTopic(), kmsg.NewCreateTopicsRequestTopicConfig()
	config.Name, config.Value = "max.message.bytes", &size
	of.Topic, of.NumPartitions, of.ReplicationFactor, of.Configs = topic, 1, 1, []kmsg.CreateTopicsRequestTopicConfig{config}
	r.Topics = append(r.Topics, of)
	if answer, err := r.RequestWith(t.Context(), client); err != nil || answer.Topics[0].ErrorCode != 0 {
		t.Fatalf("make topic %s: %+v, %v", topic, answer, err)
	}
}
