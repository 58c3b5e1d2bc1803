package messages_test

import (
	"fmt"
	"testing"
	"time"

	"taskkit.dev/taskkit/intake"
)

// A message has the same sequence and timestamp whenever it is delivered: sequences of JetStream count the stream from 1 on, those of
// Kafka its partition, and RabbitMQ has none. A timestamp is the server's with JetStream, and otherwise the sender's, if there is one.
func TestSequence(t *testing.T) {
	t.Parallel()
	for kind, start := range brokers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			// Recent ones: the client of Kafka counts its time to produce from them.
			now := time.Now().Truncate(time.Second)
			times := []time.Time{now, now.Add(-time.Second)}
			if kind == "rabbitmq" {
				times[1] = time.Time{}
			}
			var ms []intake.Message
			for i, at := range times {
				// With one key Kafka keeps them in one partition.
				ms = append(ms, intake.Message{ID: fmt.Sprint("m", i+1), Headers: map[string]string{"key": "a"}, Timestamp: at})
			}
			began := now.Add(-time.Minute)
			if err := b.publish(t.Context(), ms); err != nil {
				t.Fatal(err)
			}
			var first string
			for range 2 {
				source, err := newSource(kind, b.url, b.queue, 2)
				if err != nil {
					t.Fatal(err)
				}
				ds, got := receive(t, source, 2), ""
				for i, d := range ds {
					sequence, at := int64(i+1), times[i]
					if kind == "rabbitmq" {
						sequence = 0
					}
					if kind == "jetstream" {
						if at = d.Timestamp; at.Before(began) || at.After(time.Now().Add(time.Minute)) {
							t.Errorf("the server has stored %s at %v", d.ID, at)
						}
					}
					if d.ID != ms[i].ID || d.Sequence != sequence || !d.Timestamp.Equal(at) || d.Timestamp.Location() != time.UTC {
						t.Errorf("message %d is %s with sequence %d and timestamp %v, want %d and %v", i+1, d.ID, d.Sequence, d.Timestamp, sequence, at)
					}
					got += fmt.Sprintln(d.ID, d.Sequence, d.Timestamp)
				}
				if first == "" {
					first = got
				}
				if got != first {
					t.Errorf("delivered again as\n%s, and first as\n%s", got, first)
				}
				if err := source.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
