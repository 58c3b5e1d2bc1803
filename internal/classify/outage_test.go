package classify_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
)

// An error of an executor's statement is suspected to be an outage only if no executor causes it often. A pooler in the wrong mode
// refuses any statement that was prepared by name, the executor's too.
func TestOutageOf(t *testing.T) {
	t.Parallel()
	code := func(state string) error { return &pgconn.PgError{Code: state} }
	for name, c := range map[string]struct {
		err  error
		want classify.Outage
	}{
		"none":                                  {nil, classify.NoOutage},
		"own error":                             {errors.New("own"), classify.NoOutage},
		"read-only":                             {code("25006"), classify.SuspectedOutage},
		"too many connections":                  {code("53300"), classify.SuspectedOutage},
		"prepared statement exists":             {code("42P05"), classify.SuspectedOutage},
		"no prepared statement":                 {code("26000"), classify.SuspectedOutage},
		"no right":                              {code("42501"), classify.NoOutage},
		"duplicate key":                         {code("23505"), classify.NoOutage},
		"marked":                                {&classify.MarkedError{Class: lifecycle.Permanent, Code: "mine", Err: code("42P05")}, classify.NoOutage},
		"of the runtime, prepared statement":    {classify.OfRuntime(code("42P05")), classify.CertainOutage},
		"of the runtime, no right":              {classify.OfRuntime(code("42501")), classify.CertainOutage},
		"of the runtime, in the executor's own": {classify.OfShared(code("42501")), classify.SuspectedOutage},
		"of the runtime, unknown code":          {classify.OfRuntime(code("XX000")), classify.NoOutage},
		"of the runtime, connection refused":    {classify.OfRuntime(refusedConnection(t, "XX000")), classify.CertainOutage},
		"of the runtime, no answer":             {classify.OfRuntime(unanswered(t)), classify.CertainOutage},
	} {
		if got := classify.OutageOf(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// refusedConnection returns the error of a connection that its server refuses with a code.
func refusedConnection(t *testing.T, code string) error {
	t.Helper()
	config, err := pgconn.ParseConfig("postgres://refused@127.0.0.1/refused?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		client, conn := net.Pipe()
		go func() {
			server := pgproto3.NewBackend(conn, conn)
			if _, err := server.ReceiveStartupMessage(); err != nil {
				t.Error(err)
			}
			server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: "refused"})
			if err := server.Flush(); err != nil {
				t.Error(err)
			}
		}()
		return client, nil
	}
	if _, err = pgconn.ConnectConfig(t.Context(), config); classify.SQLState(err) != code {
		t.Fatalf("connect: %v, want the code %s", err, code)
	}
	return err
}

// unanswered returns the error of a connection that its server does not answer in time.
func unanswered(t *testing.T) error {
	t.Helper()
	config, err := pgconn.ParseConfig("postgres://unanswered@127.0.0.1/unanswered?sslmode=disable&connect_timeout=1")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if _, err = pgconn.ConnectConfig(t.Context(), config); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("connect: %v", err)
	}
	return err
}
