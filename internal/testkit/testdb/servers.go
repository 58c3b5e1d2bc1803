package testdb

import (
	"context"
	"os"
	"sync"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// The servers of this process. They are package state, against the rule,
// because a server costs two seconds and tests that know nothing of each other
// have nothing but the process in common. Both must stay reachable until the
// process ends: a Server that is garbage collected closes its pipe and so ends.
var (
	postgresServer  = sync.OnceValues(startPostgres)
	pgbouncerServer = sync.OnceValues(startPgBouncer)
)

func startPostgres() (*cluster.Server, error) {
	if dsn := os.Getenv(cluster.PostgresEnv); dsn != "" {
		return &cluster.Server{DSN: dsn}, nil
	}
	// No test's context: the server outlives the test that is the first to ask.
	return cluster.StartPostgres(context.Background(), cluster.Unsynced)
}

func startPgBouncer() (*cluster.Server, error) {
	if dsn := os.Getenv(cluster.PgBouncerEnv); dsn != "" {
		return &cluster.Server{DSN: dsn}, nil
	}
	behind, err := postgresServer()
	if err != nil {
		return nil, err
	}
	return cluster.StartPgBouncer(context.Background(), behind.DSN)
}
