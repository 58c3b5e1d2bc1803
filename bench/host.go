package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// fewConnections is how many connections PostgreSQL allows: enough for eight processes. The cluster allows 600, for tests
// that run at once; with them, submits by eight goroutines were 1.5 % slower.
const fewConnections = "max_connections = 300"

// manyConnections is for 200 workers in the scenario connections.
const manyConnections = "max_connections = 1000"

// debian resets the other settings of a cluster for tests to the defaults of Debian's packages.
var debian = []string{
	"ALTER SYSTEM SET checkpoint_timeout = '5min'",
	"ALTER SYSTEM SET max_wal_size = '1GB'",
	"ALTER SYSTEM SET deadlock_timeout = '1s'",
	"SELECT pg_reload_conf()",
}

// host holds the servers of a run. They start with the first side that needs
// them.
type host struct {
	postgres *cluster.Server
	bouncer  *cluster.Server
	redis    *redisServer
	rabbit   *cluster.Server
	network  *network
	dir      string // for SQLite files and built programs
	lite     builder
	// postmaster is the parent of PostgreSQL's processes.
	postmaster string
	last       atomic.Int64
}

// newHost starts the servers that are needed. PgBouncer and the network need PostgreSQL.
func newHost(ctx context.Context, needs map[string]bool) (*host, error) {
	dir, err := os.MkdirTemp("", "taskkit-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the benchmark's files: %w", err)
	}
	h := &host{dir: dir}
	if needs["postgres"] {
		allowed := fewConnections
		if needs["many connections"] {
			allowed = manyConnections
		}
		if h.postgres, err = cluster.StartPostgres(ctx, allowed); err != nil {
			return nil, errors.Join(err, h.close())
		}
		if err := h.admin(ctx, debian...); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	if needs["network"] {
		if h.network, err = startNetwork(ctx, h.postgres.DSN); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	if needs["pgbouncer"] {
		if h.bouncer, err = cluster.StartPgBouncer(ctx, h.postgres.DSN); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	if needs["redis"] {
		if h.redis, err = startRedis(ctx, dir); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	if needs["rabbitmq"] {
		if h.rabbit, err = cluster.StartRabbitMQ(ctx); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	return h, nil
}

// close ends the servers and removes what they wrote.
func (h *host) close() error {
	var errs []error
	if h.redis != nil {
		errs = append(errs, h.redis.stop())
	}
	if h.rabbit != nil {
		errs = append(errs, h.rabbit.Stop())
	}
	if h.network != nil {
		errs = append(errs, h.network.stop())
	}
	if h.bouncer != nil {
		errs = append(errs, h.bouncer.Stop())
	}
	if h.postgres != nil {
		errs = append(errs, h.postgres.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(h.dir))...)
}

// admin runs statements as superuser in the database postgres.
func (h *host) admin(ctx context.Context, statements ...string) error {
	return execute(ctx, h.postgres.DSN, statements...)
}

// execute runs statements one by one on a connection of their own.
func execute(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("reach the benchmark's PostgreSQL: %w", err)
	}
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s, pgx.QueryExecModeSimpleProtocol); err != nil {
			return errors.Join(fmt.Errorf("run %.80q: %w", s, err), conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// database is a PostgreSQL database of one measurement.
type database struct {
	host *host
	name string
	dsn  string // direct
	far  string // through the network, or ""
}

// sideDSN is the DSN of the measured side.
func (d *database) sideDSN() string { return cmp.Or(d.far, d.dsn) }

// database makes a new one, as a copy of another unless template is "".
func (h *host) database(ctx context.Context, template string) (*database, error) {
	d := &database{host: h, name: "bench_" + strconv.FormatInt(h.last.Add(1), 10)}
	create := "CREATE DATABASE " + d.name
	if template != "" {
		create += " TEMPLATE " + template + " STRATEGY FILE_COPY"
	}
	if err := h.admin(ctx, create); err != nil {
		return nil, err
	}
	u, err := url.Parse(h.postgres.DSN)
	if err != nil {
		return nil, fmt.Errorf("read the DSN of the benchmark's PostgreSQL: %w", err)
	}
	u.Path = "/" + d.name
	d.dsn = u.String()
	return d, nil
}

// databaseOf makes a database for a setup.
func (h *host) databaseOf(ctx context.Context, s setup) (*database, error) {
	d, err := h.database(ctx, s.template)
	if err == nil && s.network {
		if d.far, err = h.network.through(d.dsn); err != nil {
			return nil, errors.Join(err, d.drop())
		}
	}
	return d, err
}

// pooled is the DSN through PgBouncer. Prepared statements do not pass it.
func (d *database) pooled() (string, error) {
	if d.host.bouncer == nil {
		return "", errors.New("this scenario did not ask for PgBouncer")
	}
	u, err := url.Parse(d.host.bouncer.DSN)
	if err != nil {
		return "", fmt.Errorf("read the DSN of the benchmark's PgBouncer: %w", err)
	}
	u.Path = "/" + d.name
	q := u.Query()
	q.Set("default_query_exec_mode", "exec")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// quiesce brings the server to rest before the measurement: statistics are fresh, and
// the pages of the setup are on the disk.
func (d *database) quiesce(ctx context.Context) error {
	return execute(ctx, d.dsn, "ANALYZE", "CHECKPOINT")
}

// one queries one number.
func (d *database) one(ctx context.Context, query string) (int64, error) {
	conn, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		return 0, fmt.Errorf("reach the benchmark's PostgreSQL: %w", err)
	}
	var n int64
	err = conn.QueryRow(ctx, query).Scan(&n)
	if err != nil {
		err = fmt.Errorf("ask %.80q: %w", query, err)
	}
	return n, errors.Join(err, conn.Close(ctx))
}

// drop removes the database, which waits for a checkpoint. It is not part of a figure.
func (d *database) drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return d.host.admin(ctx, "DROP DATABASE "+d.name+" WITH (FORCE)")
}

// sqliteDSN opens an SQLite file as taskkit's documentation advises.
func sqliteDSN(path string) string {
	return "file:" + path + "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)" +
		"&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)"
}

// sqlite makes a new SQLite file.
func (h *host) sqlite() (db *sql.DB, path string, err error) {
	path = filepath.Join(h.dir, fmt.Sprintf("bench_%d.db", h.last.Add(1)))
	if db, err = sql.Open("sqlite", sqliteDSN(path)); err != nil {
		return nil, "", fmt.Errorf("open %s: %w", path, err)
	}
	return db, path, nil
}

// removeSQLite closes a file's handle and removes the file.
func removeSQLite(db *sql.DB, path string) error {
	return errors.Join(db.Close(), os.Remove(path), ignoreMissing(os.Remove(path+"-wal")), ignoreMissing(os.Remove(path+"-shm")))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// redisServer is a Redis without persistence, asynq's best case.
type redisServer struct {
	addr string
	cmd  *exec.Cmd
}

// startRedis starts Redis without persistence on a free port.
func startRedis(ctx context.Context, dir string) (*redisServer, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("find redis-server for asynq (apt-get install redis-server): %w", err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port for Redis: %w", err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("free the port for Redis: %w", err)
	}
	port := addr[strings.LastIndexByte(addr, ':')+1:]
	r := &redisServer{addr: addr, cmd: exec.CommandContext(context.WithoutCancel(ctx), path,
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir)}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	deadline := time.Now().Add(30 * time.Second)
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			return r, conn.Close()
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("reach redis-server at %s: %w", addr, err), r.stop())
		}
		<-every.C
	}
}

// stop ends Redis.
func (r *redisServer) stop() error {
	if err := r.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("end redis-server: %w", err)
	}
	_ = r.cmd.Wait() // the status is that it was killed
	return nil
}
