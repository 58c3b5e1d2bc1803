package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"time"
)

// networkCommand is the kind of the process that delays, and its first argument.
const networkCommand = "network"

// networkProxy listens on loopback, prints its address, and forwards each connection to a server until
// in ends. Data arrives [oneWay] later in both directions. The rate is not limited.
func networkProxy(ctx context.Context, server string, in io.Reader, out io.Writer) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for those who are to be delayed: %w", err)
	}
	fmt.Fprintln(out, l.Addr())
	d := &delayer{chunks: make(chan chunk, 1<<14)}
	go d.run() // until the process ends
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = l.Close()
	}()
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil // the process ends, and its connections with it
		}
		if err != nil {
			return fmt.Errorf("accept one who is to be delayed: %w", err)
		}
		go d.link(ctx, client, server)
	}
}

// chunk is the data of one read of a connection.
type chunk struct {
	at   time.Time
	to   chan<- []byte
	data []byte // nil: the sender has closed
}

// delayer keeps the chunks of all connections in the order of their receipt. All are delayed by
// the same time, so they are sent in the same order.
type delayer struct {
	chunks chan chunk
}

// run sends the chunks that are due, on a thread of its own: in an idle process Go's timers have the
// resolution of epoll, whole milliseconds.
func (d *delayer) run() {
	runtime.LockOSThread()
	sleepExactly()
	for c := range d.chunks {
		if wait := time.Until(c.at); wait > 0 {
			sleep(wait)
		}
		c.to <- c.data
	}
}

// link forwards a client's connection until both ends have closed.
func (d *delayer) link(ctx context.Context, client net.Conn, server string) {
	defer client.Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return // the client sees that it is closed
	}
	defer conn.Close()
	var both sync.WaitGroup
	both.Go(func() { d.pass(client, conn) })
	both.Go(func() { d.pass(conn, client) })
	both.Wait()
}

// pass forwards one direction. Both ends have TCP_NODELAY, as Go's connections do.
func (d *delayer) pass(from, to net.Conn) {
	// The number of chunks that may wait for a slow reader before all others wait as well.
	due := make(chan []byte, 1<<10)
	var writer sync.WaitGroup
	writer.Go(func() {
		failed := false
		for data := range due {
			if data == nil {
				break
			}
			if !failed {
				_, err := to.Write(data)
				failed = err != nil
			}
		}
		if tcp, ok := to.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		at := time.Now().Add(oneWay)
		if n > 0 {
			d.chunks <- chunk{at, due, append([]byte(nil), buffer[:n]...)}
		}
		if err != nil {
			d.chunks <- chunk{at, due, nil}
			break
		}
	}
	writer.Wait()
}
