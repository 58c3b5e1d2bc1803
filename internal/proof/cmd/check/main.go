// Check asks the oracle what a run has broken:
//
//	go run ./internal/proof/cmd/check -logs DIR -ended FILE
//	go run ./internal/proof/cmd/check -schema taskkit postgres://...
//
// It prints what it has read and what it has found. Its exit status is 1
// when something was found and 2 when it could not read.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"taskkit.dev/internal/proof/oracle"
)

// The exit statuses.
const (
	broken = 1
	unread = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(unread)
	case !ok:
		os.Exit(broken)
	}
}

// run checks and reports whether nothing was found.
func run(ctx context.Context, args []string, out io.Writer) (bool, error) {
	var opts oracle.Options
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	schema := flags.String("schema", "taskkit", "schema of taskkit's tables; PostgreSQL only")
	flags.StringVar(&opts.Logs, "logs", "", "directory of the client logs")
	flags.BoolVar(&opts.Ended, "ended", false, "the run is over: every task must have ended or be paused")
	flags.IntVar(&opts.MaxAttempts, "max-attempts", 0, "the workers' MaxAttempts; 0: not checked")
	flags.DurationVar(&opts.BatchTimeout, "batch-timeout", 0, "the workers' BatchTimeout; 0: how long a stop takes is not checked")
	flags.DurationVar(&opts.Call, "call", 0, "the workers' CallTimeout; 0: 10s")
	flags.DurationVar(&opts.StopWithin, "stop-within", 0, "the longest that a stop may take while workers live; 0: by batch-timeout")
	flags.DurationVar(&opts.Slack, "slack", 0, "added to every bound; 0: 1s")
	flags.DurationVar(&opts.Grace, "grace", 0, "the longest that a worker may take to leave; 0: not checked")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() != 1 {
		return false, fmt.Errorf("%d arguments: name one database, a file or a DSN that begins with postgres://", flags.NArg())
	}
	dialect, driver, dsn := oracle.SQLite, "sqlite", flags.Arg(0)
	switch {
	case strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://"):
		dialect, driver = oracle.Postgres, "pgx"
	case !strings.HasPrefix(dsn, "file:"):
		// A name that is mistyped must not become an empty database.
		if _, err := os.Stat(dsn); err != nil {
			return false, err
		}
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", driver, err)
	}
	defer db.Close()
	o, err := oracle.New(dialect, *schema)
	if err != nil {
		return false, err
	}
	report, err := o.Check(ctx, db, opts)
	if err != nil {
		return false, err
	}
	return report.OK(), report.Print(out)
}
