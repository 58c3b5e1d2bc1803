package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Immediate ends a PostgreSQL server as `pg_ctl stop -m immediate` does: every
// session is cut, nothing is written. What was committed is recovered by Start.
func (s *Server) Immediate(ctx context.Context) error {
	return s.pgctl(ctx, "-m", "immediate", "-t", "30", "stop")
}

// Fast ends a PostgreSQL server as an orderly restart does: transactions are rolled
// back, sessions are told, and everything is written.
func (s *Server) Fast(ctx context.Context) error {
	return s.pgctl(ctx, "-m", "fast", "-t", "60", "stop")
}

// Kill kills the postmaster with SIGKILL. Its sessions notice a moment later,
// each by itself, and end.
func (s *Server) Kill() error {
	pid, err := s.postmaster()
	if err != nil {
		return err
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		return fmt.Errorf("kill the postmaster %d: %w", pid, err)
	}
	return nil
}

// Start starts a PostgreSQL server again that has ended in whatever way, and
// returns when it answers; one that answers already is left as it is. While
// sessions of the one that was killed are left, the new one refuses to start and
// is asked again.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if ping(ctx, s.DSN) == nil {
			return nil
		}
		err := s.pgctl(ctx, "-w", "-t", "120", "-l", filepath.Join(s.dir, "server.log"), "start")
		if err == nil {
			return s.answer(ctx)
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

// Down kills PgBouncer or a broker with SIGKILL, and Up starts it again on its port. Down does
// not wait until it is gone.
func (s *Server) Down() error { return s.tell("down") }

// Up starts PgBouncer again after Down, and returns when it answers.
func (s *Server) Up(ctx context.Context) error {
	if err := s.tell("up"); err != nil {
		return err
	}
	return s.answer(ctx)
}

// Restart stops a broker in order, as an update does, and starts it again.
func (s *Server) Restart(ctx context.Context) error {
	if s.reach == nil {
		return errors.New("only a broker restarts so")
	}
	if err := s.tell("stop"); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for s.reach(within) == nil { // it still answers; each question takes a moment
		select {
		case <-within.Done():
			return fmt.Errorf("stop the server in %s: it still answers", s.dir)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s.Up(ctx)
}

// tell gives the keeper of a PgBouncer or a broker an order.
func (s *Server) tell(order string) error {
	if s.bin != "" || s.hold == nil {
		return errors.New("a PostgreSQL server is stopped and started by its own methods")
	}
	if _, err := s.hold.WriteString(order + "\n"); err != nil {
		return fmt.Errorf("tell the keeper of %s %q: %w", s.dir, order, err)
	}
	return nil
}

// postmaster is the process id of a PostgreSQL server.
func (s *Server) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, fmt.Errorf("find the postmaster: %w", err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(first))
	if err != nil {
		return 0, fmt.Errorf("read the postmaster's id: %w", err)
	}
	return pid, nil
}

// pgctl runs pg_ctl as the user who owns the data. Its standard streams are not
// pipes, which the server would inherit and keep open.
func (s *Server) pgctl(ctx context.Context, args ...string) error {
	if s.bin == "" {
		return errors.New("only a PostgreSQL server that StartPostgres started can be stopped and started")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_ctl"), append([]string{"-D", filepath.Join(s.dir, "data")}, args...)...) //nolint:gosec // our own server
	cmd.Dir, cmd.Env = "/", environment()
	if err := detach(cmd); err != nil {
		return err
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run pg_ctl %q (see server.log in %s): %w", args, s.dir, err)
	}
	return nil
}
