package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

//go:embed rabbitmq.sh
var rabbitScript string

//go:embed nats.sh
var natsScript string

var rabbitmq = program{
	name: "rabbitmq-server",
	// The one in the PATH of Debian only changes the user, so this one comes first.
	first: []string{"/usr/lib/rabbitmq/bin"},
	dirs: func(context.Context) []string {
		return []string{"/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"}
	},
	packages: map[string][]string{
		"apt-get": {"rabbitmq-server"},
		"dnf":     {"rabbitmq-server"},
		"apk":     {"rabbitmq-server"},
		"brew":    {"rabbitmq"},
	},
}

var natsServer = program{
	name: "nats-server",
	dirs: func(context.Context) []string {
		return []string{"/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"}
	},
	packages: map[string][]string{
		"apt-get": {"nats-server"},
		"apk":     {"nats-server"},
		"brew":    {"nats-server"},
	},
}

// StartRabbitMQ starts a new RabbitMQ server, whose DSN is an AMQP URL. The context bounds
// the start, and an installation if one is needed, not the server's life. [Server.Down] kills
// it, and [Server.Up] starts it again with what it had written.
func StartRabbitMQ(ctx context.Context) (*Server, error) {
	return startBroker(ctx, "RabbitMQ", &rabbitmq, func(path, dir, port string) (*Server, error) {
		dist, err := FreePort(ctx)
		if err != nil {
			return nil, err
		}
		epmd, err := FreePort(ctx)
		if err != nil {
			return nil, err
		}
		s, err := keep(rabbitScript, dir, path, dir, port, dist, epmd)
		if err == nil {
			s.DSN = "amqp://guest:guest@" + net.JoinHostPort("127.0.0.1", port) + "/"
			// It answers the header of the protocol once it accepts clients.
			s.reach = speaks(port, "AMQP\x00\x00\x09\x01", 1)
		}
		return s, err
	})
}

// StartNATS starts a new NATS server with JetStream, as [StartRabbitMQ] starts a RabbitMQ.
func StartNATS(ctx context.Context) (*Server, error) {
	return startBroker(ctx, "NATS", &natsServer, func(path, dir, port string) (*Server, error) {
		s, err := keep(natsScript, dir, path, dir, port)
		if err == nil {
			s.DSN = "nats://" + net.JoinHostPort("127.0.0.1", port)
			s.reach = speaks(port, "", 'I') // it begins with INFO
		}
		return s, err
	})
}

// startBroker starts a server and waits until it answers.
func startBroker(ctx context.Context, what string, p *program, start func(path, dir, port string) (*Server, error)) (*Server, error) {
	path, err := p.ensure(ctx)
	if err != nil {
		return nil, err
	}
	return try(ctx, what, func(port string) (*Server, error) {
		s, err := start(path, newDir(p.name), port)
		if err != nil {
			return nil, err
		}
		if err := s.answer(ctx); err != nil {
			return nil, errors.Join(err, ignoreExit(s.Stop()))
		}
		return s, nil
	})
}

// speaks returns a function that says something to a port and expects an answer that
// begins with a byte.
func speaks(port, hello string, want byte) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			return err
		}
		if _, err := io.WriteString(conn, hello); err != nil {
			return err
		}
		var got [1]byte
		if _, err := io.ReadFull(conn, got[:]); err != nil {
			return err
		}
		if got[0] != want {
			return fmt.Errorf("it begins with byte %d, want %d", got[0], want)
		}
		return nil
	}
}
