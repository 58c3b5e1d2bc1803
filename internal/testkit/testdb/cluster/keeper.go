package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed postgres.sh
var postgresScript string

//go:embed pgbouncer.sh
var pgbouncerScript string

// startTimeout bounds the start of a server. It is long because initdb on a
// busy machine with two cores has been seen to take ten seconds.
const startTimeout = 3 * time.Minute

// Server is a running server. It ends with the process that started it, or by
// Stop.
type Server struct {
	// DSN is the address of the server, for a database server as a superuser in the database postgres.
	DSN string

	dir    string
	bin    string // of PostgreSQL's programs; "" for all others
	keeper *exec.Cmd
	hold   *os.File // the keeper lives as long as this end is open
	// reach asks the server whether it answers; nil: a query does.
	reach func(context.Context) error
}

// Stop stops the server and returns when its processes have ended and its
// directory is gone. It may be called once.
func (s *Server) Stop() error {
	if err := s.hold.Close(); err != nil {
		return fmt.Errorf("let go of the keeper of %s: %w", s.dir, err)
	}
	if err := s.keeper.Wait(); err != nil {
		return fmt.Errorf("wait for the keeper of %s: %w", s.dir, err)
	}
	return nil
}

// keep runs a keeper's script and returns when it has said "ready".
func keep(script, dir string, args ...string) (*Server, error) {
	// Plain files as standard streams: os/exec then starts no goroutine, and a
	// test that looks for leaked goroutines finds none of ours.
	theirIn, hold, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe to the keeper: %w", err)
	}
	defer theirIn.Close()
	said, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the pipe from the keeper: %w", err), hold.Close())
	}
	defer said.Close()

	keeper, err := start(script, args, theirIn, theirOut)
	// Only the keeper's own copy may be open, or its end would not be seen.
	err = errors.Join(err, theirOut.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper of %s: %w", dir, err), hold.Close())
	}
	s := &Server{dir: dir, keeper: keeper, hold: hold}
	if err := awaitReady(said); err != nil {
		return nil, errors.Join(err, ignoreExit(s.Stop()))
	}
	return s, nil
}

// start starts the shell that runs a keeper's script.
func start(script string, args []string, in, out *os.File) (*exec.Cmd, error) {
	args = append([]string{"-c", script, "taskkit-test-keeper"}, args...)
	keeper := exec.Command("/bin/sh", args...) //nolint:noctx // a keeper that is killed could not clean up
	keeper.Dir = "/"                           // the user it runs as may not enter ours
	keeper.Env = environment()
	keeper.Stdin, keeper.Stdout, keeper.Stderr = in, out, out
	if err := detach(keeper); err != nil {
		return nil, err
	}
	return keeper, keeper.Start()
}

// awaitReady reads what the keeper says: "ready", or why not.
func awaitReady(say *os.File) error {
	if err := say.SetReadDeadline(time.Now().Add(startTimeout)); err != nil {
		return fmt.Errorf("set the deadline of the start: %w", err)
	}
	var said strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := say.Read(buf)
		said.Write(buf[:n])
		if strings.HasPrefix(said.String(), "ready\n") {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the server did not start:\n%s", said.String())
		}
		if err != nil {
			return fmt.Errorf("wait for the server: %w; it said:\n%s", err, said.String())
		}
	}
}

// ignoreExit drops the status of a keeper that has already said what is wrong.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}

// environment is the process's own without what would point PostgreSQL's
// programs to some other server.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") {
			env = append(env, kv)
		}
	}
	return append(env, "LC_ALL=C")
}

// newDir names a directory for a server; the keeper makes it, so that nothing
// is left when this process dies before the keeper is there.
func newDir(kind string) string {
	parent := os.TempDir()
	if os.Geteuid() == 0 {
		// The unprivileged user must be able to enter it, and a private
		// temporary directory of root's it could not.
		parent = "/tmp"
	}
	return dirIn(parent, kind)
}

// dirIn names a directory for a server in another.
func dirIn(parent, kind string) string {
	return filepath.Join(parent, fmt.Sprintf("taskkit-%s-%016x", kind, rand.Uint64()))
}

// FreePort finds a port that nobody listens on. It stays below the range from
// which Linux and macOS take the ports of outgoing connections, so that no
// client takes it between this look and the server's start.
func FreePort(ctx context.Context) (string, error) {
	var listen net.ListenConfig
	for range 100 {
		port := strconv.Itoa(15000 + rand.IntN(17000))
		l, err := listen.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return "", fmt.Errorf("close port %s: %w", port, err)
		}
		return port, nil
	}
	return "", errors.New("found no free port between 15000 and 32000 on 127.0.0.1 in 100 tries")
}
