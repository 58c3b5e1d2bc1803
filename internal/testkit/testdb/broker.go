package testdb

import (
	"context"
	"errors"
	"testing"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// Broker starts a broker for one test and ends it with the test. The start is [cluster.StartRabbitMQ] or
// [cluster.StartNATS]. Where the broker is not installed and cannot be, the test is skipped.
func Broker(tb testing.TB, start func(context.Context) (*cluster.Server, error)) *cluster.Server {
	tb.Helper()
	server, err := start(tb.Context())
	if missing, ok := errors.AsType[*cluster.NotInstalledError](err); ok {
		tb.Skip(missing)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return server
}
