package cluster_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// A broker starts, goes down and comes up.
func TestBrokers(t *testing.T) {
	t.Parallel()
	nats, err := cluster.StartNATS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rabbit, err := cluster.StartRabbitMQ(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*cluster.Server{nats, rabbit} {
		if err := s.Restart(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Down(); err != nil {
			t.Error(err)
		}
		if err := s.Up(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}
