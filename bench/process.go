package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// childCommand is the first argument of a worker process.
const childCommand = "worker"

// child is a worker process: it prints that it is ready, begins after a line of its input,
// and works until its input ends.
//
//	bench worker taskkit|river DSN
//	bench worker web DSN, see webServer
//	bench worker network ADDRESS, see networkProxy
func child(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: bench worker taskkit|river|web|network DSN")
	}
	if args[0] == networkCommand {
		return networkProxy(ctx, args[1], in, out)
	}
	if args[0] == webCommand {
		return webServer(ctx, args[1], in, out)
	}
	// The database is the parent's, which drops it.
	d := &database{dsn: args[1]}
	var (
		p    peer
		err  error
		pool func()
	)
	switch args[0] {
	case "taskkit":
		var k *kit
		if k, err = attachTaskkit(ctx, d, setup{}, true); err == nil {
			p, pool = k, func() { _ = k.db.Close() } // the process ends here
		}
	case "river":
		var r *riverPeer
		if r, err = attachRiver(ctx, d, riverTuned, setup{}, true); err == nil {
			p, pool = r, r.pool.Close
		}
	default:
		return fmt.Errorf("there is no worker %q", args[0])
	}
	if err != nil {
		return err
	}
	defer pool()
	if _, err := p.done(ctx); err != nil { // connects
		return err
	}
	fmt.Fprintln(out, "ready")
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return lines.Err()
	}
	stop, err := p.work(ctx, func(int64) {})
	if err != nil {
		return err
	}
	for lines.Scan() { // no more lines come
	}
	return errors.Join(lines.Err(), stop())
}

// processes are worker processes of one kind.
type processes struct{ members []*member }

type member struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startMember starts this program as a process of a kind. It ends when its input is closed.
func startMember(ctx context.Context, kind, dsn string) (*member, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	m := &member{cmd: exec.CommandContext(ctx, self, childCommand, kind, dsn)}
	m.cmd.Stderr = os.Stderr
	m.cmd.Env = append(os.Environ(), "TASKKIT_BENCH_CHILD=1") // read by the smoke test's binary
	in, err1 := m.cmd.StdinPipe()
	out, err2 := m.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("make the pipes of a %s process: %w", kind, err)
	}
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a %s process: %w", kind, err)
	}
	m.in, m.out = in, bufio.NewScanner(out)
	return m, nil
}

// wait waits until a process has ended whose input is closed.
func (m *member) wait() error {
	for m.out.Scan() { // Wait closes the pipe
	}
	return m.cmd.Wait()
}

// startProcesses starts n processes and returns when they are ready.
func startProcesses(ctx context.Context, kind, dsn string, n int) (*processes, error) {
	c := &processes{}
	for range n {
		m, err := startMember(ctx, kind, dsn)
		if err != nil {
			return nil, errors.Join(err, ignore(c.stop()))
		}
		c.members = append(c.members, m)
	}
	for _, m := range c.members {
		if !m.out.Scan() || m.out.Text() != "ready" {
			return nil, errors.Join(errors.New("a worker process did not become ready"), ignore(c.stop()))
		}
	}
	return c, nil
}

// ignore returns only the error of stop.
func ignore(_ time.Duration, err error) error { return err }

// begin starts their work.
func (c *processes) begin() error {
	for _, m := range c.members {
		if _, err := fmt.Fprintln(m.in, "go"); err != nil {
			return fmt.Errorf("tell a worker process to begin: %w", err)
		}
	}
	return nil
}

// stop ends them and returns their total processor time.
func (c *processes) stop() (cpu time.Duration, err error) {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.in.Close())
	}
	for _, m := range c.members {
		if err := m.wait(); err != nil {
			errs = append(errs, fmt.Errorf("a worker process: %w", err))
		}
		if s := m.cmd.ProcessState; s != nil {
			cpu += s.UserTime() + s.SystemTime()
		}
	}
	return cpu, errors.Join(errs...)
}
