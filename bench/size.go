package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
)

// sizeCommand is the subcommand that fills tables and measures what reads them.
const sizeCommand = "size"

// sizeSettings are the settings of its own server: what is counted are buffers, which do not depend on a disk, and the fixture is made
// without log. Statements are counted by pg_stat_statements.
const sizeSettings = "fsync = off\nfull_page_writes = off\nwal_level = minimal\nmax_wal_senders = 0\nautovacuum = off\njit = off\n" +
	"shared_buffers = 512MB\nmaintenance_work_mem = 512MB\nmax_parallel_maintenance_workers = 2\n" +
	"shared_preload_libraries = 'pg_stat_statements'\npg_stat_statements.max = 10000"

// sizes says how many rows the tables have.
type sizes struct {
	ended, foreign, waiting, running, events, items int
}

// sizesOf are the sizes of the large tables at a scale.
func sizesOf(scale float64) sizes {
	n := func(full int) int { return max(int(float64(full)*scale), 10) }
	return sizes{
		ended: n(5_000_000), foreign: n(300_000), waiting: n(200_000), running: n(1000),
		events: n(10_000_000), items: n(5_000_000),
	}
}

// sized is a database that holds the fixture, or none of it.
type sized struct {
	name     string // in the tables
	postgres bool
	db       *sql.DB
	dsn      string          // of SQLite
	config   *pgx.ConnConfig // of PostgreSQL
	tables   string          // the schema of the tables on PostgreSQL
	// meter counts the buffers and calls of a function. SQLite has none.
	meter func(context.Context, func(context.Context) error) (buffers, calls int64, err error)
}

// size is the subcommand.
func size(ctx context.Context, args []string, stdout, progress io.Writer) (err error) {
	flags := flag.NewFlagSet("bench size", flag.ContinueOnError)
	flags.SetOutput(progress)
	base := flags.String("db", "postgres", "postgres or sqlite")
	scale := flags.Float64("scale", 0, "size, as a fraction of 5,000,000 ended tasks; 0: 1 on PostgreSQL, 0.1 on SQLite")
	dsn := flags.String("dsn", "", "a superuser's database, empty and with pg_stat_statements loaded, which is filled and kept; default: one of its own")
	window := flags.Duration("window", 30*time.Second, "how long a worker is idle, and how long the cleaner works")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !slices.Contains([]string{"postgres", "sqlite"}, *base) || *scale < 0 {
		return fmt.Errorf("-db is %q and -scale %g: say postgres or sqlite, and a fraction", *base, *scale)
	}
	if *scale == 0 {
		*scale = map[string]float64{"postgres": 1, "sqlite": 0.1}[*base]
	}
	full, empty, stop, err := openSized(ctx, *base, *dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	n := sizesOf(*scale)
	began := time.Now()
	for _, s := range []*sized{empty, full} {
		if err := taskkit.Migrate(ctx, s.db, ""); err != nil {
			return err
		}
	}
	if err := full.fill(ctx, n, progress); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s, scale %g: %s ended tasks, %s waiting of kinds that no worker has, %s waiting of others, %s running, %s events, %s items; made in %v\n\n",
		full.name, *scale, figure(float64(n.ended)), figure(float64(n.foreign)), figure(float64(n.waiting)), figure(float64(n.running)),
		figure(float64(n.events)), figure(float64(n.items)), time.Since(began).Round(time.Second))
	for _, part := range []func(context.Context, *sized, *sized, sizes, time.Duration, io.Writer) error{statementSizes, workerSizes, cleanerSizes, indexSizes} {
		if err := part(ctx, full, empty, n, *window, stdout); err != nil {
			return err
		}
	}
	return nil
}

// openSized opens a database for the fixture and an empty one beside it.
func openSized(ctx context.Context, base, dsn string) (full, empty *sized, stop func() error, err error) {
	if base == "sqlite" {
		dir, err := os.MkdirTemp("", "taskkit-size-")
		if err != nil {
			return nil, nil, nil, err
		}
		var all []*sized
		for _, name := range []string{"full", "empty"} {
			source := sqliteDSN(filepath.Join(dir, name+".db"))
			db, err := sql.Open("sqlite", source)
			if err != nil {
				return nil, nil, nil, err
			}
			all = append(all, &sized{name: "SQLite", db: db, dsn: source, meter: uncounted})
		}
		return all[0], all[1], func() error { return errors.Join(all[0].db.Close(), all[1].db.Close(), os.RemoveAll(dir)) }, nil
	}
	stopServer := func() error { return nil }
	if dsn == "" {
		server, err := cluster.StartPostgres(ctx, sizeSettings)
		if err != nil {
			return nil, nil, nil, err
		}
		dsn, stopServer = server.DSN, server.Stop
	}
	full, err = sizedOn(ctx, dsn, "")
	if err == nil {
		if err = execute(ctx, dsn, "DROP DATABASE IF EXISTS taskkit_size_empty", "CREATE DATABASE taskkit_size_empty"); err == nil {
			empty, err = sizedOn(ctx, dsn, "taskkit_size_empty")
		}
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, stopServer())
	}
	return full, empty, func() error { return errors.Join(full.db.Close(), empty.db.Close(), stopServer()) }, nil
}

// uncounted is the meter of SQLite.
func uncounted(ctx context.Context, f func(context.Context) error) (buffers, calls int64, err error) {
	return 0, 0, f(ctx)
}

// sizedOn opens a database of PostgreSQL.
func sizedOn(ctx context.Context, dsn, database string) (*sized, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the DSN: %w", err)
	}
	if database != "" {
		c.Database = database
	}
	s := &sized{name: "PostgreSQL", postgres: true, db: stdlib.OpenDB(*c), config: c, tables: taskkit.DefaultSchema}
	s.db.SetMaxOpenConns(maxConns)
	s.db.SetMaxIdleConns(maxConns)
	if _, err := s.db.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements"); err != nil {
		return nil, errors.Join(fmt.Errorf("load pg_stat_statements, which must be in shared_preload_libraries: %w", err), s.db.Close())
	}
	s.meter = func(ctx context.Context, f func(context.Context) error) (buffers, calls int64, err error) {
		if _, err := s.db.ExecContext(ctx, "SELECT pg_stat_statements_reset()"); err != nil {
			return 0, 0, fmt.Errorf("reset the counters: %w", err)
		}
		if err := f(ctx); err != nil {
			return 0, 0, err
		}
		err = s.db.QueryRowContext(ctx, `SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint, coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query NOT LIKE '%pg_stat_statements%'`).Scan(&buffers, &calls)
		return buffers, calls, err
	}
	return s, nil
}

// planned opens the database again, with a kind of plans; "" is the default.
func (s *sized) planned(mode string) (*sql.DB, error) {
	if !s.postgres {
		return sql.Open("sqlite", s.dsn)
	}
	c := s.config.Copy()
	if mode != "" {
		c.RuntimeParams["plan_cache_mode"] = mode
	}
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	return db, nil
}

// markdown writes a table.
func markdown(w io.Writer, title string, head []string, rows [][]string) {
	fmt.Fprintf(w, "**%s**\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, r := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
	}
	fmt.Fprintln(w)
}
