package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// The environment variables by which the test binaries of one run share the
// servers that the run has started, or use those that a developer names. Each
// holds the DSN, as a URL, of a superuser in any database.
const (
	PostgresEnv  = "TASKKIT_TEST_POSTGRES"
	PgBouncerEnv = "TASKKIT_TEST_PGBOUNCER"
)

// PostgresBinEnv is the environment variable that names the directory of PostgreSQL's programs, such as another version's.
// Without it they are looked for where packages install them.
const PostgresBinEnv = "TASKKIT_TEST_POSTGRES_BIN"

// startTries is how often a start is tried: another process may take the port
// that was free a moment ago.
const startTries = 3

// Unsynced is a setting of [StartPostgres] for a server that loses nothing when its processes are killed,
// but everything when the machine crashes, which no test does to it. In exchange
// neither a commit nor the checkpoint when a database is dropped waits for the disk. Where there is memory to
// spare, its files are there: each test makes and removes a hundred of them, which takes a file system on a
// disk longer than all that PostgreSQL does.
const Unsynced = "fsync = off\nfull_page_writes = off\nmax_wal_size = 1GB"

// StartPostgres starts a new, empty PostgreSQL cluster, with these lines added to
// its configuration. Without any it is as durable as in production. The context
// bounds the start, and an installation if one is needed, not the server's life.
func StartPostgres(ctx context.Context, settings ...string) (*Server, error) {
	return startPostgres(ctx, "", settings)
}

// Standby starts a standby of a server that [StartPostgres] has started: a copy of it, which replays what it writes
// and answers queries. The lines of configuration are appended to the server's. Stop it
// before the server. The error is a *[NotInstalledError] where the server's programs have no pg_basebackup.
func (s *Server) Standby(ctx context.Context, settings ...string) (*Server, error) {
	c, err := pgx.ParseConfig(s.DSN)
	if err != nil {
		return nil, fmt.Errorf("read the DSN of the primary: %w", err)
	}
	if copier := (program{name: "pg_basebackup"}); copier.in([]string{s.bin}) == "" {
		return nil, &NotInstalledError{Program: copier.name, LookedIn: []string{s.bin}, Packages: postgres.packages, Err: os.ErrNotExist}
	}
	return startPostgres(ctx, strconv.Itoa(int(c.Port)), settings)
}

// startPostgres starts a PostgreSQL server, a standby of the one at a port if that is not "".
func startPostgres(ctx context.Context, primary string, settings []string) (*Server, error) {
	initdb, err := findInitdb(ctx)
	if err != nil {
		return nil, err
	}
	// A link in the PATH may be all of it that lies there; the others lie
	// beside the real one.
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return nil, fmt.Errorf("find PostgreSQL's programs: %w", err)
	}
	return try(ctx, "PostgreSQL", func(port string) (*Server, error) {
		dir := newDir("pg")
		if parent := inMemory(); parent != "" && slices.Contains(settings, Unsynced) {
			dir = dirIn(parent, "pg")
		}
		s, err := keep(postgresScript, dir, filepath.Dir(initdb), dir, port, strings.Join(settings, "\n"), primary)
		if err != nil {
			return nil, err
		}
		s.DSN, s.bin = dsn(port), filepath.Dir(initdb)
		return s, nil
	})
}

// findInitdb returns the path of initdb, beside which the other programs are.
func findInitdb(ctx context.Context) (string, error) {
	dir := os.Getenv(PostgresBinEnv)
	if dir == "" {
		return postgres.ensure(ctx)
	}
	path := postgres.in([]string{dir})
	if path == "" {
		return "", fmt.Errorf("find initdb in %q, which %s names", dir, PostgresBinEnv)
	}
	return filepath.Abs(path)
}

// StartPgBouncer starts PgBouncer in transaction mode before the server that
// the DSN names. It serves every database of that server. The context bounds
// the start only.
func StartPgBouncer(ctx context.Context, behind string) (*Server, error) {
	c, err := pgx.ParseConfig(behind)
	if err != nil {
		return nil, fmt.Errorf("read the DSN of the server behind PgBouncer: %w", err)
	}
	path, err := pgbouncer.ensure(ctx)
	if err != nil {
		return nil, err
	}
	return try(ctx, "PgBouncer", func(port string) (*Server, error) {
		dir := newDir("pgbouncer")
		s, err := keep(pgbouncerScript, dir, path, dir, port,
			c.Host, strconv.Itoa(int(c.Port)), c.User)
		if err != nil {
			return nil, err
		}
		s.DSN = dsn(port)
		if err := s.answer(ctx); err != nil {
			return nil, errors.Join(err, ignoreExit(s.Stop()))
		}
		return s, nil
	})
}

// try calls start with one free port after another until it succeeds.
func try(ctx context.Context, what string, start func(port string) (*Server, error)) (*Server, error) {
	var errs []error
	for range startTries {
		port, err := FreePort(ctx)
		if err != nil {
			return nil, err
		}
		s, err := start(port)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("start %s for the tests, tried %d times: %w", what, startTries, errors.Join(errs...))
}

// dsn is how a server of ours on this port is reached.
func dsn(port string) string {
	return "postgres://postgres@" + net.JoinHostPort("127.0.0.1", port) + "/postgres?sslmode=disable"
}

// answer waits until the server answers. PgBouncer and the brokers cannot say when they
// have begun to listen, so they are asked again and again.
func (s *Server) answer(ctx context.Context) error {
	within, reach := 30*time.Second, s.reach
	if reach != nil {
		within = startTimeout
	} else {
		reach = func(ctx context.Context) error { return ping(ctx, s.DSN) }
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		err := reach(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reach the server in %s: %w", s.dir, err)
		case <-every.C:
		}
	}
}

// ping connects and runs a query.
func ping(ctx context.Context, dsn string) error {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("read the DSN: %w", err)
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT 1")
	return errors.Join(err, conn.Close(ctx))
}
