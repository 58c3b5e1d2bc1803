package messages_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/intake/jetstream"
	"taskkit.dev/taskkit/intake/kafka"
	"taskkit.dev/taskkit/intake/rabbit"
)

// plainSources make sources that connect to an address within a time and set nothing up.
var plainSources = map[string]func(address string, within time.Duration) (intake.Source, error){
	"rabbitmq": func(address string, within time.Duration) (intake.Source, error) {
		return rabbit.New(rabbit.Config{URL: "amqp://guest:guest@" + address + "/", Queue: "missing", ConnectTimeout: within})
	},
	"jetstream": func(address string, within time.Duration) (intake.Source, error) {
		return jetstream.New(jetstream.Config{URL: "nats://" + address, Stream: "missing", Consumer: name, ConnectTimeout: within})
	},
	"kafka": func(address string, within time.Duration) (intake.Source, error) {
		return kafka.New(kafka.Config{Brokers: []string{address}, Topics: []string{"missing"}, Group: name, ConnectTimeout: within})
	},
}

// listen listens on an address until the test ends, and writes a text to everybody.
func listen(t *testing.T, text string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var conns []net.Conn
		for {
			conn, err := l.Accept()
			if err != nil {
				break
			}
			_, _ = conn.Write([]byte(text))
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// fails expects an error from Receive, again and again.
func fails(t *testing.T, source intake.Source, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testdb.Patience(t))
	defer cancel()
	for range 2 {
		if ds, err := source.Receive(ctx, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Receive returns %d messages and %v, want an error with %q", len(ds), err, want)
		}
	}
}

// Where no broker listens, where something else does, and where nothing answers, each source returns an error, as often as it
// is called.
func TestNoBroker(t *testing.T) {
	t.Parallel()
	nobody, err := cluster.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for kind, newSource := range plainSources {
		what := map[string]string{"rabbitmq": "queue missing", "jetstream": "stream missing", "kafka": "topics missing"}[kind]
		for of, address := range map[string]string{
			"nobody": "127.0.0.1:" + nobody, "another protocol": listen(t, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), "silence": listen(t, ""),
		} {
			t.Run(kind+"/"+of, func(t *testing.T) {
				t.Parallel()
				source, err := newSource(address, 500*time.Millisecond)
				if err != nil {
					t.Fatal(err)
				}
				fails(t, source, what)
				if err := source.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A queue, stream or topic that does not exist is an error of each source, and so is a broker that has gone.
func TestNothingToConsume(t *testing.T) {
	t.Parallel()
	for kind, start := range brokers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var (
				of   *broker
				down func() error
			)
			if kind == "rabbitmq" { // whose own down is part of its restart
				server := testdb.Broker(t, cluster.StartRabbitMQ)
				of, down = rabbitQueue(server, name), server.Down
			} else {
				of = start(t)
				down = of.down
			}
			_, address, _ := strings.Cut(of.url, "//")
			if _, after, is := strings.Cut(address, "@"); is {
				address = strings.TrimSuffix(after, "/")
			}
			if address == "" {
				address = of.url
			}
			source, err := plainSources[kind](address, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			fails(t, source, "missing")
			if err := source.Close(); err != nil {
				t.Error(err)
			}
			if err := of.publish(t.Context(), []intake.Message{{ID: "a", Body: []byte("{}")}}); err != nil {
				t.Fatal(err)
			}
			if source, err = newSource(kind, of.url, of.queue, 1); err != nil {
				t.Fatal(err)
			}
			receive(t, source, 1)
			if err := down(); err != nil {
				t.Fatal(err)
			}
			fails(t, source, map[string]string{"rabbitmq": "queue ", "jetstream": "stream ", "kafka": "topics "}[kind]+of.queue)
			if err := source.Close(); err != nil {
				t.Log(err)
			}
		})
	}
}
