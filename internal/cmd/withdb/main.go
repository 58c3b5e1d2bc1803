// Withdb runs a command with PostgreSQL and PgBouncer for tests in reach:
//
//	go run ./internal/cmd/withdb go test ./...
//
// The command's test binaries find the servers by the environment and share
// them. Its exit status is the command's.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// killAfter is how long an interrupted command may take to end.
const killAfter = 10 * time.Second

func main() {
	err := run(os.Args[1:])
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "withdb:", err)
		os.Exit(1)
	}
}

// run starts the servers, runs the command, and stops the servers.
func run(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("name the command to run, as in: withdb go test ./pkg")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	postgres, err := cluster.StartPostgres(ctx, cluster.Unsynced)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Stop()) }()
	bouncer, err := cluster.StartPgBouncer(ctx, postgres.DSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bouncer.Stop()) }()

	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killAfter
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		cluster.PostgresEnv+"="+postgres.DSN,
		cluster.PgBouncerEnv+"="+bouncer.DSN)
	return cmd.Run()
}
