package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/testkit/testdb/cluster"
)

// roleEnv makes the test binary play a test run that starts servers.
const roleEnv = "TASKKIT_TEST_CLUSTER_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// play starts both servers, prints how to reach them, and ends as the role says.
func play(role string) error {
	pg, err := cluster.StartPostgres(context.Background())
	if err != nil {
		return err
	}
	bouncer, err := cluster.StartPgBouncer(context.Background(), pg.DSN)
	if err != nil {
		return err
	}
	dir, err := dataDirectory(pg.DSN)
	if err != nil {
		return err
	}
	fmt.Println(pg.DSN, bouncer.DSN, strings.TrimSuffix(dir, "/data"))
	switch role {
	case "stop":
		return errors.Join(bouncer.Stop(), pg.Stop())
	case "panic":
		panic("a test failed badly")
	case "return":
		return nil
	default: // wait to be killed
		select {}
	}
}

// TestNothingIsLeft ends a process that has started servers in every way there
// is, and looks for what it left.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"stop", "return", "panic", "kill"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), roleEnv+"="+role)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatalf("the process said %q: %v", line, err)
			}
			words := strings.Fields(line)
			if len(words) != 3 {
				t.Fatalf("the process said %q, want two DSNs and a directory", line)
			}
			if role == "kill" {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			err = cmd.Wait()
			if wantErr := role == "panic" || role == "kill"; (err != nil) != wantErr {
				t.Errorf("the process ended with %v", err)
			}
			until(t, "PostgreSQL is gone", func() bool { return !answers(t, words[0]) })
			until(t, "PgBouncer is gone", func() bool { return !answers(t, words[1]) })
			until(t, words[2]+" is removed", func() bool {
				_, err := os.Stat(words[2])
				return errors.Is(err, os.ErrNotExist)
			})
		})
	}
}

func TestPgBouncerNeedsADSN(t *testing.T) {
	t.Parallel()
	_, err := cluster.StartPgBouncer(t.Context(), "postgres://127.0.0.1:not-a-port/")
	if err == nil || !strings.Contains(err.Error(), "read the DSN of the server behind PgBouncer") {
		t.Errorf("got %v, want an error that names the DSN", err)
	}
}

func TestStopReturnsWhenItIsGone(t *testing.T) {
	t.Parallel()
	pg, err := cluster.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pg.Stop(); err != nil {
		t.Fatal(err)
	}
	if answers(t, pg.DSN) {
		t.Error("the server answers after Stop has returned")
	}
}

func dataDirectory(dsn string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	var dir string
	err = conn.QueryRow(ctx, "SHOW data_directory").Scan(&dir)
	return dir, errors.Join(err, conn.Close(ctx))
}

func answers(t *testing.T, dsn string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		return false
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Logf("close a connection that only checked the server: %v", err)
	}
	return true
}

// until waits for what another process does.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Errorf("5 minutes later it is still not so that %s", what)
			return
		case <-every.C:
		}
	}
}
