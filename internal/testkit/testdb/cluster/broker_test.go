package cluster_test

import (
	"context"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
)

// A broker starts, goes down and comes up. That a RabbitMQ starts again in order is tested with messages: a start takes it
// seconds of a processor.
func TestBrokers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(context.Context) (*cluster.Server, error){
		"rabbitmq": cluster.StartRabbitMQ, "nats": cluster.StartNATS,
		"prometheus": func(ctx context.Context) (*cluster.Server, error) {
			return cluster.StartPrometheus(ctx, "scrape_configs: []", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testdb.Broker(t, start)
			if name != "rabbitmq" {
				if err := s.Restart(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if err := s.Down(); err != nil {
				t.Error(err)
			}
			if err := s.Up(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
